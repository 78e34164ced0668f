"""Which parts of a match anybody looks at: what it marks besides need not be kept, nor walked through.

Marks still tell matches apart: two that mark different events are two rows, whatever is shown of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter

from acelera.automata.terms import Attr, Const, Finish, Reg, Term, subterms
from acelera.engine.frames import attribute_type
from acelera.engine.plan import Action, FoldStep, Plan, stored_fields
from acelera.engine.results.walks import can_walk
from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.checker import Checked
from acelera.language.result import Result
from acelera.language.schema import Schema
from acelera.language.types import Kind, Type

_WHOLE = (Kind.INT, Kind.DECIMAL, Kind.DURATION, Kind.TIMESTAMP)
_LEAVES_64_BITS = ("sum", "product", "avg", "range")


def unseen_actions(checked: Checked, plan: Plan) -> frozenset[Action]:
    """The actions that leave nothing in a match that is shown, aggregated, or an error."""
    assert checked.schema is not None
    shown = checked.result.variables | Result(checked.afterwards).variables
    folds = _folds_asked_for(plan, shown, checked.schema)
    return frozenset(
        action
        for action in dict.fromkeys(edge.action for edge in plan.edges)
        if not any(variable in shown for variable, _ in action.marks)
        and not any(step.fold in folds for step in action.folds)
        and not any(_stored_may_fail(dict(mark.fields or ())[name]) for mark, name in stored_fields(action, plan))
    )


def what_is_chosen(keep: ast.Keep, plan: Plan, unseen: frozenset[Action]) -> tuple[bool, frozenset[Action]]:
    """Whether it matters which of several matches with one start and one end KEEP keeps; what then is still unseen.

    It does if anything is seen of them, or if matches are counted; then all marks are looked at, since they tell which
    one comes first.
    """
    if keep.kind == "all":
        return False, unseen
    if keep.kind != "any" and set(plan.actions) <= unseen:
        return False, unseen
    return True, unseen - {action for action in plan.actions if action.marks}


def aggregated_actions(checked: Checked, plan: Plan) -> frozenset[Action]:
    """The actions that leave nothing in a match but values for aggregates, if they may do so again and again and if all
    such aggregates can be computed for many matches at once.
    """
    unseen, listed = unseen_actions(checked, plan), checked.result.listed_variables
    found = frozenset(
        action
        for action in dict.fromkeys(edge.action for edge in plan.edges)
        if action not in unseen
        and not any(variable in listed for variable, _ in action.marks)
        and not any(step.closes for step in action.folds)
        and not stored_fields(action, plan)
    )
    cyclic = _states_on_cycles(plan) if found else set()
    again = any(edge.action in found and {edge.source, edge.target} <= cyclic for edge in plan.edges)
    walks = all(can_walk(function, given) for function, given in _aggregates(checked, plan))
    return found if again and walks else frozenset()


def _states_on_cycles(plan: Plan) -> set[int]:
    """The states to which a run can come again, and not only by waiting; also those between two such."""
    steps = [(edge.source, edge.target) for edge in plan.edges if not edge.idle]
    back = [(target, source) for source, target in steps]
    return {state for step in steps for state in step} - _up_to_a_cycle(steps) - _up_to_a_cycle(back)


def _up_to_a_cycle(steps: list[tuple[int, int]]) -> set[int]:
    """The states that no cycle leads to."""
    sorter, found = TopologicalSorter[int](), set[int]()
    for source, target in steps:
        sorter.add(target, source)
    with suppress(CycleError):  # it can still be asked for what comes before
        sorter.prepare()
    while ready := sorter.get_ready():
        found.update(ready)
        sorter.done(*ready)
    return found


def _aggregates(checked: Checked, plan: Plan) -> Iterator[tuple[str, Type | None]]:
    """The functions that are computed from listed matches, and the types of what they are given."""
    schema = checked.schema
    assert schema is not None
    steps = list(dict.fromkeys(step for edge in plan.edges for step in edge.action.folds))
    for index in _folds_asked_for(plan, checked.result.variables, schema):
        yield plan.folds[index].function, given_type(index, steps, schema)
    for shown in checked.result.aggregates:
        yield shown.aggregation.function, shown.given


def _folds_asked_for(plan: Plan, shown: set[str], schema: Schema) -> set[int]:
    """The folds that are shown, and those that may fail."""
    marked = [mark for edge in plan.edges for variable, bag in edge.action.marks if variable in shown for mark in bag]
    finished = {part for mark in marked for term in mark.terms() for part in subterms(term) if isinstance(part, Reg)}
    steps = list(dict.fromkeys(step for edge in plan.edges for step in edge.action.folds))
    return {
        index
        for index, fold in enumerate(plan.folds)
        if Reg(fold.register) in finished or may_fail(fold.function, given_type(index, steps, schema))
    }


def given_attribute(index: int, steps: list[FoldStep]) -> str | None:
    """The attribute that a fold gathers, if it is one."""
    given = (term for step in steps if step.fold == index for term in step.given)
    return next((term.name for term in given if isinstance(term, Attr)), None)


def given_type(index: int, steps: list[FoldStep], schema: Schema) -> Type | None:
    """The type of what a fold gathers; None if it only counts."""
    attribute = given_attribute(index, steps)
    return None if attribute is None else attribute_type(attribute, schema)


def may_fail(name: str, given: Type | None) -> bool:
    """Whether an aggregate of values of this type may be an error."""
    function = find_aggregate(name)
    assert function is not None
    return function.user_defined or (given is not None and given.kind in _WHOLE and name in _LEAVES_64_BITS)


def _stored_may_fail(term: Term) -> bool:
    """Whether a value that is made while a query runs may be an aggregate that failed."""
    if isinstance(term, Attr | Const):
        return False
    if isinstance(term, Finish):
        function = find_aggregate(term.function)
        assert function is not None
        return function.user_defined or term.function in _LEAVES_64_BITS
    return True

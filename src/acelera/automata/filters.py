"""FILTER: conditions become predicates of transitions, with registers where a condition speaks of several events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acelera.automata.labels import Label, on_mark
from acelera.automata.looking_back import looking_back, of_neighbours
from acelera.automata.model import Transition, reachable
from acelera.automata.parts import Part, before, disjunction
from acelera.automata.terms import (
    UNSET,
    Collected,
    Compared,
    Const,
    ForAll,
    IfSet,
    Known,
    Reg,
    Sql,
    Summary,
    Term,
)
from acelera.language import ast
from acelera.language.looking_back import looks_back

Register = Callable[[str], str]
Attribute = tuple[str | None, str]
"""A variable and an attribute of its events."""


def filtered(part: Part, condition: ast.Condition, register: Register) -> Part:
    """φ FILTER c. AND filters twice; OR is the disjunction of filtered automata, as in the paper.

    A stack of automata rather than recursion, so that conditions may be as long as one likes.
    """
    todo: list[ast.Condition | Part | int] = [condition]  # filter the last automaton; take one; join as many
    made = [part]
    while todo:
        step = todo.pop()
        if isinstance(step, Part):
            made.append(step)
        elif isinstance(step, int):
            options = made[-step:]
            del made[-step:]
            made.append(disjunction(*options))
        elif isinstance(step, ast.Both):
            todo += [step.right, step.left]
        elif isinstance(step, ast.Either):
            alternatives, base = _alternatives(step), made.pop()
            todo.append(len(alternatives))
            for alternative in reversed(alternatives):
                todo += [alternative, base]
        else:
            made.append(atom(made.pop(), step, register))
    return made[0]


def _alternatives(condition: ast.Condition) -> list[ast.Condition]:
    """What `c OR d OR …` consists of, from left to right; joined one by one, the first would be copied every time."""
    found, todo = list[ast.Condition](), [condition]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Either):
            todo += [node.right, node.left]
        else:
            found.append(node)
    return found


def atom(part: Part, condition: ast.Condition, register: Register) -> Part:
    """One condition without AND and OR."""
    match condition:
        case ast.Each(variable, predicate) if looks_back(predicate):
            return looking_back(part, condition, register)
        case ast.Each(variable, predicate):
            return each(part, variable, predicate)
        case ast.Same(variable, attributes):
            for attribute in attributes:
                part = same(part, variable, attribute, register(f"same_{attribute}"))
            return part
        case ast.Increasing() | ast.Decreasing() if (alone := of_neighbours(part, with_prev(condition))) is not None:
            return alone
        case ast.Increasing(variable, attribute):
            return successive(part, variable, attribute, "<", register(f"last_{attribute}"))
        case ast.Decreasing(variable, attribute):
            return successive(part, variable, attribute, ">", register(f"last_{attribute}"))
        case ast.Across(predicate):
            return across(part, predicate, register)
    raise AssertionError(f"unknown condition {type(condition).__name__}")


def each(part: Part, variable: str, predicate: ast.Expression) -> Part:
    """x[P]: whatever is marked with x satisfies P. The predicate stands on the transition that marks."""

    def checked(t: Transition) -> Label:
        return t.label.with_predicate(*(on_mark(predicate, mark) for mark in t.label.bag(variable)))

    return part.relabelled(checked)


def same(part: Part, variable: str, attribute: str, name: str) -> Part:
    """[a]: a register holds the common value, and there must be one."""

    def checked(t: Transition) -> Label:
        values = tuple(t.label.before(mark.attribute(attribute)) for mark in t.label.bag(variable))
        label = t.label.with_assign({name: Summary("common", before(t, name), values) if values else before(t, name)})
        return label.with_predicate(Known(Reg(name))) if values else label

    return part.relabelled(checked)


def with_prev(condition: ast.Increasing | ast.Decreasing) -> ast.Each:
    """x[increasing(a)] as x[a > prev(a)], which says the same."""
    value = ast.Attribute(None, condition.attribute)
    operator = ">" if isinstance(condition, ast.Increasing) else "<"
    return ast.Each(condition.variable, ast.Binary(operator, value, ast.Prev(value)))


def successive(part: Part, variable: str, attribute: str, operator: str, name: str) -> Part:
    """[increasing(a)], [decreasing(a)]: a register holds the value of the event before.

    Several events may be marked at one position: then each must compare with each of the position before, so the
    largest is held (or the smallest).
    """
    kind = "max" if operator == "<" else "min"
    former = f"{name}_before"

    def checked(t: Transition) -> Label:
        values = tuple(mark.attribute(attribute) for mark in t.label.bag(variable))
        if not values:
            return t.label.with_assign({name: before(t, name)})
        held = values[0] if len(values) == 1 else Summary(kind, Const(UNSET), values)
        label = t.label.with_assign({name: t.label.before(held), former: before(t, name)})
        return label.with_predicate(*(Compared(operator, Reg(former), value) for value in values))

    return part.relabelled(checked)


# --- conditions over several variables ----------------------------------------------------------------------------


def across(part: Part, predicate: ast.Expression, register: Register) -> Part:
    """x.a < y.b for all combinations.

    A comparison of one variable with another needs only the largest, the smallest or the common value of each side;
    where each variable holds one event at most, its values are enough; anything else needs the sets of values.
    """
    sides = comparison(predicate)
    if sides is not None:
        return bounded(part, *sides, register)
    found = (node for node in ast.walk(predicate) if isinstance(node, ast.Attribute))
    attributes: dict[str, dict[Attribute, None]] = {}
    for node in found:
        assert node.variable is not None
        attributes.setdefault(node.variable, {})[(node.variable, node.name)] = None
    if all(holds_one_event(part, variable) for variable in attributes):
        return singly(part, predicate, [key for keys in attributes.values() for key in keys], register)
    names = {variable: register(f"all_{variable}") for variable in attributes}
    holds = ForAll(
        predicate, tuple(tuple(keys) for keys in attributes.values()), tuple(Reg(name) for name in names.values())
    )

    def checked(t: Transition) -> Label:
        assign: dict[str, Term] = {}
        touched = False
        for variable, keys in attributes.items():
            marked = t.label.bag(variable)
            given = tuple(t.label.before(mark.attribute(name)) for mark in marked for _, name in keys)
            state = before(t, names[variable])
            assign[names[variable]] = Collected(state, len(keys), given) if marked else state
            touched = touched or bool(marked)
        label = t.label.with_assign(assign)
        return label.with_predicate(holds) if touched else label

    return part.relabelled(checked)


def holds_one_event(part: Part, variable: str) -> bool:
    """Whether no run marks a variable twice."""
    marking = [t for t in part.transitions if t.label.bag(variable)]
    afterwards = reachable({t.target for t in marking}, [(t.source, t.target) for t in part.transitions])
    return all(len(t.label.bag(variable)) == 1 and t.source not in afterwards for t in marking)


def singly(part: Part, predicate: ast.Expression, attributes: Sequence[Attribute], register: Register) -> Part:
    """A predicate over variables that hold one event at most: a register for each attribute."""
    names = {key: register(f"{key[0]}_{key[1]}") for key in attributes}
    holds = IfSet(Sql(predicate, tuple((key, Reg(name)) for key, name in names.items())))

    def checked(t: Transition) -> Label:
        assign: dict[str, Term] = {}
        for (variable, attribute), name in names.items():
            marked = t.label.bag(variable or "")
            assign[name] = t.label.before(marked[0].attribute(attribute)) if marked else before(t, name)
        label = t.label.with_assign(assign)
        touched = any(t.label.bag(variable or "") for variable, _ in names)
        return label.with_predicate(holds) if touched else label

    return part.relabelled(checked)


Side = tuple[str, ast.Expression]


def comparison(predicate: ast.Expression) -> tuple[str, Side, Side] | None:
    """`f(x) op g(y)` taken apart, if it is of that form and summaries of both sides will do."""
    if not isinstance(predicate, ast.Binary) or predicate.operator not in ("=", "<", "<=", ">", ">="):
        return None
    left, right = (_variables(side) for side in (predicate.left, predicate.right))
    if len(left) != 1 or len(right) != 1 or left == right:
        return None
    return predicate.operator, (left.pop(), predicate.left), (right.pop(), predicate.right)


def _variables(expression: ast.Expression) -> set[str]:
    nodes = (node for node in ast.walk(expression) if isinstance(node, ast.Attribute))
    return {node.variable for node in nodes if node.variable is not None}


def bounded(part: Part, operator: str, left: Side, right: Side, register: Register) -> Part:
    """f(x) op g(y): with <, the largest f(x) against the smallest g(y); with =, both sides have one common value."""
    kinds = {
        "=": ("common", "common"),
        "<": ("max", "min"),
        "<=": ("max", "min"),
        ">": ("min", "max"),
        ">=": ("min", "max"),
    }
    sides = [(variable, expression, kind, register(f"{kind}_{variable}"))
             for (variable, expression), kind in zip((left, right), kinds[operator], strict=True)]  # fmt: skip
    holds = Compared(operator, Reg(sides[0][3]), Reg(sides[1][3]))

    def checked(t: Transition) -> Label:
        assign: dict[str, Term] = {}
        touched = False
        for variable, expression, kind, name in sides:
            values = _values(t, variable, expression)
            assign[name] = Summary(kind, before(t, name), values) if values else before(t, name)
            touched = touched or bool(values)
        label = t.label.with_assign(assign)
        return label.with_predicate(holds) if touched else label

    return part.relabelled(checked)


def _values(t: Transition, variable: str, expression: ast.Expression) -> tuple[Term, ...]:
    return tuple(t.label.before(on_mark(expression, mark)) for mark in t.label.bag(variable))

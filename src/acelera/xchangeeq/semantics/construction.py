"""Στ(h): the terms that a head makes of a set of substitutions (contract, section 3, "Rules" and Choice A)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import TypeAlias

from acelera.errors import AggregateError
from acelera.xchangeeq import ast
from acelera.xchangeeq.semantics.truth import EXACT, arithmetic, called, fits
from acelera.xchangeeq.simulation import Substitution
from acelera.xchangeeq.terms import Term, Value, identity, kind, name_of, order_key

Part: TypeAlias = Sequence[Substitution]
"""Substitutions that agree on some variables; there is at least one."""

Columns: TypeAlias = dict[tuple[str, ...], list[str]]
"""For the labels from the root to a term the labels of its children, in the order of the schema."""


@dataclass(frozen=True)
class Construction:
    """How heads are filled in: over nodes or over the set (Choice A), and in which order columns stand."""

    aggregates: str = "nodes"
    columns: Columns = field(default_factory=dict)

    def terms(self, head: ast.Construct, substitutions: Part) -> list[Term]:
        """Στ(h): one term for each part that agrees on the variables outside of `all` and aggregates."""
        parts = split(substitutions, outside(head))
        return [self.term(head, part, (head.label,)) for part in parts]

    def term(self, construct: ast.Construct, part: Part, path: tuple[str, ...]) -> Term:
        """One term; children of which nothing is there are left out."""
        found: list[Value] = []
        for child in construct.children:
            if isinstance(child, ast.All):
                found += self.instances(child, part, path)
            else:
                made = self.made(child, part, path)
                found += [] if made is None else [made]
        order = self.columns.get(path, [])
        found.sort(key=lambda each: order.index(name_of(each)) if name_of(each) in order else len(order))
        return Term(construct.label, tuple(found))

    def made(self, what: ast.Construct | ast.Expression, part: Part, path: tuple[str, ...]) -> Value | None:
        """A child, or nothing: of `user { var U }` with U unbound, nothing is there."""
        if isinstance(what, ast.Expression):
            return self.value(what, part)
        term = self.term(what, part, (*path, what.label))
        return term if term.children or not what.children else None

    def instances(self, every: ast.All, part: Part, path: tuple[str, ...]) -> list[Value]:
        """`all c group by G order by O`: one for each binding of c's variables outside nested `all`s, and of G."""
        found: list[tuple[Value, Part]] = []
        for group in split(part, outside(every.what) | {each.name for each in every.group_by}):
            made = self.made(every.what, group, path)
            if made is not None:
                found.append((made, group))
        found.sort(key=lambda each: self.instance_key(each[0], path))
        for key in reversed(every.order_by):  # sorting is stable: the first key is sorted by last
            first = max if key.descending else min
            found.sort(
                key=lambda each: first(_bound_key(one, key.variable.name) for one in each[1]),
                reverse=key.descending,
            )
        return [made for made, _ in found]

    def instance_key(self, value: Value, path: tuple[str, ...]) -> tuple[object, ...]:
        """Sorts instances column by column, those without a child before those that have it."""
        here = (*path, name_of(value))
        if not isinstance(value, Term) or here not in self.columns:
            return order_key(value)
        inner = {name: [each for each in value.children if name_of(each) == name] for name in ["", *self.columns[here]]}
        return "term", value.label, tuple([self.instance_key(one, here) for one in each] for each in inner.values())

    def value(self, expression: ast.Expression, part: Part) -> Value | None:
        """The value of an expression: all of the part agree on its variables, and aggregates range over the part."""
        match expression:
            case ast.Literal(value):
                return value
            case ast.Variable(name):
                return part[0][name].value if name in part[0] else None
            case ast.Negative(operand):
                return arithmetic("-", 0, self.value(operand, part))
            case ast.Arithmetic(operator, left, right):
                return arithmetic(operator, self.value(left, part), self.value(right, part))
            case ast.Call(function, arguments):
                return called(function, [self.value(each, part) for each in arguments])
            case ast.Aggregate(function, over):
                return aggregated(function, self.ranged_over(over, part))
        raise AssertionError(f"unknown expression {type(expression).__name__}")

    def ranged_over(self, every: ast.All, part: Part) -> list[Value]:
        """Choice A: a value for each different binding of the variables of e and G.

        A binding is the value and the nodes it came from; by the letter (`aggregates="set"`), the value alone.
        Missing values are left out.
        """
        names = sorted(variables(every.what) | {each.name for each in every.group_by})
        found: dict[Hashable, Value | None] = {}
        for one in part:
            bound = [one.get(name) for name in names]
            if self.aggregates == "set":
                key: Hashable = tuple(None if each is None else identity(each.value) for each in bound)
            else:
                key = tuple(None if each is None else each.identity for each in bound)
            found.setdefault(key, self.made(every.what, [one], ()))
        return [each for each in found.values() if each is not None]


def outside(node: ast.Node) -> set[str]:
    """The variables of a head outside of `all` and of aggregates."""
    match node:
        case ast.All() | ast.Aggregate():
            return set()
        case ast.Variable(name):
            return {name}
    return {name for each in _parts(node) for name in outside(each)}


def variables(node: ast.Node) -> set[str]:
    """All variables that occur in a part of a program as expressions."""
    if isinstance(node, ast.Variable):
        return {node.name}
    return {name for each in _parts(node) for name in variables(each)}


def has_grouping(node: ast.Node) -> bool:
    """Whether there is an `all` or an aggregate in it."""
    return isinstance(node, ast.All | ast.Aggregate) or any(has_grouping(each) for each in _parts(node))


def _parts(node: ast.Node) -> list[ast.Node]:
    """The nodes directly below one."""
    found = [each for part in node.parts() for each in (part if isinstance(part, tuple) else (part,))]
    return [each for each in found if isinstance(each, ast.Node)]


def split(part: Part, names: Iterable[str]) -> list[Part]:
    """Parts that agree on the values of these variables; to be unbound is a value of its own."""
    order = sorted(names)
    found: dict[Hashable, list[Substitution]] = {}
    for one in part:
        key = tuple(identity(one[name].value) if name in one else None for name in order)
        found.setdefault(key, []).append(one)
    return list(found.values())


def _bound_key(substitution: Substitution, name: str) -> tuple[object, ...]:
    """Sorts by a variable; where it is unbound, before all that is bound."""
    return (1, order_key(substitution[name].value)) if name in substitution else (0,)


def columns_of(rules: Iterable[tuple[ast.Construct, Iterable[ast.Query]]]) -> Columns:
    """Children stand in the order in which their labels are first written, over all heads of that label.

    Each head comes with the queries of its rule, which say of what label the terms are that variables stand for.
    """
    found: Columns = {}

    def visit(construct: ast.Construct, path: tuple[str, ...], labelled: Mapping[str, str]) -> None:
        labels = found.setdefault(path, [])
        for child in construct.children:
            inner = child.what if isinstance(child, ast.All) else child
            label = _label(inner, labelled)
            if label is not None and label not in labels:
                labels.append(label)
            if isinstance(inner, ast.Construct):
                visit(inner, (*path, inner.label), labelled)

    for head, queries in rules:
        visit(head, (head.label,), _labels_of_terms(queries))
    return found


def _label(what: ast.Construct | ast.Expression, labelled: Mapping[str, str]) -> str | None:
    if isinstance(what, ast.Construct):
        return what.label
    return labelled.get(what.name) if isinstance(what, ast.Variable) else None


def _labels_of_terms(queries: Iterable[ast.Query]) -> dict[str, str]:
    """For variables that stand for whole terms, their labels."""
    found: dict[str, str] = {}
    for query in queries:
        for each in ast.walk(query):
            inner = each.query if isinstance(each, ast.Binds) else None
            while isinstance(inner, ast.Binds):
                inner = inner.query
            if isinstance(each, ast.Binds) and isinstance(inner, ast.Labelled) and inner.label is not None:
                found[each.name] = inner.label
    return found


def aggregated(function: str, values: list[Value]) -> Value | None:
    """count, sum, avg, min, max; of nothing at all 0 for count, otherwise nothing."""
    if function == "count":
        return len(values)
    if not values:
        return None
    if len({kind(each) for each in values}) > 1 or isinstance(values[0], Term):
        raise AggregateError(f"{function}: there are values of different kinds, or terms")
    if function in ("min", "max"):
        return (min if function == "min" else max)(values, key=order_key)
    if kind(values[0]) != "number":
        raise AggregateError(f"{function}: {values[0]!r} is no number")
    integers = [each for each in values if isinstance(each, int)]
    if function == "avg":
        return sum(integers) / len(values) if len(integers) == len(values) else _float_sum(values) / len(values)
    if len(integers) < len(values):
        return _float_sum(values) if any(isinstance(each, float) for each in values) else _exact_sum(values)
    if not fits(sum(integers)):
        raise AggregateError(
            "integer overflow: a sum does not fit into 64 bits; sum up floats instead, or fewer events"
        )
    return sum(integers)


def _exact_sum(values: list[Value]) -> Decimal:
    """The sum of decimals, and perhaps integers."""
    with localcontext(EXACT):
        return sum((Decimal(each) for each in values), Decimal())  # type: ignore[arg-type]  # they are numbers


def _float_sum(values: list[Value]) -> float:
    """The sum, rounded once, so that the order of the values is of no account."""
    numbers = [float(each) for each in values]  # type: ignore[arg-type]  # they are numbers
    if math.inf in numbers and -math.inf in numbers:
        return math.nan
    return math.fsum(numbers)

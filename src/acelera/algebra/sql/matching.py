"""Events that match a pattern, as SQL: columns looked at, lists gone through, each item with its place.

A pattern is matched by a *way*: conditions, and loops over lists where a part may match several items. Without loops it
is a WHERE; with them it is a list of all that can be bound, made by nested lambdas, which is then taken apart. What
must not be there is a way of its own, of which there must be none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple, Protocol

import pyarrow as pa
from sqlglot import exp

from acelera.algebra import operators as op
from acelera.algebra.names import BEGIN, END, REFERENCE, columns, reference, source, time
from acelera.algebra.patterns import VALUE, Content, Part, Pattern, variables_of
from acelera.algebra.sql.types import conformed, typed
from acelera.algebra.sql.values import constant as sql_constant
from acelera.algebra.sql.words import column, first_of, named, present_items, struct, struct_field


class Nodes(Protocol):
    """How an engine tells nodes of events apart."""

    def node(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        """A text of an event and of places in it."""

    def set_of(self, nodes: Sequence[exp.Expr]) -> exp.Expr:
        """A text of several nodes, whatever their order."""


class Tables(Protocol):
    """Where the events of labels are."""

    def table(self, label: str) -> exp.Expr:
        """The events of a label."""

    def row(self, label: str) -> pa.StructType:
        """The types of its children."""


def matched(relation: op.Events, tables: Tables, nodes: Nodes) -> exp.Select:
    """The tuples of a relation: for each event a tuple for each way to match it."""
    found = [_matched(relation, choice, tables, nodes) for choice in relation.choices]
    together: exp.Query = found[0]
    for each in found[1:]:
        together = exp.union(together, each)
    return found[0] if len(found) == 1 else exp.select("*").from_(together.subquery("a"))


def _matched(relation: op.Events, choice: op.Choice, tables: Tables, nodes: Nodes) -> exp.Select:
    row = tables.row(choice.label)
    fields = {each.name: (column(each.name, "e"), each.type) for each in row}
    matcher = _Matcher(nodes, fields, dict(relation.types))
    way = matcher.whole(choice.content, row)
    values = _values(relation, way, nodes)
    own = {
        time(relation.identifier, "begin"): column(BEGIN, "e"),
        time(relation.identifier, "end"): column(END, "e"),
        reference(relation.identifier): column(REFERENCE, "e"),
    }
    table = exp.alias_(tables.table(choice.label), "e", table=True)
    if not way.has_loops:
        shown = [named({**own, **values}[name], name) for name in columns(relation.heading)]
        query = exp.select(*shown).from_(table)
        return query.where(*way.conditions) if way.conditions else query
    before, listed = way.listed(struct([(name, value) for name, value in values.items()]))
    inner = exp.select(*(named(value, name) for name, value in own.items()), named(exp.Explode(this=listed), "#way"))
    inner = inner.from_(table)
    taken_apart = {name: struct_field(column("#way"), name) for name in values}
    shown = [named(taken_apart.get(name, column(name)), name) for name in columns(relation.heading)]
    return exp.select(*shown).distinct().from_((inner.where(*before) if before else inner).subquery("t"))


def _values(relation: op.Events, way: _Way, nodes: Nodes) -> dict[str, exp.Expr]:
    """The variables of a tuple, and which nodes they came from, where that is asked for."""
    kinds = dict(relation.types)
    found: dict[str, exp.Expr] = {}
    plain = len(relation.choices) == 1 and not way.has_loops
    for name in sorted(relation.heading.data):
        bound = way.bound.get(name)
        if bound is None:
            found |= {name: typed(exp.null(), kinds[name])}
            found |= {source(name): typed(exp.null(), pa.string())} if name in relation.sources else {}
            continue
        found[name] = conformed(bound.value.copy(), bound.kind, kinds[name])
        if name in relation.sources:
            event = column(REFERENCE, "e")
            node = event if plain and len(bound.places) == 1 else _set(bound.places, event, nodes)
            missing = bound.value.copy().is_(exp.null())
            found[source(name)] = first_of(missing, exp.null(), node) if bound.may_be_missing else node
    return found


def _set(places: Sequence[Sequence[exp.Expr]], event: exp.Expr, nodes: Nodes) -> exp.Expr:
    texts = [nodes.node([event.copy(), *(each.copy() for each in place)]) for place in places]
    return texts[0] if len(texts) == 1 else nodes.set_of(texts)


@dataclass(frozen=True)
class _Bound:
    """A variable: its value, its type, the places in the event that it stands at."""

    value: exp.Expr
    kind: pa.DataType
    places: tuple[tuple[exp.Expr, ...], ...]
    may_be_missing: bool = False


@dataclass(frozen=True)
class _Loop:
    values: exp.Expr
    item: str
    place: str


@dataclass
class _Way:
    """Conditions and loops, one inside the other, and what is bound in the innermost."""

    steps: list[exp.Expr | _Loop] = field(default_factory=list)
    bound: dict[str, _Bound] = field(default_factory=dict)

    @property
    def has_loops(self) -> bool:
        return any(isinstance(each, _Loop) for each in self.steps)

    @property
    def conditions(self) -> list[exp.Expr]:
        return [each for each in self.steps if isinstance(each, exp.Expr)]

    def listed(self, what: exp.Expr) -> tuple[list[exp.Expr], exp.Expr]:
        """The conditions before the first loop, and the list of what is made in the innermost."""
        start = next(number for number, each in enumerate(self.steps) if isinstance(each, _Loop))
        made: exp.Expr = exp.array(what)
        asked: list[exp.Expr] = []
        for step in reversed(self.steps[start:]):
            if isinstance(step, exp.Expr):
                asked.insert(0, step)
                continue
            if asked:
                made = first_of(exp.and_(*asked), made, exp.array())
            parameters = [exp.to_identifier(step.item), exp.to_identifier(step.place)]
            each = exp.Transform(this=step.values, expression=exp.Lambda(this=made, expressions=parameters))
            made, asked = exp.Flatten(this=each), []
        return [each for each in self.steps[:start] if isinstance(each, exp.Expr)], made

    def exists(self) -> exp.Expr:
        """Whether there is such a way."""
        if not self.has_loops:
            return exp.and_(*self.conditions) if self.conditions else exp.true()
        before, listed = self.listed(exp.Literal.number(1))
        size = exp.func("coalesce", exp.ArraySize(this=listed), exp.Literal.number(0))
        return exp.and_(*before, size > 0)


Fields = Mapping[str, tuple[exp.Expr, pa.DataType]]
"""The children of a term by their columns: where they are, and of which type."""


@dataclass(frozen=True)
class _Taken:
    """What a part has taken: of which column, which item of it if there are several."""

    part: Part
    item: exp.Expr | None
    happens: exp.Expr | None = None  # for what is optional


class _Later(NamedTuple):
    """What is forbidden, to be looked for when all else is matched."""

    part: Part
    fields: Fields
    taken: Sequence[_Taken]
    ordered: bool


class _Matcher:
    def __init__(self, nodes: Nodes, fields: Fields, kinds: Mapping[str, pa.DataType]) -> None:
        self.nodes, self.fields, self.kinds = nodes, fields, kinds
        self.numbers = count(1)

    def whole(self, content: Content, row: pa.StructType) -> _Way:
        """All that is asked of an event."""
        way = _Way()
        for name in content.binds:
            pairs = [(each.name, self.fields[each.name][0].copy()) for each in row]
            way.bound[name] = _Bound(struct(pairs), row, ((),))
        later: list[_Later] = []
        if content.inner is not None:
            self._pattern(way, content.inner, self.fields, (), later)
        self._settle(way, later)
        return way

    def _settle(self, way: _Way, later: Sequence[_Later]) -> None:
        """What is forbidden is looked for at last: all variables are known."""
        for part, fields, taken, ordered in later:
            way.steps.append(exp.Not(this=exp.paren(self._exists(part, fields, taken, way.bound, ordered))))

    def _exists(
        self, part: Part, fields: Fields, taken: Sequence[_Taken], bound: Mapping[str, _Bound], ordered: bool
    ) -> exp.Expr:
        """Whether a child that is left over matches."""
        inner, later = _Way(bound=dict(bound)), list[_Later]()
        self._part(inner, part, fields, taken, ordered, (), later)
        self._settle(inner, later)
        return inner.exists()

    def _pattern(
        self, way: _Way, pattern: Pattern, fields: Fields, place: tuple[exp.Expr, ...], later: list[_Later]
    ) -> None:
        taken: list[_Taken] = []
        for part in pattern.asked:
            if part.optional:
                taken.append(self._optional(way, part, fields, place))
            else:
                taken.append(self._part(way, part, fields, taken, pattern.ordered, place, later))
        local = set(variables_of(Content(inner=pattern)))
        for part in pattern.impossible:
            known = {name: bound for name, bound in way.bound.items() if name in local}
            way.steps.append(exp.Not(this=exp.paren(self._exists(part, fields, taken, known, pattern.ordered))))
        later += [_Later(part, fields, taken, False) for part in pattern.forbidden]
        if pattern.total:
            way.steps += [
                _used_up(*fields[name], [each for each in taken if each.part.column == name]) for name in fields
            ]

    def _part(
        self,
        way: _Way,
        part: Part,
        fields: Fields,
        taken: Sequence[_Taken],
        ordered: bool,
        place: tuple[exp.Expr, ...],
        later: list[_Later],
    ) -> _Taken:
        """One child more, other than those that are taken."""
        value, kind = fields[part.column]
        item: exp.Expr | None = None
        if part.repeated:
            number = next(self.numbers)
            loop = _Loop(value.copy(), f"_x{number}", f"_i{number}")
            way.steps.append(loop)
            value, item, kind = exp.column(loop.item), exp.column(loop.place), kind.value_type
        way.steps += list(_apart(part, item, taken, list(fields), ordered))
        if part.column != VALUE:  # which is there if its child is
            way.steps.append(exp.Not(this=value.copy().is_(exp.null())))
        here = place if part.column == VALUE else (*place, exp.convert(part.column), *([] if item is None else [item]))
        self._content(way, part.content, value, kind, here, later)
        return _Taken(part, item)

    def _content(
        self,
        way: _Way,
        content: Content,
        value: exp.Expr,
        kind: pa.DataType,
        place: tuple[exp.Expr, ...],
        later: list[_Later],
    ) -> None:
        way.steps += [_equals(value, kind, constant) for constant in content.equal]
        for name in content.binds:
            known = way.bound.get(name)
            if known is None:
                way.bound[name] = _Bound(value, kind, (place,))
            else:
                way.steps.append(self._same(name, known, value, kind))
                way.bound[name] = replace(known, places=(*known.places, place))
        if content.inner is not None:
            fields: Fields = {VALUE: (value, kind)}
            if pa.types.is_struct(kind):
                fields = {each.name: (struct_field(value.copy(), each.name), each.type) for each in kind}
            self._pattern(way, content.inner, fields, place, later)

    def _same(self, name: str, known: _Bound, value: exp.Expr, kind: pa.DataType) -> exp.Expr:
        """Whether a variable has the same value in two places, each in the type that both fit into."""
        wanted = self.kinds[name]
        first, second = conformed(known.value.copy(), known.kind, wanted), conformed(value.copy(), kind, wanted)
        return exp.EQ(this=first, expression=second)

    def _optional(self, way: _Way, part: Part, fields: Fields, place: tuple[exp.Expr, ...]) -> _Taken:
        """A child that is bound if it matches; whether it does is all that must be asked."""
        inner = _Way(bound=dict(way.bound))
        self._part(inner, part, fields, [], False, place, [])
        happens = inner.exists()
        for name, bound in inner.bound.items():
            if name not in way.bound:
                there = first_of(happens.copy(), bound.value.copy(), exp.null())
                way.bound[name] = _Bound(there, bound.kind, bound.places, may_be_missing=True)
        return _Taken(part, None, happens)


def _apart(
    part: Part, item: exp.Expr | None, taken: Sequence[_Taken], order: Sequence[str], ordered: bool
) -> Iterator[exp.Expr]:
    """A child is none that is taken, and stands where the order of the query wants it."""
    for other in taken:
        if other.part.column != part.column:
            after = order.index(part.column) > order.index(other.part.column)
            if ordered and after != (part.place > other.part.place):
                yield exp.false()
        elif item is None or other.item is None:
            yield exp.false() if other.happens is None else exp.Not(this=exp.paren(other.happens.copy()))
        elif ordered:
            earlier, later = (other.item, item) if part.place > other.part.place else (item, other.item)
            yield exp.LT(this=earlier.copy(), expression=later.copy())
        else:
            yield exp.NEQ(this=item.copy(), expression=other.item.copy())


def _used_up(value: exp.Expr, kind: pa.DataType, taken: Sequence[_Taken]) -> exp.Expr:
    """Whether no child of a column is left over."""
    if pa.types.is_list(kind):
        return exp.EQ(this=present_items(value.copy()), expression=exp.Literal.number(len(taken)))
    if not taken:
        return value.copy().is_(exp.null())
    if taken[0].happens is None:
        return exp.true()
    return exp.or_(value.copy().is_(exp.null()), taken[0].happens.copy())


def _equals(value: exp.Expr, kind: pa.DataType, constant: bool | int | float | str) -> exp.Expr:
    """Whether a value is a constant; one of another kind it never is."""
    if isinstance(constant, bool):
        comparable = pa.types.is_boolean(kind)
    elif isinstance(constant, str):
        comparable = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    else:
        comparable = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    written = exp.convert(constant) if pa.types.is_decimal(kind) else sql_constant(constant)
    return exp.EQ(this=value.copy(), expression=written) if comparable else exp.false()

"""Rules for engines that see all events at once: what happens in windows, without a row for each pair.

The relation of a rule pairs each window with all events in it. Where only the number of these events, or some sum over
them, is asked for, or whether there are any, an engine that sorts can do with one row for each. `whole` makes the same
relation of other operators:

- `Happens`: there is an event in the window, or there is none;
- `Measured`: aggregates over the events in windows of one length, if they are points;
- `Around`: the same, where the windows stand beside events of the label that is aggregated, so that each row is both;
- `Cells`: where two sides are joined that cannot lie far apart, time is cut into cells, in which they agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from acelera.algebra import construction as made
from acelera.algebra.bounds import Network
from acelera.algebra.expressions import (
    Attribute,
    Constant,
    Expression,
    Operation,
    attributes_of,
    conjuncts,
    renamed,
    text_of,
)
from acelera.algebra.intervals import Point
from acelera.algebra.names import time
from acelera.algebra.operators import Absent, Choice, Collect, Derive, Events, Heading, Join, Relation, Select, Timer
from acelera.algebra.patterns import Content, Part, contents
from acelera.algebra.rules import Rule, relation_of
from acelera.language.tree import Node, fold, rebuilt, walk


@dataclass(frozen=True, eq=False, repr=False)
class Measure(Node):
    """An aggregate of a value of the events in a window, under a name; if it is `certain`, each event has the value."""

    name: str
    function: str
    value: Expression
    certain: bool


@dataclass(frozen=True, eq=False, repr=False)
class Happens(Relation):
    """Tuples that agree with an event of the right side that happens while `window` does; those that do not, if it is
    not `expected`. If nothing is shared and windows are never longer than `cell`, time can be cut into such pieces.
    """

    left: Relation
    window: str
    right: Relation
    expected: bool
    cell: int | None = None

    def _heading(self) -> Heading:
        return self.left.heading

    @property
    def line(self) -> str:
        """In words."""
        return f"{'some' if self.expected else 'none'} while {self.window}, by sorting both sides"


@dataclass(frozen=True, eq=False, repr=False)
class Measured(Relation):
    """Tuples that agree with a point event that happens while `window` does, with measures of all such events.

    The window begins `reach` ticks before it ends.
    """

    left: Relation
    window: str
    right: Relation
    reach: int
    measures: tuple[Measure, ...]

    def _heading(self) -> Heading:
        return _with_measures(self.left.heading, self.measures)

    @property
    def line(self) -> str:
        """In words."""
        return f"{_named(self.measures)} while {self.window}, by sorting both sides"


@dataclass(frozen=True, eq=False, repr=False)
class Around(Relation):
    """Events with measures of other events of their label: those that agree, and end from `first` to `last` ticks after
    they do, or by `last` if there is no first. If it is `required`, there is such an event.
    """

    left: Events
    first: int | None
    last: int
    right: Relation
    measures: tuple[Measure, ...]
    required: bool = True

    def _heading(self) -> Heading:
        return _with_measures(self.left.heading, self.measures)

    @property
    def line(self) -> str:
        """In words."""
        return f"{_named(self.measures)} beside each event, by sorting the events of its label"


def _named(measures: Sequence[Measure]) -> str:
    return ", ".join(f"{each.function}({text_of(each.value)})" for each in measures)


def _with_measures(heading: Heading, measures: Sequence[Measure]) -> Heading:
    return replace(heading, data=heading.data | {each.name for each in measures})


@dataclass(frozen=True, eq=False, repr=False)
class Cells(Relation):
    """Tuples with a variable more, for the cells of time, of a `size` each, that lie between two points: `first` and
    `last` ticks after `time`. There is a tuple for each.
    """

    operand: Relation
    variable: str
    time: str
    first: int
    last: int
    size: int

    def _heading(self) -> Heading:
        heading = self.operand.heading
        return replace(heading, data=heading.data | {self.variable})

    @property
    def line(self) -> str:
        """In words."""
        return f"with cells of {self.size} ticks"


@dataclass(frozen=True, eq=False, repr=False)
class Without(Relation):
    """Tuples without a variable that nobody needs, because others tell them apart."""

    operand: Relation
    variable: str

    def _heading(self) -> Heading:
        heading = self.operand.heading
        return replace(heading, data=heading.data - {self.variable})

    @property
    def line(self) -> str:
        """In words."""
        return "without what only served to compare"


# --- rules --------------------------------------------------------------------------------------------------------


def whole(rule: Rule) -> Derive:
    """The relation of a rule, for an engine that sees all events at once."""
    measured = {window_and_event: measures_of(rule, *window_and_event) for window_and_event in rule.collected}
    names: dict[made.Aggregated, str] = {}
    for measures in measured.values():
        names |= {aggregate: measure.name for aggregate, measure in measures or ()}

    def combine(node: Relation, inner: Sequence[Relation]) -> Relation:
        match node:
            case Collect():
                found = measured[node.window, _events_of(node.right)]
                if found is None:
                    return _near(rule.network, replace(node, left=inner[0], right=inner[1]))
                return aggregated(rule.network, inner[0], node.window, inner[1], [each for _, each in found])
            case Absent():
                return happening(rule.network, inner[0], node.window, inner[1], expected=False)
            case Join():
                return _near(rule.network, replace(node, left=inner[0], right=inner[1]))
            case Derive():
                return Derive(inner[0], with_measures(node.head, names))
            case _:
                return rebuilt(node, inner)

    relation = fold(relation_of(rule), combine)
    assert isinstance(relation, Derive)
    return relation


def _events_of(relation: Relation) -> Events:
    return next(each for each in walk(relation) if isinstance(each, Events))


# --- what is collected --------------------------------------------------------------------------------------------


def measures_of(rule: Rule, window: str, events: Events) -> list[tuple[made.Aggregated, Measure]] | None:
    """The aggregates that are all that a rule wants of what it collects; None if it wants something else."""
    known = frozenset[str]().union(*(each.heading.data for each in rule.events))
    own = events.heading.data - known
    if own & _wanted_elsewhere(rule, events) or not set(events.sources) <= own:
        return None
    aggregates = [
        part for part in made.grouped(rule.head.term) if isinstance(part, made.Aggregated) and _bindings(part) & own
    ]
    if aggregates and not (
        _length(rule.network, window) is not None
        and rule.network.longest([events.identifier]) <= 0
        and all(_matches_once(each) for each in (*rule.events, events))
        and all(_is_one_an_event(each, own, known, events) for each in aggregates)
    ):
        return None
    return [
        (each, Measure(f"#{events.identifier}.{number}", each.function, each.value, _is_certain(each.value, events)))
        for number, each in enumerate(dict.fromkeys(aggregates))
    ]


def _is_certain(value: Expression, events: Events) -> bool:
    return isinstance(value, Attribute) and _path(events.choices[0].content, value.name) is not None


def _wanted_elsewhere(rule: Rule, events: Events) -> frozenset[str]:
    """Variables that are asked for outside of aggregates, and outside of conditions on these events alone."""
    wanted = set(made.free(rule.head.term))
    for part in made.grouped(rule.head.term):
        if isinstance(part, made.Collected):
            wanted |= set(_mentioned(part))
    for condition in (each for one in rule.conditions for each in conjuncts(one)):
        if not attributes_of(condition) <= events.heading.attributes:
            wanted |= attributes_of(condition)
    for _, other in rule.collected:
        if other is not events:
            wanted |= other.heading.data
    return frozenset(wanted)


def _mentioned(root: Node) -> Iterator[str]:
    """All variables in a part of a head."""
    todo: list[object] = [root]
    while todo:
        item = todo.pop()
        if isinstance(item, Attribute):
            yield item.name
        elif isinstance(item, made.Collected):
            yield from (*item.keys, *(name for name, _ in item.order))
        elif isinstance(item, made.Aggregated):
            yield from item.keys
        if isinstance(item, Node):
            todo.extend(item.parts())
        elif isinstance(item, tuple):
            todo.extend(item)


def _bindings(aggregate: made.Aggregated) -> frozenset[str]:
    return attributes_of(aggregate.value) | set(aggregate.keys)


def _length(network: Network, window: str) -> int | None:
    """How long a window always is; None if that differs."""
    return _distance(network, Point(window, "end"), Point(window, "begin"))


def _distance(network: Network, one: Point, two: Point) -> int | None:
    """By how much a point always comes after another; None if that differs."""
    most = network.least(one, two)
    return int(most) if most == -network.least(two, one) else None


def _matches_once(events: Relation) -> bool:
    """Whether each event gives one tuple at most: there is one way to match it, and no list is gone through."""
    if not isinstance(events, Events):
        return True
    parts = [part for choice in events.choices for each in contents(choice.content) for part in _asked(each)]
    return len(events.choices) == 1 and not any(part.repeated for part in parts)


def _asked(content: Content) -> tuple[Part, ...]:
    return () if content.inner is None else content.inner.asked


def _is_one_an_event(part: made.Aggregated, own: frozenset[str], known: frozenset[str], events: Events) -> bool:
    """Whether an aggregate takes one value of each event, or need not care."""
    if not _bindings(part) <= own | known or not attributes_of(part.value) <= own:
        return False
    if part.function in ("min", "max"):
        return True
    return not part.by_value and bool(_bindings(part) & set(events.sources))


def with_measures(head: made.Head, names: dict[made.Aggregated, str]) -> made.Head:
    """A head where some aggregates are variables."""

    def below(node: Node) -> Sequence[Node]:
        if isinstance(node, made.Children):
            return node.each
        return node.items if isinstance(node, made.Child) else ()

    def combine(node: Node, inner: Sequence[Node]) -> Node:
        if isinstance(node, made.Children):
            return made.Children(tuple(inner))  # type: ignore[arg-type]  # as they were
        if isinstance(node, made.Child):
            return replace(node, items=tuple(inner))  # type: ignore[arg-type]  # as they were
        if isinstance(node, made.Computed):
            known = {name: names[part] for name, part in node.aggregates if part in names}
            rest = tuple((name, part) for name, part in node.aggregates if part not in names)
            return replace(node, value=renamed(node.value, known), aggregates=rest)
        return node

    root: Node = head.term
    term = fold(root, combine, below)
    assert isinstance(term, made.Children)
    return made.Head(head.label, term)


# --- operators ----------------------------------------------------------------------------------------------------


def happening(network: Network, left: Relation, window: str, right: Relation, *, expected: bool) -> Relation:
    """What stands for a question whether something happens."""
    beside = _latest(network, left, window, right, expected=expected)
    if beside is not None:
        return beside
    longest = network.least(Point(window, "end"), Point(window, "begin"))
    shared = left.heading.data & right.heading.data
    return Happens(left, window, right, expected, None if shared or longest == inf else max(int(longest), 1))


def _latest(network: Network, left: Relation, window: str, right: Relation, *, expected: bool) -> Relation | None:
    """Where the window stands beside an event of the same label: of all events that end before the window does, the one
    that begins last must begin in it.
    """
    driving, other = _driving(left), _events_of(right)
    if driving is None or not _share_columns(driving, other):
        return None
    last = _distance(network, Point(window, "end"), Point(driving.identifier, "end"))
    if last is None:
        return None
    begin = f"#latest of {other.identifier}"
    measure = Measure(begin, "max", Attribute(time(other.identifier, "begin")), True)
    beside = _above(left, Around(driving, None, last, right, (measure,), required=False))
    since = Attribute(time(window, "begin"))
    if expected:
        condition = Operation(">=", (Attribute(begin), since))
    else:
        condition = Operation("<", (Operation("coalesce", (Attribute(begin), Constant(_BEFORE_ALL))), since))
    return Without(Select(beside, condition), begin)


_BEFORE_ALL = -(2**63) + 1


def aggregated(network: Network, left: Relation, window: str, right: Relation, measures: Sequence[Measure]) -> Relation:
    """What stands for something that is collected."""
    right = _without_sources(right, measures)
    if not measures:
        return happening(network, left, window, right, expected=True)
    reach = _length(network, window)
    assert reach is not None
    return _around(network, left, window, right, measures) or Measured(left, window, right, reach, tuple(measures))


def _without_sources(right: Relation, measures: Sequence[Measure]) -> Relation:
    """It need not be known which event a value came from if no aggregate is another for an event that comes twice."""
    if any(each.function not in ("min", "max") for each in measures):
        return right

    def combine(node: Relation, inner: Sequence[Relation]) -> Relation:
        return replace(node, sources=()) if isinstance(node, Events) else rebuilt(node, inner)

    return fold(right, combine)


def _around(
    network: Network, left: Relation, window: str, right: Relation, measures: Sequence[Measure]
) -> Relation | None:
    """Where the window stands beside an event of the same label, and both sides agree in the same columns."""
    driving = _driving(left)
    if driving is None or not _share_columns(driving, _events_of(right)):
        return None
    end = Point(driving.identifier, "end")
    first, last = (_distance(network, Point(window, each), end) for each in ("begin", "end"))
    if first is None or last is None:
        return None
    return _above(left, Around(driving, first, last, right, tuple(measures)))


def _driving(relation: Relation) -> Events | None:
    """The events that timers stand beside, if there is nothing else."""
    while isinstance(relation, Timer | Select):
        relation = relation.operand
    return relation if isinstance(relation, Events) else None


def _above(relation: Relation, events: Relation) -> Relation:
    """The same timers and conditions, beside other events."""

    def combine(node: Relation, inner: Sequence[Relation]) -> Relation:
        return events if isinstance(node, Events) else rebuilt(node, inner)

    return fold(relation, combine)


def _share_columns(one: Events, two: Events) -> bool:
    """Whether two relations of one label share variables, each of which is the same column in both."""
    shared = one.heading.data & two.heading.data
    if not shared or one.labels != two.labels or not (_matches_once(one) and _matches_once(two)):
        return False
    paths = [[_path(each.choices[0].content, name) for name in sorted(shared)] for each in (one, two)]
    return paths[0] == paths[1] and None not in paths[0]


def _path(content: Content, variable: str) -> tuple[str, ...] | None:
    """The columns, each inside the one before, to where a variable stands; None if it need not be there."""
    todo: list[tuple[Content, tuple[str, ...]]] = [(content, ())]
    while todo:
        each, path = todo.pop()
        if variable in each.binds:
            return path
        todo.extend((part.content, (*path, part.column)) for part in _asked(each) if not part.optional)
    return None


def _near(network: Network, node: Join | Collect) -> Relation:
    """A join where both sides agree in the cell of time, by the tightest bound for a time of either."""
    bounds = [
        (network.least(two, one) + network.least(one, two), one, two)
        for one in _points(node.left)
        for two in _points(node.right)
    ]
    reach, one, two = min(bounds)
    if reach == inf:
        return node
    before, after, size = int(network.least(one, two)), int(network.least(two, one)), max(int(reach), 1)
    variable = f"#cell of {two}"
    if _is_selected(node.right) or not _is_selected(node.left):
        left = Cells(node.left, variable, time(*one), 0, 0, size)
        right = Cells(node.right, variable, time(*two), -after, before, size)
    else:
        left = Cells(node.left, variable, time(*one), -before, after, size)
        right = Cells(node.right, variable, time(*two), 0, 0, size)
    return Without(replace(node, left=left, right=right), variable)


def _is_selected(relation: Relation) -> bool:
    """Whether only events with some values are looked at: it is likely the smaller side."""
    return any(
        (isinstance(each, Select) and attributes_of(each.condition) & each.heading.data)
        or (isinstance(each, Events) and any(map(_has_constants, each.choices)))
        for each in walk(relation)
    )


def _has_constants(choice: Choice) -> bool:
    return any(each.equal for each in contents(choice.content))


def _points(relation: Relation) -> list[Point]:
    return [Point(each, end) for each in sorted(relation.heading.times) for end in ("begin", "end")]

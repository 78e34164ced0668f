"""The abstract syntax of queries: frozen dataclasses, one for each operator of the language.

Source spans do not take part in equality. Nothing here recurses, so formulas may be nested as deeply as one likes:
walk them with `fold`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from acelera.language.expression_tree import Aggregation as Aggregation
from acelera.language.expression_tree import Attribute as Attribute
from acelera.language.expression_tree import Between as Between
from acelera.language.expression_tree import Binary as Binary
from acelera.language.expression_tree import Bound as Bound
from acelera.language.expression_tree import Call as Call
from acelera.language.expression_tree import Cast as Cast
from acelera.language.expression_tree import Computed as Computed
from acelera.language.expression_tree import Date as Date
from acelera.language.expression_tree import Expression as Expression
from acelera.language.expression_tree import In as In
from acelera.language.expression_tree import Interval as Interval
from acelera.language.expression_tree import IsNull as IsNull
from acelera.language.expression_tree import Like as Like
from acelera.language.expression_tree import Literal as Literal
from acelera.language.expression_tree import Prev as Prev
from acelera.language.expression_tree import Running as Running
from acelera.language.expression_tree import Timestamp as Timestamp
from acelera.language.expression_tree import Total as Total
from acelera.language.expression_tree import Unary as Unary
from acelera.language.expression_tree import plain_names as plain_names
from acelera.language.tree import Node as Node
from acelera.language.tree import fold as fold
from acelera.language.tree import walk as walk

# --- conditions: what FILTER asks of a complex event ------------------------------------------------------------


class Condition(Node):
    """A property of a complex event."""

    family: ClassVar[type[Node]]


Condition.family = Condition


@dataclass(frozen=True, eq=False, repr=False)
class Each(Condition):
    """`x[P]`: every event of x satisfies P. `x.price > 5` is short for `x[price > 5]`.

    With prev(…) or aggregates, P also looks at the events of x before.
    """

    variable: str
    predicate: Expression


@dataclass(frozen=True, eq=False, repr=False)
class Across(Condition):
    """`x.a < y.b`: holds for all combinations of an event of each variable (SO-CEL's universal extension)."""

    predicate: Expression

    def __post_init__(self) -> None:
        top = self.predicate
        if isinstance(top, Binary) and top.operator in ("AND", "OR"):
            raise ValueError("AND and OR of predicates over several variables are conditions: use Both and Either")


@dataclass(frozen=True, eq=False, repr=False)
class Same(Condition):
    """`x[same(a, …)]`: all events of x agree on these attributes."""

    variable: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Increasing(Condition):
    """`x[increasing(a)]`: each event of x has a larger value than the one before."""

    variable: str
    attribute: str


@dataclass(frozen=True, eq=False, repr=False)
class Decreasing(Condition):
    """`x[decreasing(a)]`: each event of x has a smaller value than the one before."""

    variable: str
    attribute: str


@dataclass(frozen=True, eq=False, repr=False)
class Both(Condition):
    """`c AND d`."""

    left: Condition
    right: Condition


@dataclass(frozen=True, eq=False, repr=False)
class Either(Condition):
    """`c OR d`."""

    left: Condition
    right: Condition


# --- formulas ---------------------------------------------------------------------------------------------------


class Formula(Node):
    """A pattern: it denotes a set of complex events."""

    family: ClassVar[type[Node]]


Formula.family = Formula


@dataclass(frozen=True, eq=False, repr=False)
class EventType(Formula):
    """`R`: one event of type R."""

    name: str


@dataclass(frozen=True, eq=False, repr=False)
class AnyEvent(Formula):
    """`ANY`: one event of any type."""


@dataclass(frozen=True, eq=False, repr=False)
class Next(Formula):
    """`NEXT(φ)`: the first event from here on that φ, a formula of one event, matches."""

    formula: Formula


@dataclass(frozen=True, eq=False, repr=False)
class As(Formula):
    """`φ AS x`: also collect all its events in x."""

    formula: Formula
    variable: str


@dataclass(frozen=True, eq=False, repr=False)
class Filter(Formula):
    """`φ FILTER c`."""

    formula: Formula
    condition: Condition


@dataclass(frozen=True, eq=False, repr=False)
class Then(Formula):
    """`φ ; ψ`: then, later."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, repr=False)
class Contiguous(Formula):
    """`φ : ψ`: then, at the very next position."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, repr=False)
class Iteration(Formula):
    """`φ+`: one or more times, anything between."""

    formula: Formula


@dataclass(frozen=True, eq=False, repr=False)
class ContiguousIteration(Formula):
    """`φ:+`: one or more times, each at the very next position."""

    formula: Formula


@dataclass(frozen=True, eq=False, repr=False)
class Optional(Formula):
    """`φ?`: φ, or nothing, as a part of something larger. `φ*` is `(φ+)?`."""

    formula: Formula


@dataclass(frozen=True, eq=False, repr=False)
class Repeated(Formula):
    """`φ{n,m}`: from n to m times, or n and more if `high` is None; `φ:{n,m}` without gaps between the rounds."""

    formula: Formula
    low: int
    high: int | None
    contiguous: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Or(Formula):
    """`φ OR ψ`."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, repr=False)
class And(Formula):
    """`φ AND ψ`: the complex events that both produce."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, repr=False)
class All(Formula):
    """`φ ALL ψ`: one of each, in any order or overlap."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, repr=False)
class Unless(Formula):
    """`φ UNLESS ψ`: φ, when no ψ happens inside its interval."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, repr=False)
class UnlessFor(Formula):
    """`φ UNLESS ψ FOR d`: φ, when no ψ happens from its start until the duration has passed after its end."""

    left: Formula
    right: Formula
    amount: int
    unit: str


@dataclass(frozen=True, eq=False, repr=False)
class Within(Node):
    """`WITHIN n unit`, or `WITHIN LESS THAN n unit`; the unit is `events` or a key of UNITS."""

    amount: int
    unit: str
    less_than: bool = False

    @property
    def reach(self) -> int:
        """How far the end of a match may be from its start: in positions, or in nanoseconds."""
        if self.unit == "events":
            return self.amount - 1 - self.less_than
        return self.amount * UNITS[self.unit] - self.less_than


@dataclass(frozen=True, eq=False, repr=False)
class Windowed(Formula):
    """`(φ WITHIN d)`: the matches of φ that fit into the window, as a part of something larger."""

    formula: Formula
    within: Within


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Node):
    """An item of PROJECT: a variable, with the attributes to keep, or None for all of them."""

    variable: str
    attributes: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Project(Formula):
    """`φ PROJECT x, y(a)`; with `everything` (`PROJECT *, y(a)`) the variables not named stay as they are."""

    formula: Formula
    everything: bool
    kept: tuple[Kept, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Created(Node):
    """`b <- f(x.a)` in AGG."""

    attribute: str
    value: Aggregation


@dataclass(frozen=True, eq=False, repr=False)
class Agg(Formula):
    """`φ AGG y[b <- f(x.a), …]`: put one new event into y."""

    formula: Formula
    variable: str
    created: tuple[Created, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Start(Formula):
    """`START(φ)`: φ that starts at the first position."""

    formula: Formula


@dataclass(frozen=True, eq=False, repr=False)
class Strict(Formula):
    """`STRICT(φ)`: φ whose events leave no gap."""

    formula: Formula


# --- the query --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Star(Node):
    """`*` in SELECT."""


@dataclass(frozen=True, eq=False, repr=False)
class SelectVariable(Node):
    """`x`."""

    variable: str
    alias: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SelectAttribute(Node):
    """`x.attr`."""

    variable: str
    attribute: str
    alias: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SelectBound(Node):
    """`start`, `end`, `start_time` or `end_time`."""

    bound: str
    alias: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SelectAggregation(Node):
    """`f(x.attr)`."""

    aggregation: Aggregation
    alias: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SelectExpression(Node):
    """`b.price - a.price`: an expression over attributes of single events, aggregates, bounds and keys.

    An attribute without a variable is one of PARTITION BY.
    """

    expression: Expression
    alias: str | None = None


SelectColumn = SelectVariable | SelectAttribute | SelectBound | SelectAggregation | SelectExpression
SelectItem = Star | SelectColumn

KEPT_KINDS = ("longest", "shortest", "all", "any")
KEPT_SCOPES = ("start", "end", "apart")

BOUNDS = ("start", "end", "start_time", "end_time")


@dataclass(frozen=True, eq=False, repr=False)
class Keep(Node):
    """`KEEP LONGEST PER START` and its like: which of the matches are kept.

    The kind is one of KEPT_KINDS, the scope `start`, `end` or `apart`; the count is that of `ANY n`.
    """

    kind: str
    scope: str
    count: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Key(Node):
    """An attribute of PARTITION BY."""

    name: str


@dataclass(frozen=True, eq=False, repr=False)
class SummaryItem(Node):
    """An item of SUMMARIZE: an expression whose leaves are totals and constants."""

    expression: Expression
    alias: str | None = None


GroupKey = SelectVariable | SelectAttribute | SelectBound
"""A key of BY: an attribute of PARTITION BY, `x.a` or a bound of the match."""


@dataclass(frozen=True, eq=False, repr=False)
class Over(Node):
    """`OVER n unit EVERY m unit`, units as in WITHIN; without EVERY, `every` is None: windows that do not overlap."""

    amount: int
    unit: str
    every: int | None = None
    every_unit: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Node):
    """`SUMMARIZE items … BY keys OVER … HAVING …`."""

    items: tuple[SummaryItem, ...]
    by: tuple[GroupKey, ...] = ()
    over: Over | None = None
    having: Expression | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Clauses(Node):
    """What stands around a pattern, whatever the pattern is. A query that summarizes selects nothing."""

    select: tuple[SelectItem, ...] = (Star(),)
    stream: str | None = None
    partition_by: tuple[Key, ...] = ()
    within: Within | None = None
    summary: Summary | None = None
    keep: Keep | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Query(Node):
    """A whole query: the clauses, and a formula as the pattern."""

    formula: Formula
    select: tuple[SelectItem, ...] = (Star(),)
    stream: str | None = None
    partition_by: tuple[Key, ...] = ()
    within: Within | None = None
    summary: Summary | None = None
    keep: Keep | None = None

    @property
    def clauses(self) -> Clauses:
        """What stands around the formula."""
        return Clauses(self.select, self.stream, self.partition_by, self.within, self.summary, self.keep)


UNITS = {
    "milliseconds": 1_000_000,
    "seconds": 1_000_000_000,
    "minutes": 60_000_000_000,
    "hours": 3_600_000_000_000,
    "days": 86_400_000_000_000,
}
"""Units of time and their lengths in nanoseconds."""

"""The abstract syntax of programs: frozen nodes, one for each construct; spans do not take part in equality."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from acelera.language.tree import Node as Node
from acelera.language.tree import children as children
from acelera.language.tree import fold as fold
from acelera.language.tree import rebuilt as rebuilt
from acelera.language.tree import walk as walk

UNITS = {
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "week": 604_800_000_000,
}
"""The units of durations, in microseconds."""


@dataclass(frozen=True, eq=False, repr=False)
class Duration(Node):
    """`1 min 30 sec`: amounts with their units, which are keys of UNITS. An amount is an int or a float."""

    amounts: tuple[tuple[int | float, str], ...]

    @property
    def microseconds(self) -> Fraction:
        """How long it is."""
        return sum((Fraction(str(amount)) * UNITS[unit] for amount, unit in self.amounts), Fraction(0))


# --- expressions --------------------------------------------------------------------------------------------------


class Expression(Node):
    """A value computed from variables."""

    family: ClassVar[type[Node]]


Expression.family = Expression


@dataclass(frozen=True, eq=False, repr=False)
class Literal(Expression):
    """A constant."""

    value: bool | int | float | str


@dataclass(frozen=True, eq=False, repr=False)
class Variable(Expression):
    """`var X`."""

    name: str


@dataclass(frozen=True, eq=False, repr=False)
class Arithmetic(Expression):
    """`left + right`, and so with `-`, `*` and `/`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, eq=False, repr=False)
class Negative(Expression):
    """`-operand`."""

    operand: Expression


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expression):
    """`abs(var X)`: one of FUNCTIONS."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Aggregate(Expression):
    """`sum(all var A group by {var B})`: one of AGGREGATES over the nodes that `all` ranges over."""

    function: str
    over: All


AGGREGATES = ("count", "sum", "avg", "min", "max")
FUNCTIONS = ("abs", "floor", "ceil", "lower", "upper", "length", "coalesce")


# --- heads: what is made ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Construct(Node):
    """`label { … }`, or `label [ … ]` where the order of the children is said to matter."""

    label: str
    children: tuple[Construct | Expression | All, ...]
    ordered: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class OrderKey(Node):
    """A variable that instances are sorted by."""

    variable: Variable
    descending: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class All(Node):
    """`all v { var V } group by {var G} order by [var O desc]`: an instance for each group."""

    what: Construct | Expression
    group_by: tuple[Variable, ...] = ()
    order_by: tuple[OrderKey, ...] = ()


# --- query terms: what is looked for ------------------------------------------------------------------------------


class Query(Node):
    """A pattern of a term."""

    family: ClassVar[type[Node]]


Query.family = Query


@dataclass(frozen=True, eq=False, repr=False)
class IsValue(Query):
    """`"text"`, `40`, `true`: a term that is this value."""

    value: bool | int | float | str


@dataclass(frozen=True, eq=False, repr=False)
class Binds(Query):
    """`var X`, or `var X -> query`: whatever matches is bound; without a query, everything does."""

    name: str
    query: Query | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Descendant(Query):
    """`desc query`: a term that matches, or one below it."""

    query: Query


@dataclass(frozen=True, eq=False, repr=False)
class Labelled(Query):
    """`label {{ … }}` (partial), `label { … }` (total), `[[ … ]]` and `[ … ]` (ordered); no label stands for `*`."""

    label: str | None
    children: tuple[Query, ...]
    total: bool = False
    ordered: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Without(Query):
    """`without query`, a child: none of those that are left over matches."""

    query: Query


@dataclass(frozen=True, eq=False, repr=False)
class Optional(Query):
    """`optional query`, a child: matched if it can be, once the others are."""

    query: Query


# --- bodies -------------------------------------------------------------------------------------------------------


class Body(Node):
    """What must hold for a rule to derive something."""

    family: ClassVar[type[Node]]


Body.family = Body


@dataclass(frozen=True, eq=False, repr=False)
class Event(Body):
    """`event i: query`; the identifier may be missing.

    A query with the label `timer:datetime` or `timer:date` is an absolute timer.
    """

    identifier: str | None
    query: Query


@dataclass(frozen=True, eq=False, repr=False)
class RelativeTimer(Body):
    """`event i: timer:from-end [event j, 12 sec]`; `kind` is one of RELATIVE, without `timer:`."""

    identifier: str
    kind: str
    anchor: str
    duration: Duration


@dataclass(frozen=True, eq=False, repr=False)
class PeriodicTimer(Body):
    """`event i: timer:periodic [1 min]`."""

    identifier: str
    duration: Duration


@dataclass(frozen=True, eq=False, repr=False)
class While(Body):
    """`while j: not query`, or `while j: collect query`."""

    window: str
    negated: bool
    query: Query


@dataclass(frozen=True, eq=False, repr=False)
class AllOf(Body):
    """`and { … }`."""

    bodies: tuple[Body, ...]


@dataclass(frozen=True, eq=False, repr=False)
class OneOf(Body):
    """`or { … }`."""

    bodies: tuple[Body, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Where(Body):
    """`body where { … }`: all conditions hold."""

    body: Body
    conditions: tuple[Condition, ...]


RELATIVE = (
    "from-end",
    "from-end-backward",
    "from-start",
    "from-start-backward",
    "extend",
    "shorten",
    "extend-begin",
    "shorten-begin",
    "shift-forward",
    "shift-backward",
)
ABSOLUTE = ("timer:datetime", "timer:date")


# --- conditions ---------------------------------------------------------------------------------------------------


class Condition(Node):
    """What is asked of times and values."""

    family: ClassVar[type[Node]]


Condition.family = Condition


@dataclass(frozen=True, eq=False, repr=False)
class Temporal(Condition):
    """`i before j`: one of RELATIONS; `simultaneous` is `equals`."""

    left: str
    relation: str
    right: str


@dataclass(frozen=True, eq=False, repr=False)
class Within(Condition):
    """`{i, j} within 1 hour`."""

    identifiers: tuple[str, ...]
    duration: Duration


@dataclass(frozen=True, eq=False, repr=False)
class ApartBy(Condition):
    """`{i, j} apart-by 1 hour`."""

    identifiers: tuple[str, ...]
    duration: Duration


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Condition):
    """`left < right`; the operator is one of =, !=, <, <=, >, >=."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, eq=False, repr=False)
class Not(Condition):
    """`not { condition }`."""

    condition: Condition


@dataclass(frozen=True, eq=False, repr=False)
class Both(Condition):
    """`and { … }`."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Either(Condition):
    """`or { … }`."""

    conditions: tuple[Condition, ...]


RELATIONS = {
    "before": "after",
    "meets": "met-by",
    "overlaps": "overlapped-by",
    "during": "contains",
    "starts": "started-by",
    "finishes": "finished-by",
    "equals": "equals",
}
"""Relations of intervals, and their inverses."""


# --- programs -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Rule(Node):
    """`DETECT head ON body END`."""

    head: Construct
    body: Body


@dataclass(frozen=True, eq=False, repr=False)
class Program(Node):
    """Rules, in the order in which they are written."""

    rules: tuple[Rule, ...]

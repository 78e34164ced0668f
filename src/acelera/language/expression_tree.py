"""The abstract syntax of expressions, SQL over the attributes of events: what all languages share of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from acelera.language.tree import Node, walk


class Expression(Node):
    """A value computed from the attributes of events."""

    family: ClassVar[type[Node]]


Expression.family = Expression


@dataclass(frozen=True, eq=False, repr=False)
class Literal(Expression):
    """A constant: None is NULL."""

    value: bool | int | float | str | None


@dataclass(frozen=True, eq=False, repr=False)
class Timestamp(Expression):
    """`TIMESTAMP '2024-01-31 10:00:00'`, with an offset if it has one."""

    text: str


@dataclass(frozen=True, eq=False, repr=False)
class Date(Expression):
    """`DATE '2024-01-31'`."""

    text: str


@dataclass(frozen=True, eq=False, repr=False)
class Interval(Expression):
    """`INTERVAL 5 MINUTES`."""

    amount: int
    unit: str


@dataclass(frozen=True, eq=False, repr=False)
class Attribute(Expression):
    """`x.price`, or `price` inside `x[…]`, where the variable is None."""

    variable: str | None
    name: str


class Computed(str):
    """The name of what is computed from attributes of one event, as `price * volume` in `sum(x.price * x.volume)`.

    It stands where an attribute's name may stand, and equals no name that a column has. The attributes of its
    expression have no variable.
    """

    expression: Expression

    def __new__(cls, expression: Expression) -> Computed:  # noqa: D102
        made = super().__new__(cls, f"\0{expression!r}")
        made.expression = expression
        return made

    def __reduce__(self) -> tuple[type[Computed], tuple[Expression]]:
        return Computed, (self.expression,)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that it is computed from."""
        return tuple(dict.fromkeys(node.name for node in walk(self.expression) if isinstance(node, Attribute)))


def plain_names(attribute: str) -> tuple[str, ...]:
    """An attribute itself, or those that it is computed from."""
    return attribute.names if isinstance(attribute, Computed) else (attribute,)


@dataclass(frozen=True, eq=False, repr=False)
class Unary(Expression):
    """`-e` or `NOT e`."""

    operator: str
    operand: Expression


@dataclass(frozen=True, eq=False, repr=False)
class Binary(Expression):
    """Arithmetic `+ - * / % ||`, comparison `= <> < <= > >=`, and `AND`, `OR`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, eq=False, repr=False)
class IsNull(Expression):
    """`e IS NULL`, `e IS NOT NULL`."""

    operand: Expression
    negated: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class In(Expression):
    """`e IN (…)`, `e NOT IN (…)`."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Between(Expression):
    """`e BETWEEN low AND high`."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Like(Expression):
    """`e LIKE 'A%'`; `%` is any text, `_` any one character, a backslash takes the next one as it is."""

    operand: Expression
    pattern: str
    negated: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expression):
    """A scalar function, such as `abs(price)`."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Cast(Expression):
    """`CAST(e AS int)`."""

    operand: Expression
    target: str


@dataclass(frozen=True, eq=False, repr=False)
class Prev(Expression):
    """`prev(e)` inside `x[…]`: e of the event of x before."""

    operand: Expression


@dataclass(frozen=True, eq=False, repr=False)
class Running(Expression):
    """`f(e)`, `f(e IGNORE NULLS)` or `count()` inside `x[…]`: over the events of x up to and including this one."""

    function: str
    operand: Expression | None = None
    ignore_nulls: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Total(Expression):
    """`f(x.a)`, `count(x)`, `count(*)` or `log2_count(*)` in SUMMARIZE: over all matches of a group.

    Without a variable it speaks of matches themselves; without an attribute it counts. The attribute may be Computed.
    """

    function: str
    variable: str | None = None
    attribute: str | None = None
    ignore_nulls: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Aggregation(Expression):
    """`f(x.a)`, `f(x.a IGNORE NULLS)` or `count(x)` over the events of a variable in one match.

    The attribute may be Computed. It is an expression, so that items of SELECT can compute with it.
    """

    function: str
    variable: str
    attribute: str | None = None
    ignore_nulls: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Bound(Expression):
    """`start`, `end`, `start_time` or `end_time` of a match, where an item of SELECT computes with it."""

    name: str

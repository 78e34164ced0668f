"""The columns of satisfaction predicates, and expressions over them: aggregates are columns ([P], section 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from acelera.language.ast import Attribute, Binary, Expression, Literal, walk
from acelera.language.printer import print_expression
from acelera.language.tree import fold, rebuilt
from acelera.trepl.resolved import Aggregate, Field, Part, Stamp
from acelera.trepl.strings import written

LOOKING_BACK = ("first", "last")
"""Aggregates that do not see the current round within their star."""

_NONE = Attribute(None, "none")
"""What First and Last of no round are."""


@dataclass(frozen=True)
class Column:
    """A column for an aggregate: its value so far. With `earlier` it is that of the rounds before the current one."""

    name: str
    function: str
    variable: str
    argument: Expression | None
    earlier: bool = False

    @property
    def initial(self) -> Expression:
        """The value before the first event."""
        if self.function == "count":
            return Literal(0)
        return _NONE if self.function in LOOKING_BACK else Literal(None)


class Columns:
    """The columns of a rule: its variables as they are bound, each followed by its aggregates."""

    def __init__(self, variables: Sequence[str], expressions: Iterable[Expression]) -> None:
        self._of: dict[str, list[Column]] = {each: [] for each in variables}
        for expression in expressions:
            for node in walk(expression):
                if isinstance(node, Aggregate):
                    for function in _states(node.function):
                        self._add(function, node)

    def _add(self, function: str, node: Aggregate) -> None:
        mine = self._of.setdefault(node.variable, [])
        if all((each.function, each.argument) != (function, node.argument) for each in mine):
            mine.append(Column(self._free_name(function, node), function, node.variable, node.argument))

    def _free_name(self, function: str, node: Aggregate) -> str:
        taken = {column.name for each in self._of.values() for column in each} | set(self._of)
        of = _short(node.argument)
        names = [f"{function.capitalize()}{of}", f"{function.capitalize()}{node.variable}{of}"]
        names += [f"{names[1]}_{number}" for number in range(2, len(taken) + 3)]
        return next(each for each in names if each not in taken)

    def keep_earlier(self, node: Aggregate) -> None:
        """Keep a column for First or Last that a later goal of the same round looks at."""
        column = self.of(node.function, node)
        before = Column(f"Before{column.name}", column.function, column.variable, column.argument, True)
        if before not in self._of[column.variable]:
            self._of[column.variable].append(before)

    def of(self, function: str, node: Aggregate, earlier: bool = False) -> Column:
        """The column of an aggregate."""
        key = (function, node.argument, earlier)
        return next(each for each in self._of[node.variable] if (each.function, each.argument, each.earlier) == key)

    def of_variables(self, variables: Iterable[str]) -> list[Column]:
        """The columns for all aggregates of some variables."""
        wanted = set(variables)
        return [column for name, columns in self._of.items() if name in wanted for column in columns]

    def listed(self, variables: Iterable[str], carried: Iterable[str]) -> list[str | Column]:
        """Variables and the columns of aggregates, in the order of the text; of some variables only these."""
        whole, columns_only = set(variables), set(carried)
        found: list[str | Column] = []
        for name, columns in self._of.items():
            if name in whole:
                found.append(name)
            if name in whole | columns_only:
                found += columns
        return found


def _states(function: str) -> tuple[str, ...]:
    """The aggregates that make up one: an average is a sum and a count."""
    return ("sum", "count") if function == "avg" else (function,)


def _short(argument: Expression | None) -> str:
    match argument:
        case Field(_, "old", attribute):
            return f"Old_{attribute}"
        case Field(_, _, attribute) | Part(_, attribute, None):
            return attribute[:1].upper() + attribute[1:]
        case Stamp():
            return "Timestamp"
    return ""


# --- expressions ------------------------------------------------------------------------------------------------------


def value_of(node: Aggregate, column: Callable[[str], Expression]) -> Expression:
    """An aggregate by its columns."""
    if node.function == "avg":
        return Binary("/", column("sum"), column("count"))
    return column(node.function)


def plain(expression: Expression, aggregate: Callable[[Aggregate], Expression]) -> Expression:
    """An expression over tuples and columns, as [P] writes them."""

    def told(node: Expression, made: Sequence[Expression]) -> Expression:
        match node:
            case Aggregate():
                return aggregate(node)
            case Field(variable, side, attribute):
                return Attribute(variable, attribute if side == "new" else f"old_{attribute}")
            case Stamp(variable):
                return Attribute(variable, "Timestamp")
            case Part(variable, part, None):
                return Attribute(variable, part)
            case Part(variable, part, _):
                return _moved(Attribute(variable, part), made[0])
        return rebuilt(node, made)

    return fold(expression, told)


def _moved(part: Expression, by: Expression) -> Expression:
    if isinstance(by, Literal) and isinstance(by.value, int) and by.value < 0:
        return Binary("-", part, Literal(-by.value))
    return Binary("+", part, by)


def text(expression: Expression) -> str:
    """The text of an expression."""
    return print_expression(expression, written)


def goal_text(condition: Expression) -> str:
    """The text of a condition between commas."""
    is_or = isinstance(condition, Binary) and condition.operator == "OR"
    return f"({text(condition)})" if is_or else text(condition)

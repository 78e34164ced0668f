"""Types of expressions in rules; and what a literal or a sum means beside a time, which the types tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from acelera.errors import Problem, did_you_mean
from acelera.language.aggregates import aggregate_names, find_aggregate
from acelera.language.ast import Between, Binary, Call, Expression, In, Literal, Unary, walk
from acelera.language.expressions import FUNCTIONS, Report, type_above
from acelera.language.printer import print_expression
from acelera.language.tree import fold, rebuilt
from acelera.language.types import BOOL, DATE, DURATION, INT, NUMBERS, STRING, UNKNOWN, Kind, Type
from acelera.trepl.resolved import (
    TIME_FUNCTIONS,
    UNIT_FUNCTIONS,
    Aggregate,
    EventType,
    Field,
    Part,
    Relation,
    Stamp,
)
from acelera.trepl.term_names import spelt
from acelera.trepl.time_texts import WRITTEN, as_number, as_time

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")

DerivedTypes = Mapping[tuple[str, str], Mapping[str, Type]]
"""For each module and derived event the types of its attributes."""


class Typed(NamedTuple):
    """An expression as it is meant, and its type."""

    expression: Expression
    type: Type


@dataclass(frozen=True)
class Times:
    """What times are: their type, and the zone in which their parts are told."""

    timestamp: Type
    zone: str = "UTC"


@dataclass(frozen=True)
class TermTypes:
    """Types of the expressions of one rule: `variables` has the event types of its variables."""

    variables: Mapping[str, tuple[EventType, ...]]
    relations: Mapping[str, Relation]
    derived: DerivedTypes
    times: Times
    report: Report = field(repr=False)

    def settle(self, expression: Expression) -> Typed:
        """The expression as it is meant, and its type; what is wrong in it is reported, and has no known type."""
        return fold(expression, self._combine)

    def condition(self, expression: Expression) -> Expression:
        """A condition as it is meant."""
        made, found = self.settle(expression)
        if found.kind is not Kind.BOOL and not found.vague:
            self.wrong(f"a condition must be true or false, but this is of type {found}", expression)
        return made

    def wrong(self, message: str, node: Expression, hint: str | None = None) -> Type:
        """Report a mistake; nothing is known of its type."""
        self.report(Problem(message, node.span, hint))
        return UNKNOWN

    def _combine(self, written: Expression, inner: Sequence[Typed]) -> Typed:
        node = rebuilt(written, [each.expression for each in inner])
        types = [each.type for each in inner]
        match node:
            case Field(variable, _, attribute):
                return Typed(node, self._field(variable, attribute))
            case Stamp():
                return Typed(node, self.times.timestamp)
            case Part():
                return Typed(node, self._part(node))
            case Aggregate():
                return Typed(node, self._aggregate(node, types))
            case Call():
                return Typed(node, self._call(node, types))
            case Binary("+" | "-", Part(_, _, None), right) if not _holds_part(right):
                if types[1].kind is not Kind.DURATION:
                    return self._moved(node, types)
            case Binary(operator, _, _) if operator in _COMPARISONS:
                return self._compared(node, inner, both=True)
            case In() | Between():
                return self._compared(node, inner)
        return Typed(node, type_above(node, types, self._with_hints(node)))

    # leaves

    def _field(self, variable: str, attribute: str) -> Type:
        types = self.variables.get(variable, ())
        if not types:
            return UNKNOWN
        event = types[0]
        if event.kind == "derived":
            return self.derived.get((event.module or "", event.name), {}).get(attribute, UNKNOWN)
        relation = self.relations.get(event.name)
        return UNKNOWN if relation is None else relation.attributes.get(attribute, UNKNOWN)

    def _part(self, node: Part) -> Type:
        if self.times.timestamp.kind is not Kind.TIMESTAMP:
            hint = "compute it from Timestamp, or give the source timestamps"
            self.wrong(f"{node.part} is a part of timestamps, but times are of type {self.times.timestamp}", node, hint)
        return {"Date": DATE, "Time": DURATION}.get(node.part, INT)

    def _aggregate(self, node: Aggregate, types: Sequence[Type]) -> Type:
        function = find_aggregate(node.function)
        if node.argument is None or function is None:
            return INT
        if node.function in ("first", "last"):
            return types[0]
        found = function.result(types[0])
        if found is None:
            message = f"{spelt(node.function)} takes {function.takes}, but this is of type {types[0]}"
            return self.wrong(message, node.argument)
        return found

    def _call(self, node: Call, types: Sequence[Type]) -> Type:
        if node.function in TIME_FUNCTIONS:
            return self._time_function(node, types)
        if node.function in FUNCTIONS:
            return type_above(node, types, self.report)
        known = (*FUNCTIONS, *TIME_FUNCTIONS)
        near = did_you_mean(node.function, (*known, *aggregate_names()))
        return self.wrong(f"there is no function `{node.function}`{near}", node, f"functions: {', '.join(known)}")

    def _time_function(self, node: Call, types: Sequence[Type]) -> Type:
        if len(types) != 1:
            self.wrong(f"`{node.function}` takes 1 argument, not {len(types)}", node)
        elif types[0].kind is not Kind.TIMESTAMP and not types[0].vague:
            self.wrong(f"`{node.function}` takes a timestamp, but this is of type {types[0]}", node.arguments[0])
        return INT if node.function in UNIT_FUNCTIONS else STRING

    # beside times

    def _moved(self, node: Binary, types: Sequence[Type]) -> Typed:
        """`X.Month + 1`: the part of the timestamp moved by so many of its units."""
        part, amount = node.left, node.right
        assert isinstance(part, Part)
        if types[1].kind is not Kind.INT and not types[1].vague:
            self.wrong(f"{part.part} moves by whole numbers, but this is of type {types[1]}", amount)
        by = amount if node.operator == "+" else _negative(amount)
        return Typed(Part(part.variable, part.part, by, span=node.span), types[0])

    def _compared(self, node: Expression, sides: Sequence[Typed], both: bool = False) -> Typed:
        """A comparison, in which a text beside a time is read as one."""
        first, others = sides[0], list(sides[1:])
        if both and _is_text(first.expression):
            first = self._read(first, others[0])
        others = [self._read(each, first) if _is_text(each.expression) else each for each in others]
        types = [first.type, *(each.type for each in others)]
        unlike = [each for each in others if _text_and_number(first.type, each.type)]
        if unlike:
            hint = "numbers are written without quotes; CAST(… AS int) makes a number of a text"
            self.wrong("text and number do not compare", node, hint)
            return Typed(node, BOOL)
        made = rebuilt(node, [first.expression, *(each.expression for each in others)])
        return Typed(made, type_above(made, types, self._with_units(made, types)))

    def _with_units(self, node: Expression, types: Sequence[Type]) -> Report:
        """Says how numbers become times, where their difference is compared with a duration."""

        def report(problem: Problem) -> None:
            has_time = any(isinstance(each, Stamp) for each in walk(node))
            if has_time and self.times.timestamp.kind is Kind.INT and Kind.DURATION in {each.kind for each in types}:
                hint = "times are plain numbers here; say time_unit='s' (or 'ms', …) of the source, or compare numbers"
                problem = Problem(problem.message, problem.span, hint)
            self.report(problem)

        return report

    def _read(self, text: Typed, beside: Typed) -> Typed:
        """A literal text as what it means beside another value."""
        literal = text.expression
        assert isinstance(literal, Literal)
        made: Expression | None = None
        if beside.type.kind in NUMBERS and _holds_part(beside.expression):
            made = as_number(literal)
        elif beside.type.kind in WRITTEN:
            made = as_time(literal, beside.type, self.times.zone)
            if made is None:
                what, hint = WRITTEN[beside.type.kind]
                return Typed(literal, self.wrong(f"{print_expression(literal)} is not {what}", literal, hint))
        return text if made is None else Typed(made, type_above(made, (), self.report))

    def _with_hints(self, node: Expression) -> Report:
        """Says how days between dates are counted, where they are subtracted."""

        def report(problem: Problem) -> None:
            if isinstance(node, Binary) and node.operator == "-" and _is_date(node.left) and _is_date(node.right):
                hint = "days(X.Timestamp) - days(Y.Timestamp) counts the days between"
                problem = Problem(problem.message, problem.span, hint)
            self.report(problem)

        return report


def _holds_part(expression: Expression) -> bool:
    """Whether a part of a time is in an expression."""
    return any(isinstance(each, Part) for each in walk(expression))


def _is_text(expression: Expression) -> bool:
    return isinstance(expression, Literal) and isinstance(expression.value, str)


def _is_date(expression: Expression) -> bool:
    return isinstance(expression, Part) and expression.part == "Date"


def _text_and_number(one: Type, other: Type) -> bool:
    return (one.kind is Kind.STRING and other.kind in NUMBERS) or (one.kind in NUMBERS and other.kind is Kind.STRING)


def _negative(amount: Expression) -> Expression:
    if isinstance(amount, Literal) and type(amount.value) is int:
        return Literal(-amount.value, span=amount.span)
    return Unary("-", amount, span=amount.span)

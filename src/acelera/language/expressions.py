"""Types of expressions: what SQL over attributes may say, found out before any data is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from acelera.errors import Problem, Span, did_you_mean
from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.literals import parse_timestamp
from acelera.language.types import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    NULL,
    NUMBERS,
    ORDERED,
    STRING,
    UNKNOWN,
    Kind,
    Type,
    duration,
    finer_unit,
    scale_of,
    unify,
    unit_of,
)

Report = Callable[[Problem], None]
Lookup = Callable[[ast.Attribute], Type]

MULTISET_PREDICATES = ("same", "increasing", "decreasing")

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Function:
    """A scalar function: how many arguments it takes, of which kinds, and the type of its result."""

    fewest: int
    most: int | None
    kinds: frozenset[Kind] | None
    takes: str
    result: Callable[[Sequence[Type]], Type | None]


def _unified(types: Sequence[Type]) -> Type | None:
    both: Type | None = NULL
    for each in types:
        both = unify(both, each) if both is not None else None
    return both


def _chosen(types: Sequence[Type]) -> Type | None:
    """Of `if`: a condition, then the values to choose from."""
    return _unified(types[1:]) if types[0].kind is Kind.BOOL or types[0].vague else None


def _wide(kind: Type) -> Type:
    """What is computed of whole numbers has 64 bits, however few the column has."""
    return INT if kind.kind is Kind.INT else kind


_TEXT = frozenset({Kind.STRING})

FUNCTIONS: dict[str, Function] = {
    "abs": Function(1, 1, NUMBERS | {Kind.DURATION}, "a number", lambda types: _wide(types[0])),
    "floor": Function(1, 1, NUMBERS, "a number", lambda _: INT),
    "ceil": Function(1, 1, NUMBERS, "a number", lambda _: INT),
    "sqrt": Function(1, 1, NUMBERS, "a number", lambda _: FLOAT),
    "lower": Function(1, 1, _TEXT, "a string", lambda _: STRING),
    "upper": Function(1, 1, _TEXT, "a string", lambda _: STRING),
    "trim": Function(1, 1, _TEXT, "a string", lambda _: STRING),
    "length": Function(1, 1, _TEXT, "a string", lambda _: INT),
    "coalesce": Function(1, None, None, "values of one type", _unified),
    "if": Function(2, 3, None, "a condition, then values of one type", _chosen),
    "nullif": Function(2, 2, None, "values of one type", lambda types: types[0] if _unified(types) else None),
}

CASTS: dict[str, tuple[Type, frozenset[Kind]]] = {
    "int": (INT, NUMBERS | {Kind.STRING, Kind.BOOL}),
    "float": (FLOAT, NUMBERS | {Kind.STRING, Kind.BOOL}),
    "string": (STRING, frozenset({Kind.INT, Kind.BOOL, Kind.STRING})),
    "bool": (BOOL, frozenset({Kind.BOOL, Kind.STRING})),
}
"""Targets of CAST and the kinds of values they can be made from."""


def check_predicate(predicate: ast.Expression, lookup: Lookup, report: Report) -> None:
    """A predicate must be well typed and boolean."""
    found = type_of(predicate, lookup, report)
    if found.kind is not Kind.BOOL and not found.vague:
        report(Problem(f"a condition must be true or false, but this is of type {found}", predicate.span))


def type_of(expression: ast.Expression, lookup: Lookup, report: Report) -> Type:
    """The type of an expression; what is wrong in it is reported and has an unknown type."""
    checker = _Checker(lookup, report)
    return ast.fold(expression, checker.check)


def type_above(node: ast.Expression, types: Sequence[Type], report: Report) -> Type:
    """The type of a node that is no attribute, from the types of what stands right below it."""

    def nothing(attribute: ast.Attribute) -> Type:
        raise AssertionError(f"the type of {attribute.name} is not known here")

    return _Checker(nothing, report).check(node, types)


class _Checker:
    def __init__(self, lookup: Lookup, report: Report) -> None:
        self._lookup = lookup
        self._report = report

    def wrong(self, message: str, span: Span | None, hint: str | None = None) -> Type:
        self._report(Problem(message, span, hint))
        return UNKNOWN

    def check(self, node: ast.Expression, types: Sequence[Type]) -> Type:
        match node:
            case ast.Literal(value):
                return self._literal(node, value)
            case ast.Timestamp(text):
                instant = parse_timestamp(text)
                zone = "UTC" if instant is not None and instant.has_offset else None
                return Type(Kind.TIMESTAMP, pa.timestamp(unit_of(instant.nanoseconds if instant else 0), zone))
            case ast.Date():
                return DATE
            case ast.Interval(_, unit):
                return duration("ms" if unit == "milliseconds" else "s")
            case ast.Attribute():
                return self._lookup(node)
            case ast.Unary("NOT", operand):
                self._boolean(operand, types[0], "NOT")
                return BOOL
            case ast.Unary(_, operand):
                return _wide(self._of_kind(types[0], NUMBERS | {Kind.DURATION}, "a minus needs a number", operand.span))
            case ast.Binary(operator, left, right):
                return self._binary(node, operator, (left, right), types)
            case ast.IsNull():
                return BOOL
            case ast.In(operand, items, _):
                for item, given in zip(items, types[1:], strict=True):
                    self._comparable(operand, types[0], item, given, equality=True)
                return BOOL
            case ast.Between(operand, low, high, _):
                self._comparable(operand, types[0], low, types[1])
                self._comparable(operand, types[0], high, types[2])
                return BOOL
            case ast.Like(operand, pattern, _):
                self._of_kind(types[0], _TEXT, "LIKE needs a string on its left", operand.span)
                if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
                    self.wrong("this pattern ends with a backslash that takes no character", node.span)
                return BOOL
            case ast.Call(function, _):
                return self._call(node, function, types)
            case ast.Cast(operand, target):
                return self._cast(node, operand, target, types[0])
            case ast.Prev():
                return types[0]
            case ast.Running(function, operand, _):
                return INT if operand is None else self._running(operand, function, types[0])
        raise AssertionError(f"unknown expression {type(node).__name__}")

    def _literal(self, node: ast.Literal, value: object) -> Type:
        if value is None:
            return NULL
        if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
            return self.wrong("this number does not fit into 64 bits", node.span, "write it as a float, with a point")
        types: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT, str: STRING}
        return types[type(value)]

    def _of_kind(self, given: Type, kinds: frozenset[Kind], message: str, span: Span | None) -> Type:
        if given.kind in kinds or given.vague:
            return given
        return self.wrong(f"{message}, but this is of type {given}", span)

    def _boolean(self, operand: ast.Expression, given: Type, operator: str) -> None:
        self._of_kind(given, frozenset({Kind.BOOL}), f"{operator} needs something that is true or false", operand.span)

    def _binary(
        self,
        node: ast.Binary,
        operator: str,
        sides: tuple[ast.Expression, ast.Expression],
        types: Sequence[Type],
    ) -> Type:
        if operator in ("AND", "OR"):
            for side, given in zip(sides, types, strict=True):
                self._boolean(side, given, operator)
            return BOOL
        if operator in _COMPARISONS:
            if any(isinstance(side, ast.Literal) and side.value is None for side in sides):
                self.wrong("nothing compares with NULL", node.span, "write IS NULL or IS NOT NULL")
            self._comparable(sides[0], types[0], sides[1], types[1], equality=operator in ("=", "<>"))
            return BOOL
        if operator == "||":
            for side, given in zip(sides, types, strict=True):
                self._of_kind(given, _TEXT, "|| joins strings", side.span)
            return STRING
        result = arithmetic(operator, types[0], types[1])
        if result is None:
            strings = Kind.STRING in (types[0].kind, types[1].kind) and operator == "+"
            hint = "strings are joined with ||" if strings else None
            return self.wrong(f"`{operator}` cannot be applied to {types[0]} and {types[1]}", node.span, hint)
        return result

    def _comparable(
        self, left: ast.Expression, one: Type, right: ast.Expression, two: Type, equality: bool = False
    ) -> None:
        span = left.span.to(right.span) if left.span else None
        if one.vague or two.vague:
            return
        kinds = {one.kind, two.kind}
        if kinds <= NUMBERS or (len(kinds) == 1 and one.kind in ORDERED):
            if kinds == {Kind.TIMESTAMP} and one.zoned != two.zoned:
                literal = isinstance(left if one.zoned else right, ast.Timestamp)
                mend = (
                    "drop the offset of the literal" if literal else "write an offset: TIMESTAMP '2024-01-31 10:00:00Z'"
                )
                self.wrong("a timestamp with a time zone cannot be compared with one without", span, mend)
            return
        if kinds == {Kind.BOOL}:
            if not equality:
                self.wrong("booleans have no order", span, "compare them with = or <>")
            return
        hint: str | None = None
        if kinds == {Kind.TIMESTAMP, Kind.STRING}:
            hint = "a timestamp is written TIMESTAMP '2024-01-31 10:00:00'"
        elif kinds == {Kind.TIMESTAMP, Kind.DATE}:
            hint = "write TIMESTAMP '2024-01-31' for the beginning of the day"
        elif kinds == {Kind.DATE, Kind.STRING}:
            hint = "a date is written DATE '2024-01-31'"
        elif Kind.DURATION in kinds and kinds & NUMBERS:
            hint = "a duration is written INTERVAL 5 MINUTES"
        elif Kind.STRING in kinds and kinds & NUMBERS:
            hint = "numbers are written without quotes; CAST(… AS int) makes a number of a string"
        self.wrong(f"{one} cannot be compared with {two}", span, hint)

    def _call(self, node: ast.Call, name: str, types: Sequence[Type]) -> Type:
        function = FUNCTIONS.get(name)
        if function is None:
            near = did_you_mean(name, (*FUNCTIONS, *MULTISET_PREDICATES, "prev"))
            hint = f"functions: {', '.join(FUNCTIONS)}"
            if name == "next":
                hint = "conditions look back, with prev; to look ahead, "
                hint += "name both events: T AS a : T AS b FILTER a.v > b.v"
            return self.wrong(f"there is no function `{name}`{near}", node.span, hint)
        count, most = len(types), function.most
        if count < function.fewest or (most is not None and count > most):
            wanted = str(function.fewest) if most == function.fewest else f"at least {function.fewest}"
            wanted = wanted if most in (None, function.fewest) else f"{function.fewest} to {most}"
            several = "" if wanted == "1" else "s"
            return self.wrong(f"`{name}` takes {wanted} argument{several}, not {count}", node.span)
        for argument, given in zip(node.arguments, types, strict=True):
            if function.kinds is not None and given.kind not in function.kinds and not given.vague:
                return self.wrong(f"`{name}` takes {function.takes}, but this is of type {given}", argument.span)
        if name == "if":
            self._of_kind(types[0], frozenset({Kind.BOOL}), "a condition must be true or false", node.arguments[0].span)
        result = function.result(types)
        if result is None and name == "if" and types[0].kind is not Kind.BOOL:
            return UNKNOWN  # which was said
        if result is None:
            listed = ", ".join(str(given) for given in types)
            return self.wrong(f"`{name}` takes {function.takes}, but these are of types {listed}", node.span)
        return result

    def _running(self, operand: ast.Expression, name: str, given: Type) -> Type:
        function = find_aggregate(name)
        if function is None:
            return self.wrong(f"there is no aggregate function `{name}`", operand.span)
        result = function.result(given)
        if result is None:
            return self.wrong(f"`{name}` takes {function.takes}, but this is of type {given}", operand.span)
        return result

    def _cast(self, node: ast.Cast, operand: ast.Expression, target: str, given: Type) -> Type:
        if target not in CASTS:
            near = did_you_mean(target, CASTS)
            return self.wrong(f"there is no cast to `{target}`{near}", node.span, f"casts: {', '.join(CASTS)}")
        result, kinds = CASTS[target]
        if given.kind not in kinds and not given.vague:
            self.wrong(f"a value of type {given} cannot be cast to {target}", operand.span)
        return result


def arithmetic(operator: str, left: Type, right: Type) -> Type | None:
    """The type of `one operator two`, or None if there is none.

    Numbers: a float if either side is one, and always for `/`; a decimal if either side is one; otherwise an integer.
    Times: timestamp - timestamp, timestamp ± duration, duration ± duration, duration * integer, duration / duration.
    They come in the finer of the two units.
    """
    if left.vague or right.vague:
        known = right if left.vague else left
        fits = known.vague or known.kind in NUMBERS | {Kind.TIMESTAMP, Kind.DURATION}
        return (FLOAT if operator == "/" else UNKNOWN) if fits else None
    kinds = (left.kind, right.kind)
    if set(kinds) <= NUMBERS:
        if operator == "/" or Kind.FLOAT in kinds:
            return FLOAT
        if Kind.DECIMAL not in kinds:
            return INT
        scale = scale_of(left) + scale_of(right) if operator == "*" else max(scale_of(left), scale_of(right))
        return Type(Kind.DECIMAL, pa.decimal128(38, min(scale, 38)))
    match operator, kinds:
        case "-", (Kind.TIMESTAMP, Kind.TIMESTAMP) if left.zoned == right.zoned:
            return duration(finer_unit(left, right))
        case (("+" | "-"), (Kind.TIMESTAMP, Kind.DURATION)):
            return Type(Kind.TIMESTAMP, pa.timestamp(finer_unit(left, right), left.arrow.tz))
        case "+", (Kind.DURATION, Kind.TIMESTAMP):
            return Type(Kind.TIMESTAMP, pa.timestamp(finer_unit(left, right), right.arrow.tz))
        case (("+" | "-"), (Kind.DURATION, Kind.DURATION)):
            return duration(finer_unit(left, right))
        case "*", (Kind.DURATION, Kind.INT):
            return left
        case "*", (Kind.INT, Kind.DURATION):
            return right
        case "/", (Kind.DURATION, Kind.DURATION):
            return FLOAT
    return None

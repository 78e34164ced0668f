"""Comparisons, BETWEEN, IN and LIKE, as Arrow computes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.predicates.arrow_values import (
    BOOLEAN,
    INT,
    LACKING,
    Asked,
    Form,
    Operation,
    as_float,
    as_int,
    in_one_unit,
)
from acelera.language import ast
from acelera.language.like import parts_of
from acelera.language.lowering import UnsupportedError
from acelera.language.types import Kind

COMPARISONS: dict[str, Operation] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_COMPARABLE = frozenset(Kind) - {Kind.UNKNOWN, Kind.NULL, Kind.OPAQUE, Kind.FLOAT}
_UNKNOWN = pa.scalar(None, pa.bool_())
_FEW = 4
"""Up to so many comparisons are quicker than a hash table."""


def comparison(asked: Asked) -> tuple[Form, Operation]:
    """`a < b` and its like."""
    assert isinstance(asked.node, ast.Binary)
    return BOOLEAN, _compare(asked.node.operator, asked.forms[0], asked.forms[1], asked.exact)


def _compare(symbol: str, left: Form, right: Form, exact: bool) -> Operation:
    """A comparison; one that need not be exact may be FALSE where it should be NULL, but not TRUE."""
    kinds = {left.kind, right.kind}
    compare: Operation = COMPARISONS[symbol]
    if Kind.NULL in kinds:
        return lambda *_: _UNKNOWN
    if kinds == {Kind.FLOAT} or kinds == {Kind.INT, Kind.FLOAT}:
        compare = _exact_floats(symbol) if exact else _different_floats if symbol == "<>" else compare
        return lambda a, b: compare(as_float(a), as_float(b))
    if not kinds <= _COMPARABLE or (len(kinds) > 1 and kinds != {Kind.INT, Kind.DECIMAL}):
        raise UnsupportedError(LACKING)
    return compare if left.unit == right.unit else in_one_unit(compare, left, right)


def _exact_floats(symbol: str) -> Operation:
    """NaN compares as NULL."""
    compare = COMPARISONS[symbol]
    return lambda a, b: pc.if_else(pc.or_(pc.is_nan(a), pc.is_nan(b)), _UNKNOWN, compare(a, b))


def _different_floats(left: Any, right: Any) -> Any:
    """Of the comparisons, only this one is TRUE for NaN in Arrow."""
    return pc.or_(pc.less(left, right), pc.greater(left, right))


# --- BETWEEN and IN -----------------------------------------------------------------------------------------------


def between(asked: Asked) -> tuple[Form, Operation]:
    """BETWEEN; its operand is computed once."""
    operand, low, high = asked.forms
    over, under = _compare(">=", operand, low, asked.exact), _compare("<=", operand, high, asked.exact)
    return BOOLEAN, lambda value, a, b: pc.and_kleene(over(value, a), under(value, b))


def not_between(asked: Asked) -> tuple[Form, Operation]:
    """Where NOT BETWEEN is TRUE."""
    operand, low, high = asked.forms
    below, above = _compare("<", operand, low, exact=False), _compare(">", operand, high, exact=False)
    return BOOLEAN, lambda value, a, b: pc.or_kleene(below(value, a), above(value, b))


def member(asked: Asked) -> tuple[Form, Operation]:
    """IN: a hash table for many constants, a chain of comparisons otherwise."""
    constants = None if asked.exact else _constants(asked)
    if constants is not None:
        return BOOLEAN, lambda value, *_: _found(value, constants)
    return BOOLEAN, _chain("=", pc.or_kleene, asked.forms, asked.exact)


def not_member(asked: Asked) -> tuple[Form, Operation]:
    """Where NOT IN is TRUE."""
    constants = _constants(asked)
    if constants is not None:
        return BOOLEAN, lambda value, *_: pc.and_(pc.invert(_found(value, constants)), pc.is_valid(value))
    return BOOLEAN, _chain("<>", pc.and_kleene, asked.forms, exact=False)


def _chain(symbol: str, join: Operation, forms: Sequence[Form], exact: bool) -> Operation:
    tests = [_compare(symbol, forms[0], form, exact) for form in forms[1:]]
    return lambda value, *others: reduce(join, (test(value, other) for test, other in zip(tests, others, strict=True)))


def _constants(asked: Asked) -> Any | None:
    """The values to look up, if there are many, all of them constants, of a kind for which Arrow's equality is ours."""
    assert isinstance(asked.node, ast.In)
    items, kind = asked.node.items, asked.forms[0].kind
    constants = [item.value for item in items if isinstance(item, ast.Literal)]
    alike = kind in (Kind.INT, Kind.STRING) and all(form.kind is kind for form in asked.forms)
    return pa.array(constants) if alike and _FEW < len(items) == len(constants) else None


def _found(value: Any, constants: Any) -> Any:
    wanted = as_int(value) if constants.type == INT else value
    return pc.is_in(wanted, value_set=constants.cast(wanted.type))


# --- LIKE ---------------------------------------------------------------------------------------------------------


def like(asked: Asked) -> tuple[Form, Operation]:
    """LIKE, read as the definition reads it: Arrow's own differs on a backslash before an ordinary character."""
    assert isinstance(asked.node, ast.Like)
    if asked.forms[0].kind is not Kind.STRING:
        raise UnsupportedError(LACKING)
    asked.node.pattern.encode()  # so that what Arrow cannot take is found out here
    return BOOLEAN, _matching(asked.node.pattern)


def _matching(pattern: str) -> Operation:
    parts = parts_of(pattern)
    wild = {"%": ".*", "_": "."}
    plain = "".join(part[-1] for part in parts if part not in wild)
    shape = re.sub("(.)\\1+", "\\1", "".join(part if part in wild else "x" for part in parts))
    match shape:
        case "" | "x":
            return lambda text: pc.equal(text, plain)
        case "%" | "x%":
            return lambda text: pc.starts_with(text, plain)
        case "%x":
            return lambda text: pc.ends_with(text, plain)
        case "%x%":
            return lambda text: pc.match_substring(text, plain)
    regex = "".join(wild.get(part, f"\\x{{{ord(part[-1]):x}}}") for part in parts)
    return lambda text: pc.match_substring_regex(text, f"(?s)\\A{regex}\\z")

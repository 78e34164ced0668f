"""Expressions of the core, as Arrow computes them where it computes what the language means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.predicates import arrow_comparisons, arrow_values
from acelera.engine.predicates.arrow_comparisons import COMPARISONS
from acelera.engine.predicates.arrow_values import (
    BOOLEAN,
    FLOAT,
    LACKING,
    Asked,
    Form,
    How,
    Operation,
    as_float,
    as_int,
    in_one_unit,
    of,
)
from acelera.language import ast
from acelera.language.lowering import Table, UnsupportedError, links, operation_of
from acelera.language.tree import children
from acelera.language.types import Kind, Type

Step = tuple[Callable[..., Any], int]
"""An operation and how many results of earlier steps it takes; one that takes none is given the batch."""


def translated(root: ast.Expression, types: Mapping[str, Type]) -> list[Step]:
    """The steps to a predicate of the core that is right about where it is TRUE.

    An UnsupportedError says that Arrow cannot be asked for it.
    """
    top, table = root, ARROW
    if isinstance(root, ast.Unary) and root.operator == "NOT" and operation_of(root.operand) in _NOT.entries:
        top, table = root.operand, _NOT

    form, steps = _steps(top, lambda node: table if node is top else ARROW, types, inexact=top)
    if form.kind is not Kind.BOOL:
        raise UnsupportedError("this is neither TRUE nor FALSE")
    return steps


def translated_value(root: ast.Expression, types: Mapping[str, Type]) -> tuple[Form, list[Step]]:
    """What the value of an expression of the core is, and the steps to it; an UnsupportedError if Arrow cannot be
    asked for it.
    """
    return _steps(root, lambda _: ARROW, types)


def _steps(
    root: ast.Expression,
    table: Callable[[ast.Expression], Table[How]],
    types: Mapping[str, Type],
    inexact: ast.Expression | None = None,
) -> tuple[Form, list[Step]]:
    """What an expression is, and the steps to it; of one that may be inexact it is only known where it is TRUE."""
    steps: list[Step] = []

    def combine(node: ast.Expression, forms: Sequence[Form]) -> Form:
        form, operation = table(node).how(node)(Asked(node, forms, types, exact=node is not inexact))
        steps.append((operation, len(forms)))
        return form

    try:
        return ast.fold(root, combine, _operands), steps
    except UnicodeEncodeError:
        raise UnsupportedError("half of a surrogate pair is no text to Arrow") from None


def _operands(node: ast.Expression) -> Sequence[ast.Expression]:
    return links(node) if isinstance(node, ast.Call) else children(node)


# --- arithmetic ---------------------------------------------------------------------------------------------------

_CHECKED: dict[str, Operation] = {"+": pc.add_checked, "-": pc.subtract_checked}
_FLOATING: dict[str, Operation] = {"+": pc.add, "-": pc.subtract}
_SUMS = {
    frozenset({Kind.INT}): Kind.INT,
    frozenset({Kind.DURATION}): Kind.DURATION,
    frozenset({Kind.TIMESTAMP}): Kind.DURATION,
    frozenset({Kind.TIMESTAMP, Kind.DURATION}): Kind.TIMESTAMP,
}
_PRODUCTS = {frozenset({Kind.INT}): Kind.INT, frozenset({Kind.INT, Kind.DURATION}): Kind.DURATION}
_MIXED = ({Kind.FLOAT}, {Kind.INT, Kind.FLOAT})


def _sum(asked: Asked) -> tuple[Form, Operation]:
    """`a + b` and `a - b`. What overflows is NULL; Arrow says so by an error, and the batch is evaluated by value."""
    assert isinstance(asked.node, ast.Binary)
    left, right = asked.forms
    if {left.kind, right.kind} in _MIXED:
        return _floating(_FLOATING[asked.node.operator])
    kind = _SUMS.get(frozenset({left.kind, right.kind}))
    if kind is None:
        raise UnsupportedError(LACKING)
    return Form(kind, min(left.unit, right.unit)), in_one_unit(_CHECKED[asked.node.operator], left, right)


def _product(asked: Asked) -> tuple[Form, Operation]:
    left, right = asked.forms
    if {left.kind, right.kind} in _MIXED:
        return _floating(pc.multiply)
    kind = _PRODUCTS.get(frozenset({left.kind, right.kind}))
    if kind is None:
        raise UnsupportedError(LACKING)
    return Form(kind, max(left.unit, right.unit)), lambda a, b: pc.multiply_checked(as_int(a), as_int(b))


def _quotient(asked: Asked) -> tuple[Form, Operation]:
    if not {form.kind for form in asked.forms} <= {Kind.INT, Kind.FLOAT}:
        raise UnsupportedError(LACKING)
    return _floating(_divide)


def _floating(operation: Operation) -> tuple[Form, Operation]:
    return Form(Kind.FLOAT), lambda a, b: operation(as_float(a), as_float(b))


def _divide(left: Any, right: Any) -> Any:
    """Nothing divides by zero."""
    return pc.divide(left, pc.if_else(pc.equal(right, 0.0), pa.scalar(None, FLOAT), right))


def _negate_whole(value: Any) -> Any:
    return pc.negate_checked(as_int(value))


def _absolute_whole(value: Any) -> Any:
    return pc.abs_checked(as_int(value))


# --- texts and functions ------------------------------------------------------------------------------------------


def _concatenate(left: Any, right: Any) -> Any:
    return pc.binary_join_element_wise(left, right, "")


def _lower(text: Any) -> Any:
    return pc.ascii_lower(_ascii(text))


def _upper(text: Any) -> Any:
    return pc.ascii_upper(_ascii(text))


def _ascii(text: Any) -> Any:
    """Other letters than these change their case in Python in ways that Arrow does not know, such as ß to SS."""
    if not pc.all(pc.string_is_ascii(text), min_count=0).as_py():
        raise UnsupportedError("letters that change their case in their own ways")
    return text


def _trim(text: Any) -> Any:
    return pc.utf8_trim(text, " ")


def _coalesce(asked: Asked) -> tuple[Form, Operation]:
    kinds = {form.kind for form in asked.forms}
    if len(kinds) > 1 or not kinds <= {Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOL}:
        raise UnsupportedError(LACKING)
    return Form(kinds.pop()), pc.coalesce


def _if(asked: Asked) -> tuple[Form, Operation]:
    condition, *values = asked.forms
    found = {form for form in values if form.kind is not Kind.NULL}
    if condition.kind is not Kind.BOOL or len(found) != 1:
        raise UnsupportedError(LACKING)
    (form,) = found
    if form.kind not in (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION):
        raise UnsupportedError(LACKING)
    return form, _chosen


def _chosen(condition: Any, value: Any, otherwise: Any = None) -> Any:
    """What is NULL holds as little as what is FALSE."""
    return pc.if_else(pc.fill_null(condition, False), value, pa.scalar(None) if otherwise is None else otherwise)


# --- the table ----------------------------------------------------------------------------------------------------


def _is_null(_: Asked) -> tuple[Form, Operation]:
    return BOOLEAN, pc.is_null


def _is_not_null(_: Asked) -> tuple[Form, Operation]:
    return BOOLEAN, pc.is_valid


_TRUTHS = (Kind.BOOL, Kind.BOOL)
_TEXT = (Kind.STRING,)

ARROW: Table[How] = Table(
    {
        "LITERAL": arrow_values.literal,
        "TIMESTAMP": arrow_values.timestamp,
        "DATE": arrow_values.date,
        "INTERVAL": arrow_values.interval,
        "ATTRIBUTE": arrow_values.column,
        "NOT": of(((Kind.BOOL,), Kind.BOOL, pc.invert)),
        "AND": of((_TRUTHS, Kind.BOOL, pc.and_kleene)),
        "OR": of((_TRUTHS, Kind.BOOL, pc.or_kleene)),
        **dict.fromkeys(COMPARISONS, arrow_comparisons.comparison),
        "IS NULL": _is_null,
        "BETWEEN": arrow_comparisons.between,
        "IN": arrow_comparisons.member,
        "LIKE": arrow_comparisons.like,
        "NEGATIVE": of(
            ((Kind.FLOAT,), Kind.FLOAT, pc.negate),
            ((Kind.INT,), Kind.INT, _negate_whole),
            ((Kind.DURATION,), Kind.DURATION, _negate_whole),
        ),
        "+": _sum,
        "-": _sum,
        "*": _product,
        "/": _quotient,
        "||": of(((Kind.STRING, Kind.STRING), Kind.STRING, _concatenate)),
        "abs": of(
            ((Kind.FLOAT,), Kind.FLOAT, pc.abs),
            ((Kind.INT,), Kind.INT, _absolute_whole),
            ((Kind.DURATION,), Kind.DURATION, _absolute_whole),
        ),
        "lower": of((_TEXT, Kind.STRING, _lower)),
        "upper": of((_TEXT, Kind.STRING, _upper)),
        "trim": of((_TEXT, Kind.STRING, _trim)),
        "length": of((_TEXT, Kind.INT, pc.utf8_length)),
        "coalesce": _coalesce,
        "if": _if,
        "CAST AS float": of(((Kind.INT,), Kind.FLOAT, as_float), ((Kind.FLOAT,), Kind.FLOAT, as_float)),
    },
    LACKING,
)

_NOT: Table[How] = Table(
    {"IS NULL": _is_not_null, "BETWEEN": arrow_comparisons.not_between, "IN": arrow_comparisons.not_member}, LACKING
)
"""NOT of these, where only what is TRUE counts: quicker than to tell FALSE from NULL first."""

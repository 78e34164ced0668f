"""Expressions of the core as instructions of the stack machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from acelera.engine.registers import opcodes as op
from acelera.engine.registers.code import COMPARISONS, NO_INSTRUCTION, TIMES, flavour
from acelera.engine.registers.writer import Pushed, Writer
from acelera.language import ast
from acelera.language.evaluation import constant
from acelera.language.lowering import Table, UnsupportedError
from acelera.language.types import Kind

_LARGEST = 200
"""How many nodes an expression may have: instructions are run one by one for each event."""

Attribute = Callable[[ast.Attribute], Pushed]


class Asked(NamedTuple):
    """An operation whose operands have been pushed; `attribute` pushes what an attribute stands for."""

    node: ast.Expression
    operands: Sequence[Pushed]
    writer: Writer
    attribute: Attribute


How = Callable[[Asked], Pushed]


def push_expression(expression: ast.Expression, writer: Writer, attribute: Attribute) -> Pushed:
    """Leave the value of an expression on the stack; an UnsupportedError says that there is no instruction for it."""
    if sum(1 for _ in ast.walk(expression)) > _LARGEST:
        raise INSTRUCTIONS.refusal()
    core = INSTRUCTIONS.lowered(expression)
    for node in ast.walk(core):  # so that nothing is written of what is refused anyway
        INSTRUCTIONS.how(node)
    return ast.fold(core, lambda node, operands: INSTRUCTIONS.how(node)(Asked(node, operands, writer, attribute)))


# --- constants and attributes -------------------------------------------------------------------------------------


def _literal(asked: Asked) -> Pushed:
    assert isinstance(asked.node, ast.Literal)
    return asked.writer.constant(asked.node.value)


def _timestamp(asked: Asked) -> Pushed:
    return asked.writer.moment(_known(asked.node), Kind.TIMESTAMP)


def _interval(asked: Asked) -> Pushed:
    return asked.writer.moment(_known(asked.node), Kind.DURATION)


def _known(node: ast.Expression) -> int:
    moment = constant(node)
    if moment is None:
        raise UnsupportedError(NO_INSTRUCTION)
    return int(moment)


def _date(asked: Asked) -> Pushed:
    return asked.writer.constant(constant(asked.node), Kind.DATE)


def _attribute(asked: Asked) -> Pushed:
    assert isinstance(asked.node, ast.Attribute)
    return asked.attribute(asked.node)


# --- what is true or false ----------------------------------------------------------------------------------------


def _logic(code: int) -> How:
    def push(asked: Asked) -> Pushed:
        asked.writer.emit(code)
        return Pushed(Kind.BOOL)

    return push


def _not(asked: Asked) -> Pushed:
    """NOT; with IS NULL it is one instruction."""
    assert isinstance(asked.node, ast.Unary)
    if isinstance(asked.node.operand, ast.IsNull):
        asked.writer.drop()
        asked.writer.emit(op.IS_NULL, 1)
    else:
        asked.writer.emit(op.NOT)
    return Pushed(Kind.BOOL)


def _comparison(asked: Asked) -> Pushed:
    assert isinstance(asked.node, ast.Binary)
    left, right = _alike(asked, computes=False)
    if left.kind is not right.kind and Kind.NULL not in (left.kind, right.kind):
        raise UnsupportedError(NO_INSTRUCTION)
    kind = right.kind if left.kind is Kind.NULL else left.kind
    asked.writer.emit(op.COMPARE, COMPARISONS[asked.node.operator], op.WIDE if right.wide else flavour(kind))
    return Pushed(Kind.BOOL)


def _alike(asked: Asked, computes: bool) -> tuple[Pushed, Pushed]:
    """Both values; integers become floats if they meet one, times wide ones, also if something is computed."""
    left, right = asked.operands
    if left.kind in TIMES or right.kind in TIMES:
        return asked.writer.align(left, right, wide=computes)
    if (left.kind, right.kind) == (Kind.INT, Kind.FLOAT):
        asked.writer.emit(op.FLOAT_BELOW)
        return right, right
    if (left.kind, right.kind) == (Kind.FLOAT, Kind.INT):
        asked.writer.emit(op.TO_FLOAT)
        return left, left
    return left, right


# --- arithmetic ---------------------------------------------------------------------------------------------------

_ARITHMETIC = {"+": op.ADD, "-": op.SUBTRACT, "*": op.MULTIPLY, "%": op.REMAINDER}
_OF_TIMES = {
    ("-", Kind.TIMESTAMP, Kind.TIMESTAMP): Kind.DURATION,
    ("+", Kind.TIMESTAMP, Kind.DURATION): Kind.TIMESTAMP,
    ("-", Kind.TIMESTAMP, Kind.DURATION): Kind.TIMESTAMP,
    ("+", Kind.DURATION, Kind.TIMESTAMP): Kind.TIMESTAMP,
    ("+", Kind.DURATION, Kind.DURATION): Kind.DURATION,
    ("-", Kind.DURATION, Kind.DURATION): Kind.DURATION,
}


def _arithmetic(asked: Asked) -> Pushed:
    assert isinstance(asked.node, ast.Binary)
    symbol = asked.node.operator
    left, right = _alike(asked, computes=True)
    kind = _OF_TIMES.get((symbol, left.kind, right.kind))
    if kind is not None:
        asked.writer.emit(_ARITHMETIC[symbol], op.WIDE)
        return Pushed(kind, wide=True)
    kind = _number(left, right)
    asked.writer.emit(_ARITHMETIC[symbol], flavour(kind))
    return Pushed(kind)


def _division(asked: Asked) -> Pushed:
    if _number(*_alike(asked, computes=True)) is not Kind.FLOAT:
        asked.writer.emit(op.TO_FLOAT)
        asked.writer.emit(op.FLOAT_BELOW)
    asked.writer.emit(op.DIVIDE)
    return Pushed(Kind.FLOAT)


def _number(left: Pushed, right: Pushed) -> Kind:
    """The kind of both, if they are integers or floats."""
    kinds = {left.kind, right.kind} - {Kind.NULL}
    if kinds not in (set(), {Kind.INT}, {Kind.FLOAT}):
        raise UnsupportedError(NO_INSTRUCTION)
    return kinds.pop() if kinds else Kind.NULL


def _negative(asked: Asked) -> Pushed:
    return _computed(asked, op.NEGATE)


def _absolute(asked: Asked) -> Pushed:
    if asked.operands[0].kind not in (Kind.INT, Kind.FLOAT, Kind.DURATION):
        raise UnsupportedError(NO_INSTRUCTION)
    return _computed(asked, op.ABSOLUTE)


def _computed(asked: Asked, code: int) -> Pushed:
    """An instruction on one number; times are wide from then on."""
    (value,) = asked.operands
    if value.kind in TIMES:
        value = asked.writer.widen(value)
    asked.writer.emit(code, op.WIDE if value.wide else flavour(value.kind))
    return value


def _square_root(asked: Asked) -> Pushed:
    (value,) = asked.operands
    if value.kind not in (Kind.INT, Kind.FLOAT):
        raise UnsupportedError(NO_INSTRUCTION)
    if value.kind is Kind.INT:
        asked.writer.emit(op.TO_FLOAT)
    asked.writer.emit(op.SQUARE_ROOT)
    return Pushed(Kind.FLOAT)


def _coalesce(asked: Asked) -> Pushed:
    left, right = asked.operands
    kinds = {left.kind, right.kind} - {Kind.NULL}
    if len(kinds) > 1:
        raise UnsupportedError(NO_INSTRUCTION)
    kind = kinds.pop() if kinds else Kind.NULL
    if kind in TIMES:
        asked.writer.align(left, right, wide=True)
    asked.writer.emit(op.COALESCE)
    return Pushed(kind, wide=kind in TIMES)


# --- the table ----------------------------------------------------------------------------------------------------


INSTRUCTIONS: Table[How] = Table(
    {
        "LITERAL": _literal,
        "TIMESTAMP": _timestamp,
        "DATE": _date,
        "INTERVAL": _interval,
        "ATTRIBUTE": _attribute,
        "NOT": _not,
        "AND": _logic(op.AND),
        "OR": _logic(op.OR),
        **dict.fromkeys(COMPARISONS, _comparison),
        "IS NULL": _logic(op.IS_NULL),
        "NEGATIVE": _negative,
        **dict.fromkeys(_ARITHMETIC, _arithmetic),
        "/": _division,
        "abs": _absolute,
        "sqrt": _square_root,
        "coalesce": _coalesce,
    },
    NO_INSTRUCTION,
)

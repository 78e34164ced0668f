"""SQL expressions as instructions of the stack machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from acelera.automata.terms import Term
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.code import COMPARISONS, TIMES, UnsupportedError, flavour
from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.types import Kind


class Compiler(Protocol):
    """Where instructions go."""

    wide: bool  # whether the value that was left last is a wide time

    def emit(self, code: int, a: int = 0, b: int = 0, c: int = 0) -> None:
        """One more instruction."""

    def push(self, term: Term) -> Kind:
        """Leave a term's value on the stack."""

    def constant(self, value: Any, kind: Kind | None = None) -> Kind:
        """Leave a constant on the stack."""

    def moment(self, nanoseconds: int) -> None:
        """Leave a constant time on the stack."""

    def widen(self, below: bool = False) -> None:
        """Make the last value, or the one below it, a wide time."""


class Expression:
    """An SQL expression over terms."""

    def __init__(self, compiler: Compiler, bound: Callable[[ast.Attribute], Term]) -> None:
        self.compiler, self.bound = compiler, bound

    def push(self, expression: ast.Expression) -> Kind:
        """Leave its value on the stack. Expressions that reach here are small, so recursion is safe."""
        if sum(1 for _ in ast.walk(expression)) > 200:
            raise UnsupportedError
        return self._push(expression)

    def _push(self, node: ast.Expression) -> Kind:
        kind = self._pushed(node)
        if kind not in TIMES:
            self.compiler.wide = False
        return kind

    def _pushed(self, node: ast.Expression) -> Kind:
        compiler = self.compiler
        match node:
            case ast.Literal(value):
                return compiler.constant(value)
            case ast.Timestamp() | ast.Interval():
                moment = evaluate(node, _no_attributes)
                if moment is None:
                    raise UnsupportedError
                compiler.moment(int(moment))
                return Kind.TIMESTAMP if isinstance(node, ast.Timestamp) else Kind.DURATION
            case ast.Date():
                return compiler.constant(evaluate(node, _no_attributes), Kind.DATE)
            case ast.Attribute():
                return compiler.push(self.bound(node))
            case ast.Unary("NOT", operand):
                self._push(operand)
                compiler.emit(op.NOT)
                return Kind.BOOL
            case ast.Unary(_, operand):
                kind = self._push(operand)
                compiler.emit(op.NEGATE, self._flavour(kind))
                return kind
            case ast.Binary(("AND" | "OR") as operator, left, right):
                self._push(left)
                self._push(right)
                compiler.emit(op.AND if operator == "AND" else op.OR)
                return Kind.BOOL
            case ast.Binary(operator, left, right) if operator in COMPARISONS:
                self._compare(operator, left, right)
                return Kind.BOOL
            case ast.Binary(operator, left, right):
                return self._arithmetic(operator, left, right)
            case ast.IsNull(operand, negated):
                self._push(operand)
                compiler.emit(op.IS_NULL, int(negated))
                return Kind.BOOL
            case ast.Between(operand, low, high, negated):
                self._compare(">=", operand, low)
                self._compare("<=", operand, high)
                compiler.emit(op.AND)
                if negated:
                    compiler.emit(op.NOT)
                return Kind.BOOL
            case ast.In(operand, items, negated):
                for index, item in enumerate(items):
                    self._compare("=", operand, item)
                    if index:
                        compiler.emit(op.OR)
                if negated:
                    compiler.emit(op.NOT)
                return Kind.BOOL
            case ast.Call(function, arguments):
                return self._call(function, arguments)
        raise UnsupportedError

    def _flavour(self, kind: Kind) -> int:
        """Which numbers an instruction works on that computes; times are wide from then on."""
        if kind not in TIMES:
            return flavour(kind)
        self.compiler.widen()
        return op.WIDE

    def _pair(self, left: ast.Expression, right: ast.Expression, computes: bool) -> tuple[Kind, Kind]:
        """Both values; integers become floats if they meet one, times wide ones, also if something is computed."""
        compiler = self.compiler
        one = self._push(left)
        wide = compiler.wide
        two = self._push(right)
        if {one, two} & set(TIMES):
            if not wide and (computes or compiler.wide):
                compiler.widen(below=True)
            if wide or computes:
                compiler.widen()
        if one is Kind.INT and two is Kind.FLOAT:
            self.compiler.emit(op.FLOAT_BELOW)
            return Kind.FLOAT, Kind.FLOAT
        if one is Kind.FLOAT and two is Kind.INT:
            self.compiler.emit(op.TO_FLOAT)
            return Kind.FLOAT, Kind.FLOAT
        return one, two

    def _compare(self, operator: str, left: ast.Expression, right: ast.Expression) -> None:
        one, two = self._pair(left, right, computes=False)
        kind = two if one is Kind.NULL else one
        if one is not two and Kind.NULL not in (one, two):
            raise UnsupportedError
        self.compiler.emit(op.COMPARE, COMPARISONS[operator], op.WIDE if self.compiler.wide else flavour(kind))

    def _arithmetic(self, operator: str, left: ast.Expression, right: ast.Expression) -> Kind:
        codes = {"+": op.ADD, "-": op.SUBTRACT, "*": op.MULTIPLY, "%": op.REMAINDER}
        one, two = self._pair(left, right, computes=True)
        if {one, two} <= {Kind.INT, Kind.NULL} or {one, two} <= {Kind.FLOAT, Kind.NULL}:
            kind = two if one is Kind.NULL else one
            if operator == "/":
                if kind is not Kind.FLOAT:
                    self.compiler.emit(op.TO_FLOAT)
                    self.compiler.emit(op.FLOAT_BELOW)
                self.compiler.emit(op.DIVIDE)
                return Kind.FLOAT
            if operator in codes:
                self.compiler.emit(codes[operator], flavour(kind))
                return kind
        times = {
            ("-", Kind.TIMESTAMP, Kind.TIMESTAMP): Kind.DURATION,
            ("+", Kind.TIMESTAMP, Kind.DURATION): Kind.TIMESTAMP,
            ("-", Kind.TIMESTAMP, Kind.DURATION): Kind.TIMESTAMP,
            ("+", Kind.DURATION, Kind.TIMESTAMP): Kind.TIMESTAMP,
            ("+", Kind.DURATION, Kind.DURATION): Kind.DURATION,
            ("-", Kind.DURATION, Kind.DURATION): Kind.DURATION,
        }
        if (operator, one, two) in times:
            self.compiler.emit(codes[operator], op.WIDE)
            return times[(operator, one, two)]
        raise UnsupportedError

    def _call(self, function: str, arguments: Sequence[ast.Expression]) -> Kind:
        compiler = self.compiler
        if function == "coalesce":
            kinds = []
            for argument in arguments:
                kinds.append(self._push(argument))
                if kinds[-1] in TIMES:
                    compiler.widen()
            if len(set(kinds) - {Kind.NULL}) > 1:
                raise UnsupportedError
            for _ in arguments[1:]:
                compiler.emit(op.COALESCE)
            kind = next((kind for kind in kinds if kind is not Kind.NULL), Kind.NULL)
            compiler.wide = kind in TIMES
            return kind
        kind = self._push(arguments[0])
        if function == "abs" and kind in (Kind.INT, Kind.FLOAT, Kind.DURATION):
            compiler.emit(op.ABSOLUTE, self._flavour(kind))
            return kind
        if function == "sqrt" and kind in (Kind.INT, Kind.FLOAT):
            if kind is Kind.INT:
                compiler.emit(op.TO_FLOAT)
            compiler.emit(op.SQUARE_ROOT)
            return Kind.FLOAT
        raise UnsupportedError


def _no_attributes(node: ast.Attribute) -> Any:
    raise AssertionError(f"a constant has no attribute {node.name}")

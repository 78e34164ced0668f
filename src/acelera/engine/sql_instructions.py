"""SQL expressions as instructions of the stack machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from acelera.automata.terms import Term
from acelera.engine import opcodes as op
from acelera.engine.code import COMPARISONS, UNITS, UnsupportedError, flavour
from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.types import Kind


class Compiler(Protocol):
    """Where instructions go."""

    unit: str  # of times

    def emit(self, code: int, a: int = 0, b: int = 0, c: int = 0) -> None:
        """One more instruction."""

    def push(self, term: Term) -> Kind:
        """Leave a term's value on the stack."""

    def constant(self, value: Any, kind: Kind | None = None) -> Kind:
        """Leave a constant on the stack."""


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
        compiler = self.compiler
        match node:
            case ast.Literal(value):
                return compiler.constant(value)
            case ast.Timestamp() | ast.Interval():
                moment = evaluate(node, _no_attributes)
                factor = UNITS[compiler.unit]
                if moment is None or moment % factor:
                    raise UnsupportedError
                kind = Kind.TIMESTAMP if isinstance(node, ast.Timestamp) else Kind.DURATION
                return compiler.constant(int(moment) // factor, kind)
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
                compiler.emit(op.NEGATE, flavour(kind))
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

    def _pair(self, left: ast.Expression, right: ast.Expression) -> tuple[Kind, Kind]:
        """Both values; integers become floats if they meet one."""
        one = self._push(left)
        two = self._push(right)
        if one is Kind.INT and two is Kind.FLOAT:
            self.compiler.emit(op.FLOAT_BELOW)
            return Kind.FLOAT, Kind.FLOAT
        if one is Kind.FLOAT and two is Kind.INT:
            self.compiler.emit(op.TO_FLOAT)
            return Kind.FLOAT, Kind.FLOAT
        return one, two

    def _compare(self, operator: str, left: ast.Expression, right: ast.Expression) -> None:
        one, two = self._pair(left, right)
        kind = two if one is Kind.NULL else one
        if one is not two and Kind.NULL not in (one, two):
            raise UnsupportedError
        self.compiler.emit(op.COMPARE, COMPARISONS[operator], flavour(kind))

    def _arithmetic(self, operator: str, left: ast.Expression, right: ast.Expression) -> Kind:
        codes = {"+": op.ADD, "-": op.SUBTRACT, "*": op.MULTIPLY, "%": op.REMAINDER}
        one, two = self._pair(left, right)
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
            self.compiler.emit(codes[operator], op.TIMES)
            return times[(operator, one, two)]
        raise UnsupportedError

    def _call(self, function: str, arguments: Sequence[ast.Expression]) -> Kind:
        compiler = self.compiler
        if function == "coalesce":
            kinds = [self._push(argument) for argument in arguments]
            if len(set(kinds) - {Kind.NULL}) > 1:
                raise UnsupportedError
            for _ in arguments[1:]:
                compiler.emit(op.COALESCE)
            return next((kind for kind in kinds if kind is not Kind.NULL), Kind.NULL)
        kind = self._push(arguments[0])
        if function == "abs" and kind in (Kind.INT, Kind.FLOAT, Kind.DURATION):
            compiler.emit(op.ABSOLUTE, flavour(kind))
            return kind
        if function == "sqrt" and kind in (Kind.INT, Kind.FLOAT):
            if kind is Kind.INT:
                compiler.emit(op.TO_FLOAT)
            compiler.emit(op.SQUARE_ROOT)
            return Kind.FLOAT
        raise UnsupportedError


def _no_attributes(node: ast.Attribute) -> Any:
    raise AssertionError(f"a constant has no attribute {node.name}")

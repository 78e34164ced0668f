"""Instructions that often stand together, as one: most of the time goes into finding out what the next one is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from acelera.engine.registers import opcodes as op
from acelera.stages import layout as at

Instruction = tuple[int, int, int, int]
Row = list[int]

_FLIPPED = {op.EQ: op.EQ, op.NE: op.NE, op.LT: op.GT, op.LE: op.GE, op.GT: op.LT, op.GE: op.LE}


class _Operand(NamedTuple):
    kind: int
    where: int
    size: int


class _Fused(NamedTuple):
    row: Row
    size: int


def fused(
    code: Sequence[Instruction], constants: Sequence[tuple[int, int]], bounds: Collection[int]
) -> tuple[list[Row], dict[int, int]]:
    """The same instructions, fewer of them, and where each that is a bound went; nothing is joined across bounds."""
    fusing = _Fusing(code, constants)
    rows: list[Row] = []
    places: dict[int, int] = {}
    for begin, end in pairwise(sorted({0, len(code), *bounds})):
        places[begin] = len(rows)
        rows += fusing.stretch(begin, end)
    places[len(code)] = len(rows)
    return rows, places


class _Fusing:
    def __init__(self, code: Sequence[Instruction], constants: Sequence[tuple[int, int]]) -> None:
        self._code, self._constants = code, constants
        self._ways: tuple[Callable[[int], _Fused | None], ...] = (
            self._test,
            self._fold,
            self._store,
            self._truth,
            self._clear,
        )

    def stretch(self, begin: int, end: int) -> list[Row]:
        """The instructions of a stretch; if some are not quick, this is said before."""
        pushes = self._pushes(begin, end)
        if pushes is not None:
            return pushes
        rows: list[Row] = []
        slowly = False
        while begin < end:
            found = next((made for made in self._all_at(begin) if begin + made.size <= end), None)
            rows.append(found.row if found else self._plain(begin))
            slowly |= found is None
            begin += found.size if found else 1
        return [[at.SLOWLY, *[0] * (at.INSTRUCTION - 1)], *rows] if slowly else rows

    def _pushes(self, begin: int, end: int) -> list[Row] | None:
        """A stretch that leaves registers and aggregates on the stack, one after the other, and does nothing else."""
        rows: list[Row] = []
        while begin < end:
            what, a, aggregate, _ = self._at(begin)
            function, flavour = divmod(aggregate, op.FLAVOURS)
            if what == op.NEW:
                rows.append([at.PUSH, a, len(rows), op.UNSET, 0, 0, 0, 0])
                begin += 1
            elif what == op.FINISH and function == op.COUNT:
                rows.append([at.PUSH, a, len(rows), op.VALUE, 0, 0, 0, 0])
                begin += 3  # with the 0 that it is if there is none
            elif what == op.FINISH and function in (op.SUM, op.MIN, op.MAX) and flavour != op.TIMES:
                rows.append([at.PUSH, a, len(rows), op.NULL, 0, 0, 0, 0])
                begin += 1
            elif what == op.FINISH and function == op.AVG and flavour == op.FLOATS:
                rows.append([at.PUSH_AVERAGE, a, len(rows), op.NULL, 0, 0, 0, 0])
                begin += 1
            else:
                return None
        return rows if begin == end else None

    def _plain(self, number: int) -> Row:
        """An instruction as it is, with its constant in it."""
        what, a, b, c = self._code[number]
        low, tag = self._constants[a] if what == op.CONSTANT else (0, 0)
        high = self._constants[a + 1][0] if what == op.CONSTANT and b == 1 else 0
        return [what, a, b, c, low, high, tag, 0]

    def _all_at(self, number: int) -> list[_Fused]:
        """All ways to say in one what begins with an instruction."""
        return [made for way in self._ways if (made := way(number)) is not None]

    def _at(self, number: int) -> Instruction:
        return self._code[number] if number < len(self._code) else (-1, 0, 0, 0)

    def _operand(self, number: int) -> _Operand | None:
        what, a, b, _ = self._at(number)
        if what == op.INPUT:
            return _Operand(at.OF_INPUT, 2 * a, 1)
        if what == op.NEW:
            return _Operand(at.OF_REGISTER, a, 1)
        if what == op.CONSTANT and b == 0 and self._constants[a][1] == op.VALUE:
            return _Operand(at.OF_CONSTANT, self._constants[a][0], 1)
        if what == op.FINISH and b // op.FLAVOURS == op.COUNT:
            return _Operand(at.OF_COUNT, a, 3)  # with the 0 that it is if there is none
        return None

    def _test(self, number: int) -> _Fused | None:
        left = self._operand(number)
        right = self._operand(number + left.size) if left else None
        if left is None or right is None:
            return None
        end = number + left.size + right.size
        what, operator, flavour, _ = self._at(end)
        by_identity = flavour == op.STRINGS and operator in (op.EQ, op.NE)
        if what != op.COMPARE or not (flavour in (op.INTEGERS, op.TIMES, op.FLOATS) or by_identity):
            return None
        if left.kind == at.OF_CONSTANT:
            left, right, operator = right, left, _FLIPPED[operator]
        if left.kind == at.OF_CONSTANT:
            return None
        unless = 0
        if self._at(end + 1)[0] == op.OR_UNSET:
            end += 1
            unless = self._at(end)[1]
        if self._at(end + 1)[0] != op.REQUIRE:
            return None
        kinds = 8 * left.kind + right.kind
        row = [at.TEST, kinds, left.where, operator, int(flavour == op.FLOATS), right.where, 0, unless]
        return _Fused(row, end + 2 - number)

    def _fold(self, number: int) -> _Fused | None:
        given, what, a, aggregate = self._at(number), *self._at(number + 1)[:3]
        function, flavour = divmod(aggregate, op.FLAVOURS)
        if what != op.FOLD:
            return None
        if given[0] == op.CONSTANT and function == op.COUNT:
            return _Fused([at.COUNT_ONE, a, 0, 0, 0, 0, 0, 0], 2)
        if given[0] == op.INPUT and function in (op.SUM, op.AVG) and flavour == op.FLOATS:
            return _Fused([at.ADD_FLOAT, a, 2 * given[1], int(function == op.AVG), 0, 0, 0, 0], 2)
        return None

    def _store(self, number: int) -> _Fused | None:
        given, (what, a, wide, once) = self._at(number), self._at(number + 1)
        if what != op.STORE or wide:
            return None
        if given[0] == op.INPUT:
            return _Fused([at.PUT, a, 2 * given[1], once, 0, 0, 0, 0], 2)
        return _Fused([at.COPY, a, given[1], 0, 0, 0, 0, 0], 2) if given[0] == op.NEW and not once else None

    def _truth(self, number: int) -> _Fused | None:
        if self._at(number)[0] != op.INPUT or self._at(number + 1)[0] != op.REQUIRE:
            return None
        return _Fused([at.TEST_INPUT, 0, 2 * self._at(number)[1], 0, 0, 0, 0, 0], 2)

    def _clear(self, number: int) -> _Fused | None:
        what, a, b, _ = self._at(number)
        return _Fused([at.CLEAR, a, b, 0, 0, 0, 0, 0], 1) if what == op.CLEAR else None

"""Instructions as they are written, with the constants, texts and inputs that they refer to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from acelera.automata.terms import UNSET
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.code import NO_INSTRUCTION, UNITS, Input
from acelera.engine.registers.wide_times import split
from acelera.language.aggregates import canonical
from acelera.language.lowering import UnsupportedError
from acelera.language.types import Kind


class Pushed(NamedTuple):
    """A value that instructions leave on the stack: its kind, NULL if it has none, and whether it is a wide time."""

    kind: Kind
    wide: bool = False


@dataclass
class Writer:
    """Instructions for times in a unit."""

    unit: str
    code: list[tuple[int, int, int, int]] = field(default_factory=list)
    constants: list[tuple[int, int]] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)
    inputs: dict[Input, int] = field(default_factory=dict)
    one_unit: bool = True  # whether all times that were pushed are whole in the unit

    def __len__(self) -> int:
        return len(self.code)

    def emit(self, code: int, a: int = 0, b: int = 0, c: int = 0) -> None:
        """One more instruction."""
        self.code.append((code, a, b, c))

    def drop(self) -> None:
        """Take back the last instruction, to say it otherwise."""
        self.code.pop()

    def mark(self) -> tuple[int, int]:
        """How far it is written."""
        return len(self.code), len(self.constants)

    def undo(self, mark: tuple[int, int]) -> None:
        """Drop what was written since."""
        del self.code[mark[0] :], self.constants[mark[1] :]

    def constant(self, value: Any, kind: Kind | None = None) -> Pushed:
        """Push a constant."""
        if value is None or value is UNSET:
            self._constant(0, op.NULL if value is None else op.UNSET)
            return Pushed(Kind.NULL)
        if isinstance(value, str):
            self._constant(self.texts.setdefault(value, len(self.texts)), op.VALUE)
            return Pushed(Kind.STRING)
        if isinstance(value, float):
            self._constant(int(np.float64(canonical(value)).view(np.int64)), op.VALUE)
            return Pushed(Kind.FLOAT)
        if not isinstance(value, int) or not -(2**63) <= value < 2**63:
            raise UnsupportedError(NO_INSTRUCTION)
        self._constant(int(value), op.VALUE)
        return Pushed(kind or (Kind.BOOL if isinstance(value, bool) else Kind.INT))

    def moment(self, nanoseconds: int, kind: Kind) -> Pushed:
        """Push a constant time."""
        whole, rest = divmod(nanoseconds, UNITS[self.unit])
        if rest == 0 and -(2**63) <= whole < 2**63:
            self._constant(whole, op.VALUE)
            return Pushed(kind)
        self.one_unit = self.one_unit and rest == 0
        high, low = split(nanoseconds)
        self.constants += [(low, op.VALUE), (high, op.VALUE)]
        self.emit(op.CONSTANT, len(self.constants) - 2, 1)
        return Pushed(kind, wide=True)

    def _constant(self, value: int, tag: int) -> None:
        self.constants.append((value, tag))
        self.emit(op.CONSTANT, len(self.constants) - 1)

    def input(self, given: Input, unit: str | None = None) -> Pushed:
        """Push what is read of an event; a time in another unit than this one becomes a wide one."""
        self.emit(op.INPUT, self.inputs.setdefault(given, len(self.inputs)))
        if unit is None or unit == self.unit:
            return Pushed(given.kind)
        self.emit(op.WIDEN, UNITS[unit])
        self.one_unit = False
        return Pushed(given.kind, wide=True)

    def widen(self, value: Pushed, below: bool = False) -> Pushed:
        """Make the value that was pushed last, or the one below it, a wide time if it is none yet."""
        if not value.wide:
            self.emit(op.WIDEN, UNITS[self.unit], int(below))
        return Pushed(value.kind, wide=True)

    def align(self, left: Pushed, right: Pushed, wide: bool = False) -> tuple[Pushed, Pushed]:
        """The last two values as times of one width: wide ones if either is, or if that is wanted."""
        if not (wide or left.wide or right.wide):
            return left, right
        return self.widen(left, below=True), self.widen(right)

    def stack_size(self) -> int:
        """The most values that are ever on the stack, and one to work with."""
        size = most = 0
        for what, *_ in self.code:
            size += 1 if what in op.PUSHING else 0 if what in op.LEAVING else -1
            most = max(most, size)
        return most + 2

"""Numbers of 64 bits in machine code that is being written: constants, memory, loops and conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

WORD = ir.IntType(64)
WIDE = ir.IntType(128)
FLOAT = ir.DoubleType()
POINTER = WORD.as_pointer()
_NAN = 0x7FF8000000000000

Word = Any
"""A number that the code will know when it runs, or a constant."""


def number(value: int) -> Word:
    """A constant."""
    return ir.Constant(WORD, value)


class Words:
    """A function that is being written; what is said next goes to the end of its current block."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.builder: Any = ir.IRBuilder(function.append_basic_block())

    # --- memory -----------------------------------------------------------------------------------------------

    def place(self, base: Word, index: Word | int) -> Word:
        """A place so many numbers after another."""
        return self.builder.gep(base, [number(index) if isinstance(index, int) else index])

    def get(self, base: Word, index: Word | int = 0) -> Word:
        """The number at a place."""
        return self.builder.load(self.place(base, index))

    def put(self, value: Word, base: Word, index: Word | int = 0) -> None:
        """Write a number to a place."""
        self.builder.store(value, self.place(base, index))

    def variable(self, value: int) -> Word:
        """A place that belongs to the function alone."""
        made = self.builder.alloca(WORD)
        self.builder.store(number(value), made)
        return made

    def copy(self, source: Word, target: Word, count: int) -> None:
        """Copy so many numbers."""
        read = [self.get(source, index) for index in range(count)]
        for index, each in enumerate(read):
            self.put(each, target, index)

    # --- arithmetic -------------------------------------------------------------------------------------------

    def add(self, one: Word, other: Word | int) -> Word:
        """A sum."""
        return self.builder.add(one, number(other) if isinstance(other, int) else other)

    def times(self, one: Word, factor: int) -> Word:
        """A product."""
        return self.builder.mul(one, number(factor))

    def equal(self, one: Word, other: Word | int) -> Word:
        """Whether two numbers are the same."""
        return self.builder.icmp_signed("==", one, number(other) if isinstance(other, int) else other)

    def less(self, one: Word, other: Word) -> Word:
        """Whether a number is below another."""
        return self.builder.icmp_signed("<", one, other)

    def real(self, word: Word) -> Word:
        """A number as the float that has its bits."""
        return self.builder.bitcast(word, FLOAT)

    def cleaned(self, real: Word) -> Word:
        """The bits of a float; one NaN and one zero."""
        zeroed = self.builder.bitcast(self.builder.fadd(real, ir.Constant(FLOAT, 0.0)), WORD)
        return self.builder.select(self.builder.fcmp_unordered("uno", real, real), number(_NAN), zeroed)

    # --- ways through the code --------------------------------------------------------------------------------

    def block(self) -> Any:
        """A block that nothing leads to yet."""
        return self.function.append_basic_block()

    def go(self, block: Any) -> None:
        """Go on in a block, wherever that is."""
        self.builder.branch(block)

    def write_at(self, block: Any) -> None:
        """What is said next goes there."""
        self.builder.position_at_end(block)

    def unless(self, condition: Word, block: Any) -> None:
        """Go to a block if a condition holds; what is said next happens if it does not."""
        further = self.block()
        self.builder.cbranch(condition, block, further)
        self.write_at(further)

    def only_if(self, condition: Word, otherwise: Any) -> None:
        """Go to a block if a condition does not hold; what is said next happens if it does."""
        further = self.block()
        self.builder.cbranch(condition, further, otherwise)
        self.write_at(further)

    def each(self, begin: Word, end: Word, said: Callable[[Word, Any], None]) -> None:
        """A loop over numbers; `said` writes what happens with one, and gets the block that goes on with the next."""
        self._loop(begin, lambda index: self.less(index, end), lambda index: self.add(index, 1), said)

    def each_row(self, begin: Word, end: Word, stride: int, said: Callable[[Word, Any], None]) -> None:
        """The same over places that are so many numbers apart."""
        self._loop(
            begin,
            lambda place: self.builder.icmp_unsigned("<", place, end),
            lambda place: self.place(place, stride),
            said,
        )

    def _loop(
        self,
        begin: Word,
        is_one: Callable[[Word], Word],
        next_of: Callable[[Word], Word],
        said: Callable[[Word, Any], None],
    ) -> None:
        before, head, body, following, after = self.builder.block, *(self.block() for _ in range(4))
        self.go(head)
        self.write_at(head)
        each = self.builder.phi(begin.type)
        each.add_incoming(begin, before)
        self.builder.cbranch(is_one(each), body, after)
        self.write_at(body)
        said(each, following)
        self.go(following)
        self.write_at(following)
        each.add_incoming(next_of(each), following)
        self.go(head)
        self.write_at(after)

    def known(self, row: Sequence[tuple[int, Word]], begin: Word, end: Word, stride: int, otherwise: Any) -> None:
        """Go to a block if a row from one place to another has some numbers at some places."""

        def compare(at: Word, following: Any) -> None:
            for index, word in row:
                self.only_if(self.equal(self.get(at, index), word), following)
            self.go(otherwise)
            self.write_at(self.block())

        self.each_row(begin, end, stride, compare)

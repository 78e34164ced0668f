"""Instructions as machine code. Registers are loaded when they are first asked for, and written when all is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy.typing as npt
from llvmlite import ir

from acelera.engine.registers import opcodes as op
from acelera.engine.registers.wide_times import LIMIT, joined
from acelera.language.lowering import UnsupportedError
from acelera.stages import layout as at
from acelera.stages.native.words import FLOAT, WIDE, WORD, Word, Words, number

_SIGNS = {op.EQ: "==", op.NE: "!=", op.LT: "<", op.LE: "<=", op.GT: ">", op.GE: ">="}
_WHOLE = (op.INTEGERS, op.TIMES)
_LOWEST = -(2**63)


class Exits(NamedTuple):
    """Where code goes if a condition does not hold, and if something is left to the kernel."""

    refused: Any
    left: Any


class Pushed(NamedTuple):
    """A value on the stack."""

    tag: Word
    value: Word


class Registers:
    """The registers of a configuration, some of them changed. Code that may be left works on a copy: what it has loaded
    is not there for those that come after it.
    """

    def __init__(self, words: Words, source: Word | None, changed: dict[int, Word] | None = None) -> None:
        self._words, self._source = words, source
        self._known = dict(changed or {})

    def __getitem__(self, index: int) -> Word:
        if index not in self._known:
            self._known[index] = number(0) if self._source is None else self._words.get(self._source, index)
        return self._known[index]

    def __setitem__(self, index: int, word: Word) -> None:
        self._known[index] = word

    def copy(self) -> Registers:
        """The same, to be changed apart."""
        return Registers(self._words, self._source, self._known)


class Instructions:
    """Writes stretches of the code of a machine; an UnsupportedError says what has no form here."""

    def __init__(self, words: Words, code: npt.NDArray[Any]) -> None:
        self._words, self._builder, self._code = words, words.builder, code.tolist()
        self._stack: list[Pushed] = []
        self._ways: dict[int, Callable[..., None]] = {
            at.TEST: self._test,
            at.TEST_INPUT: self._test_input,
            at.COUNT_ONE: self._count_one,
            at.ADD_FLOAT: self._add_float,
            at.PUT: self._put,
            at.COPY: self._copy,
            at.CLEAR: self._clear,
            at.PUSH: self._push,
            at.PUSH_AVERAGE: self._push_average,
            at.SLOWLY: self._nothing,
            op.CLEAR: self._clear,
            op.CONSTANT: self._constant,
            op.INPUT: self._input,
            op.NEW: self._new,
            op.STORE: self._store,
            op.FOLD: self._fold,
            op.FINISH: self._finish,
            op.COALESCE: self._coalesce,
            op.TO_FLOAT: self._to_float,
            op.ADD: partial(self._arithmetic, words.builder.fadd, words.builder.sadd_with_overflow),
            op.SUBTRACT: partial(self._arithmetic, words.builder.fsub, words.builder.ssub_with_overflow),
            op.MULTIPLY: partial(self._arithmetic, words.builder.fmul, words.builder.smul_with_overflow),
            op.DIVIDE: self._divide,
            op.REMAINDER: self._remainder,
            op.NEGATE: self._negate,
            op.FLOAT_BELOW: self._float_below,
            op.WIDEN: self._widen,
            op.AND: partial(self._connect, 0),
            op.OR: partial(self._connect, 1),
            op.NOT: self._not,
            op.IS_NULL: self._is_null,
            op.COMPARE: self._compare,
            op.OR_UNSET: self._or_unset,
            op.REQUIRE: self._require,
        }

    def write(self, begin: int, end: int, row: Registers, inputs: Word | None, exits: Exits) -> list[Pushed]:
        """Write instructions that work on registers; what they leave on the stack."""
        self._row, self._inputs, self._exits, self._stack = row, inputs, exits, []
        for instruction in self._code[begin:end]:
            way = self._ways.get(instruction[0])
            if way is None:
                raise UnsupportedError("some of its operators")
            way(*instruction[1:])
        return self._stack

    def cleared(self, begin: int, end: int) -> set[int]:
        """The registers that a stretch clears."""
        found = [each for each in self._code[begin:end] if each[0] in (at.CLEAR, op.CLEAR)]
        return {place for _, a, b, *_ in found for place in range(a, a + b + 1)}

    # --- values -----------------------------------------------------------------------------------------------

    def _given(self, index: int) -> Word:
        if self._inputs is None:
            raise UnsupportedError("what an event has where there is none")
        return self._words.get(self._inputs, index)

    def _is(self, tag: Word, wanted: int) -> Word:
        return self._words.equal(tag, wanted)

    def _or_else(self, condition: Word, one: Word, other: Word) -> Word:
        return self._builder.select(condition, one, other)

    def _ordered(self, operator: int, is_float: bool, one: Word, other: Word) -> Word:
        sign = _SIGNS[operator]
        if is_float:
            return self._builder.fcmp_ordered(sign, self._words.real(one), self._words.real(other))
        return self._builder.icmp_signed(sign, one, other)

    def _leave_if_failed(self, tag: Word) -> None:
        self._words.unless(self._is(tag, op.FAILED), self._exits.left)

    # --- conditions -------------------------------------------------------------------------------------------

    def _operand(self, kind: int, where: int) -> Pushed:
        if kind == at.OF_CONSTANT:
            return Pushed(number(op.VALUE), number(where))
        if kind == at.OF_INPUT:
            return Pushed(self._given(where + 1), self._given(where))
        tag = number(op.VALUE) if kind == at.OF_COUNT else self._row[where]
        return Pushed(tag, self._row[where + 1])

    def _test(self, kinds: int, left: int, operator: int, is_float: int, right: int, _: int, unless: int) -> None:
        sides = self._operand(kinds >> 3, left), self._operand(kinds & 7, right)
        holds = self._ordered(operator, bool(is_float), sides[0].value, sides[1].value)
        for tag, _value in sides:
            holds = self._builder.and_(holds, self._is(tag, op.VALUE))
        if unless:
            holds = self._builder.or_(holds, self._is(self._row[unless], op.UNSET))
        doubtful = self._words.block()
        self._words.only_if(holds, doubtful)
        further = self._builder.block
        self._words.write_at(doubtful)
        for tag, _value in sides:
            self._leave_if_failed(tag)
        self._words.go(self._exits.refused)
        self._words.write_at(further)

    def _test_input(self, _: int, where: int, *_rest: int) -> None:
        holds = self._builder.icmp_signed("!=", self._given(where), number(0))
        self._words.only_if(self._builder.and_(holds, self._is(self._given(where + 1), op.VALUE)), self._exits.refused)

    def _compare(self, operator: int, flavour: int, *_: int) -> None:
        by_identity = flavour == op.STRINGS and operator in (op.EQ, op.NE)
        if flavour == op.STRINGS and not by_identity:
            raise UnsupportedError("the order of texts")
        left, right = self._two()
        real = flavour == op.FLOATS
        known = self._builder.not_(self._missing(left, right))
        if real:
            ordered = self._builder.fcmp_ordered("ord", self._words.real(left.value), self._words.real(right.value))
            known = self._builder.and_(known, ordered)
        holds = self._builder.zext(self._ordered(operator, real, left.value, right.value), WORD)
        self._push_if(known, holds)

    def _or_unset(self, register: int, *_: int) -> None:
        tag, value = self._stack.pop()
        unset = self._is(self._row[register], op.UNSET)
        self._stack.append(Pushed(self._or_else(unset, number(op.VALUE), tag), self._or_else(unset, number(1), value)))

    def _require(self, *_: int) -> None:
        tag, value = self._stack.pop()
        self._leave_if_failed(tag)
        true = self._builder.icmp_signed("!=", value, number(0))
        self._words.only_if(self._builder.and_(self._is(tag, op.VALUE), true), self._exits.refused)

    # --- registers --------------------------------------------------------------------------------------------

    def _nothing(self, *_: int) -> None:
        """What only says that others follow."""

    def _count_one(self, register: int, *_: int) -> None:
        self._row[register + 1] = self._words.add(self._row[register + 1], 1)
        self._row[register] = number(op.VALUE)

    def _add_float(self, register: int, where: int, counts: int, *_: int) -> None:
        self._add_real(register, Pushed(self._given(where + 1), self._given(where)), counts)

    def _add_real(self, register: int, given: Pushed, counts: int) -> None:
        row, there = self._row, self._is(given.tag, op.VALUE)
        total = self._builder.fadd(self._words.real(row[register + 1]), self._words.real(given.value))
        row[register + 1] = self._or_else(there, self._words.cleaned(total), row[register + 1])
        if counts:
            more = self._or_else(there, number(1), number(0))
            row[register + 2] = self._words.add(row[register + 2], more)
        row[register] = self._or_else(there, number(op.VALUE), row[register])

    def _put(self, register: int, where: int, once: int, *_: int) -> None:
        self._keep(register, Pushed(self._given(where + 1), self._given(where)), once)

    def _keep(self, register: int, given: Pushed, once: int) -> None:
        tag, value = given
        if once:
            free = self._is(self._row[register], op.UNSET)
            tag = self._or_else(free, tag, self._row[register])
            value = self._or_else(free, value, self._row[register + 1])
        self._row[register], self._row[register + 1] = tag, value

    def _store(self, register: int, wide: int, once: int, *_: int) -> None:
        if wide:
            raise UnsupportedError("a wide time in a register")
        tag, value = self._stack.pop()
        self._keep(register, Pushed(tag, self._or_else(self._is(tag, op.VALUE), value, number(0))), once)

    def _copy(self, register: int, source: int, *_: int) -> None:
        self._row[register], self._row[register + 1] = self._row[source], self._row[source + 1]

    def _clear(self, register: int, more: int, *_: int) -> None:
        for place in range(register, register + more + 1):
            self._row[place] = number(0)

    def _fold(self, register: int, aggregate: int, *_: int) -> None:
        """One more value; what is NULL is left out, a sum that does not fit is left to the kernel."""
        function, flavour = divmod(aggregate, op.FLAVOURS)
        given = self._stack.pop()
        self._leave_if_failed(given.tag)
        self._leave_if_failed(self._row[register])
        if function in (op.SUM, op.AVG) and flavour == op.FLOATS:
            self._add_real(register, given, function == op.AVG)
        elif function == op.COUNT or (function in (op.SUM, op.AVG) and flavour in _WHOLE):
            self._add_whole(register, given, function)
        elif function in (op.MIN, op.MAX) and flavour != op.STRINGS:
            self._choose(register, given, op.LT if function == op.MIN else op.GT, flavour == op.FLOATS)
        else:
            raise UnsupportedError("some of its aggregates")

    def _add_whole(self, register: int, given: Pushed, function: int) -> None:
        row, there = self._row, self._is(given.tag, op.VALUE)
        by = number(1) if function == op.COUNT else given.value
        added = self._builder.sadd_with_overflow(row[register + 1], self._or_else(there, by, number(0)))
        self._words.unless(self._builder.extract_value(added, 1), self._exits.left)
        row[register + 1] = self._builder.extract_value(added, 0)
        if function == op.AVG:
            row[register + 2] = self._words.add(row[register + 2], self._or_else(there, number(1), number(0)))
        row[register] = self._or_else(there, number(op.VALUE), row[register])

    def _choose(self, register: int, given: Pushed, operator: int, is_float: bool) -> None:
        """The smaller or the larger one; NaN if one of them is."""
        row, there = self._row, self._is(given.tag, op.VALUE)
        better = self._ordered(operator, is_float, given.value, row[register + 1])
        if is_float:
            real = self._words.real(given.value)
            better = self._builder.or_(better, self._builder.fcmp_unordered("uno", real, real))
        better = self._builder.or_(better, self._is(row[register], op.UNSET))
        taken = self._builder.and_(there, better)
        row[register + 1] = self._or_else(taken, given.value, row[register + 1])
        row[register] = self._or_else(taken, number(op.VALUE), row[register])

    # --- the stack --------------------------------------------------------------------------------------------

    def _constant(self, _: int, wide: int, __: int, low: int, high: int, tag: int, *_rest: int) -> None:
        self._stack.append(Pushed(number(tag), ir.Constant(WIDE, joined(high, low)) if wide else number(low)))

    def _input(self, slot: int, *_: int) -> None:
        self._stack.append(Pushed(self._given(2 * slot + 1), self._given(2 * slot)))

    def _new(self, register: int, *_: int) -> None:
        self._stack.append(Pushed(self._row[register], self._row[register + 1]))

    def _push(self, register: int, _: int, unset: int, *_rest: int) -> None:
        tag = self._row[register]
        known = self._or_else(self._is(tag, op.UNSET), number(unset), tag)
        self._stack.append(Pushed(known, self._row[register + 1]))

    def _push_average(self, register: int, _: int, unset: int, *_rest: int) -> None:
        self._push(register, 0, unset)
        tag, total = self._stack.pop()
        self._stack.append(Pushed(tag, self._mean(self._words.real(total), register)))

    def _mean(self, total: Word, register: int) -> Word:
        count = self._builder.sitofp(self._row[register + 2], FLOAT)
        return self._words.cleaned(self._builder.fdiv(total, count))

    def _finish(self, register: int, aggregate: int, *_: int) -> None:
        function, flavour = divmod(aggregate, op.FLAVOURS)
        summed = function == op.SUM and flavour in (op.INTEGERS, op.FLOATS)
        chosen = function in (op.MIN, op.MAX) and flavour != op.STRINGS
        if not (function in (op.COUNT, op.AVG) or summed or chosen):
            raise UnsupportedError("some of its aggregates")
        self._push(register, 0, op.NULL)
        if function == op.AVG:
            tag, total = self._stack.pop()
            real = self._words.real(total) if flavour == op.FLOATS else self._builder.sitofp(total, FLOAT)
            self._stack.append(Pushed(tag, self._mean(real, register)))

    def _coalesce(self, *_: int) -> None:
        other, one = self._stack.pop(), self._stack.pop()
        self._leave_if_failed(other.tag)
        missing = self._is(one.tag, op.NULL)
        self._stack.append(
            Pushed(self._or_else(missing, other.tag, one.tag), self._or_else(missing, other.value, one.value))
        )

    def _to_float(self, *_: int) -> None:
        tag, value = self._stack.pop()
        real = self._builder.bitcast(self._builder.sitofp(value, FLOAT), WORD)
        self._stack.append(Pushed(tag, real))

    def _arithmetic(self, of_floats: Callable[..., Word], of_whole: Callable[..., Word], flavour: int, *_: int) -> None:
        """NULL if a side is, or if the result does not fit."""
        left, right = self._two()
        if flavour == op.FLOATS:
            value = self._words.cleaned(of_floats(self._words.real(left.value), self._words.real(right.value)))
            self._push_if(self._builder.not_(self._missing(left, right)), value)
            return
        made = of_whole(left.value, right.value)
        value = self._builder.extract_value(made, 0)
        lost = self._builder.or_(self._missing(left, right), self._builder.extract_value(made, 1))
        if flavour == op.WIDE:
            limit = ir.Constant(WIDE, joined(LIMIT, 0))
            for sign, end in ((">=", limit), ("<=", ir.Constant(WIDE, -joined(LIMIT, 0)))):
                lost = self._builder.or_(lost, self._builder.icmp_signed(sign, value, end))
        self._push_if(self._builder.not_(lost), value)

    def _two(self) -> tuple[Pushed, Pushed]:
        """The last two values, neither of which has failed."""
        right, left = self._stack.pop(), self._stack.pop()
        for tag, _value in (left, right):
            self._leave_if_failed(tag)
        return left, right

    def _missing(self, left: Pushed, right: Pushed) -> Word:
        there = self._builder.and_(self._is(left.tag, op.VALUE), self._is(right.tag, op.VALUE))
        return self._builder.not_(there)

    def _push_if(self, known: Word, value: Word) -> None:
        """Push a value, or NULL."""
        self._stack.append(Pushed(self._or_else(known, number(op.VALUE), number(op.NULL)), value))

    def _divide(self, *_: int) -> None:
        left, right = self._two()
        divisor = self._words.real(right.value)
        nothing = self._builder.fcmp_ordered("==", divisor, ir.Constant(FLOAT, 0.0))
        known = self._builder.not_(self._builder.or_(self._missing(left, right), nothing))
        self._push_if(known, self._words.cleaned(self._builder.fdiv(self._words.real(left.value), divisor)))

    def _remainder(self, flavour: int, *_: int) -> None:
        """With the sign of the left one; a divisor of -1, by which processors may fail, leaves nothing, as 1 does."""
        if flavour != op.INTEGERS:
            raise UnsupportedError("remainders of floats")
        left, right = self._two()
        nothing = self._words.equal(right.value, 0)
        unsafe = self._builder.or_(nothing, self._words.equal(right.value, -1))
        rest = self._builder.srem(left.value, self._or_else(unsafe, number(1), right.value))
        self._push_if(self._builder.not_(self._builder.or_(self._missing(left, right), nothing)), rest)

    def _negate(self, flavour: int, *_: int) -> None:
        if flavour not in (op.INTEGERS, op.FLOATS):
            raise UnsupportedError("negative times")
        tag, value = self._stack.pop()
        if flavour == op.FLOATS:
            self._stack.append(Pushed(tag, self._words.cleaned(self._builder.fneg(self._words.real(value)))))
            return
        lost = self._builder.and_(self._is(tag, op.VALUE), self._words.equal(value, _LOWEST))
        self._stack.append(Pushed(self._or_else(lost, number(op.NULL), tag), self._builder.neg(value)))

    def _float_below(self, *_: int) -> None:
        last = self._stack.pop()
        self._to_float()
        self._stack.append(last)

    def _widen(self, factor: int, below: int, *_: int) -> None:
        place = len(self._stack) - 1 - below
        tag, value = self._stack[place]
        wide = self._builder.mul(self._builder.sext(value, WIDE), ir.Constant(WIDE, factor))
        self._stack[place] = Pushed(tag, wide)

    def _connect(self, deciding: int, *_: int) -> None:
        """AND, which FALSE decides, or OR, which TRUE does."""
        left, right = self._two()
        decided = self._builder.or_(self._is_known_as(left, deciding), self._is_known_as(right, deciding))
        unknown = self._builder.or_(self._is(left.tag, op.NULL), self._is(right.tag, op.NULL))
        tag = self._or_else(decided, number(op.VALUE), self._or_else(unknown, number(op.NULL), left.tag))
        self._stack.append(Pushed(tag, self._or_else(decided, number(deciding), left.value)))

    def _is_known_as(self, given: Pushed, value: int) -> Word:
        return self._builder.and_(self._is(given.tag, op.VALUE), self._words.equal(given.value, value))

    def _not(self, *_: int) -> None:
        tag, value = self._stack.pop()
        self._stack.append(Pushed(tag, self._builder.zext(self._words.equal(value, 0), WORD)))

    def _is_null(self, negated: int, *_: int) -> None:
        tag, _value = self._stack.pop()
        self._leave_if_failed(tag)
        found = self._is(tag, op.NULL)
        found = self._builder.not_(found) if negated else found
        self._stack.append(Pushed(number(op.VALUE), self._builder.zext(found, WORD)))

"""Letters: which tests of one event hold, as one small number an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.automata.terms import Attr, Const, Earlier, Environment, Identical, Position, Sql, Term, holds
from acelera.engine.frames import Frame, attribute_type, earlier
from acelera.engine.predicates.masks import predicate_mask
from acelera.language import ast
from acelera.language.conditions import replace_attributes
from acelera.language.schema import Schema

Mask = Callable[[Frame], npt.NDArray[np.bool_]]

LETTER = "\0letter"
"""The column that tells which tests hold that were made elsewhere; no column of a stream is called so."""

_AT_ONCE = 8  # tests that are packed into one number before it is looked up


class Alphabet:
    """The letters that have occurred. A letter's number is the order of its first appearance; `holding` tells which
    tests hold for it.

    Tests that are `given` have been made elsewhere: whether they hold stands in the bits of a column.
    """

    def __init__(self, tests: Sequence[Term], schema: Schema, given: Sequence[int] = ()) -> None:
        self.holding: list[frozenset[int]] = []
        own = [number for number in range(len(tests)) if number not in given]
        self._steps = [
            _Step(given[begin : begin + _AT_ONCE], _given_codes(begin // _AT_ONCE))
            for begin in range(0, len(given), _AT_ONCE)
        ]
        for begin in range(0, len(own), _AT_ONCE):
            numbers = own[begin : begin + _AT_ONCE]
            self._steps.append(_Step(numbers, _codes([mask_of(tests[number], schema) for number in numbers])))
        if not self._steps:
            self.holding.append(frozenset())

    def read(self, frame: Frame) -> npt.NDArray[np.int32]:
        """The letter of each event."""
        if not self._steps:
            return np.zeros(len(frame), np.int32)
        letters, holding = np.zeros(len(frame), np.int32), [frozenset[int]()]
        for step in self._steps:
            letters = step.read(letters, len(holding), frame)
            holding = step.holding(holding)
        self.holding = holding
        return letters


Codes = Callable[[Frame], npt.NDArray[np.uint8]]


class _Step:
    """Some tests on top of what is known so far: a table from (number so far, tests that hold) to a new number.

    `packed` gives the tests that hold for each event, as the bits of a byte.
    """

    def __init__(self, tests: Sequence[int], packed: Codes) -> None:
        self._tests, self._width, self._packed = tests, len(tests), packed
        self._table = np.full(1 << self._width, -1, np.int32)
        self._codes: list[int] = []
        self._holding: list[frozenset[int]] = []

    def read(self, before: npt.NDArray[np.int32], numbers: int, frame: Frame) -> npt.NDArray[np.int32]:
        codes: npt.NDArray[Any] = self._packed(frame)
        if numbers > 1 or before.any():
            codes = (before << self._width) | codes
        if numbers << self._width > len(self._table):
            larger = np.full(numbers << (self._width + 1), -1, np.int32)
            larger[: len(self._table)] = self._table
            self._table = larger
        letters = self._table[codes]
        if len(letters) and letters.min() < 0:
            for code in np.unique(codes[letters < 0]).tolist():
                self._table[code] = len(self._codes)
                self._codes.append(code)
            letters = self._table[codes]
        return np.asarray(letters, np.int32)

    def holding(self, before: Sequence[frozenset[int]]) -> list[frozenset[int]]:
        low = (1 << self._width) - 1
        for code in self._codes[len(self._holding) :]:
            self._holding.append(before[code >> self._width] | self._held(code & low))
        return self._holding

    def _held(self, code: int) -> frozenset[int]:
        return frozenset(test for bit, test in enumerate(self._tests) if code >> bit & 1)


def _codes(masks: Sequence[Mask]) -> Codes:
    """The masks of some tests as the bits of a byte."""

    def packed(frame: Frame) -> npt.NDArray[np.uint8]:
        found = np.zeros(len(frame), np.uint8)
        for bit, mask in enumerate(masks):
            found |= mask(frame).view(np.uint8) << np.uint8(bit)
        return found

    return packed


def _given_codes(byte: int) -> Codes:
    """Tests that were made elsewhere, as they stand in a byte of the column that tells of them."""

    def packed(frame: Frame) -> npt.NDArray[np.uint8]:
        words = np.ascontiguousarray(frame.batch.column(LETTER).to_numpy(), "<i8")
        return words.view(np.uint8)[byte::8]

    return packed


# --- tests --------------------------------------------------------------------------------------------------------


def mask_of(test: Term, schema: Schema) -> Mask:
    """A function that tells for which events of a frame a test holds."""
    if isinstance(test, Identical) and test.left == Position() and isinstance(test.right, Const):
        place = test.right.constant
        return lambda frame: frame.positions == place
    if isinstance(test, Sql) and all(isinstance(term, Attr | Earlier | Const) for _, term in test.leaves):
        predicate = over_columns(test)
        names = [node.name for node in ast.walk(predicate) if isinstance(node, ast.Attribute)]
        compute = predicate_mask(predicate, {name: attribute_type(name, schema) for name in names})
        return lambda frame: compute(frame, len(frame))
    return _by_event(test)


def over_columns(test: Sql) -> ast.Expression:
    """The expression over the attributes of the event, whatever they were called."""
    bound = dict(test.leaves)

    def named(node: ast.Attribute) -> ast.Expression:
        term = bound[(node.variable, node.name)]
        if isinstance(term, Attr):
            return ast.Attribute(None, term.name)
        if isinstance(term, Earlier):
            return ast.Attribute(None, earlier(term.name))
        assert isinstance(term, Const)
        return ast.Literal(term.constant)

    return replace_attributes(test.expression, named)


def _by_event(test: Term) -> Mask:
    """Event by event, for the few tests that no expression says: whether two attributes are the same, NULL or not."""

    def mask(frame: Frame) -> npt.NDArray[np.bool_]:
        return np.array([holds(test, Environment(frame.event(row))) for row in range(len(frame))], np.bool_)

    return mask

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
        bits = {number: bit for bit, number in enumerate(given)}
        self._masks = [
            _given_mask(bits[number]) if number in bits else mask_of(test, schema) for number, test in enumerate(tests)
        ]
        self._steps: list[_Step] = []
        for begin in range(0, len(self._masks), _AT_ONCE):
            self._steps.append(_Step(begin, min(_AT_ONCE, len(self._masks) - begin)))
        if not self._steps:
            self.holding.append(frozenset())

    def read(self, frame: Frame) -> npt.NDArray[np.int32]:
        """The letter of each event."""
        if not self._steps:
            return np.zeros(len(frame), np.int32)
        letters, holding = np.zeros(len(frame), np.int32), [frozenset[int]()]
        for step in self._steps:
            masks = (mask(frame) for mask in self._masks[step.begin : step.begin + step.width])
            letters = step.read(letters, len(holding), masks)
            holding = step.holding(holding)
        self.holding = holding
        return letters


class _Step:
    """Some tests on top of what is known so far: a table from (number so far, tests that hold) to a new number."""

    def __init__(self, begin: int, width: int) -> None:
        self.begin, self.width = begin, width
        self._table = np.full(1 << width, -1, np.int32)
        self._codes: list[int] = []

    def read(self, before: npt.NDArray[np.int32], numbers: int, masks: Any) -> npt.NDArray[np.int32]:
        packed = np.zeros(len(before), np.uint8)
        for bit, mask in enumerate(masks):
            packed |= mask.view(np.uint8) << np.uint8(bit)
        codes: npt.NDArray[Any] = packed
        if numbers > 1 or before.any():
            codes = (before << self.width) | packed
        if numbers << self.width > len(self._table):
            larger = np.full(numbers << (self.width + 1), -1, np.int32)
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
        low = (1 << self.width) - 1
        return [before[code >> self.width] | _bits(code & low, self.begin) for code in self._codes]


def _bits(code: int, begin: int) -> frozenset[int]:
    return frozenset(begin + bit for bit in range(code.bit_length()) if code >> bit & 1)


# --- tests --------------------------------------------------------------------------------------------------------


def _given_mask(bit: int) -> Mask:
    return lambda frame: (frame.batch.column(LETTER).to_numpy() >> bit & 1).astype(np.bool_)


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

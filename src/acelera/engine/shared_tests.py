"""Tests of one event that several queries ask for: each is made once for all of them.

Which tests hold for an event stands in the bits of words. Few words differ, so that what a query makes of them (whether
it reacts to an event at all, and the bits of its own tests) is found out once for each word that occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.automata.terms import Attr, Const, Sql, Term
from acelera.engine.begun import Begun, Placed, Placing
from acelera.engine.comparisons import Comparison, Stretches, comparison_of, is_number
from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.frames import Frame, column_of, columns_of
from acelera.engine.predicates.letters import LETTER, mask_of, over_columns
from acelera.engine.session.incoming import asks_for_type
from acelera.engine.window import Window, window_of
from acelera.language import ast
from acelera.language.schema import Schema
from acelera.language.types import Kind

Ints = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

PER_WORD = 62
"""How many tests go into the bits of one word; of each query, so many are told to it."""

LEAST_REACTING, MOST_BEGINNING = 1 / 16, 1 / 8
"""It is asked where matches have begun if more events than this matter as such, and matches begin with fewer."""

_FEW = 4
"""Words are told apart if there are so many times as many events."""


_TEXTS = (pa.string(), pa.large_string())


@dataclass(frozen=True)
class Told:
    """Which tests hold for some events: the `words` that occur, and for each event which of them is its own.

    Without `codes`, each event has words of its own.
    """

    words: tuple[Ints, ...]
    codes: Ints | None

    def of_events(self, known: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What is known of each of the words, for each event."""
        return known if self.codes is None else known[self.codes]

    @cached_property
    def each_code(self) -> Ints:
        """For each event which of the words is its own."""
        return np.arange(len(self.words[0])) if self.codes is None else self.codes

    def share(self, words: Bools) -> float:
        """The share of events that have one of some words."""
        counts = self._counts
        return float(counts[words].sum() / max(counts.sum(), 1))

    @cached_property
    def _counts(self) -> Ints:
        """How many events have each of the words."""
        return np.bincount(self.each_code, minlength=len(self.words[0]))

    @classmethod
    def of(cls, words: Sequence[Ints]) -> Told:
        """Tell the words of events apart, if they are much fewer than the events."""
        codes, found = _encoded(words[0])
        known = [found]
        for word in words[1:]:
            others, found = _encoded(word)
            codes, pairs = _encoded(codes.astype(np.int64) * len(found) + others)
            known = [each[pairs // len(found)] for each in known] + [found[pairs % len(found)]]
            if len(pairs) * _FEW > len(codes):
                break
        if len(known) < len(words) or len(known[0]) * _FEW > len(codes):
            return cls(tuple(words), None)
        return cls(tuple(known), codes)


def _encoded(word: Ints) -> tuple[Ints, Ints]:
    """Each value by its number, and the values."""
    found = pa.array(word).dictionary_encode()
    return np.asarray(found.indices.to_numpy()), np.asarray(found.dictionary.to_numpy())


@dataclass(frozen=True)
class Reader:
    """How one of several queries reads what was found out for all of them.

    Its own tests with the numbers `given` stand in those `places`; `reactions` are the places of tests of which all of
    one group must hold for an event to matter to it, None if every event does. `beginnings` are the same for an event
    to be the first of a match, None if that says nothing of others. `types` are the places of tests that ask for the
    type of an event.
    """

    given: tuple[int, ...]
    places: tuple[int, ...]
    reactions: tuple[tuple[int, ...], ...] | None
    beginnings: tuple[tuple[int, ...], ...] | None
    types: tuple[int, ...]
    keys: tuple[str, ...]
    window: Window
    longest: int | None

    def rows(self, told: Told, placed: Placed | None = None, begun: Begun | None = None) -> Ints | None:
        """The events that matter; None if all do. Where the events stand, and when matches have begun, may be told."""
        reacts = None if self.reactions is None else _any_holds(self.reactions, told)
        if placed is None or begun is None or self.beginnings is None:
            return None if reacts is None else np.flatnonzero(told.of_events(reacts))
        begins = _any_holds(self.beginnings, told)
        if reacts is None:
            reacts = np.ones(len(begins), np.bool_)
        found = None
        if told.share(reacts) >= LEAST_REACTING and told.share(begins) <= MOST_BEGINNING:
            found = begun.matters(placed, told.each_code, begins, reacts)
        else:
            begun.all_matter(placed)
        if found is None and self.reactions is not None:
            found = told.of_events(reacts)
        return None if found is None else np.flatnonzero(found)

    def begun(self) -> Begun | None:
        """To be told when matches begin; None if that says nothing about which events matter."""
        return None if self.beginnings is None else Begun(self.window, self.longest)

    def letters(self, told: Told, rows: Ints | None) -> Ints:
        """The bits of the query's own tests, for some of the events."""
        found = np.zeros(len(told.words[0]), np.int64)
        for bit, place in enumerate(self.places):
            number, shift = divmod(place, PER_WORD)
            found |= (told.words[number] >> shift & 1) << bit
        codes = told.codes
        if codes is None:
            return found if rows is None else found[rows]
        return found[codes if rows is None else codes[rows]]

    def read(self, table: pa.Table, told: Told, rows: Ints | None) -> pa.Table:
        """Some rows of a table as a session of the query reads them."""
        found = table if rows is None else table.take(pa.array(rows))
        return found.append_column(LETTER, pa.array(self.letters(told, rows))) if self.given else found


def _any_holds(groups: Sequence[Sequence[int]], told: Told) -> Bools:
    """For each of the words, whether all tests of one group hold, which are given by their places."""
    found = np.zeros(len(told.words[0]), np.bool_)
    for places in groups:
        masks: dict[int, int] = {}
        for number, shift in (divmod(place, PER_WORD) for place in places):
            masks[number] = masks.get(number, 0) | 1 << shift
        holds: Any = True
        for number, mask in masks.items():
            holds = holds & (told.words[number] & mask == mask)
        found |= holds
    return found


@dataclass(frozen=True)
class SharedTests:
    """The distinct tests of several queries, and how each of these reads them.

    The first `elsewhere` are made where the events come from, and stand in words that come with them; those that are
    made `here` have the places after these words.
    """

    elsewhere: tuple[tuple[Term, Schema], ...]
    here: tuple[tuple[Term, Schema], ...]
    readers: tuple[Reader, ...]

    @property
    def given_words(self) -> int:
        """How many words come with events."""
        return -(-len(self.elsewhere) // PER_WORD)

    @cached_property
    def columns(self) -> set[str]:
        """The columns of the stream that tests look at here."""
        return {name for test, schema in self.here for name in columns_of(names_in(test), schema)}

    def placings(self, schema: Schema) -> dict[tuple[str, ...], Placing]:
        """What tells the keys of rows, for those readers to which it matters."""
        return {reader.keys: Placing(reader.keys, schema) for reader in self.readers if reader.beginnings is not None}

    def read(self, batch: pa.RecordBatch, given: Sequence[Ints] = ()) -> Told:
        """Make the tests of some rows; `given` are the words that came with them."""
        words = [*given, *(word.read(batch) for word in self._words)]
        return Told.of(words) if words else Told((np.zeros(1, np.int64),), np.zeros(batch.num_rows, np.int8))

    @cached_property
    def _words(self) -> list[_Word]:
        begins = range(0, len(self.here), PER_WORD)
        return [_Word.of(self.here[begin : begin + PER_WORD]) for begin in begins]


_Test = tuple[int, Callable[[Frame], Bools], Schema]
"""The bit that a test sets, where it holds, and the schema of the events."""


@dataclass(frozen=True)
class _Word:
    """Tests that are made here: of numbers by stretches of their column, of texts for each that occurs, others one by
    one. Each has the bit that it sets.
    """

    numbers: Mapping[str, Stretches]
    texts: Mapping[str, Sequence[_Test]]
    others: Sequence[_Test]

    @classmethod
    def of(cls, tests: Sequence[tuple[Term, Schema]]) -> _Word:
        numbers: dict[str, list[tuple[int, Comparison]]] = {}
        texts: dict[str, list[_Test]] = {}
        others: list[_Test] = []
        for bit, (test, schema) in enumerate(tests):
            compared, asked = comparison_of(test, schema), columns_of(names_in(test), schema)
            if compared is not None and is_number(schema.columns[compared.column].arrow):
                numbers.setdefault(compared.column, []).append((bit, compared))
            elif len(asked) == 1 and schema.columns[next(iter(asked))].kind is Kind.STRING:
                texts.setdefault(next(iter(asked)), []).append((bit, mask_of(test, schema), schema))
            else:
                others.append((bit, mask_of(test, schema), schema))
        return cls({name: Stretches.of(asked) for name, asked in numbers.items()}, texts, others)

    def read(self, batch: pa.RecordBatch) -> Ints:
        """The words of some rows."""
        found = np.zeros(batch.num_rows, np.int64)
        for name, stretches in self.numbers.items():
            found |= stretches.read(batch.column(name))
        for name, tests in self.texts.items():
            column = batch.column(name)
            if not pa.types.is_dictionary(column.type):
                column = column.dictionary_encode()
            values = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])  # NULL at the end
            words = _masks(tests, pa.RecordBatch.from_arrays([values], [name]))
            found |= words[column.indices.fill_null(len(values) - 1).to_numpy()]
        return found | _masks(self.others, batch) if self.others else found


def _masks(tests: Sequence[_Test], batch: pa.RecordBatch) -> Ints:
    """The words of some tests that are made one by one."""
    nowhere, packed = np.zeros(batch.num_rows, np.int64), np.zeros((batch.num_rows, 8), np.uint8)
    frames: dict[int, Frame] = {}
    for bit, mask, schema in tests:
        frame = frames.setdefault(id(schema), Frame(batch, nowhere, schema))
        packed[:, bit // 8] |= mask(frame).view(np.uint8) << np.uint8(bit % 8)
    return np.asarray(packed.view("<i8")[:, 0])


def one_batch(rows: pa.Table) -> pa.RecordBatch:
    """Rows that several queries read as one batch, in which texts that occur often are numbers of a dictionary."""
    arrays = []
    for column in rows.columns:
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if array.type in _TEXTS:
            encoded = array.dictionary_encode()
            array = encoded if len(encoded.dictionary) * _FEW <= len(array) else array
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, rows.column_names)


def shared_tests(
    queries: Sequence[CompiledQuery],
    elsewhere: Callable[[Sequence[tuple[Term, Schema]]], Sequence[tuple[Term, Schema]]] = lambda tests: (),
) -> SharedTests:
    """The tests of some queries over one stream, and those of them that are made elsewhere."""
    found: dict[tuple[ast.Expression, object], tuple[Term, Schema]] = {}
    for query in queries:
        for test in query.plan.tests:
            if is_shared(test, query.schema):
                found.setdefault(_key(test, query.schema), (test, query.schema))
    there = {_key(*each): each for each in elsewhere(list(found.values()))}
    by_column = sorted(found.items(), key=lambda item: names_in(item[1][0]))  # so that they stand in one word
    here = {key: each for key, each in by_column if key not in there}
    begin = -(-len(there) // PER_WORD) * PER_WORD
    places = {key: place for place, key in enumerate(there)} | {key: begin + n for n, key in enumerate(here)}
    readers = tuple(_reader(query, places) for query in queries)
    return SharedTests(tuple(there.values()), tuple(here.values()), readers)


def is_shared(test: Term, schema: Schema) -> bool:
    """Whether a test is known from the columns of a row alone, without its neighbours and its position."""
    if not isinstance(test, Sql) or not all(isinstance(term, Attr | Const) for _, term in test.leaves):
        return False
    return all(name != "position" or column_of(name, schema) is not None for name in names_in(test))


def names_in(test: Term) -> list[str]:
    """The attributes that a test asks for, those that others are computed from among them."""
    assert isinstance(test, Sql)
    names = [node.name for node in ast.walk(over_columns(test)) if isinstance(node, ast.Attribute)]
    return [plain for name in names for plain in ast.plain_names(name)]


def _key(test: Term, schema: Schema) -> tuple[ast.Expression, object]:
    """What two tests have in common that are one: what is asked, and of which type events are if no column tells."""
    assert isinstance(test, Sql)
    return over_columns(test), None if schema.type_column is not None else tuple(schema.event_types or ())


def _reader(query: CompiledQuery, places: dict[tuple[ast.Expression, object], int]) -> Reader:
    schema = query.schema
    own = {
        number: places[_key(test, schema)] for number, test in enumerate(query.plan.tests) if is_shared(test, schema)
    }
    given = tuple(own)[:PER_WORD]
    types = tuple(place for number, place in own.items() if asks_for_type(query.plan.tests[number]))
    return Reader(
        given,
        tuple(own[number] for number in given),
        _places_of(query.reactions, schema, places),
        _places_of(query.beginnings, schema, places),
        types,
        tuple(key.name for key in query.checked.clauses.partition_by),
        window_of(query.checked.clauses.within, schema),
        query.plan.longest,
    )


def _places_of(
    groups: Sequence[Sequence[Term]] | None, schema: Schema, places: Mapping[tuple[ast.Expression, object], int]
) -> tuple[tuple[int, ...], ...] | None:
    """Where the shared tests of each group stand; None if a group has none, so that it may hold for any event."""
    if groups is None:
        return None
    found = tuple(
        tuple(places[_key(test, schema)] for test in asked if is_shared(test, schema) and _key(test, schema) in places)
        for asked in groups
    )
    return None if () in found else found

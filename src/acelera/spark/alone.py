"""Queries that the JVM says alone: events that stand next to each other, told by `lead` over a window.

A row is the first event of a match if it and the rows after it satisfy what a run asks of them. Rows are spread and
sorted once, as for a session in Python, and rows that a session would refuse are refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from acelera.automata.terms import Attr, Sql, subterms
from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.frames import columns_of
from acelera.engine.predicates.letters import LETTER, over_columns
from acelera.engine.window import window_of
from acelera.language import ast
from acelera.language.conditions import replace_attributes
from acelera.language.lowering import UnsupportedError
from acelera.language.types import Kind
from acelera.spark.contiguous import Run, Shape, shapes_of
from acelera.spark.refused_rows import unless_refused
from acelera.spark.schemas import spark_type
from acelera.spark.shown_in_jvm import POSITION, Made, shown
from acelera.spark.slices import SLICE, Slices, micros_of
from acelera.spark.spark_expressions import (
    MOST_TESTS,
    JvmTests,
    check_expression,
    column_of_expression,
    letter_column,
    quoted,
    refusal,
)

MOST_SHAPES = 8
"""So many shapes of matches are told apart in one pass."""

ALL_TIME = 20_000 * 366 * 24 * 3_600 * 1_000_000
"""A window of so many microseconds holds all times that Spark has."""


@dataclass(frozen=True)
class Alone:
    """How the JVM alone finds the matches of a query: the shapes of matches, and what makes the columns of each."""

    shapes: tuple[Shape, ...]
    columns: tuple[tuple[Made, ...], ...]

    def line(self) -> str:
        """The same in words."""
        sizes = sorted({shape.length for shape in self.shapes})
        events = f"{' or '.join(map(str, sizes))} event{'' if sizes == [1] else 's'} in a row"
        return f"in the JVM alone, without Python: {events}, by lead over a window"

    @property
    def runs(self) -> list[Run]:
        """The runs of all shapes."""
        return [run for shape in self.shapes for run in shape.runs]

    @property
    def tests(self) -> list[int]:
        """The numbers of the tests of one event that they ask for."""
        return sorted({number for run in self.runs for tests in run.tests for number in tests})


def alone(query: CompiledQuery) -> Alone:
    """How the JVM says a query alone; an UnsupportedError tells in words why it cannot."""
    checked, plan, schema = query.checked, query.plan, query.schema
    if checked.rows is not None:
        raise UnsupportedError("rows of events have the ids of their matches")
    if checked.clauses.keep is not None:
        raise UnsupportedError("KEEP compares matches")
    window = window_of(checked.clauses.within, schema)
    shapes = shapes_of(plan)
    if window.width is not None and not window.timed:
        width = window.width
        shapes = tuple(shape for shape in shapes if shape.length - 1 <= width)
    if not shapes:
        raise UnsupportedError("no events in a row can be a match")
    if len(shapes) > MOST_SHAPES:
        raise UnsupportedError(f"matches are of more than {MOST_SHAPES} shapes")
    columns = tuple(tuple(shown(each, shape, schema) for each in checked.result.columns) for shape in shapes)
    found = Alone(shapes, columns)
    for number in found.tests:
        refused = refusal(plan.tests[number], schema)
        if refused is not None:
            raise UnsupportedError(f"{plan.tests[number]}: {refused}")
    for run in found.runs:
        for condition in run.conditions:
            check_expression(condition, schema)
    return found


def run_alone(frame: Any, query: CompiledQuery, how: Alone, keys: Sequence[str], sliced: bool) -> Any:
    """The frame of the matches, from the rows that may be in one."""
    from pyspark.sql import Window, functions

    schema, moved = query.schema, _Moved()
    made = [[make(moved) for make in columns] for columns in how.columns]
    asks = _Asks(query, how, moved)
    found = [asks.holds(shape) for shape in how.shapes]
    slices = Slices.of(frame, query) if sliced else None
    if slices is not None:
        begin, number = micros_of(moved(0, schema.order_by[0]), schema), functions.col(SLICE)
        own = begin < functions.lit(slices.begin) + (number + functions.lit(1)) * functions.lit(slices.length)
        found = [own & each for each in found]
    order, by_key = ([moved(0, name) for name in names] for names in (schema.order_by, keys))
    window = Window.partitionBy(*(by_key or [functions.col(SLICE)])).orderBy(*order)
    columns = [name for name in moved.names if name in schema.columns]
    holds = unless_refused(_any(found), moved, columns, schema, keys)
    cut = [] if slices is None else [slices.column(schema).alias(SLICE)]
    names = [name for name in moved.names if name != POSITION]
    rows = frame.select(*cut, *(asks.column(name).alias(moved.called(0, name)) for name in names))
    if not by_key and slices is None:  # one task reads the whole stream, which Spark would warn of
        rows = rows.repartition(1).select(functions.spark_partition_id().alias(SLICE), "*")
    later = [
        functions.lead(moved.called(0, name), place).over(window).alias(moved.called(place, name))
        for place, name in moved.asked
        if place
    ]
    if POSITION in moved.names:
        later.append(functions.row_number().over(window).cast("bigint").alias(moved.called(0, POSITION)))
    matches = rows.select("*", *later).filter(holds)
    if len(made) > 1:
        matches, made = _one_by_one(matches, found, made)
    kinds = [(column.name, spark_type(column.type)) for column in query.checked.result.columns]
    shown_as = [(each.cast(kind), name) for each, (name, kind) in zip(made[0], kinds, strict=True)]
    plain = matches.select(*(column.alias(name) for column, name in shown_as)).schema
    there = order[0].isNotNull()  # in all rows that are left: what comes from Python may be NULL, as far as Spark knows
    nullable = [
        column if field.nullable else functions.when(there, column)
        for (column, _), field in zip(shown_as, plain, strict=True)
    ]
    return matches.select(*(column.alias(name) for column, (_, name) in zip(nullable, shown_as, strict=True)))


def _one_by_one(matches: Any, found: Sequence[Any], made: Sequence[Sequence[Any]]) -> tuple[Any, list[list[Any]]]:
    """A row for each match that a row begins, and the columns of whichever shape it is of."""
    from pyspark.sql import functions

    shape, kinds = functions.col("shape"), range(len(found))
    numbers = [functions.when(holds, functions.lit(kind)) for kind, holds in zip(kinds, found, strict=True)]
    apart = matches.select("*", functions.explode(functions.array_compact(functions.array(*numbers))).alias("shape"))
    columns = []
    for several in zip(*made, strict=True):
        column = functions.when(shape == functions.lit(0), several[0])
        for kind in kinds[1:]:
            column = column.when(shape == functions.lit(kind), several[kind])
        columns.append(column)
    return apart, [columns]


def _any(columns: Iterable[Any]) -> Any:
    return reduce(lambda left, right: left | right, columns)


def _all(columns: Iterable[Any]) -> Any:
    from pyspark.sql import functions

    return reduce(lambda left, right: left & right, columns, functions.lit(True))


class _Moved:
    """The columns that are looked at, of the first event of a match and of those after it."""

    def __init__(self) -> None:
        self.asked: dict[tuple[int, str], None] = {}
        self._numbers: dict[str, int] = {}

    def __call__(self, place: int, name: str) -> Any:
        """A column of the event at a place."""
        from pyspark.sql import functions

        self.asked[place, name] = None
        return functions.col(self.called(place, name))

    def called(self, place: int, name: str) -> str:
        """What it is called in the frame: Spark takes other names apart, or mixes them up with ours."""
        number = self._numbers.setdefault(name, len(self._numbers))
        return f"c{number}" if place == 0 else f"c{number}_{place}"

    @property
    def names(self) -> list[str]:
        """The columns that are looked at."""
        return list(dict.fromkeys(name for _, name in self.asked))


class _Asks:
    """What runs ask of events, as columns.

    Tests of one event are made before rows are moved, as the bits of a letter, if that spares a column; if all their
    columns are moved anyway, they are made of these.
    """

    def __init__(self, query: CompiledQuery, how: Alone, moved: _Moved) -> None:
        self._schema, self._plan, self._moved = query.schema, query.plan, moved
        self._window, self._tests = window_of(query.checked.clauses.within, query.schema), how.tests
        conditions = dict.fromkeys(condition for run in how.runs for condition in run.conditions)
        self._conditions = {condition: self._said(condition) for condition in conditions}
        named = {
            part.name for test in self._tests for part in subterms(self._plan.tests[test]) if isinstance(part, Attr)
        }
        spared = not columns_of(named, self._schema) <= {*moved.names, *self._schema.order_by}
        self._by_letter = spared and len(self._tests) <= MOST_TESTS

    def _said(self, condition: ast.Expression) -> Any:
        return column_of_expression(
            condition, self._schema, lambda node, column: self._moved(int(node.variable or 0), column)
        )

    def column(self, name: str) -> Any:
        """A column as it is before rows are moved."""
        from pyspark.sql import functions

        if name == LETTER:
            return letter_column([self._plan.tests[number] for number in self._tests], JvmTests(self._schema))
        column = functions.col(quoted(name))
        return column.cast("string") if self._schema.columns[name].kind is Kind.STRING else column

    def holds(self, shape: Shape) -> Any:
        """Whether a row begins a match of a shape."""
        last, found = shape.length - 1, [_any(self._run(run) for run in shape.runs)]
        if last and not (self._by_letter and all(run.tests[last] for run in shape.runs)):
            found.append(self._moved(last, self._schema.order_by[0]).isNotNull())
        width = self._window.width
        if last and self._window.timed and width is not None and width < ALL_TIME:
            found.append(self._within(last, width))
        return _all(found)

    def _within(self, last: int, width: int) -> Any:
        from pyspark.sql import functions

        assert self._schema.time is not None
        begin, end = (self._moved(place, self._schema.order_by[0]) for place in (0, last))
        if self._schema.time.zoned:
            return functions.unix_micros(end) - functions.unix_micros(begin) <= functions.lit(width)
        return end <= begin + functions.lit(datetime.timedelta(microseconds=width))

    def _run(self, run: Run) -> Any:
        from pyspark.sql import functions

        found = [test for place, tests in enumerate(run.tests) for test in self._alone(place, tests)]
        found += [self._conditions[condition] for condition in run.conditions]
        if run.begins:
            found.append(self._moved(0, POSITION) == functions.lit(1))
        return _all(found)

    def _alone(self, place: int, tests: Iterable[int]) -> list[Any]:
        """What the event at a place must satisfy alone."""
        from pyspark.sql import functions

        if not self._by_letter:
            return [self._test(place, number) for number in sorted(tests)]
        bits = sum(1 << self._tests.index(number) for number in tests)
        return [self._moved(place, LETTER).bitwiseAND(functions.lit(bits)) == functions.lit(bits)] if bits else []

    def _test(self, place: int, number: int) -> Any:
        test = self._plan.tests[number]
        assert isinstance(test, Sql), "others are refused"
        return self._said(replace_attributes(over_columns(test), lambda node: ast.Attribute(str(place), node.name)))

"""Several queries over the same events, in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from acelera.engine.session.bounds import check_limit, gathered, told_of_memory, warn_of_more
from acelera.errors import UsageError, did_you_mean, of_query
from acelera.language.order_errors import refuse_early
from acelera.language.schema import Schema
from acelera.language.sorting import TIES, arranges
from acelera.moments import tick_of
from acelera.query import Query
from acelera.spark.schemas import is_spark
from acelera.spelling import warn_of_missing_types
from acelera.tables import refuse_bad_text, to_arrow

if TYPE_CHECKING:  # and in functions, where they are needed: the engine takes a while to be imported
    from acelera.engine.begun import Placed
    from acelera.engine.compiled_query import CompiledQuery
    from acelera.engine.session.pages import Page
    from acelera.engine.session.session import Session
    from acelera.engine.shared_tests import Reader, SharedTests, Told

ROWS_AT_ONCE = 1 << 20
"""So many rows are looked at together: each query takes those that matter to it."""


def run_all(
    queries: Mapping[str, Query],
    table: object,
    *,
    order_by: str | Sequence[str] | None = None,
    type_column: str | None = "type",
    event_type: str | None = None,
    ties: str = "error",
    late_events: str | None = None,
    limit: int | None = None,
    rows: str | Mapping[str, str] = "matches",
    until: object = None,
    checkpoint: str | PathLike[str] | None = None,
) -> Mapping[str, Any]:
    """Run several queries over the same events in one pass; what each finds, by the name that it has here.

    A table gives for each query the table that `run` gives. The events are sorted once, tests of one event that several
    queries ask for are made once, and each query reads only the events that may matter to it.

    A Spark DataFrame, batch or streaming, gives a mapping of names to frames, with one `frame` that holds the rows of
    all queries: the name stands in the column `query`, when a match ends in `end_time`, and its row in a struct that is
    called like the query. Of a batch, `explain_all` says which queries share a pass.

    Parameters
    ----------
    queries
        Queries by name.
    table, order_by, type_column, event_type, ties, late_events, until, checkpoint
        As `Query.run` has them.
    limit
        How many matches to make at most for each query, of a table in this process.
    rows
        `"matches"` or `"events"`, or a mapping that says it for some queries: `{"falls": "events"}`.

    >>> import acelera as ac
    >>> alerts = {
    ...     "rise": ac.query("SELECT b.v MATCH A AS a ; A AS b FILTER a.v < b.v"),
    ...     "fall": ac.query("SELECT b.v MATCH A AS a : A AS b FILTER a.v > b.v"),
    ... }
    >>> found = ac.run_all(alerts, [{"type": "A", "v": v} for v in (1, 3, 2)])
    >>> found["rise"].to_pylist(), found["fall"].to_pylist()
    ([{'b_v': 3}, {'b_v': 2}], [{'b_v': 2}])
    """
    shown = _checked(queries, rows)
    if ties not in TIES:
        raise UsageError(f"ties={ties!r} is not known; it is one of {', '.join(map(repr, TIES))}")
    check_limit(limit)
    if is_spark(table):
        if limit is not None:
            raise UsageError("limit=… is for tables in this process; take .limit of the frame of a query")
        from acelera.spark.running import refuse_order_of_arrival
        from acelera.spark.several import run

        refuse_order_of_arrival(ties)
        frame, compiled = _on_spark(queries, table, order_by, type_column, event_type, shown, ties)
        complete = tick_of(until, next(iter(compiled.values())).schema)
        return run(compiled, frame, late_events, complete, ties, checkpoint)
    if checkpoint is not None:
        raise UsageError("checkpoint=… is for streaming DataFrames; leave it out")
    if late_events is not None:
        raise UsageError("late_events=… is for streaming DataFrames: in a table no event comes late; leave it out")
    arrow = to_arrow(table)
    compiled = _compiled(queries, arrow.schema, order_by, type_column, event_type, shown, ties)
    with of_query(next(iter(queries))):
        complete = tick_of(until, next(iter(compiled.values())).schema)
    events, found = _Events(arrow, compiled, ties), {}
    refuse_early(complete, events.clock)
    for number, (name, each) in enumerate(compiled.items()):
        with of_query(name):
            session = each.open(ties, events.shared.readers[number].given)
            with told_of_memory(session):
                summarized = each.checked.summary is not None
                pages = chain(events.pages(session, number), events.rest(session, number, complete))
                result = session.table(gathered(session, pages, None if summarized else limit))
            if summarized and limit is not None and result.num_rows > limit:  # the first rows by window and keys
                warn_of_more(limit, 3, summarized)
                result = result.slice(0, limit)
            if events.types_not_seen(number):
                warn_of_missing_types(queries[name].pattern.event_types, events.types, not result.num_rows)
            found[name] = result
    return found


def explain_all(
    queries: Mapping[str, Query],
    table: object,
    *,
    order_by: str | Sequence[str] | None = None,
    type_column: str | None = "type",
    event_type: str | None = None,
    ties: str = "error",
    rows: str | Mapping[str, str] = "matches",
) -> str:
    """How `run_all` runs several queries: which share a pass, what they have in common, which read all events.

    The table, a Spark DataFrame or what `Query.check` takes, is looked at for its columns alone.

    >>> import acelera as ac
    >>> alerts = {
    ...     "rise": ac.query("SELECT b.v MATCH A AS a ; A AS b FILTER a.v < b.v"),
    ...     "fall": ac.query("SELECT b.v MATCH A AS a : A AS b FILTER a.v > b.v"),
    ... }
    >>> print(ac.explain_all(alerts, {"type": str, "v": int}))
    2 queries, 1 pass
      tests of one event: 1 for all, where the queries alone make 2
      rise: reads the events that may matter to it
      fall: reads all events from where a match may have begun: it matters which stands right after another
    """
    from acelera.engine.shared_tests import shared_tests

    shown = _checked(queries, rows)
    if is_spark(table):
        from acelera.spark.several import lines

        frame, compiled = _on_spark(queries, table, order_by, type_column, event_type, shown, ties)
        return "\n".join(lines(compiled, frame, ties))
    compiled = _compiled(queries, table, order_by, type_column, event_type, shown, ties)
    shared = shared_tests(list(compiled.values()))
    made, alone = len(shared.here), sum(len(reader.places) for reader in shared.readers)
    found = [f"{_count(len(compiled), 'query', 'queries')}, 1 pass"]
    found.append(f"  tests of one event: {made} for all, where the queries alone make {alone}")
    found += (f"  {name}: {_reading(each)}" for name, each in compiled.items())
    return "\n".join(found)


# --- what is asked for --------------------------------------------------------------------------------------------


def _checked(queries: Mapping[str, Query], rows: str | Mapping[str, str]) -> dict[str, str]:
    """What rows of the result are, for each query."""
    if not isinstance(queries, Mapping) or not queries:
        raise UsageError('run_all takes queries by name: {"rises": ac.query(…), "falls": ac.query(…)}')
    for name, each in queries.items():
        if not isinstance(name, str) or not name:
            raise UsageError(f"{name!r} is not a name for a query; names are texts")
        if not isinstance(each, Query):
            raise UsageError(f"`{name}` is {type(each).__name__}, not a query; make it with acelera.query(…)")
    if not isinstance(rows, Mapping):
        return dict.fromkeys(queries, rows)
    for name in rows:
        if name not in queries:
            raise UsageError(f"rows={{{name!r}: …}}: there is no query `{name}`{did_you_mean(name, queries)}")
    return {name: rows.get(name, "matches") for name in queries}


def _compiled(
    queries: Mapping[str, Query],
    described: object,
    order_by: str | Sequence[str] | None,
    type_column: str | None,
    event_type: str | None,
    rows: Mapping[str, str],
    ties: str,
) -> dict[str, CompiledQuery]:
    """Each query over the stream; a mistake is told with the name of its query."""
    schemas = _schemas(queries, described, order_by, type_column, event_type)
    found = {}
    for name, query in queries.items():
        with of_query(name):
            found[name] = query.compiled(schemas[name], rows[name], ties)
    return found


def _schemas(
    queries: Mapping[str, Query],
    described: object,
    order_by: str | Sequence[str] | None,
    type_column: str | None,
    event_type: str | None,
) -> dict[str, Schema]:
    """The schema of the stream for each query, with the fields of structs that any of them speaks of."""
    found = {}
    for name, query in queries.items():
        with of_query(name):
            found[name] = query.stream_schema(described, order_by, type_column, event_type)
    fields = list(chain.from_iterable(each.fields for each in found.values()))
    return {name: each.with_fields(fields) for name, each in found.items()}


def _on_spark(
    queries: Mapping[str, Query],
    frames: object,
    order_by: str | Sequence[str] | None,
    type_column: str | None,
    event_type: str | None,
    rows: Mapping[str, str],
    ties: str,
) -> tuple[Any, dict[str, CompiledQuery]]:
    """One frame, and each query over it."""
    from acelera.spark.running import described

    first: list[object] = []

    def schema_of(known: object) -> Schema:
        first.append(known)
        return next(iter(_schemas(queries, known, order_by, type_column, event_type).values()))

    frame, _ = described(frames, schema_of)
    return frame, _compiled(queries, first[0], order_by, type_column, event_type, rows, ties)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _reading(query: CompiledQuery) -> str:
    if query.reactions is not None:
        return "reads the events that may matter to it"
    if query.counts_events and query.beginnings is not None:
        return "reads all events from where a match may have begun: it matters which stands right after another"
    if query.counts_events:
        return "reads all events: it matters which event stands right after another, or at which position"
    return "reads all events: each may matter"


# --- events in this process ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """Some of the events, in order: their rows, the rows' numbers for people, which tests hold, and where they stand,
    for each set of keys.
    """

    rows: pa.Table
    numbers: Any
    told: Told
    placed: Mapping[tuple[str, ...], Placed]


class _Events:
    """The events of a table in order, and which tests of all queries hold for each."""

    def __init__(self, table: pa.Table, queries: Mapping[str, CompiledQuery], ties: str) -> None:
        from acelera.engine.session.incoming import conformed
        from acelera.engine.session.order import order_columns, sorted_indices
        from acelera.engine.shared_tests import shared_tests

        self.queries = list(queries.values())
        self.shared: SharedTests = shared_tests(self.queries)
        self._schema, self._whole = self.queries[0].schema, table
        asked = self.shared.columns.union(
            *(query.columns_read(reader.given) for query, reader in zip(self.queries, self.shared.readers, strict=True))
        )
        if arranges(ties):  # by all columns
            asked = set(self._schema.columns)
        rows = conformed(table, [name for name in self._schema.columns if name in asked], self._schema)
        numbers = np.arange(1, rows.num_rows + 1)
        if self._schema.order_by:
            indices = sorted_indices(order_columns(rows, self._schema, numbers))
            if indices is not None:
                rows, numbers = rows.take(pa.array(indices)), numbers[indices]
            if ties == "error":
                for keys in dict.fromkeys(
                    tuple(key.name for key in q.checked.clauses.partition_by) for q in self.queries
                ):
                    _refuse_ties(rows, numbers, keys, self._schema)
        refuse_bad_text(rows, numbers)
        self.clock = self._last_time(rows)
        self._parts = list(self._looked_at(rows, numbers))

    def _last_time(self, rows: pa.Table) -> int | None:
        """The time of the last event, in the unit of the order column."""
        if self._schema.time is None or not rows.num_rows:
            return None
        found: int = rows.column(self._schema.order_by[0])[-1].cast(pa.int64()).as_py()
        return found

    def _looked_at(self, rows: pa.Table, numbers: Any) -> Iterator[_Part]:
        from acelera.engine.begun import Placed
        from acelera.engine.shared_tests import one_batch

        placings = self.shared.placings(self._schema)
        for at in range(0, rows.num_rows, ROWS_AT_ONCE):
            batch = one_batch(rows.slice(at, ROWS_AT_ONCE))
            told = self.shared.read(batch)
            placed = {keys: Placed(batch, placing) for keys, placing in placings.items()}
            yield _Part(pa.Table.from_batches([batch]), numbers[at : at + batch.num_rows], told, placed)

    def pages(self, session: Session, number: int) -> Iterator[Page]:
        """The matches that a query finds in the events which matter to it."""
        reader: Reader = self.shared.readers[number]
        begun = reader.begun()
        for part in self._parts:
            rows = reader.rows(part.told, part.placed.get(reader.keys), begun)
            if rows is None or len(rows):
                numbers = part.numbers if rows is None else part.numbers[rows]
                table = part.rows.select(session.incoming.columns)
                yield from session.pages(reader.read(table, part.told, rows), numbers)

    def rest(self, session: Session, number: int, until: int | None) -> Iterator[Page]:
        """What is left when all events were read, also those that a query has not seen."""
        complete = self.clock if until is None and self.queries[number].checked.waits is not None else until
        yield from session.rest(until=complete)

    def types_not_seen(self, number: int) -> bool:
        """Whether a query asks for the type of an event in a way that no event has satisfied."""
        from acelera.engine.shared_tests import PER_WORD

        return any(
            not self._seen[place // PER_WORD] >> place % PER_WORD & 1 for place in self.shared.readers[number].types
        )

    @cached_property
    def _seen(self) -> list[int]:
        """The tests that held for some event."""
        words = [[int(np.bitwise_or.reduce(word)) for word in part.told.words] for part in self._parts]
        none = [0] * max(len(self.shared.here), 1)
        return reduce(lambda one, two: [a | b for a, b in zip(one, two, strict=True)], words) if words else none

    @cached_property
    def types(self) -> set[str]:
        """The types that events have."""
        from acelera.engine.storage.columns import decoded

        if self._schema.type_column is None:
            return set()
        found = decoded(self._whole.column(self._schema.type_column)).unique().to_pylist()
        return {value for value in found if value is not None}


def _refuse_ties(rows: pa.Table, numbers: Any, partition_by: Sequence[str], schema: Schema) -> None:
    """Rows of a partition that are equal have no order, also where no query would read them."""
    from acelera.engine.frames import Frame
    from acelera.engine.session.order import Order, compare_adjacent, order_columns
    from acelera.engine.session.partitions import Partitions

    _, equal = compare_adjacent(order_columns(rows, schema, numbers))
    tied = np.flatnonzero(np.concatenate(([False], equal)) | np.concatenate((equal, [False])))
    if not equal.any():
        return
    left = rows.select([*schema.order_by, *partition_by]).take(pa.array(tied)).combine_chunks()
    batch = left.to_batches()[0]
    partitions = Partitions(partition_by, (), schema, False).read(Frame(batch, tied, schema))
    Order(schema, partition_by, "error").check(batch, partitions, numbers[tied])

"""What a user holds in hand: a program of statements that can be checked, explained and run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pyarrow as pa

from acelera.engine.session.description import stream_of
from acelera.engine.storage.columns import decoded
from acelera.engine.storage.snapshots import fingerprint_of, unpack
from acelera.engine.storage.validation import fitting
from acelera.errors import UsageError, outside
from acelera.language.schema import Schema, schema_of
from acelera.language.sorting import TIES
from acelera.language.types import Type
from acelera.programs.report.run import MOST_EVENTS
from acelera.spark.schemas import is_frame, is_spark
from acelera.spelling import warn_of_missing_types
from acelera.streams.base_stream import one_table, refuse_made, sorted_table
from acelera.streams.event_order import joined
from acelera.streams.plan import plan_of
from acelera.streams.program_checker import CheckedStreams, check_streams
from acelera.streams.program_text import explained, waiting
from acelera.streams.references import read_streams
from acelera.streams.stream_graph import stream_graph
from acelera.streams.stream_session import StreamSession
from acelera.tables import described_by, in_batches, to_arrow

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from acelera.programs.drawing import RuleDrawing
    from acelera.programs.report.run import Run

METHODS = ("engine", "semantics")


class Options(TypedDict, total=False):
    """How rows are read: the options of `check`, `open` and `run`, which are those of queries.

    order_by
        The column, or columns, that order the events. A timestamp in first place gives them their time. Without it the
        order is that of the rows.
    type_column
        The column that tells the type of an event.
    event_type
        The type of all events that come in, for a table without a type column. `FROM name` does the same.
    """

    order_by: str | Sequence[str] | None
    type_column: str | None
    event_type: str | None


class Program:
    """A program of statements, each of which makes a stream of its matches; made by `acelera.program`.

    >>> import acelera as ac
    >>> p = ac.program('''
    ...     STREAM rise AS SELECT a.v MATCH A AS a : A AS b FILTER b.v > a.v;
    ...     STREAM double_rise AS SELECT r.a_v AS v MATCH rise AS r ; rise;
    ... ''')
    >>> p
    <acelera.Program makes rise, double_rise of A>
    >>> out = p.run([{"type": "A", "v": v} for v in (1, 2, 3)])
    >>> out["rise"].to_pylist(), out["double_rise"].to_pylist()
    ([{'a_v': 1}, {'a_v': 2}], [{'v': 1}])

    Attributes
    ----------
    text
        The program as it was written; `str(p)` is its canonical text.
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise UsageError(f"a program is made of a text, not of {type(text).__name__}")
        self.text = text
        self.streams = read_streams(text)

    # --- what it is -----------------------------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[str, ...]:
        """The event types that must come in, since no statement makes them.

        >>> import acelera as ac
        >>> ac.program("STREAM x AS MATCH A ; B; STREAM y AS MATCH x ; C;").labels
        ('A', 'B', 'C')
        """
        return self.streams.base_types()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The event types that statements make.

        >>> import acelera as ac
        >>> ac.program("STREAM x AS MATCH A ; B; STREAM y AS MATCH x ; C;").outputs
        ('x', 'y')
        """
        return self.streams.names

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_of(f"streams {self}")

    # --- what can be done with it ---------------------------------------------------------------------------------

    def check(self, schemas: object, **options: Unpack[Options]) -> dict[str, pa.Schema]:
        """Check the program against the columns of what comes in; the columns of each stream that it makes.

        The schema is that of a query: a mapping of columns to types, shared by all event types, a mapping of event
        types to such mappings or to tables, a pyarrow or Spark schema, or a table. Raises a QueryCheckError that lists
        every mistake.

        >>> import acelera as ac
        >>> p = ac.program("STREAM rise AS SELECT a.v MATCH A AS a ; A AS b FILTER b.v > a.v;")
        >>> p.check({"type": str, "ts": "timestamp", "v": int}, order_by="ts")["rise"]
        ts: timestamp[us]
        a_v: int64
        """
        return self._checked(schemas, options).outputs

    def run(
        self,
        tables: Any,
        *,
        method: str = "engine",
        ties: str = "error",
        late_events: str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        **options: Unpack[Options],
    ) -> Any:
        """Find the matches of all statements; a table for each stream, by its name.

        An event has the columns of the SELECT of its statement, and before them, where events have times, its time in
        the column that orders the stream: that is when its match ends.

        Parameters
        ----------
        tables
            What comes in: anything that a query takes, or a mapping of event types to tables; or a Spark DataFrame,
            batch or streaming, or a mapping of event types to such.
        method
            How to compute it: `"engine"` is quick; `"semantics"` follows the definitions, and is slow.
        ties
            What to do with rows of a partition that are equal under `order_by`, as for a query: `"error"`, `"any"`,
            `"drop"`, or `"keep"`.
        late_events
            For a streaming DataFrame: the name of a column of `frame` for events that come after the watermark has
            passed them.
        checkpoint
            For a streaming DataFrame: the checkpointLocation that the stream will be started with. One that belongs to
            another program is then refused here; without it, a worker refuses it when the next rows come.
        options
            `order_by`, `type_column` and `event_type`, as for a query.

        >>> import acelera as ac
        >>> p = ac.program('''
        ...     STREAM rise AS SELECT host, max(x.v) AS v MATCH (A AS x):{2} FILTER x[increasing(v)] PARTITION BY host;
        ...     STREAM again AS SELECT host, first(r.v) AS v MATCH (rise AS r){2} PARTITION BY host;
        ... ''')
        >>> rows = [{"type": "A", "host": h, "v": v} for h, v in [("x", 1), ("y", 5), ("x", 2), ("y", 3), ("x", 3)]]
        >>> p.run(rows)["again"].to_pylist()
        [{'host': 'x', 'v': 2}]
        """
        _one_of("method", method, METHODS)
        _one_of("ties", ties, TIES)
        if is_spark(tables):
            return self._run_spark(tables, options, method, ties, late_events, checkpoint)
        if late_events is not None:
            raise UsageError("late_events=… is for streaming DataFrames: in a table no event comes late; leave it out")
        if checkpoint is not None:
            raise UsageError("checkpoint=… is for streaming DataFrames; leave it out")
        checked, table = self._given(tables, options)
        made = self._made(checked, table, ties, method)
        self._warn_of_types(table, checked.base, not any(each.num_rows for each in made.values()))
        return made

    def report(
        self, tables: object, path: str | PathLike[str], *, events: int = MOST_EVENTS, **options: Unpack[Options]
    ) -> Path:
        """Write one HTML page that shows the program, its events on a timeline and what each was made from.

        Returns its path. Tables and options are those of `run`. The page needs no other file and no network; folders of
        its path are made if they are not there. It shows the first `events`, those that came in and those that were
        made, by when they happen; counts are over all of them.

        >>> import acelera as ac, tempfile, pathlib
        >>> p = ac.program("STREAM rise AS SELECT a.v MATCH A AS a ; A AS b FILTER b.v > a.v;")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = p.report([{"type": "A", "v": 1}, {"type": "A", "v": 2}], pathlib.Path(folder, "report.html"))
        ...     path.name, "</html>" in path.read_text(encoding="utf-8")
        ('report.html', True)
        """
        from acelera.programs.report.page import write
        from acelera.report import refuse_place

        refuse_place(Path(path))
        return write(self.findings(tables, options, events), Path(path))

    def findings(self, tables: object, options: Options, events: int = MOST_EVENTS) -> Run:
        """What `report` shows, before it is a page; the options are those of `run`."""
        from acelera.streams.shown_run import run_of_table

        if not isinstance(events, int) or isinstance(events, bool) or events < 0:
            raise UsageError(f"{events=} is not a number of events to show")
        if is_spark(tables):
            raise UsageError("the report of a program takes no Spark DataFrames; collect the rows: frame.toArrow()")
        return run_of_table(*self._given(tables, options), events)

    def open(self, schemas: object, *, ties: str = "error", **options: Unpack[Options]) -> StreamSession:
        """Start the program on a stream that comes in batches; schema and options are those of `check` and `run`.

        >>> import acelera as ac
        >>> p = ac.program("STREAM rise AS SELECT a.v MATCH A AS a ; A AS b FILTER b.v > a.v;")
        >>> session = p.open({"type": str, "v": int})
        >>> session.push([{"type": "A", "v": 1}, {"type": "A", "v": 2}])["rise"].to_pylist()
        [{'a_v': 1}]
        """
        _one_of("ties", ties, TIES)
        return self._session(self._checked(schemas, options), ties)

    def resume(self, snapshot: bytes) -> StreamSession:
        """Go on with a stream from the snapshot of a session of the same program.

        >>> import acelera as ac
        >>> p = ac.program("STREAM rise AS SELECT a.v MATCH A AS a ; A AS b FILTER b.v > a.v;")
        >>> session = p.open({"type": str, "v": int})
        >>> session.push([{"type": "A", "v": 1}])["rise"].num_rows
        0
        >>> p.resume(session.snapshot()).push([{"type": "A", "v": 2}])["rise"].to_pylist()
        [{'a_v': 1}]
        """
        sections = unpack(snapshot, self._fingerprint)
        with fitting():
            schema, ties = stream_of({"state": sections, "columns": sections["columns"]})
            return self._session(check_streams(self.streams, schema), ties, sections)

    def explain(self, schemas: object = None, **options: Unpack[Options]) -> str:
        """What the program is: what each statement reads, and its automaton; with a schema, how it runs.

        With Spark frames in place of a schema, it says what Spark will do.

        >>> import acelera as ac
        >>> p = ac.program("STREAM x AS MATCH A ; B; STREAM y AS MATCH x ; C;")
        >>> print(*p.explain().splitlines()[:9], sep="\\n")
        program
          STREAM x AS
            MATCH A ; B;
          STREAM y AS
            MATCH x ; C;
        <BLANKLINE>
        streams
          x: reads what comes in
          y: reads what comes in, and x
        """
        if schemas is None:
            return explained(self.streams, {each.name: each.query.explain() for each in self.streams.listed}, ())
        checked = self._checked(schemas, options)
        order = {each.name: each.schema.order_by for each in checked.listed}
        told = {each.name: each.stream.query.explain(each.schema, order_by=order[each.name]) for each in checked.listed}
        how = waiting(self.streams, checked.timed)
        if is_spark(schemas):
            from acelera.streams.on_spark import lines

            how = lines(schemas, plan_of(checked))
        return explained(self.streams, told, how)

    def draw(self) -> RuleDrawing:
        """A picture of what is made of what, which shows itself in a notebook."""
        from acelera.programs.drawing import drawn

        return drawn(stream_graph(self.streams))

    # --- how ------------------------------------------------------------------------------------------------------

    def _checked(self, schemas: object, options: Options) -> CheckedStreams:
        """The program over what comes in, of which the columns are known."""
        return check_streams(self.streams, self._schema(schemas, options))

    def _schema(self, described: object, options: Options) -> Schema:
        _known(options)
        if isinstance(described, Mapping) and any(map(is_frame, described.values())) and not is_spark(described):
            raise UsageError("some of these are Spark DataFrames, others are not; give all as the one or as the other")
        return described_schema(_columns(described), self.streams.base_name, options)

    def _given(self, tables: object, options: Options) -> tuple[CheckedStreams, pa.Table]:
        """The program over tables that are there, and their rows as one table."""
        tables = _as_tables(tables)
        checked = self._checked(tables, options)
        return checked, one_table(tables, checked.base)[0]

    def _made(self, checked: CheckedStreams, table: pa.Table, ties: str, method: str) -> dict[str, pa.Table]:
        if method == "semantics":
            from acelera.streams.judged import judged

            refuse_made(table, checked.base, self.outputs, np.arange(1, table.num_rows + 1))
            return judged(checked, table, ties)
        session = self._session(checked, ties)
        parts = zip(session.take(*sorted_table(table, checked.base)), session.take_rest(), strict=True)
        return session.shown([joined(list(each)) for each in parts])

    def _session(self, checked: CheckedStreams, ties: str, snapshot: Mapping[str, Any] | None = None) -> StreamSession:
        return StreamSession(plan_of(checked), ties, self._fingerprint, snapshot=snapshot)

    def _run_spark(
        self,
        frames: Any,
        options: Options,
        method: str,
        ties: str,
        late_events: str | None,
        checkpoint: str | PathLike[str] | None,
    ) -> Any:
        from acelera.spark.running import described, refuse_order_of_arrival
        from acelera.streams.on_spark import run_frames

        if method != "engine":
            raise UsageError(f"method={method!r} takes tables; collect the rows of a Spark DataFrame: frame.toArrow()")
        refuse_order_of_arrival(ties)
        base = self._schema(frames, options)
        frame, _ = described(frames, lambda _: base)  # which must have an order, before it is asked what kind
        plan = plan_of(check_streams(self.streams, base))
        return run_frames(frame, plan, self._fingerprint, late_events, checkpoint, ties)

    def _warn_of_types(self, table: pa.Table, schema: Schema, nothing_found: bool) -> None:
        """A type that no row has is most likely misspelt, if there is one like it, or if nothing was found."""
        if schema.type_column is not None:
            types = decoded(table.column(schema.type_column)).unique().drop_null().to_pylist()
            warn_of_missing_types(set(self.labels), set(types), nothing_found, outside() + 1)

    def __str__(self) -> str:
        return str(self.streams)

    def __repr__(self) -> str:
        types = [*self.labels, *(["any event"] if any(each.reads_any for each in self.streams.listed) else [])]
        return f"<acelera.Program makes {', '.join(self.outputs)} of {', '.join(types)}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def streams(text: str) -> Program:
    """A program from its text: statements `STREAM name AS SELECT … MATCH …;`, each of which makes events of its
    matches.

    >>> from acelera.streams.program import streams
    >>> streams("STREAM x AS MATCH x ; A;")
    Traceback (most recent call last):
        ...
    acelera.programs.problems.ProgramCheckError: line 1, column 19: `x` reads its own events
      STREAM x AS MATCH x ; A;
                        ^
      hint: a statement uses events that come in, and earlier statements
    """
    return Program(text)


def described_schema(columns: object, stream: str | None, options: Options) -> Schema:
    """The schema of what comes in, in order."""
    type_column, order_by = options.get("type_column", "type"), options.get("order_by")
    schema = schema_of(columns, type_column=type_column, event_type=options.get("event_type"), stream=stream)
    if order_by is not None and not isinstance(order_by, str):
        if not isinstance(order_by, list | tuple) or not all(isinstance(name, str) for name in order_by):
            raise UsageError(f"order_by={order_by!r} is not a column or a list of columns")
        order_by = tuple(order_by)
    return schema.ordered_by(order_by)


def _known(options: Options) -> None:
    for name in options:
        if name not in Options.__annotations__:
            raise UsageError(f"there is no option `{name}`; there are {', '.join(Options.__annotations__)}")


def _columns(described: object) -> object:
    """The columns of tables that are given, or described: one for all types, or one for each."""
    if isinstance(described, Mapping) and not any(
        isinstance(each, str | type | pa.DataType | Type) for each in described.values()
    ):
        return {name: _types(_columns_of(each)) for name, each in described.items()}
    return _columns_of(described)


def _columns_of(described: object) -> object:
    if is_frame(described):
        from acelera.spark.schemas import arrow_schema

        return arrow_schema(described)
    return described_by(described)


def _types(columns: object) -> object:
    return {each.name: each.type for each in columns} if isinstance(columns, pa.Schema) else columns


def _as_tables(tables: object) -> object:
    """Tables that can be looked at more than once."""
    if isinstance(tables, Mapping):
        return {name: _as_tables(each) for name, each in tables.items()}
    if isinstance(tables, Iterator):
        _, batches = in_batches(tables)
        return pa.concat_tables([to_arrow(each) for each in batches], promote_options="permissive")
    return to_arrow(tables)


def _one_of(option: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UsageError(f"{option}={value!r} is not known; it is one of {', '.join(map(repr, allowed))}")

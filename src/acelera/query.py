"""What a user holds in hand: a query that can be checked, printed and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa

from acelera import semantics
from acelera.automata.interpreter import accepted
from acelera.automata.model import Acea
from acelera.checked_query import CheckedQuery
from acelera.engine.session.bounds import check_limit, gathered, limited, told_of_memory, warn_of_more, watched
from acelera.engine.session.description import stream_of
from acelera.engine.session.order import order_columns, sorted_indices
from acelera.engine.storage.snapshots import belongs_to, unpack
from acelera.engine.storage.validation import fitting
from acelera.errors import AggregateError, UsageError
from acelera.language import ast
from acelera.language.builder import FormulaBuilder
from acelera.language.builder import clauses as clauses_of
from acelera.language.builder import summary as summary_of
from acelera.language.checker import BagUnion, Checked
from acelera.language.parser import parse_query
from acelera.language.printer import print_query
from acelera.language.schema import Schema
from acelera.language.sorting import TIES
from acelera.moments import in_nanoseconds, tick_of
from acelera.patterns import AutomatonPattern, FormulaPattern
from acelera.spark.schemas import is_spark
from acelera.spelling import warn_of_misspelt_types
from acelera.tables import in_batches, to_arrow, to_rows, to_table

if TYPE_CHECKING:  # and in functions, where they are needed: the engine takes a while to be imported
    from acelera.engine.compiled_query import CompiledQuery
    from acelera.engine.session.session import Session
    from acelera.report import About, Findings, Limits, SummaryFindings

Row = dict[str, Any]

METHODS = ("engine", "automaton", "semantics")


class Query(CheckedQuery):
    """A query, made by `acelera.query`.

    >>> import acelera as ac
    >>> q = ac.query("SELECT A.v, B.v MATCH A ; B+")
    >>> q
    <acelera.Query SELECT A.v, B.v MATCH A ; B+>
    >>> q.variables
    {'A': 'exactly one', 'B': 'at least one'}
    >>> q.run([{"type": "A", "v": 1}, {"type": "B", "v": 2}]).to_pylist()
    [{'A_v': 1, 'B_v': [2]}]

    Attributes
    ----------
    ast
        The abstract syntax tree; `str(q)` is its canonical text.
    variables
        For each variable of the formula, in order of first appearance, how many events it holds.
    """

    def run(
        self,
        table: object,
        *,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
        ties: str = "error",
        method: str = "engine",
        late_events: str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        limit: int | None = None,
        rows: str = "matches",
        until: object = None,
    ) -> pa.Table:
        """Find all matches in a table; a Spark DataFrame, or one for each event type, gives a Spark DataFrame.

        A query with SUMMARIZE gives the rows of its summary, by window and keys.

        Parameters
        ----------
        table
            The events: a pyarrow table, reader or dataset, a pandas or polars data frame, a list of dicts; or a Spark
            DataFrame, batch or streaming, or a mapping of event types to such.
        order_by
            The column, or columns, that order the events. A timestamp in first place gives them their time. Without
            it the order is that of the rows.
        type_column
            The column that tells the type of an event.
        event_type
            The type of all events, for a table without a type column. `FROM name` in the query does the same.
        ties
            What to do with rows of a partition that are equal under `order_by`: `"error"`; `"any"` puts them into the
            order of all their columns; `"drop"` does so, and takes rows that are equal in all columns as one; `"keep"`
            keeps their order of arrival, in this process only.
        method
            How to compute the matches. All give the same: `"engine"` is quick, `"automaton"` runs the automaton of the
            query step by step, and `"semantics"` follows the definition; these two are slow and serve as its judges.
        late_events
            For a streaming DataFrame: the name of a column that is added to the result. Events that come after the
            watermark has passed them are rows of the result with the event there, and NULL in all other columns; in
            rows of matches it is NULL.
        checkpoint
            For a streaming DataFrame: the checkpointLocation that the stream will be started with. One that belongs to
            another query is then refused here; without it, a worker refuses it when the next rows come.
        limit
            How many matches to make at most: the first by where they end, and a warning if there are more; with KEEP
            and UNLESS … FOR, which wait for what comes, the first that are known. Without it, a result that does not
            fit into memory is a TooManyMatchesError. Of a summary it is the first rows. On
            Spark it is `.limit` of the result: any of them, and no warning.
        rows
            What a row of the result is: one of the `"matches"`, or one of the `"events"` of their variables, with a
            column `match` that tells the match by an id, one `variable`, and the attributes of the event. Only
            variables that SELECT names are shown.
        until
            A time up to which the table is complete, as a datetime, a text (in UTC if it names no zone and times have
            one) or a number in the unit of the times; without it, the time of the last event. With UNLESS … FOR,
            matches that may still be ruled out after it are left out.

        >>> import acelera as ac
        >>> rows = [{"type": "A", "v": 1}, {"type": "B", "v": 2}, {"type": "B", "v": 3}]
        >>> ac.query("SELECT A.v, B.v MATCH A ; B").run(rows).to_pylist()
        [{'A_v': 1, 'B_v': 2}, {'A_v': 1, 'B_v': 3}]
        """
        _one_of("method", method, METHODS)
        _one_of("ties", ties, TIES)
        check_limit(limit)
        if is_spark(table):
            if limit is not None and rows == "events":
                raise UsageError(
                    "limit=… counts matches, and on Spark rows of events do not come match by match; leave it out, or "
                    "take some rows of the result with .limit"
                )
            result = self._run_spark(
                table, order_by, type_column, event_type, ties, method, late_events, checkpoint, rows, until
            )
            if limit is not None and result.isStreaming:
                raise UsageError("limit=… is for tables: a stream has no end; leave it out")
            return result if limit is None else result.limit(limit)
        if late_events is not None:
            raise UsageError("late_events=… is for streaming DataFrames: in a table no event comes late; leave it out")
        if checkpoint is not None:
            raise UsageError("checkpoint=… is for streaming DataFrames; leave it out")
        arrow = to_arrow(table)
        schema = self._schema(arrow.schema, order_by, type_column, event_type)
        if method == "engine":
            return self._run_engine(arrow, self._compiled(schema, rows, ties), ties, limit, tick_of(until, schema))
        checked = self._checked_over(schema, rows, ties)
        warn_of_misspelt_types(self.pattern.event_types, arrow, schema)
        rows_read, matches, clock = to_rows(arrow, schema), self._matches(schema, method), in_nanoseconds(until, schema)
        try:
            found = _judged(checked, rows_read, ties, matches, clock)
        except (TypeError, ValueError, ArithmeticError) as error:
            if not self._uses_own_aggregates():
                raise
            raise AggregateError(
                f"an aggregate function of your own gave a value of another type than that of its values: {error}. "
                "Say its type with acelera.aggregate(…, returns=…)"
            ) from error
        if limit is not None and len(found) > limit:
            warn_of_more(limit, 3, checked.summary is not None)
        return to_table(chain.from_iterable(found[:limit]), checked.schema_of_result)

    def report(
        self,
        table: object,
        path: str | PathLike[str],
        *,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
        ties: str = "error",
        matches: int = 1000,
        events: int = 10_000,
    ) -> Path:
        """Write one HTML page that shows the query, its automaton, its matches and their events; returns its path.

        The table and the options are those of `run`; a Spark DataFrame must be batch. The page needs no other file and
        no network; folders of its path are made if they are not there. It shows the first `matches` by where they end,
        with all their events and those nearest to them, up to `events`; counts are over all events and matches, and the
        page says what is left out. Of a summary it shows the first `matches` rows, and a chart of them; its matches are
        not listed.

        >>> import acelera as ac, tempfile, pathlib
        >>> rows = [{"type": "A", "v": 1}, {"type": "B", "v": 2}, {"type": "B", "v": 3}]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = ac.query("SELECT A.v, B.v MATCH A ; B").report(rows, pathlib.Path(folder, "report.html"))
        ...     path.name, "</html>" in path.read_text(encoding="utf-8")
        ('report.html', True)
        """
        from acelera.report import Limits, refuse_place, write

        refuse_place(Path(path))
        options = {"order_by": order_by, "type_column": type_column, "event_type": event_type}
        return write(self.findings(table, options, Limits(matches, events), ties), Path(path))

    def findings(
        self, table: object, options: Mapping[str, Any], limits: Limits, ties: str = "error"
    ) -> Findings | SummaryFindings:
        """What `report` shows, before it is a page; the options are those of `run`."""
        from acelera.report import find

        _one_of("ties", ties, TIES)
        if is_spark(table):
            from acelera.spark.running import described

            _, schema = described(table, lambda known: self._schema(known, **options))
        else:
            table = arrow = to_arrow(table)
            schema = self._schema(arrow.schema, **options)
            warn_of_misspelt_types(self.pattern.event_types, arrow, schema)
        return find(self._about(), self._compiled(schema), table, ties, limits)

    def placed(
        self, table: pa.Table, schema: Schema, ties: str, until: int | None = None
    ) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
        """The matches in a table by their meaning, and the rows at which each starts and ends, counted in order.

        The stream is complete up to the time `until`, in nanoseconds; without it, up to its largest time.
        """
        checked = self.pattern.check(self.clauses, schema)
        found = semantics.complex_events(
            checked, to_rows(table, schema), ties, self._matches(schema, "semantics"), until
        )
        columns = checked.result.columns
        rows = [{each.name: semantics.present(c, each, self.clauses, part) for each in columns} for part, c in found]
        return rows, [(part.places[c.start - 1], part.places[c.end - 1]) for part, c in found]

    def _about(self) -> About:
        from acelera.report import About

        return About(self.text, self.automaton, self.pattern.implied)

    def with_select(self, items: Sequence[ast.SelectItem]) -> Query:
        """The same query with other columns; a summary becomes a query that shows its matches."""
        return Query(self.pattern, replace(self.clauses, select=tuple(items), summary=None))

    def open(
        self,
        schema: object,
        *,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
        ties: str = "error",
        rows: str = "matches",
    ) -> Session:
        """Start the query on a stream that comes in batches; the options are those of `check` and `run`.

        >>> import acelera as ac
        >>> session = ac.query("SELECT A.v MATCH A : A WITHIN 2 EVENTS").open({"type": str, "v": int})
        >>> session.push([{"type": "A", "v": 1}]).num_rows
        0
        >>> session.push([{"type": "A", "v": 2}]).to_pylist()
        [{'A_v': [1, 2]}]
        """
        _one_of("ties", ties, TIES)
        return self._compiled(self._schema(schema, order_by, type_column, event_type), rows, ties).open(ties)

    def stream(
        self,
        source: object,
        *,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
        ties: str = "error",
        limit: int | None = None,
        rows: str = "matches",
        until: object = None,
    ) -> pa.RecordBatchReader:
        """Find all matches while the source is read; its rows must come in the order of `order_by`.

        The source is a pyarrow reader or dataset, an iterator or list of batches, or anything that `run` takes. Matches
        come in batches of bounded size, by where they end; with a limit at most so many, and a warning if there are
        more. `until` is that of `run`.

        >>> import acelera as ac
        >>> batches = iter([[{"type": "A"}, {"type": "B"}], [{"type": "B"}]])
        >>> for batch in ac.query("SELECT start, end MATCH A ; B").stream(batches):
        ...     print(batch.to_pylist())
        [{'start': 1, 'end': 2}]
        [{'start': 1, 'end': 3}]
        """
        if is_spark(source):
            raise UsageError("stream reads in this process; a Spark DataFrame, batch or streaming, goes to run")
        check_limit(limit)
        schema, tables = in_batches(source)
        summary = self.clauses.summary is not None
        session = self.open(
            schema, order_by=order_by, type_column=type_column, event_type=event_type, ties=ties, rows=rows
        )
        rest = session.rest(until=tick_of(until, session.incoming.stream))
        pages = watched(session, chain((page for table in tables for page in session.pages(table)), rest))
        return pa.RecordBatchReader.from_batches(session.schema, (page.rows for page in limited(pages, limit, summary)))

    def resume(self, snapshot: bytes) -> Session:
        """Go on with a stream from the snapshot of a session of the same query.

        >>> import acelera as ac
        >>> q = ac.query("SELECT A.v, B.v MATCH A ; B")
        >>> session = q.open({"type": str, "v": int})
        >>> session.push([{"type": "A", "v": 1}]).num_rows
        0
        >>> later = q.resume(session.snapshot())
        >>> later.push([{"type": "B", "v": 2}]).to_pylist()
        [{'A_v': 1, 'B_v': 2}]
        """
        by_event = belongs_to(snapshot, self._fingerprint_of_events)
        rows = "events" if by_event else "matches"
        sections = unpack(snapshot, self._fingerprint_of_events if by_event else self._fingerprint)
        with fitting():
            schema, ties = stream_of(sections)
            return self._compiled(self.with_fields(schema), rows, ties).restored(sections, ties)

    def _run_engine(
        self, table: pa.Table, compiled: CompiledQuery, ties: str, limit: int | None, until: int | None
    ) -> pa.Table:
        session, numbers = compiled.open(ties), np.arange(1, table.num_rows + 1)
        whole, table = table, session.conform(table)
        if compiled.schema.order_by:
            indices = sorted_indices(order_columns(table, compiled.schema, numbers))
            if indices is not None:
                table, numbers = table.take(pa.array(indices)), numbers[indices]
        with told_of_memory(session):
            pages = chain(session.pages(table, numbers), session.rest(until=until))
            summarized = compiled.checked.summary is not None
            result = session.table(gathered(session, pages, None if summarized else limit))
        if summarized and limit is not None and result.num_rows > limit:  # the first rows by window and keys
            warn_of_more(limit, 4, summarized)
            result = result.slice(0, limit)
        if session.types_not_seen():
            warn_of_misspelt_types(self.pattern.event_types, whole, compiled.schema, not result.num_rows)
        return result

    def _run_spark(
        self,
        frames: Any,
        order_by: str | Sequence[str] | None,
        type_column: str | None,
        event_type: str | None,
        ties: str,
        method: str,
        late_events: str | None,
        checkpoint: str | PathLike[str] | None,
        rows: str,
        until: object,
    ) -> Any:
        from acelera.spark.running import described, refuse_order_of_arrival, run

        if method != "engine":
            raise UsageError(f"method={method!r} is for tables in this process; a Spark DataFrame is run by the engine")
        refuse_order_of_arrival(ties)
        frame, schema = described(frames, lambda known: self._schema(known, order_by, type_column, event_type))
        return run(self._compiled(schema, rows, ties), frame, late_events, tick_of(until, schema), checkpoint, ties)

    def _matches(self, schema: Schema, method: str) -> semantics.Matches:
        """How the matches in the events of one partition are found."""
        if method == "semantics":
            if self.pattern.formula is None:
                raise UsageError("an automaton has no formula whose meaning could be followed; use method='automaton'")
            return semantics.meaning(self.pattern.formula, schema, self.bag_union)
        automaton = self.pattern.automaton_over(schema)
        return lambda events: accepted(automaton, events, self.clauses.within)

    def _repr_html_(self) -> str:
        from acelera.report import in_notebook

        return in_notebook(self._about())


def query(
    source: str | FormulaBuilder | ast.Query | Acea,
    *,
    bag_union: BagUnion = "once",
    partition_by: Sequence[str] = (),
    within: str | None = None,
    summarize: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    over: str | None = None,
    every: str | None = None,
    having: str | None = None,
) -> Query:
    """A query from its text, from a formula built in Python, or from an automaton written by hand.

    `partition_by`, `within` and what a summary is made of, from `summarize` on, are for automata, which have no text to
    say it in: `within="5 minutes"`, `summarize=["count(*)"]`, `by=["user"]`, `over="1 hour"`.

    All mistakes that can be found without a schema are found here: syntax, variables that are never bound, unknown
    functions. `bag_union` says how `AS` and `ALL` count an event that several variables hold: `"once"`, or once for
    each of them (`"additive"`, the literal reading of the paper).

    >>> import acelera as ac
    >>> print(ac.query("match A as x; B+ within 5 minutes"))
    MATCH A AS x ; B+
    WITHIN 5 MINUTES
    >>> ac.query("MATCH A AS x FILTER y.price > 10")
    Traceback (most recent call last):
        ...
    acelera.errors.QueryCheckError: line 1, column 21: the formula to the left never binds `y`
      MATCH A AS x FILTER y.price > 10
                          ^^^^^^^
      hint: variables there: A, x
    """
    _one_of("bag_union", bag_union, get_args(BagUnion))
    if isinstance(source, Acea):
        if not isinstance(partition_by, str | list | tuple):
            raise UsageError(f"partition_by={partition_by!r} is not a list of attributes")
        if within is not None and not isinstance(within, str):
            raise UsageError(f"within={within!r} is not a window such as '5 minutes'")
        if bag_union != "once":
            raise UsageError("bag_union is for formulas; an automaton says itself what it marks")
        summary = summary_of(summarize, by, over, every, having)
        return Query(AutomatonPattern(source), clauses_of((), None, partition_by, within, summary))
    if partition_by or within is not None:
        raise UsageError("partition_by and within are said in the query itself: PARTITION BY user WITHIN 5 MINUTES")
    if summarize or by or over is not None or every is not None or having is not None:
        raise UsageError("what is summarized is said in the query itself: SUMMARIZE count(*) MATCH … BY x.kind")
    if isinstance(source, str):
        return _of_text(source, bag_union)
    if isinstance(source, FormulaBuilder):
        source = source.query()
    elif not isinstance(source, ast.Query):
        raise UsageError(
            f"a query is made of a text, of a formula built with E(…) or of an Acea, not of {type(source).__name__}"
        )
    return _of_text(print_query(source), bag_union)  # so that mistakes in built queries have a place, too


def _judged(
    checked: Checked, rows: list[dict[str, Any]], ties: str, matches: semantics.Matches, until: int | None
) -> list[list[Row]]:
    """What the judges say: the rows of each match, or of each row of a summary."""
    if checked.rows is not None:
        return semantics.rows_of_events(checked, rows, ties, matches, until)
    answer = semantics.evaluate if checked.summary is None else semantics.summarize
    return [[row] for row in answer(checked, rows, ties, matches, until)]


def _of_text(text: str, bag_union: BagUnion) -> Query:
    return of_tree(parse_query(text), text, bag_union)


def of_tree(tree: ast.Query, text: str, bag_union: BagUnion = "once") -> Query:
    """A query from its tree, of which the places are in a text: that of the query, or one that holds it."""
    tree = _window_outside(tree)
    return Query(FormulaPattern(tree.formula, text, bag_union), tree.clauses)


def _window_outside(tree: ast.Query) -> ast.Query:
    """`MATCH (φ WITHIN d)` as `MATCH φ WITHIN d`, which runs quicker."""
    if isinstance(tree.formula, ast.Windowed) and tree.within is None:
        return replace(tree, formula=tree.formula.formula, within=tree.formula.within)
    return tree


def _one_of(option: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UsageError(f"{option}={value!r} is not known; it is one of {', '.join(map(repr, allowed))}")

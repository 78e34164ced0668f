"""What a user holds in hand: a query that can be checked, printed and run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa

from acelera import semantics
from acelera.automata.compilation import compile_formula
from acelera.automata.held_types import variables_of
from acelera.automata.interpreter import accepted
from acelera.automata.model import Acea
from acelera.automata.simplify import simplify
from acelera.engine.session.bounds import check_limit, gathered, limited, told_of_memory, warn_of_more, watched
from acelera.errors import AceleraWarning, AggregateError, UsageError, nearest
from acelera.explanation import explain
from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.builder import E, FormulaBuilder
from acelera.language.checker import BagUnion, Checked, check, check_variables
from acelera.language.parser import parse_query
from acelera.language.printer import print_query
from acelera.language.schema import Schema, schema_of
from acelera.spark.schemas import is_spark
from acelera.tables import described_by, in_batches, refuse_bad_text, to_arrow, to_rows, to_table

if TYPE_CHECKING:
    from acelera.engine.plan import Plan
    from acelera.engine.session.session import Session
    from acelera.report import Findings, Limits

METHODS = ("engine", "automaton", "semantics")
TIES = ("error", "keep")


class Query:
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

    _is_formula = True

    def __init__(self, tree: ast.Query, text: str, bag_union: BagUnion) -> None:
        self.ast = tree
        self.bag_union: BagUnion = bag_union
        self._text = text
        self._compiled: tuple[Schema, Acea] | None = None
        self._planned: tuple[Schema, Plan] | None = None
        self._checked = check(tree, None, bag_union, text)

    @cached_property
    def automaton(self) -> Acea:
        """The automaton that the query compiles to, simplified; `q.automaton.draw()` is a picture of it.

        It is compiled without a schema. `run` compiles it again only where the columns of its table matter: where
        PROJECT keeps some attributes of events.
        """
        return simplify(self._built)

    @cached_property
    def _built(self) -> Acea:
        return compile_formula(self.ast.formula, None, self.bag_union, self._text)

    def explain(
        self,
        schema: object = None,
        *,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
    ) -> str:
        """What the query is and how it runs: its variables, its automaton, what must be remembered.

        With a schema, as `check` takes it, also how the engine runs it: that depends on the types of attributes. With a
        Spark DataFrame, also what runs where.

        >>> import acelera as ac
        >>> print(ac.query("MATCH A AS x ; B WITHIN 5 EVENTS").explain())
        query
          MATCH A AS x ; B
          WITHIN 5 EVENTS
        <BLANKLINE>
        variables
          A: exactly one
          x: exactly one
          B: exactly one
        <BLANKLINE>
        automaton
          as built: 3 states, 3 transitions, 0 registers
          simplified: 3 states, 3 transitions, 0 registers
        <BLANKLINE>
        transitions
          q0 → q1: A → x
          q1 → q1: any
          q1 → q2: B → B
        <BLANKLINE>
        how it runs
          state: bounded by the window
          every match has one run: nothing is found twice
          every event counts, since WITHIN … EVENTS counts positions
        >>> print(ac.query("MATCH A ; B").explain({"type": str}).splitlines()[-1])
          by tables: constant work for each event, whatever the window
        """
        text = explain(str(self), self.ast, self.variables, self._built, self.automaton)
        if schema is None:
            return text
        frames = schema
        if is_spark(frames):
            from acelera.spark.running import described

            frame, schema = described(frames, lambda known: self._schema(known, order_by, type_column, event_type))
        checked = self._check(self._schema(schema, order_by, type_column, event_type))
        text = "\n  ".join([f"{text}\n\nengine", *self._how_it_runs(checked)])
        if not is_spark(frames):
            return text
        from acelera.engine.session.session import columns_read
        from acelera.spark.pipeline import pipeline_of

        plan = self._plan(checked)
        pipeline = pipeline_of(checked, self._automaton(checked), plan)
        columns = columns_read(checked, plan, pipeline.in_jvm)
        return "\n  ".join([f"{text}\n\nspark", *pipeline.lines(plan, columns, frame.isStreaming)])

    def _how_it_runs(self, checked: Checked) -> list[str]:
        from acelera.engine.machines.choice import how_it_runs

        assert checked.schema is not None
        return how_it_runs(self._plan(checked), checked.schema)

    @property
    def variables(self) -> dict[str, str]:
        """For each variable, how many events it holds in a match: `exactly one`, `at most one`, … ."""
        return {name: str(variable.bounds) for name, variable in self._checked.variables.items()}

    def check(
        self,
        schema: object,
        *,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
    ) -> pa.Schema:
        """Check the query against a schema, and return the schema of its result.

        The schema is a mapping of columns to types (shared by all event types), a mapping of event types to such
        mappings, a pyarrow schema, a Spark schema, or a table that has one. Raises a QueryCheckError that lists every
        mistake.

        >>> import acelera as ac
        >>> q = ac.query("SELECT a.price, max(b.price) AS hi MATCH SELL AS a ; (SELL AS b)+")
        >>> q.check({"type": str, "price": float})
        a_price: double
        hi: double
        """
        checked = self._check(self._schema(schema, order_by, type_column, event_type))
        self._automaton(checked)  # which may be too large
        return checked.result_schema

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
        limit: int | None = None,
    ) -> pa.Table:
        """Find all matches in a table; a Spark DataFrame, or one for each event type, gives a Spark DataFrame.

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
            What to do with rows of a partition that are equal under `order_by`: `"error"`, or `"keep"` their order of
            arrival.
        method
            How to compute the matches. All give the same: `"engine"` is quick, `"automaton"` runs the automaton of the
            query step by step, and `"semantics"` follows the definition; these two are slow and serve as its judges.
        late_events
            For a streaming DataFrame: the name of a column that is added to the result. Events that come after the
            watermark has passed them are rows of the result with the event there, and NULL in all other columns; in
            rows of matches it is NULL.
        limit
            How many matches to make at most: the first by where they end, and a warning if there are more. Without it,
            a result that does not fit into memory is a TooManyMatchesError. On Spark it is `.limit` of the result: any
            of them, and no warning.

        >>> import acelera as ac
        >>> rows = [{"type": "A", "v": 1}, {"type": "B", "v": 2}, {"type": "B", "v": 3}]
        >>> ac.query("SELECT A.v, B.v MATCH A ; B").run(rows).to_pylist()
        [{'A_v': 1, 'B_v': 2}, {'A_v': 1, 'B_v': 3}]
        """
        _one_of("method", method, METHODS)
        _one_of("ties", ties, TIES)
        check_limit(limit)
        if is_spark(table):
            result = self._run_spark(table, order_by, type_column, event_type, ties, method, late_events)
            if limit is not None and result.isStreaming:
                raise UsageError("limit=… is for tables: a stream has no end; leave it out")
            return result if limit is None else result.limit(limit)
        if late_events is not None:
            raise UsageError("late_events=… is for streaming DataFrames: in a table no event comes late; leave it out")
        arrow = to_arrow(table)
        checked = self._check(self._schema(arrow.schema, order_by, type_column, event_type))
        assert checked.schema is not None
        if method == "engine":
            return self._run_engine(arrow, checked, ties, limit)
        warn_of_misspelt_types(self.ast.formula, arrow, checked.schema)
        try:
            rows = semantics.evaluate(checked, to_rows(arrow, checked.schema), ties, self._matches(checked, method))
        except (TypeError, ValueError, ArithmeticError) as error:
            if not _uses_own_aggregates(self.ast):
                raise
            raise AggregateError(
                f"an aggregate function of your own gave a value of another type than that of its values: {error}. "
                "Say its type with acelera.aggregate(…, returns=…)"
            ) from error
        if limit is not None and len(rows) > limit:
            warn_of_more(limit, stacklevel=3)
        return to_table(rows[:limit], checked.result_schema)

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
        page says what is left out.

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
        return write(self, self.findings(table, options, Limits(matches, events), ties), Path(path))

    def findings(self, table: object, options: Mapping[str, Any], limits: Limits, ties: str = "error") -> Findings:
        """What `report` shows, before it is a page; the options are those of `run`."""
        from acelera.report import find

        _one_of("ties", ties, TIES)
        if is_spark(table):
            from acelera.spark.running import described

            _, schema = described(table, lambda known: self._schema(known, **options))
        else:
            table = arrow = to_arrow(table)
            schema = self._schema(arrow.schema, **options)
            warn_of_misspelt_types(self.ast.formula, arrow, schema)
        return find(self, table, self._check(schema), options, ties, limits)

    @property
    def text(self) -> str:
        """The query as it was written."""
        return self._text

    def with_select(self, items: Sequence[ast.SelectItem]) -> Query:
        """The same query with other columns."""
        other = copy(self)
        other.ast = replace(self.ast, select=tuple(items))
        return other

    def open(
        self,
        schema: object,
        *,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
        ties: str = "error",
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
        checked = self._check(self._schema(schema, order_by, type_column, event_type))
        return self._session(checked, ties)

    def stream(
        self,
        source: object,
        *,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
        ties: str = "error",
        limit: int | None = None,
    ) -> pa.RecordBatchReader:
        """Find all matches while the source is read; its rows must come in the order of `order_by`.

        The source is a pyarrow reader or dataset, an iterator of batches, or anything that `run` takes. Matches come in
        batches of bounded size, by where they end; with a limit at most so many, and a warning if there are more.

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
        session = self.open(schema, order_by=order_by, type_column=type_column, event_type=event_type, ties=ties)
        pages = watched(session, (page for table in tables for page in session.pages(table)))
        return pa.RecordBatchReader.from_batches(session.schema, (page.rows for page in limited(pages, limit)))

    def resume(self, snapshot: bytes, given_tests: Sequence[int] | None = None) -> Session:
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
        from acelera.engine.session.session import stream_of
        from acelera.engine.storage.snapshots import unpack
        from acelera.engine.storage.validation import fitting

        sections = unpack(snapshot, self._fingerprint)
        with fitting():
            schema, ties = stream_of(sections)
            session = self._session(self._check(schema), ties, given_tests or (), numbered=given_tests is None)
            session.restore(sections)
        return session

    def session(self, schema: Schema, ties: str, given_tests: Sequence[int] = ()) -> Session:
        """A session that is one of many: rows have no numbers, and some tests of events have been made elsewhere."""
        return self._session(self._check(schema), ties, given_tests, numbered=False)

    def _session(self, checked: Checked, ties: str, given_tests: Sequence[int] = (), numbered: bool = True) -> Session:
        from acelera.engine.session.session import Session

        return Session(checked, self._plan(checked), ties, self._fingerprint, given_tests, numbered)

    @cached_property
    def _fingerprint(self) -> str:
        from acelera.engine.session.session import fingerprint_of

        return fingerprint_of(f"{self.bag_union} {self}")

    def _automaton(self, checked: Checked) -> Acea:
        """The automaton for a stream; the last one is kept, since a query often runs again."""
        assert checked.schema is not None
        if not any(isinstance(node, ast.Project) for node in ast.walk(self.ast.formula)):
            return self.automaton
        if self._compiled is None or self._compiled[0] != checked.schema:
            built = compile_formula(self.ast.formula, checked.schema, self.bag_union, self._text)
            self._compiled = (checked.schema, simplify(built))
        return self._compiled[1]

    def _plan(self, checked: Checked) -> Plan:
        """How the automaton runs over a stream; the last plan is kept, since a query often runs again."""
        from acelera.engine.plan import plan_of

        assert checked.schema is not None
        if self._planned is None or self._planned[0] != checked.schema:
            automaton = self._automaton(checked)
            if not automaton.transitions:
                warnings.warn("nothing can match: parts of the query exclude each other", AceleraWarning, stacklevel=4)
            plan = plan_of(automaton, checked.schema, self._is_formula)
            self._planned = (checked.schema, plan)
        return self._planned[1]

    def _run_engine(self, table: pa.Table, checked: Checked, ties: str, limit: int | None) -> pa.Table:
        from acelera.engine.session.order import order_columns, sorted_indices
        from acelera.engine.session.session import in_order

        session, numbers = self._session(checked, ties), np.arange(1, table.num_rows + 1)
        assert checked.schema is not None
        whole, table = table, session.conform(table)
        if checked.schema.order_by:
            indices = sorted_indices(order_columns(table, checked.schema, numbers))
            if indices is not None:
                table, numbers = table.take(pa.array(indices)), numbers[indices]
        with told_of_memory(session):
            result = in_order(gathered(session, session.pages(table, numbers), limit), session.schema)
        if session.types_not_seen():
            warn_of_misspelt_types(self.ast.formula, whole, checked.schema, not result.num_rows)
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
    ) -> Any:
        from acelera.spark.running import described, run

        if method != "engine":
            raise UsageError(f"method={method!r} is for tables in this process; a Spark DataFrame is run by the engine")
        if ties != "error":
            raise UsageError(
                "ties='keep' is for tables in this process: rows of a Spark DataFrame have no order of arrival"
            )
        frame, schema = described(frames, lambda known: self._schema(known, order_by, type_column, event_type))
        checked = self._check(schema)
        return run(self._sendable(), frame, checked, self._automaton(checked), self._plan(checked), late_events)

    def _sendable(self) -> tuple[Any, dict[str, Any]]:
        """What the query can be made of elsewhere: the arguments of `query`."""
        return str(self), {"bag_union": self.bag_union}

    def _check(self, schema: Schema) -> Checked:
        return check(self.ast, schema, self.bag_union, self._text)

    def _matches(self, checked: Checked, method: str) -> semantics.Matches:
        """How the matches in the events of one partition are found."""
        if method == "semantics":
            return semantics.meaning(checked)
        automaton = self._automaton(checked)
        return lambda events: accepted(automaton, events, self.ast.within)

    def _schema(
        self,
        described: object,
        order_by: str | Sequence[str] | None,
        type_column: str | None,
        event_type: str | None,
    ) -> Schema:
        """The schema of the stream; FROM names the type of a table that has no type column."""
        described = described_by(described)
        schema = schema_of(described, type_column=type_column, event_type=event_type, stream=self.ast.stream)
        listed = [order_by] if isinstance(order_by, str) else order_by
        if listed is not None and not (
            isinstance(listed, list | tuple) and all(isinstance(name, str) for name in listed)
        ):
            raise UsageError(f"order_by={order_by!r} is not a column or a list of columns")
        return schema.ordered_by(order_by if isinstance(order_by, str) else tuple(order_by or ()))

    def __str__(self) -> str:
        return print_query(self.ast)

    def _repr_html_(self) -> str:
        from acelera.report import in_notebook

        return in_notebook(self)

    def __repr__(self) -> str:
        return f"<acelera.Query {' '.join(str(self).split())}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and (self.ast, self.bag_union) == (other.ast, other.bag_union)

    def __hash__(self) -> int:
        return hash((self.ast, self.bag_union))


class AutomatonQuery(Query):
    """A query that is an automaton written by hand, made by `acelera.query(automaton)`.

    Its `ast` holds only the clauses around the automaton.
    """

    _is_formula = False

    def __init__(self, automaton: Acea, partition_by: Sequence[str], within: str | None) -> None:
        carrier = E.any().query(partition_by=partition_by, within=within)  # the clauses around the automaton
        super().__init__(carrier, print_query(carrier), "once")
        self._built = automaton

    @property
    def variables(self) -> dict[str, str]:
        """The variables that the automaton marks."""
        return dict.fromkeys(self._built.variables, "any number")

    @property
    def text(self) -> str:
        """The automaton in words, and the clauses around it."""
        return str(self)

    def _check(self, schema: Schema) -> Checked:
        return check_variables(self.ast, schema, variables_of(self._built, schema))

    def _automaton(self, checked: Checked) -> Acea:
        return self.automaton

    @cached_property
    def _fingerprint(self) -> str:
        from acelera.engine.session.session import fingerprint_of

        return fingerprint_of(f"{self._built!r} {self}")

    def _sendable(self) -> tuple[Any, dict[str, Any]]:
        within = None if self.ast.within is None else f"{self.ast.within.amount} {self.ast.within.unit}"
        options = {"partition_by": [key.name for key in self.ast.partition_by], "within": within}
        return self._built, options if self.ast.select == (ast.Star(),) else {**options, "select": self.ast.select}

    def _matches(self, checked: Checked, method: str) -> semantics.Matches:
        if method == "semantics":
            raise UsageError("an automaton has no formula whose meaning could be followed; use method='automaton'")
        return lambda events: accepted(self.automaton, events, self.ast.within)

    def __str__(self) -> str:
        clauses = print_query(self.ast).removeprefix("MATCH ANY")
        return f"an automaton of {self._built.size()}{clauses}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AutomatonQuery) and (self._built, self.ast) == (other._built, other.ast)

    def __hash__(self) -> int:
        return hash((self._built, self.ast))


def query(
    source: str | FormulaBuilder | ast.Query | Acea,
    *,
    bag_union: BagUnion = "once",
    partition_by: Sequence[str] = (),
    within: str | None = None,
) -> Query:
    """A query from its text, from a formula built in Python, or from an automaton written by hand.

    `partition_by` and `within` are for automata, which have no text to say it in: `within="5 minutes"`.

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
        return AutomatonQuery(source, partition_by, within)
    if partition_by or within is not None:
        raise UsageError("partition_by and within are said in the query itself: PARTITION BY user WITHIN 5 MINUTES")
    if isinstance(source, str):
        return Query(parse_query(source), source, bag_union)
    if isinstance(source, FormulaBuilder):
        source = source.query()
    elif not isinstance(source, ast.Query):
        raise UsageError(
            f"a query is made of a text, of a formula built with E(…) or of an Acea, not of {type(source).__name__}"
        )
    text = print_query(source)  # so that mistakes in built queries have a place, too
    return Query(parse_query(text), text, bag_union)


def _uses_own_aggregates(tree: ast.Query) -> bool:
    created = [item.value for node in ast.walk(tree.formula) if isinstance(node, ast.Agg) for item in node.created]
    shown = [item.aggregation for item in tree.select if isinstance(item, ast.SelectAggregation)]
    functions = [find_aggregate(each.function) for each in (*created, *shown)]
    return any(function is not None and function.user_defined for function in functions)


def warn_of_misspelt_types(formula: ast.Formula, table: pa.Table, schema: Schema, nothing_found: bool = False) -> None:
    """A type that no row has, but that is near to one that rows have, is most likely a slip.

    If nothing was found, a type that no row has is told in any case.
    """
    from acelera.engine.session.store import decoded

    if schema.type_column is None:
        return
    refuse_bad_text(table.select([schema.type_column]), np.arange(1, table.num_rows + 1))
    present = {value for value in decoded(table.column(schema.type_column)).unique().to_pylist() if value is not None}
    asked = {node.name for node in ast.walk(formula) if isinstance(node, ast.EventType | ast.Next)}
    others = sorted(present - asked)
    for name in sorted(asked - present):
        near = nearest(name, others)
        if near is not None:
            warnings.warn(f"no row is of type `{name}`; did you mean `{near}`?", AceleraWarning, stacklevel=3)
        elif nothing_found and present:
            shown = ", ".join(f"`{each}`" for each in sorted(present)[:8]) + (", …" if len(present) > 8 else "")
            warnings.warn(f"no row is of type `{name}`; there are {shown}", AceleraWarning, stacklevel=3)


def _one_of(option: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UsageError(f"{option}={value!r} is not known; it is one of {', '.join(map(repr, allowed))}")

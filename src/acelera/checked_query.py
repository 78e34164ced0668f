"""What a query is before it meets data: a pattern and the clauses around it, checked, explained and compiled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from acelera.automata.model import Acea
from acelera.engine.storage.snapshots import fingerprint_of
from acelera.errors import UsageError
from acelera.explanation import explain
from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.checker import BagUnion, Checked
from acelera.language.event_rows import with_rows_of_events
from acelera.language.fields import names_with_dots
from acelera.language.hidden_columns import refuse_unclear
from acelera.language.order_errors import warn_of_text
from acelera.language.schema import Schema, schema_of
from acelera.language.sorting import TIES, check_ties
from acelera.patterns import Pattern
from acelera.spark.schemas import is_spark
from acelera.tables import described_by

if TYPE_CHECKING:  # and in functions, where it is needed: the engine takes a while to be imported
    from acelera.engine.compiled_query import CompiledQuery

ROWS = ("matches", "events")
"""What a row of the result is."""


class CheckedQuery:
    """A pattern and the clauses around it, without mistakes that can be found without a schema."""

    def __init__(self, pattern: Pattern, clauses: ast.Clauses) -> None:
        self.pattern, self.clauses = pattern, clauses
        self.ast = pattern.tree(clauses)
        self._checked = pattern.check(clauses, None)

    @property
    def bag_union(self) -> BagUnion:
        """How `AS` and `ALL` count an event that several variables hold."""
        return self.pattern.bag_union

    @property
    def automaton(self) -> Acea:
        """The automaton that the query compiles to, simplified; `q.automaton.draw()` is a picture of it.

        It is compiled without a schema. `run` compiles it again only where the columns of its table matter: where
        PROJECT keeps some attributes of events.
        """
        return self.pattern.automaton

    def explain(
        self,
        schema: object = None,
        *,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
        rows: str = "matches",
        ties: str = "error",
    ) -> str:
        """What the query is and how it runs: its variables, its automaton, what must be remembered.

        With a schema, as `check` takes it, also how the engine runs it: that depends on the types of attributes. With a
        Spark DataFrame, also what runs where. `rows` and `ties` are those of `run`.

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
        if ties not in TIES:
            raise UsageError(f"ties={ties!r} is not known; it is one of {', '.join(map(repr, TIES))}")
        text = explain(
            str(self), self._checked, self.variables, self.pattern.built, self.automaton, self.pattern.repeats
        )
        if schema is None:
            return text
        frames = schema
        if is_spark(frames):
            from acelera.spark.running import described

            frame, schema = described(frames, lambda known: self._schema(known, order_by, type_column, event_type))
        compiled = self._compiled(self._schema(schema, order_by, type_column, event_type), rows, ties)
        text = "\n  ".join([f"{text}\n\nengine", *compiled.how_it_runs()])
        if not is_spark(frames):
            return text
        from acelera.spark.pipeline import pipeline_of

        lines = pipeline_of(compiled, frame.isStreaming, ties).lines(compiled, frame.isStreaming)
        return "\n  ".join([f"{text}\n\nspark", *lines])

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
        rows: str = "matches",
    ) -> pa.Schema:
        """Check the query against a schema, and return the schema of its result; `rows` is that of `run`.

        The schema is a mapping of columns to types (shared by all event types), a mapping of event types to such
        mappings, a pyarrow schema, a Spark schema, or a table that has one. Raises a QueryCheckError that lists every
        mistake.

        >>> import acelera as ac
        >>> q = ac.query("SELECT a.price, max(b.price) AS hi MATCH SELL AS a ; (SELL AS b)+")
        >>> q.check({"type": str, "price": float})
        a_price: double
        hi: double
        """
        stream = self._schema(schema, order_by, type_column, event_type)
        checked = self._checked_over(stream, rows)
        self.pattern.automaton_over(stream)  # which may be too large
        return checked.schema_of_result

    @property
    def text(self) -> str:
        """The query as it was written; an automaton in words."""
        return self.pattern.source or str(self)

    def stream_schema(
        self,
        schema: object,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
    ) -> Schema:
        """The schema of the stream that the query looks at."""
        return self._schema(schema, order_by, type_column, event_type)

    def _checked_over(self, schema: Schema, rows: str, ties: str = "error") -> Checked:
        """The query over a stream of this schema, with rows of matches or of events."""
        if rows not in ROWS:
            raise UsageError(f"rows={rows!r} is not known; it is one of {', '.join(map(repr, ROWS))}")
        check_ties(ties, schema)
        shows_events = rows == "events" or self.pattern.formula is None
        refuse_unclear(self.pattern.tree(self.clauses), schema, shows_events, self.pattern.source)
        checked = self.pattern.check(self.clauses, schema)
        return with_rows_of_events(checked, ties) if rows == "events" else checked

    def compiled(self, schema: Schema, rows: str = "matches", ties: str = "error") -> CompiledQuery:
        """The query over a stream of this schema, as it is run here and elsewhere."""
        return self._compiled(self.with_fields(schema), rows, ties)

    def with_fields(self, schema: Schema) -> Schema:
        """The schema of a stream, in which the fields of structs that the query speaks of are columns."""
        return schema.with_fields(self._names_with_dots)

    @cached_property
    def _names_with_dots(self) -> frozenset[str]:
        return names_with_dots(self.ast) | {name for name in self.pattern.attributes if "." in name}

    def _compiled(self, schema: Schema, rows: str = "matches", ties: str = "error") -> CompiledQuery:
        """The query over a stream of this schema: what is run, here and elsewhere."""
        from acelera.engine.compiled_query import compiled_query

        checked = self._checked_over(schema, rows, ties)
        if checked.rows is not None:
            return compiled_query(checked, self.pattern.strategy(schema), self._fingerprint_of_events)
        if checked.summary is None:
            return compiled_query(checked, self.pattern.strategy(schema), self._fingerprint)
        looked_at, totals = frozenset(checked.summary.looked_at), checked.summary.totals_apart
        made = compiled_query(checked, self.pattern.strategy(schema, looked_at, totals), self._fingerprint)
        if totals and made.needs_registers():
            made = compiled_query(checked, self.pattern.strategy(schema, looked_at), self._fingerprint)
        return made

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_of(f"{self.pattern.identity} {self}")

    @cached_property
    def _fingerprint_of_events(self) -> str:
        """The same with rows of events, for which more is kept of the stream."""
        return fingerprint_of(f"{self._fingerprint} rows of events")

    def _schema(
        self,
        described: object,
        order_by: str | Sequence[str] | None,
        type_column: str | None,
        event_type: str | None,
    ) -> Schema:
        """The schema of the stream; FROM names the type of a table that has no type column."""
        described = described_by(described)
        schema = schema_of(described, type_column=type_column, event_type=event_type, stream=self.clauses.stream)
        listed = [order_by] if isinstance(order_by, str) else order_by
        if listed is not None and not (
            isinstance(listed, list | tuple) and all(isinstance(name, str) for name in listed)
        ):
            raise UsageError(f"order_by={order_by!r} is not a column or a list of columns")
        fields = self.with_fields(schema).with_fields(listed or ())
        ordered = fields.ordered_by(order_by if isinstance(order_by, str) else tuple(order_by or ()), hiding=True)
        warn_of_text(ordered)
        return ordered

    def _uses_own_aggregates(self) -> bool:
        shown = {each.aggregation.function for each in self._checked.result.aggregates}
        if self._checked.summary is not None:
            shown |= {each.total.function for each in self._checked.summary.totals}
        functions = map(find_aggregate, self.pattern.functions | shown)
        return any(function is not None and function.user_defined for function in functions)

    def __str__(self) -> str:
        return self.pattern.text(self.clauses)

    def __repr__(self) -> str:
        return f"<acelera.Query {' '.join(str(self).split())}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckedQuery) and (self.pattern, self.clauses) == (other.pattern, other.clauses)

    def __hash__(self) -> int:
        return hash((self.pattern, self.clauses))

"""What runs where: which tests the JVM makes, which rows and columns travel, how the stream is cut into tasks."""

from __future__ import annotations

from dataclasses import dataclass

from acelera.automata.terms import Term
from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.positions import distances_matter
from acelera.language.lowering import UnsupportedError
from acelera.language.sorting import arranges
from acelera.spark.alone import Alone, alone
from acelera.spark.buckets import BUCKETS
from acelera.spark.spark_expressions import MOST_TESTS, refusal
from acelera.spark.summary_shares import Shares, batch_shares, stream_shares


@dataclass(frozen=True)
class Pipeline:
    """How a query runs over a frame.

    `in_jvm` are the numbers of the tests that Spark makes; `relevant`, if not None, are what an event must satisfy to
    matter at all: all others are dropped before they are moved. `keys` split the stream; without them, `sliced` says
    that it is cut into overlapping slices of time. How a summary is cut, `shares` says. How the JVM finds matches
    `alone`, if it can, or else why not. To put rows that tie in the order of all their columns, all columns travel.
    """

    in_jvm: tuple[int, ...]
    in_python: tuple[Term, ...]
    relevant: tuple[tuple[Term, ...], ...] | None
    keys: tuple[str, ...]
    sliced: bool
    in_place: bool  # whether it matters where an event stands, so that none can be dropped
    shares: Shares | None = None
    alone: Alone | str | None = None
    ties: str = "error"

    def columns(self, query: CompiledQuery) -> list[str]:
        """The columns that travel."""
        return list(query.schema.columns) if arranges(self.ties) else query.columns_read(self.in_jvm)

    def lines(self, query: CompiledQuery, streaming: bool) -> list[str]:
        """The same in words, with the columns that travel."""
        found = self._who_tests(query)
        if self.relevant is not None:
            found.append("rows that no state reacts to are dropped first")
        elif self.in_place:
            found.append("all rows travel: it matters which event stands right after another, or at which position")
        else:
            found.append("all rows travel: each may matter")
        listed = ", ".join(self.columns(query))
        found.append(
            f"all columns travel, to order rows that tie by them: {listed}"
            if arranges(self.ties)
            else f"columns that travel: {listed}"
        )
        if self.shares is not None:
            found += self.shares.stream_lines(BUCKETS) if streaming else self.shares.lines()
        elif streaming:
            found.append(f"rows wait for the watermark; then {self._bucketed()}")
        elif self.keys:
            found.append(f"split by {', '.join(self.keys)}: many keys a task")
        elif self.sliced:
            found.append(
                "cut into slices of time that overlap by the window: each match belongs to the slice it starts in"
            )
        else:
            found.append("one task reads the whole stream in order: PARTITION BY, or WITHIN a time, would split it")
        return found

    def _who_tests(self, query: CompiledQuery) -> list[str]:
        """Who tests events, and who finds matches."""
        if isinstance(self.alone, Alone):
            return [self.alone.line()]
        tests = len(query.plan.tests)
        found = [] if self.alone is None else [f"not in the JVM alone: {self.alone}"]
        found.append(f"in the JVM, before anything is moved: {_count(len(self.in_jvm), 'test')} of {tests}")
        return [*found, *(f"in Python: {term}" for term in self.in_python)]

    def _bucketed(self) -> str:
        if not self.keys:
            return "one task reads the whole stream in order: PARTITION BY would split it"
        return f"split by {', '.join(self.keys)}, in {BUCKETS} buckets with a state each"


def pipeline_of(query: CompiledQuery, streaming: bool = False, ties: str = "error") -> Pipeline:
    """How a query runs over a frame of its schema, which may be growing."""
    schema, plan, clauses = query.schema, query.plan, query.checked.clauses
    in_jvm = tuple(number for number, test in enumerate(plan.tests) if refusal(test, schema) is None)[:MOST_TESTS]
    in_python = tuple(test for number, test in enumerate(plan.tests) if number not in in_jvm)
    counts = distances_matter(query.checked, plan)
    in_place = counts or plan.uses_contiguity
    relevant = query.reactions
    if query.checked.summary is not None:
        shares = stream_shares(query) if streaming else batch_shares(query, counts)
        return Pipeline(in_jvm, in_python, relevant, shares.keys, False, in_place, shares, ties=ties)
    keep = clauses.keep
    together = counts or (keep is not None and keep.scope == "apart")  # which speaks of all matches of a partition
    keys = (*(key.name for key in clauses.partition_by), *(() if together else plan.split_by))
    timed = clauses.within is not None and clauses.within.unit != "events"
    sliced = timed and not (keys or counts or plan.absences) and (keep is None or keep.scope == "start")
    by_jvm = None if streaming else _alone(query, ties)
    return Pipeline(in_jvm, in_python, relevant, tuple(dict.fromkeys(keys)), sliced, in_place, None, by_jvm, ties)


def _alone(query: CompiledQuery, ties: str) -> Alone | str:
    if arranges(ties):
        return f"ties={ties!r} orders rows by all columns"
    try:
        return alone(query)
    except UnsupportedError as error:
        return str(error)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

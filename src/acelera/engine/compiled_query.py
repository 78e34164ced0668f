"""A compiled query: what is needed to run a query over a stream of one schema, and nothing that could not be sent.

Whatever it was written as, a text or an automaton, stays behind: workers neither parse, check, compile nor plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from acelera.automata.terms import Finish, Identity, Step, Term, subterms
from acelera.engine.machines.choice import Strategy
from acelera.engine.machines.reachable import Reachable
from acelera.engine.plan import Plan, folded
from acelera.engine.positions import distances_matter
from acelera.engine.results.needs import columns_read
from acelera.engine.session.description import stream_of
from acelera.engine.session.session import Session
from acelera.engine.storage.snapshots import Section, fingerprint_of, unpack
from acelera.engine.storage.validation import fitting
from acelera.engine.summaries.summary_choice import SummaryStrategy, summary_strategy
from acelera.engine.summaries.summary_session import SummarySession
from acelera.errors import SnapshotError
from acelera.language import ast
from acelera.language.aggregates import Aggregate, install, own_aggregates
from acelera.language.checker import Checked, with_other_clauses
from acelera.language.schema import Schema


@dataclass(frozen=True)
class CompiledQuery:
    """A query over a stream of one schema, ready to run here or elsewhere.

    `fingerprint` tells it from other queries: snapshots belong to it. `aggregates` are those functions of users' own
    that it needs, which are not known where it is sent to.
    """

    checked: Checked
    strategy: Strategy
    fingerprint: str
    aggregates: tuple[Aggregate, ...] = ()

    @property
    def plan(self) -> Plan:
        """What the automaton was taken apart to."""
        return self.strategy.plan

    @property
    def schema(self) -> Schema:
        """The schema of the stream."""
        assert self.checked.schema is not None
        return self.checked.schema

    def open(self, ties: str = "error", given_tests: Sequence[int] = (), numbered: bool = True) -> Session:
        """Start it on a stream.

        One of many sessions is not `numbered`: its rows have no numbers for people. Tests of events that are `given`
        have been made elsewhere.
        """
        if self.checked.summary is not None:
            return self.open_summary(ties, given_tests, numbered)
        install(self.aggregates)
        return Session(self.checked, self.strategy, ties, self.fingerprint, given_tests, numbered)

    def open_summary(
        self,
        ties: str = "error",
        given_tests: Sequence[int] = (),
        numbered: bool = True,
        partial: bool = False,
    ) -> SummarySession:
        """The same for a summary; one that is `partial` gives rows that `summarizing.merging()` takes."""
        strategy = self.summarizing()
        return SummarySession(self.checked, strategy, ties, self.fingerprint, given_tests, numbered, partial)

    def open_stretch(
        self, reachable: Reachable, ties: str = "error", given_tests: Sequence[int] = ()
    ) -> SummarySession:
        """A session that reads a stretch of a stream alone, whatever comes into it; see `matrices`."""
        strategy = self.summarizing(by_row=True)
        session = SummarySession(self.checked, strategy, ties, self.fingerprint, given_tests, numbered=False)
        session.begin_anywhere(reachable)
        return session

    def summarizing(self, by_row: bool = False) -> SummaryStrategy:
        """How a summary runs; `by_row` if a stretch of the stream is read alone."""
        install(self.aggregates)
        return summary_strategy(self.checked, self.strategy, by_row)

    def needs_registers(self) -> bool:
        """Whether a summary looks at something that its plan leaves to listed matches, and runs value by value."""
        assert self.checked.summary is not None
        return folded(self.plan, self.checked.summary.looked_at) and isinstance(self.summarizing().layout, str)

    @property
    def result_schema(self) -> pa.Schema:
        """The schema of the result."""
        return self.checked.schema_of_result

    def resume(self, snapshot: bytes, given_tests: Sequence[int] = ()) -> Session:
        """Go on from a snapshot of one of many sessions."""
        sections = unpack(snapshot, self.fingerprint)
        with fitting():
            schema, ties = stream_of(sections)
            schema = schema.with_fields(self.schema.fields)
            if not schema.is_exactly(self.schema):
                raise SnapshotError("the snapshot belongs to a stream with other columns, or in another order")
            return self.restored(sections, ties, given_tests, numbered=False)

    def restored(self, sections: Section, ties: str, given_tests: Sequence[int] = (), numbered: bool = True) -> Session:
        """Go on from the sections of a snapshot."""
        session = self.open(ties, given_tests, numbered)
        session.restore(sections)
        return session

    def columns_read(self, given_tests: Sequence[int] = ()) -> list[str]:
        """The columns that a session looks at; those of tests that are made elsewhere need not be there."""
        return columns_read(self.checked, self.plan, given_tests)

    @property
    def reactions(self) -> tuple[tuple[Term, ...], ...] | None:
        """What an event must satisfy to matter, one of these conjunctions of tests; None if every event does."""
        return None if self.counts_events or () in self.plan.reactions else self.plan.reactions

    @property
    def beginnings(self) -> tuple[tuple[Term, ...], ...] | None:
        """What an event must satisfy to be the first of a match, one of these conjunctions of tests; None if events
        that stand in no match, nor between the events of one, may matter as well, or if any may be the first.
        """
        plan = self.plan
        others_matter = distances_matter(self.checked, plan) or plan.absences or plan.neighbours
        return None if others_matter or () in plan.beginnings else plan.beginnings

    @property
    def counts_events(self) -> bool:
        """Whether it matters where an event stands, so that none can be left out."""
        return distances_matter(self.checked, self.plan) or self.plan.uses_contiguity

    def how_it_runs(self) -> list[str]:
        """Which machine runs it, and why, in words."""
        if self.checked.summary is not None:
            return summary_strategy(self.checked, self.strategy).lines()
        return self.strategy.lines()

    def with_select(self, items: Sequence[ast.SelectItem]) -> CompiledQuery:
        """The same query with other columns; a summary becomes a query that shows its matches."""
        clauses = replace(self.checked.clauses, select=tuple(items), summary=None)
        checked = with_other_clauses(self.checked, clauses)
        return compiled_query(checked, self.strategy, fingerprint_of(f"{self.fingerprint} {clauses}"))


def compiled_query(checked: Checked, strategy: Strategy, fingerprint: str) -> CompiledQuery:
    """The query of checked clauses and of how their pattern runs, with the functions that it needs."""
    own = own_aggregates()
    needed = set(_functions(checked, strategy.plan)) if own else set()
    return CompiledQuery(checked, strategy, fingerprint, tuple(each for each in own if each.name in needed))


def _functions(checked: Checked, plan: Plan) -> Iterator[str]:
    """The names of all aggregate functions that a query asks for."""
    yield from (shown.aggregation.function.lower() for shown in checked.result.aggregates)
    if checked.summary is not None:
        yield from (each.total.function.lower() for each in checked.summary.totals)
    for each in (plan, *plan.guards):
        yield from (fold.function.lower() for fold in each.folds)
        for term in each.terms():
            yield from (p.function.lower() for p in subterms(term) if isinstance(p, Identity | Step | Finish))

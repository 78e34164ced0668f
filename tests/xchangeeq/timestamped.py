"""Random programs over random streams whose times are timestamps, and what the judge derives from them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from acelera.errors import AceleraError
from acelera.xchangeeq.checker import check
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.printer import print_program
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.terms import Event, Term, events_of
from xchangeeq.building import SECOND
from xchangeeq.strategies import SCHEMAS, programs
from xchangeeq.streams import TICK, streams

TIMES = pa.timestamp("us", "UTC")
FIRST_DAY = 20_000 * 86_400_000_000
"""When streams begin, at midnight, so that clocks tick as they do around the first of all times."""

AFTER = 40_000_000
"""How long after the last event all that random programs wait for has happened."""

NOBODY = "#nobody"
"""The label of events that no rule asks for, which only clocks see."""


@dataclass(frozen=True)
class Case:
    """A program, and the events of each label; without `begin`, they are points in time."""

    text: str
    tables: Mapping[str, pa.Table]
    points: bool

    @property
    def times(self) -> list[str]:
        return ["end"] if self.points else ["begin", "end"]

    @property
    def options(self) -> dict[str, str]:
        """How `Program.run` is told of the columns."""
        return {"time": "end"} if self.points else {"begin": "begin", "end": "end"}

    @property
    def ends(self) -> list[int]:
        return [end for table in self.tables.values() for end in table.column("end").cast(pa.int64()).to_pylist()]

    @property
    def now(self) -> int:
        """When all has happened."""
        return max(self.ends) + AFTER

    def meant(self, by: int | None = None) -> frozenset[Event]:
        """What is derived by a time at which something happens that nobody asks for; or, without one, at all."""
        events = [each for label, table in self.tables.items() for each in self._events(table, label)]
        if by is None:
            return derive(parse_program(self.text), events)
        found = derive(parse_program(self.text), [*events, Event(Term(NOBODY), by, by)])
        return frozenset(each for each in found if each.end <= by)

    def _events(self, table: pa.Table, label: str) -> list[Event]:
        return events_of(table, label, begin=self.times[0], end="end")


@st.composite
def cases(draw: st.DrawFn, most_rules: int = 3, recursion: bool = True) -> Case:
    """Programs that are accepted, two of three of which derive something."""
    program = draw(programs(most_rules=most_rules, recursion=recursion))
    points = draw(st.booleans())
    tables = draw(streams(most=14, last=16, points=points))
    found = Case(print_program(program), {label: _timestamps(each, points) for label, each in tables.items()}, points)
    derives = draw(st.sampled_from([True, True, False]))
    try:
        check(program, SCHEMAS)
        made = found.meant(found.now)
    except AceleraError:  # also numbers that do not fit
        assume(False)
    assume(made or not derives)
    return found


def _timestamps(table: pa.Table, points: bool) -> pa.Table:
    """A table of ticks as one of timestamps."""
    found = table.drop_columns(["#begin", "#end"])
    for name in ["end"] if points else ["begin", "end"]:
        ticks = table.column(f"#{name}").to_pylist()
        found = found.append_column(name, pa.array([FIRST_DAY + tick * TICK for tick in ticks], TIMES))
    return found


@dataclass(frozen=True)
class Arrival:
    """How rows come: each so long after its end, in files that end after so many rows, some of them before a restart.

    `delay` is that of the watermark, in microseconds; `apart` says whether there is a frame for each label.
    """

    delays: tuple[int, ...]
    delay: int
    cuts: tuple[int, ...]
    restart: int
    apart: bool

    def pieces(self, table: pa.Table) -> list[pa.Table]:
        """The rows of each file."""
        ends = table.column("end").cast(pa.int64()).to_pylist()
        order = sorted(range(len(ends)), key=lambda row: ends[row] + self.delays[row])
        bounds = [0, *self.cuts, len(ends)]
        return [table.take(pa.array(order[low:high])) for low, high in itertools.pairwise(bounds)]


@st.composite
def arrivals(draw: st.DrawFn, rows: int) -> Arrival:
    longest = draw(st.sampled_from([0, 1, 5])) * SECOND
    delays = draw(st.lists(st.integers(0, longest), min_size=rows, max_size=rows))
    cuts = sorted(draw(st.sets(st.integers(1, rows - 1), min_size=1, max_size=3)))
    return Arrival(tuple(delays), longest + 1000, tuple(cuts), draw(st.integers(1, len(cuts))), draw(st.booleans()))


def in_one_table(tables: Mapping[str, pa.Table]) -> pa.Table:
    """All events, with their labels in a column."""
    labelled = [table.append_column("type", pa.array([label] * len(table))) for label, table in tables.items()]
    return pa.concat_tables(labelled, promote_options="default")

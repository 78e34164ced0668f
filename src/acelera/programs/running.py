"""A program over a whole source: at once if it is a table, piece by piece if it can be read so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.algebra.names import END
from acelera.programs.inputs import Due, Given, read
from acelera.programs.session import ProgramSession

ROWS_AT_ONCE = 1 << 17
"""So many rows, or a few more, are taken in one step: between steps an engine forgets what it no longer needs."""

IN_ORDER = "what is read piece by piece must be in order of end; read it into a table first, and run sorts it"

Made = list[dict[str, pa.Table]]


def run_whole(session: ProgramSession, given: Given) -> Made:
    """What follows from events that are all there, in whatever order."""
    made = [session.take(piece, now) for piece, now in pieces(given, ROWS_AT_ONCE)]
    return [*made, session.take_rest()]


def run_in_pieces(session: ProgramSession, batches: Iterable[object]) -> Made:
    """What follows from events that come in order of end.

    Those with the greatest end of a batch wait for the next batch, which may have more that end with them.
    """
    made: Made = []
    waiting, after = Given({}), None
    for batch in batches:
        waiting = _together(waiting, read(session.announced, batch, Due(after, hint=IN_ORDER), waiting.rows))
        if waiting.first is not None and waiting.last is not None and waiting.first < waiting.last:
            after = waiting.last - 1
            made.append(session.take(_part(waiting, None, after), after))
            waiting = replace(_part(waiting, after, None), first=waiting.last)
    return [*made, *run_whole(session, waiting)]


def pieces(given: Given, rows: int) -> Iterator[tuple[Given, int]]:
    """Events in pieces of about so many rows, in order of end, each with the tick that it reaches."""
    if given.last is None:
        return
    ends = [table.column(END).to_numpy() for table in given.tables.values()]
    cuts = np.unique(np.sort(np.concatenate(ends))[rows - 1 :: rows]).tolist() if ends else []
    if not cuts or cuts[-1] < given.last:
        cuts.append(given.last)
    if len(cuts) == 1:
        yield given, given.last
        return
    tables = {label: table.sort_by(END) for label, table in given.tables.items()}
    starts = dict.fromkeys(tables, 0)
    for now in cuts:
        stops = {label: int(np.searchsorted(table.column(END), now, "right")) for label, table in tables.items()}
        piece = {label: table.slice(starts[label], stops[label] - starts[label]) for label, table in tables.items()}
        yield replace(given, tables=piece), now
        starts = stops


def _part(given: Given, after: int | None, by: int | None) -> Given:
    """The events that end after one tick and by another."""
    tables = given.tables
    if after is not None:
        tables = {label: table.filter(pc.field(END) > after) for label, table in tables.items()}
    if by is not None:
        tables = {label: table.filter(pc.field(END) <= by) for label, table in tables.items()}
    return replace(given, tables=tables)


def _together(one: Given, other: Given) -> Given:
    """All events of both; the second was counted on from the first."""
    tables = dict(one.tables)
    for label, table in other.tables.items():
        tables[label] = pa.concat_tables([tables[label], table]) if label in tables else table
    firsts = [each for each in (one.first, other.first) if each is not None]
    lasts = [each for each in (one.last, other.last) if each is not None]
    return Given(tables, min(firsts, default=None), max(lasts, default=None), other.rows)

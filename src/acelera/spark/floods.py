"""Workers that make far more matches than there are events say so where it is seen, and stop if they are told to.

What a worker prints goes to the log of its executor; with a local master that is where the driver prints.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from acelera.engine.session.bounds import LEAST_EVENTS, flood, too_many
from acelera.engine.session.pages import Page
from acelera.engine.session.session import Session
from acelera.errors import UsageError

MOST_PER_EVENT = "spark.acelera.mostMatchesPerEvent"
"""The setting that ends a run with far more matches than events."""

MARK = "acelera: warning: "
"""How a line begins that a worker prints."""

_said = set[str]()
"""By this process, of which each reads many tasks: once is enough."""


def most_per_event(frame: Any) -> float | None:
    """How many matches an event of a task may have, if the session says."""
    said = frame.sparkSession.conf.get(MOST_PER_EVENT, None)
    if said is None:
        return None
    try:
        most = float(said)
    except ValueError:
        most = 0.0
    if not most > 0:
        raise UsageError(f"{MOST_PER_EVENT} is {said!r}, which is no number of matches: 1000, or unset it")
    return most


def watched_rows(session: Session, pages: Iterable[Page], most: float | None) -> Iterator[pa.RecordBatch]:
    """The rows of pages; it is said once if there are far more matches than events, and an error if too many."""
    for page in pages:
        yield page.rows
        told = flood(session)
        if told is not None and not _said:
            _said.add(told)
            print(f"{MARK}in one task of several, {told}", file=sys.stderr, flush=True)
        if most is not None and session.matches > most * max(session.events, LEAST_EVENTS):
            raise too_many(session, f"in one task, and {MOST_PER_EVENT} is {most:g}")

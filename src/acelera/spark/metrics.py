"""What buckets count, and what a stream tells of it in the progress of each micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from acelera.errors import UsageError
from acelera.spark.watermarks import METRICS, metrics_name

LATE = "late_events"


class Told(NamedTuple):
    """What something that runs has counted in all: the matches that it gave, None if each is a row; rows that tied and
    were dropped; and how many partial matches it holds.
    """

    matches: int | None = None
    tied: int = 0
    dropped: int = 0
    partial_matches: int = 0


class Counts(NamedTuple):
    """What a bucket tells of one micro-batch: what it read and gave in it, and what it holds at its end."""

    events: int = 0
    tied: int = 0
    dropped: int = 0
    matches: int = 0
    waiting_rows: int = 0
    partial_matches: int = 0
    state_bytes: int = 0


NAMES = (LATE, *Counts._fields)
"""What is told of a micro-batch, of all buckets together."""


def observed(found: Any, fingerprint: str, late: str) -> Any:
    """What buckets give, which is counted: it has a column for each of the counts, and one for late rows."""
    from pyspark.sql import functions

    columns = {LATE: late, **{name: name for name in Counts._fields}}
    sums = [functions.coalesce(functions.sum(each), functions.lit(0)).alias(name) for name, each in columns.items()]
    return found.observe(metrics_name(fingerprint), *sums)


def metrics(progress: object, *, by_query: bool = False) -> dict[str, Any]:
    """What the queries of a stream on Spark have read, found and kept, out of the progress of a micro-batch.

    `progress` is one of `query.recentProgress`, `query.lastProgress`, what a listener is told, or the same as a dict.
    All numbers are sums over all buckets and all queries of the stream; with `by_query` there is a dict for each, by
    the name of its metrics. One without metrics, such as a micro-batch that had nothing to do, gives zeros.

    >>> import acelera as ac
    >>> counted = {"late_events": 1, "events": 250, "tied": 3, "dropped": 2, "matches": 17}
    >>> held = {"waiting_rows": 90, "partial_matches": 8, "state_bytes": 20480}
    >>> told = ac.metrics({"observedMetrics": {"acelera-3f2a91bc": {**counted, **held}}})
    >>> told["matches"], told["late_events"], told["waiting_rows"]
    (17, 1, 90)
    """
    found = {name: _named(row) for name, row in _observed(progress) if name.startswith(METRICS)}
    if by_query:
        return found
    return {name: sum(each[name] for each in found.values()) for name in NAMES}


def _observed(progress: object) -> Iterator[tuple[str, Any]]:
    told = progress.get("observedMetrics") if isinstance(progress, Mapping) else None
    told = getattr(progress, "observedMetrics", None) if told is None else told
    if told is None and not isinstance(progress, Mapping):
        raise UsageError(
            f"metrics are told by the progress of a stream (query.lastProgress), not by {type(progress).__name__}"
        )
    return iter((told or {}).items())


def _named(row: Any) -> dict[str, int]:
    """The numbers of a row, or of a mapping; what it does not tell is 0."""
    ask: Callable[[str], Any] = row.get if isinstance(row, Mapping) else lambda name: getattr(row, name, None)
    return {name: int(ask(name) or 0) for name in NAMES}

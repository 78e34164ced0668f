"""What a report shows of a summary: its rows, as many as are asked for, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acelera.language.checker import Checked
from acelera.report.findings import About, Limits

if TYPE_CHECKING:  # the engine takes a while to be imported
    from acelera.engine.compiled_query import CompiledQuery


@dataclass(frozen=True)
class SummaryFindings:
    """All that the page of a summary shows: the first of its rows, by window and keys."""

    about: About
    checked: Checked
    rows: pa.Table
    events_found: int
    rows_found: int
    counted: bool = True


def summarized(about: About, query: CompiledQuery, table: pa.Table, ties: str, limits: Limits) -> SummaryFindings:
    """What a page shows of the summary of a table."""
    from acelera.report.in_process import in_order

    table, numbers = in_order(table, query)
    session = query.open(ties)
    found = session.table(list(chain(session.pages(session.conform(table), numbers), session.rest())))
    shown = found.slice(0, limits.matches)
    return SummaryFindings(about, query.checked, shown, table.num_rows, found.num_rows)


def summarized_on_spark(
    about: About, query: CompiledQuery, frames: Any, limits: Limits, ties: str = "error"
) -> SummaryFindings:
    """The same of a Spark DataFrame: Spark summarizes and counts, and hands over the rows that are shown."""
    from acelera.report.on_spark import kept
    from acelera.spark.running import described, run
    from acelera.spark.spark_expressions import quoted

    assert query.checked.summary is not None
    frame, _ = described(frames, lambda _: query.schema)
    found, order = kept(run(query, frame, ties=ties)), [quoted(name) for name in query.checked.summary.order]
    try:
        shown = (found.orderBy(*order) if order else found).limit(limits.matches).toArrow()
        return SummaryFindings(about, query.checked, shown, frame.count(), found.count())
    finally:
        found.unpersist()

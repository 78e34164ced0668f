"""One HTML page about a query and its matches; see `Query.report`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acelera.errors import UsageError
from acelera.report.findings import About, Findings, Limits
from acelera.report.page import in_notebook, page, refuse_place, save
from acelera.report.summary_findings import SummaryFindings, summarized, summarized_on_spark
from acelera.report.summary_page import summary_page
from acelera.spark.schemas import is_spark

if TYPE_CHECKING:
    from acelera.engine.compiled_query import CompiledQuery

__all__ = ["About", "Findings", "Limits", "SummaryFindings", "find", "in_notebook", "refuse_place", "write"]


def write(found: Findings | SummaryFindings, path: Path) -> Path:
    """Write the page of a query."""
    return save(summary_page(found) if isinstance(found, SummaryFindings) else page(found), path)


def find(about: About, query: CompiledQuery, table: Any, ties: str, limits: Limits) -> Findings | SummaryFindings:
    """What a page shows: of an Arrow table, or of a Spark DataFrame or a mapping of event types to such.

    Of a summary, the page shows its rows, as many as there could be matches.
    """
    for name, limit in (("matches", limits.matches), ("events", limits.events)):
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            raise UsageError(f"{name}={limit!r} is not a number of {name} to show")
    summary = query.checked.summary is not None
    if not is_spark(table):
        if summary:
            return summarized(about, query, table, ties, limits)
        from acelera.report.in_process import find as find_in_process

        return find_in_process(about, query, table, ties, limits)
    from acelera.report.on_spark import find as find_on_spark
    from acelera.spark.running import refuse_order_of_arrival

    refuse_order_of_arrival(ties)
    frames = list(table.values()) if isinstance(table, Mapping) else [table]
    if any(frame.isStreaming for frame in frames):
        raise UsageError(
            "a report shows a stream that has ended, and this DataFrame is a streaming one; read it as a batch "
            "(spark.read), or write its events to a table and report on that"
        )
    if summary:
        return summarized_on_spark(about, query, table, limits, ties)
    if ties != "error":
        raise UsageError(
            f"ties={ties!r}: a report of matches tells events of a Spark DataFrame by their order, in which none may "
            "tie; add a column to order_by that tells them apart, or report on rows in this process: frame.toArrow()"
        )
    return find_on_spark(about, query, table, limits)

"""`acelera report`: a page about a query and its matches in files, or about a program and what it derives from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acelera.cli.group import main
from acelera.cli.inputs import Input, is_remote
from acelera.cli.job import Job, Outcome, job_of
from acelera.cli.options import (
    COLUMN_TYPES,
    DATA,
    DEBUG,
    EVENT_TYPE,
    FORMAT,
    ORDER_BY,
    PARTITION_BY,
    QUERY,
    QUIET,
    TYPE_COLUMN,
    WHAT_TIES,
    how_files_are_read,
    sources_of_changes,
    times_of_events,
)
from acelera.cli.outputs import page_written, refuse_overlap
from acelera.cli.printing import tell
from acelera.cli.program_or_query import demand_inputs, refuse_options
from acelera.cli.progress import Progress, progress
from acelera.errors import UsageError

if TYPE_CHECKING:
    from acelera.report import Findings, SummaryFindings

EVENTS = 10_000
"""How many events the page of a query shows, if nothing is said."""


@main.command(short_help="Write a page about a query or a program, and what it finds in files.")
@QUERY
@DATA
@ORDER_BY
@PARTITION_BY
@TYPE_COLUMN
@EVENT_TYPE
@times_of_events
@sources_of_changes
@FORMAT
@COLUMN_TYPES
@how_files_are_read
@click.option(
    "-o",
    "--output",
    metavar="PAGE",
    default="report.html",
    show_default=True,
    help="The page, name.html; its folders are made, and a page that is there is replaced.",
)
@click.option(
    "--matches",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    help="How many matches, or rows of a summary, to show.",
)
@click.option(
    "--events", type=click.IntRange(0), help="How many events to show.  [default: 10000, and 5000 of a program]"
)
@click.option("--in-process", is_flag=True, help="Without Spark: read all rows into memory, in this process.")
@WHAT_TIES
@QUIET
@DEBUG
@click.pass_context
def report(context: click.Context, /, **given: Any) -> None:
    """Write a page about the query in the file QUERY (- for standard input) and its matches in all INPUTs.

    The page is one HTML file: the query, its automaton, its matches on a timeline, counts and the result. It shows the
    first matches by where they end, with all their events and those nearest to them; counts are over everything.
    Of a query with SUMMARIZE, it shows the rows of the summary, as a chart and as a table.

    INPUTs and options are those of `acelera run`, and so are the exit codes. It runs on Spark, which gives back only
    what the page shows; with --in-process, all rows are read into memory here.

    Of a program, a file .xceq, the page shows the rules, the events that came in and those that were derived, on a
    timeline, and what each was made from. It runs in this process. Of a program over changes, a file .trepl, it shows
    the changes, and what rules did when. Of a program of statements, a file .acelp, it shows the events of each stream.

    \b
    Examples:
      acelera report examples/swing.acel examples/ticks.csv --order-by ts
      acelera report examples/swing.acel examples/ticks.csv --order-by ts --in-process -o pages/swings.html
      acelera report examples/fire.xceq examples/sensors.csv -o pages/fire.html
      acelera report rules.trepl --source stock=ticks.parquet
    """
    context.obj["debug"] = given["debug"]
    refuse_options(context)
    demand_inputs(context)
    if context.obj["language"] is not None:
        _report_program(context.obj["language"], given)
        return
    job = job_of(given)
    page = _page(given["output"], job.inputs.parts)
    with progress(given["quiet"]) as shown:
        found = _found(job, given, shown)
        shown.begin("writing the page")
        from acelera.report import write

        with page_written():
            write(found, page)
    if not given["quiet"]:
        outcome = Outcome(found.events_found, found.rows_found, counted=found.counted, what=job.what)
        tell(f"{outcome.summary(shown.elapsed)}; see {page}")


def _report_program(language: str, given: dict[str, Any]) -> None:
    from acelera.cli.programs.report_program import find_by_program, report_job, summary
    from acelera.programs.report.page import write

    job = report_job(language, given)
    page = _page(given["output"], job.parts)
    with progress(given["quiet"]) as shown:
        found = find_by_program(job, shown, given["events"])
        shown.begin("writing the page")
        with page_written():
            write(found, page)
    if not given["quiet"]:
        tell(f"{summary(found, shown.elapsed)}; see {page}")


def _page(name: str, inputs: Sequence[Input]) -> Path:
    """Where the page goes; refuses what would do harm, before anything is read."""
    from acelera.report import refuse_place

    if is_remote(name):
        raise click.UsageError(f"`{name}` is not on this machine; a page is written here")
    path = Path(name)
    try:
        refuse_place(path)
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    if path.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"`{name}` must end with .html")
    refuse_overlap(path, inputs)
    return path


def _found(job: Job, given: dict[str, Any], shown: Progress) -> Findings | SummaryFindings:
    from acelera.report import Limits

    limits = Limits(given["matches"], EVENTS if given["events"] is None else given["events"])
    if given["in_process"]:
        from acelera.cli.local import find_here

        return find_here(job, shown, limits)
    from acelera.cli.spark.run_batch import find_on_spark

    return find_on_spark(job, shown, given["debug"], limits)

"""`acelera report`: a page about a query and its matches in files, found on Spark or in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acelera.cli.describe import EVENT_TYPE, ORDER_BY, QUERY, TYPE_COLUMN
from acelera.cli.group import main
from acelera.cli.inputs import is_remote
from acelera.cli.job import Job, Outcome, job_of
from acelera.cli.options import DEBUG, FORMAT, INPUTS, PARTITION_BY, QUIET, WHAT_TIES
from acelera.cli.outputs import page_written, refuse_overlap
from acelera.cli.printing import tell
from acelera.cli.progress import Progress, progress
from acelera.errors import UsageError

if TYPE_CHECKING:
    from acelera.report import Findings


@main.command(short_help="Write a page about a query and its matches in files.")
@QUERY
@INPUTS
@ORDER_BY
@PARTITION_BY
@TYPE_COLUMN
@EVENT_TYPE
@FORMAT
@click.option(
    "-o",
    "--output",
    metavar="PAGE",
    default="report.html",
    show_default=True,
    help="The page, name.html; its folders are made, and a page that is there is replaced.",
)
@click.option("--matches", type=click.IntRange(0), default=1000, show_default=True, help="How many matches to show.")
@click.option("--events", type=click.IntRange(0), default=10_000, show_default=True, help="How many events to show.")
@click.option("--in-process", is_flag=True, help="Without Spark: read all rows into memory, in this process.")
@WHAT_TIES
@QUIET
@DEBUG
@click.pass_context
def report(context: click.Context, /, **given: Any) -> None:
    """Write a page about the query in the file QUERY (- for standard input) and its matches in all INPUTs.

    The page is one HTML file: the query, its automaton, its matches on a timeline, counts and the result. It shows the
    first matches by where they end, with all their events and those nearest to them; counts are over everything.

    INPUTs and options are those of `acelera run`, and so are the exit codes. It runs on Spark, which gives back only
    what the page shows; with --in-process, all rows are read into memory here.

    \b
    Examples:
      acelera report examples/swing.acel examples/ticks.csv --order-by ts
      acelera report examples/swing.acel examples/ticks.csv --order-by ts --in-process -o pages/swings.html
    """
    context.obj["debug"] = given["debug"]
    job = job_of(given)
    page = _page(given["output"], job)
    with progress(given["quiet"]) as shown:
        found = _found(job, given, shown)
        shown.begin("writing the page")
        from acelera.report import write

        with page_written():
            write(found, page)
    if not given["quiet"]:
        outcome = Outcome(found.events_found, found.matches_found, counted=found.counted)
        tell(f"{outcome.summary(shown.elapsed)}; see {page}")


def _page(name: str, job: Job) -> Path:
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
    refuse_overlap(path, job.inputs.parts)
    return path


def _found(job: Job, given: dict[str, Any], shown: Progress) -> Findings:
    from acelera.report import Limits

    limits = Limits(given["matches"], given["events"])
    if given["in_process"]:
        from acelera.cli.local import find_here

        return find_here(job, shown, limits)
    from acelera.cli.spark.run_batch import find_on_spark

    return find_on_spark(job, shown, given["debug"], limits)

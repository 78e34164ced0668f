"""`acelera run`: the matches of a query in files, on Spark or in this process, or what a program derives from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import click

from acelera.cli.group import main
from acelera.cli.job import Job, job_of
from acelera.cli.options import (
    COLUMN_TYPES,
    DATA,
    DATABASE,
    DEBUG,
    EVENT_TYPE,
    FORMAT,
    MAX_TUPLES,
    METHOD,
    ORDER_BY,
    PARTITION_BY,
    QUERY,
    QUIET,
    ROWS,
    TYPE_COLUMN,
    UNTIL,
    WHAT_TIES,
    how_files_are_read,
    sources_of_changes,
    times_of_events,
)
from acelera.cli.outputs import find_output
from acelera.cli.printing import say, tell
from acelera.cli.program_or_query import demand_inputs, refuse_options
from acelera.cli.progress import Progress, progress
from acelera.cli.terminal_tables import console, table_of
from acelera.errors import QueryCheckError, SchemaError

_DELAY = r"\d+ (millisecond|second|minute|hour|day|week)s?"


@main.command(short_help="Find the matches of a query in files, or run a program over them.")
@QUERY
@DATA
@ORDER_BY
@PARTITION_BY
@TYPE_COLUMN
@EVENT_TYPE
@times_of_events
@sources_of_changes
@DATABASE
@MAX_TUPLES
@FORMAT
@COLUMN_TYPES
@how_files_are_read
@click.option("-o", "--output", metavar="OUT", help="Where results go: name.parquet, .csv, .json, or a folder.")
@click.option("--overwrite", is_flag=True, help="Replace OUT if it is there.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    help="How many matches, rows of a summary, or events of each label, at most.  [default: 20 without -o]",
)
@click.option("--in-process", is_flag=True, help="Without Spark: read the files in this process.")
@WHAT_TIES
@ROWS
@UNTIL
@METHOD
@click.option("--explain", "explaining", is_flag=True, help="Say how the query would run, and do not run it.")
@click.option("--stream", is_flag=True, help="Watch one folder and go on as files come; needs --checkpoint and -o.")
@click.option("--checkpoint", metavar="DIR", help="With --stream: where it remembers how far it is.")
@click.option("--watermark", help='With --stream: how late events may come.  [default: "10 minutes"]')
@click.option("--once", is_flag=True, help="With --stream: process what is there, and end.")
@QUIET
@DEBUG
@click.pass_context
def run(context: click.Context, /, **given: Any) -> None:
    """Find the matches of the query in the file QUERY (- for standard input) in all INPUTs.

    An INPUT is a file or a folder of parquet, CSV (with a header) or JSON lines; several are one stream. NAME=path
    says that all rows of a path are events of the type NAME. Matches are written to OUT, or the first of them shown;
    with --limit only so many are found, the first by where they end, and it says whether there are more.
    OUT appears when all is done, and not at all if something fails. A query with SUMMARIZE gives the rows of its
    summary in place of matches, by window and keys.

    It runs on Spark: the one that SPARK_REMOTE, spark-submit or MASTER name, or else one on this machine, which writes
    OUT as a folder of files. With --in-process, files are read here and OUT is one file: rows are read piece by piece
    if the files are in the order of --order-by, and otherwise sorted in memory.

    How files are written is said with --delimiter, --encoding, --decimal, --columns and --null, and what is in them
    with --schema, --rename and --time-format. A row that cannot be read is an error that names it, or is left out and
    counted with --bad-rows skip.

    CSV and JSON: a column whose type is not said is int64, double, boolean, date, timestamp or text, whichever fits
    all its values. Times such as 2024-01-31T10:00:00 are timestamps, in UTC if they name no zone.

    With --stream, one folder is watched by Spark's Structured Streaming, and each micro-batch adds files to the folder
    OUT. Ctrl-C ends it, and it goes on from its checkpoint when started again.

    If QUERY ends with .xceq, it is a program, whose rules make events of events. It runs in this process. INPUTs are
    tables with a column that tells the label of events, or LABEL=path. OUT is a folder with a file for each label that
    is made: of parquet, or of CSV or JSON if OUT ends with .csv or .json. Without OUT, the first events of each label
    are shown.

    If QUERY ends with .trepl, it is a program over changes of tables, which are named with --source RELATION=FILE. A
    KIND before the file says how changes are told: inserts (every row is one), changes (columns op, old and new),
    debezium (its messages) or delta (a change data feed); without one, the columns tell. Options follow the file:
    time=, op=, old=, new=, order_by=, time_unit=, key=, table= and so on, as acelera.cdc has them; several columns are
    separated by +. OUT is a folder with a file for each derived event and each rule. Commands of SQL are done if there
    is a --database, each once, however often it runs.

    If QUERY ends with .acelp, it is a program of statements STREAM name AS SELECT … MATCH …;, each of which makes
    events of its matches, for later ones to use. It runs in this process. INPUTs, --order-by, --type-column,
    --event-type and --ties are those of a query; OUT is a folder with a file for each stream.

    \b
    Examples:
      acelera run examples/rise.acel examples/ticks.csv --order-by ts
      acelera run examples/rise.acel examples/ticks.csv --order-by ts --in-process -o rises.parquet
      acelera run q.acel SELL=sells.csv BUY=buys.csv --order-by ts -o matches.json
      acelera run q.acel incoming --stream --order-by ts --checkpoint state -o matches
      acelera run examples/fire.xceq examples/sensors.csv -o derived
      acelera run rules.xceq temp=temp.parquet smoke=smoke.csv --time ts
      acelera run examples/waves.acelp examples/ticks.csv --order-by ts -o waves
      acelera run rules.trepl --source stock=ticks.parquet,time=at -o out
      acelera run rules.trepl --source orders=debezium:shop.jsonl,table=orders --database shop.db

    \b
    Exit codes:
      0    all is well, even if nothing matched; also a stream that is ended by Ctrl-C or SIGTERM
      1    the query, the program, a schema or data are wrong
      2    the command line is wrong
      3    Java or pyspark is not there, or the disk is full
      130  interrupted
      143  terminated
    """
    context.obj["debug"] = given["debug"]
    refuse_options(context)
    demand_inputs(context)
    if context.obj["language"] in ("xchangeeq", "streams"):
        from acelera.cli.programs.run_program import run_program

        run_program(given)
        return
    if context.obj["language"] == "trepl":
        from acelera.cli.changes.run_changes import run_changes

        run_changes(given)
        return
    _check_options(given)
    job = replace(job_of(given), limit=given["limit"], rows=given["rows"], until=given["until"])
    if given["output"] is not None:
        replaces = given["overwrite"] or given["stream"]
        job = replace(job, output=find_output(given["output"], job.inputs.parts, replaces))
    if given["explaining"]:
        say(_explained(job, given))
        return
    with progress(given["quiet"]) as shown:
        summary, rows = _streamed(job, given, shown) if given["stream"] else _found(job, given, shown)
    if rows:
        console().print(table_of(rows))
    if not given["quiet"]:
        tell(summary)


def _check_options(given: dict[str, Any]) -> None:
    if given["rows"] == "events" and given["limit"] and given["output"] and not given["in_process"]:
        raise click.UsageError(
            "--limit counts matches, and on Spark rows of events do not come match by match; leave it out, or add "
            "--in-process"
        )
    streaming = [f"--{name}" for name in ("checkpoint", "watermark", "once") if given[name]]
    if streaming and not given["stream"]:
        raise click.UsageError(f"{streaming[0]} is for --stream")
    if not given["stream"]:
        return
    if given["until"]:
        raise click.UsageError("--until is not for --stream, whose clock is its watermark")
    for name in ("in_process", "overwrite", "explaining", "limit"):
        if given[name]:
            raise click.UsageError(f"--{name.replace('_', '-').replace('explaining', 'explain')} is not for --stream")
    if not given["checkpoint"]:
        raise click.UsageError("--stream needs --checkpoint DIR, a folder where it remembers how far it is")
    if not given["output"]:
        raise click.UsageError("--stream needs -o OUT, a folder for the matches")
    if given["watermark"] and not re.fullmatch(_DELAY, given["watermark"].strip()):
        raise click.UsageError(f"--watermark {given['watermark']!r} is not a time such as '10 minutes'")
    if len(given["arguments"]) > 1:
        raise click.UsageError("--stream watches one folder; there are several inputs")


def _explained(job: Job, given: dict[str, Any]) -> str:
    if given["in_process"]:
        from acelera.cli.local import explain_here

        return explain_here(job)
    from acelera.cli.spark.run_batch import explain_on_spark

    return explain_on_spark(job, given["debug"])


def _found(job: Job, given: dict[str, Any], shown: Progress) -> tuple[str, Sequence[Mapping[str, Any]] | None]:
    """The summary of a run, and the rows to show."""
    with _told_of_texts(job):
        if given["in_process"]:
            from acelera.cli.local import run_here

            outcome = run_here(job, shown)
        else:
            from acelera.cli.spark.run_batch import run_on_spark

            outcome = run_on_spark(job, shown, given["debug"])
    return outcome.summary(shown.elapsed), outcome.rows


@contextmanager
def _told_of_texts(job: Job) -> Iterator[None]:
    """A column of CSV that should hold numbers is most likely text because of one of its values."""
    try:
        yield
    except QueryCheckError as error:
        if job.inputs.format != "csv" or "string cannot be" not in str(error):
            raise
        raise SchemaError(
            f"{error}\n  hint: a column of CSV is text if one of its values is no number; --null NA reads such values "
            "as NULL, and --schema, which says the types of columns, finds them"
        ) from None


def _streamed(job: Job, given: dict[str, Any], shown: Progress) -> tuple[str, None]:
    from acelera.cli.spark.run_stream import Watch, check_watch, run_stream

    watch = Watch(given["checkpoint"], given["watermark"] or "10 minutes", given["once"])
    check_watch(job, watch)
    return run_stream(job, watch, shown, given["debug"]), None

"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from acelera.cdc.layout import GRANULARITIES
from acelera.checked_query import ROWS as WHAT_ROWS
from acelera.cli.inputs import FORMATS
from acelera.language.sorting import TIES
from acelera.programs.times import UNITS


def _together(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> str | None:
    """Columns that were named one option at a time, as if by one."""
    return ",".join(values) or None


def _columns(option: str, says: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option for columns."""
    return click.option(option, metavar="COLUMNS", multiple=True, callback=_together, help=says)


QUERY = click.argument("file", metavar="QUERY", type=click.File("r", encoding="utf-8"))
SCHEMA = click.option(
    "--schema",
    "schema_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Columns and their types: a JSON file, or a parquet file whose schema is read.",
)
ORDER_BY = _columns("--order-by", "The columns that order the events, separated by commas, or one each time.")
TYPE_COLUMN = click.option(
    "--type-column", default="type", show_default=True, help="The column that tells an event's type."
)
EVENT_TYPE = click.option("--event-type", help="The type of all events, if there is no type column.")
DATA = click.argument("arguments", metavar="[INPUT]...", nargs=-1)
PARTITION_BY = _columns(
    "--partition-by", "Keys that split the stream, separated by commas, or one each time, if the query has none."
)
FORMAT = click.option(
    "--format", "kind", type=click.Choice(FORMATS), help="The format of the inputs, if names do not tell."
)
WHAT_TIES = click.option(
    "--ties",
    type=click.Choice(TIES),
    default="error",
    show_default=True,
    help="Rows of a key that are equal under --order-by: refuse them (error), order them by all columns (any), also "
    "take those that are equal as one (drop), or, with --in-process, keep their order (keep).",
)
ROWS = click.option(
    "--rows",
    type=click.Choice(WHAT_ROWS),
    default="matches",
    show_default=True,
    help="What a row of the result is: a match, or an event of a match.",
)
UNTIL = click.option(
    "--until",
    metavar="TIME",
    help="The time up to which INPUTs are complete, for UNLESS … FOR.  [default: that of the last event]",
)
QUIET = click.option("--quiet", is_flag=True, help="No progress and no summary.")
DEBUG = click.option("--debug", is_flag=True, help="Show where an error came from, and what Spark logs.")
METHOD = click.option(
    "--method",
    type=click.Choice(("engine", "semantics")),
    default="engine",
    show_default=True,
    help="Of a program: how to derive events. semantics follows the definitions, slowly.",
)

_TIMES = (
    click.option("--time", help="Of a program: the column that tells when events happen, if at a moment."),
    click.option("--begin", help="Of a program: the column that tells when events begin.  [default: begin]"),
    click.option("--end", help="Of a program: the column that tells when events end.  [default: end]"),
    click.option(
        "--time-unit", type=click.Choice(tuple(UNITS)), help="Of a program: what 1 is, if times are integers."
    ),
    click.option(
        "--longest",
        metavar="LABEL=TIME",
        multiple=True,
        help="Of a program: how long events of a label last at most, as temp=5s; so less is kept. May be repeated.",
    ),
)


_CHANGES = (
    click.option(
        "--source",
        metavar="RELATION=FILE",
        multiple=True,
        help="Of a program over changes: the changes of a relation, as [KIND:]FILE[,OPTION=…]. May be repeated.",
    ),
    click.option(
        "--granularity",
        type=click.Choice(GRANULARITIES),
        default="timestamp",
        show_default=True,
        help="Of a program over changes: what the changes of one stage have in common.",
    ),
    click.option(
        "--zone",
        default="UTC",
        show_default=True,
        help="Of a program over changes: the time zone of days, months and the like.",
    ),
)
COLUMN_TYPES = click.option(
    "--schema",
    "schema_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Types of columns of CSV and JSON, which are then not guessed: a JSON file, or a parquet file with them.",
)
DATABASE = click.option(
    "--database",
    metavar="DB",
    help="Of a program over changes: where commands of SQL are done: a file of SQLite, or a URL.",
)
MAX_TUPLES = click.option(
    "--max-tuples",
    type=click.IntRange(1),
    help="Of a program over changes: how many unfinished instances a key may have.  [default: 100000]",
)


_READING = (
    click.option(
        "--rename",
        "renames",
        metavar="OLD=NEW",
        multiple=True,
        help="Call a column otherwise, as in '# Timestamp=ts'. May be repeated; all other options take the new name.",
    ),
    click.option(
        "--time-format",
        "time_formats",
        metavar="[COLUMN=]FORMAT",
        multiple=True,
        help="How times are written: as in %d/%m/%Y %H:%M:%S, or epoch, epoch-ms, epoch-us, epoch-ns, for numbers "
        "since 1970; without COLUMN, those of the order column. May be repeated.",
    ),
    click.option(
        "--null",
        "nulls",
        metavar="TEXT",
        multiple=True,
        help="A text that is NULL, as NA or -, in CSV and JSON. May be repeated.",
    ),
    click.option(
        "--delimiter", metavar="SIGN", help="What stands between values of CSV: ; or | or \\t or space.  [default: ,]"
    ),
    click.option(
        "--decimal", type=click.Choice([".", ","]), help="What stands before a fraction in CSV.  [default: .]"
    ),
    click.option(
        "--encoding", metavar="NAME", help="What CSV is written in: latin-1, cp1252, utf-16.  [default: utf-8]"
    ),
    click.option(
        "--columns",
        "header",
        metavar="COLUMNS",
        help="The names of the columns of CSV that has no line of names, separated by commas.",
    ),
    click.option(
        "--bad-rows",
        type=click.Choice(["error", "skip"]),
        help="What becomes of rows of CSV and JSON that "
        "cannot be read: an error, or they are left out and counted.  [default: error]",
    ),
)


def how_files_are_read(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say how files are written."""
    for option in reversed(_READING):
        command = option(command)
    return command


def sources_of_changes(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say whose changes come in."""
    for option in reversed(_CHANGES):
        command = option(command)
    return command


def times_of_events(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say when the events of a program happen."""
    for option in reversed(_TIMES):
        command = option(command)
    return command

"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from acelera.cdc.layout import GRANULARITIES
from acelera.checked_query import ROWS as WHAT_ROWS
from acelera.cli.inputs import FORMATS
from acelera.programs.times import UNITS
from acelera.query import TIES


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
    help="Rows of a key that are equal under --order-by: refuse them, or, with --in-process, keep their order.",
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

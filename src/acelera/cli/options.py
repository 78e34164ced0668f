"""Options of all commands that read files."""

from __future__ import annotations

import click

from acelera.cli.inputs import FORMATS
from acelera.query import TIES

INPUTS = click.argument("arguments", metavar="INPUT...", nargs=-1, required=True)
PARTITION_BY = click.option(
    "--partition-by", help="Keys that split the stream, separated by commas, if the query has none."
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
QUIET = click.option("--quiet", is_flag=True, help="No progress and no summary.")
DEBUG = click.option("--debug", is_flag=True, help="Show where an error came from, and what Spark logs.")

"""Whether a command is about a query or a program of rules, and which of its options are then for nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

SUFFIX = ".xceq"

_ON_SPARK = "streams run on Spark, and a program at the command line runs in this process; run it on Spark from Python"

OF_QUERIES = {
    "order_by": "a program takes the times of its events from --time, or from --begin and --end",
    "partition_by": "the rules of a program join events by their variables",
    "event_type": "for a program, name the label of an input: LABEL=path",
    "ties": "events of a program have no order but that of their times",
    "matches": "--events says how much the page of a program shows",
    "stream": _ON_SPARK,
    "checkpoint": _ON_SPARK,
    "watermark": _ON_SPARK,
    "once": _ON_SPARK,
}
"""Options that are for queries alone, and what there is for programs."""

OF_PROGRAMS = ("time", "begin", "end", "time_unit", "longest", "method")
"""Options that are for programs alone."""


def is_program(file: Any) -> bool:
    """Whether a file holds a program of rules; its name tells, and a program of another name is refused."""
    name = str(getattr(file, "name", ""))
    if Path(name).suffix.lower() == SUFFIX:
        return True
    if _holds_rules(file):
        raise click.UsageError(f"`{name}` holds a program of rules; the names of programs end with {SUFFIX}")
    return False


def refuse_options(context: click.Context) -> None:
    """Options that are given and would be of no account."""
    program = is_program(context.params["file"])
    for name in OF_QUERIES if program else OF_PROGRAMS:
        if name in context.params and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            why = f"for queries; {OF_QUERIES[name]}" if program else f"for programs, which are files {SUFFIX}"
            raise click.UsageError(f"--{name.replace('_', '-')} is {why}")


def _holds_rules(file: Any) -> bool:
    """Whether a text that can be read twice begins as programs do."""
    if not file.seekable():
        return False
    try:
        return re.match(r"(?:\s|(?:--|#)[^\n]*)*DETECT\b", file.read(), re.IGNORECASE) is not None
    except (UnicodeDecodeError, OSError):
        return False  # told where it is read in earnest
    finally:
        file.seek(0)

"""Whether a command is about a query or a program of rules, and which of its options are then for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from acelera.rule_languages import language_of

SUFFIXES = {".xceq": "xchangeeq", ".trepl": "trepl", ".acelp": "streams"}
"""The languages of programs by the endings of files."""

_ON_SPARK = "streams run on Spark, and a program at the command line runs in this process; run it on Spark from Python"

_OF_QUERIES = {
    "order_by": "a program takes the times of its events from --time, or from --begin and --end",
    "partition_by": "the rules of a program join events by their variables",
    "event_type": "for a program, name the label of an input: LABEL=path",
    "ties": "events of a program have no order but that of their times",
    "rows": "what a rule makes says what its rows are",
    "until": "rules have no UNLESS … FOR",
    "matches": "--events says how much the page of a program shows",
    "stream": _ON_SPARK,
    "checkpoint": _ON_SPARK,
    "watermark": _ON_SPARK,
    "once": _ON_SPARK,
}
"""Options that are for queries alone, and what there is for programs."""

_OF_QUERIES_IN_CHANGES = {
    **_OF_QUERIES,
    "order_by": "what orders changes is said with their source: --source orders=orders.csv,order_by=tx",
    "partition_by": "a program over changes says it itself: monitor … partition by",
    "event_type": "for a program over changes, name the relation: --source orders=orders.csv",
    "ties": "changes of one instant are one stage; --granularity says what an instant is",
}

_OF_QUERIES_ALONE = {
    "partition_by": "a program of statements says it itself: STREAM … PARTITION BY",
    "rows": "an event of a stream has the columns that its statement selects",
    "until": "a program of statements is complete up to its last event",
    "matches": "--events says how much the page of a program shows",
    "stream": _ON_SPARK,
    "checkpoint": _ON_SPARK,
    "watermark": _ON_SPARK,
    "once": _ON_SPARK,
}

_EVENTS = ("time", "begin", "end", "time_unit", "longest")
"""Options that say when events happen."""
_CHANGES = ("source", "granularity", "zone", "database", "max_tuples")
"""Options that are for programs over changes alone."""

_TIMES = "for events; the time of changes is said with their source: --source orders=orders.csv,time=at"

READING = ("renames", "time_formats", "nulls", "delimiter", "decimal", "encoding", "header", "bad_rows")
"""Options that say how files are written."""

_OPTIONS = {"renames": "rename", "time_formats": "time-format", "nulls": "null", "header": "columns"}
"""What options are called, if not as their parameters."""

REFUSED: dict[str | None, dict[str, str]] = {
    None: {
        **dict.fromkeys(_EVENTS, "for programs, which are files .xceq"),
        "method": "for programs, which are files .xceq or .acelp",
        **dict.fromkeys(_CHANGES, "for programs over changes, which are files .trepl"),
    },
    "xchangeeq": {
        **{name: f"for queries; {why}" for name, why in _OF_QUERIES.items()},
        **dict.fromkeys(_CHANGES, "for programs over changes, which are files .trepl"),
    },
    "trepl": {
        **{name: f"for queries; {why}" for name, why in _OF_QUERIES_IN_CHANGES.items()},
        **dict.fromkeys(_EVENTS, _TIMES),
        "type_column": "for events; the changes of each relation have a source of their own",
        **dict.fromkeys(READING, "for tables of events; changes are read as they are written"),
    },
    "streams": {
        **{name: f"for queries; {why}" for name, why in _OF_QUERIES_ALONE.items()},
        **dict.fromkeys(_EVENTS, "for programs of rules; the events of statements are ordered by --order-by"),
        **dict.fromkeys(_CHANGES, "for programs over changes, which are files .trepl"),
    },
}
"""For each language, and for queries under None, options that are for something else, and for what."""


def language_in(file: Any) -> str | None:
    """The language of the program that a file holds; None if it holds a query.

    The name of the file tells, and a program of another name is refused.
    """
    name = str(getattr(file, "name", ""))
    language = SUFFIXES.get(Path(name).suffix.lower())
    if language is None:
        held = _language_held(file)
        for suffix, known in SUFFIXES.items():
            if known == held:
                raise click.UsageError(f"`{name}` holds a program; the names of such programs end with {suffix}")
    return language


def refuse_options(context: click.Context) -> None:
    """Options that are given and would be of no account, and inputs that are missing or named in another way."""
    language = language_in(context.params["file"])
    context.obj["language"] = language
    for name, why in REFUSED[language].items():
        if name in context.params and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{_OPTIONS.get(name, name.replace('_', '-'))} is {why}")
    inputs = context.params["arguments"]
    if language == "trepl" and inputs:
        raise click.UsageError(f"`{inputs[0]}`: changes are named with --source, such as --source orders=orders.csv")


def refuse_reading(given: Mapping[str, Any]) -> None:
    """Options that say how files are written are of no account where none are read."""
    for name in READING:
        if given.get(name):
            option = _OPTIONS.get(name, name.replace("_", "-"))
            raise click.UsageError(f"--{option} is for INPUTs; the columns of a query are told by --schema")


def demand_inputs(context: click.Context) -> None:
    """Something to read must be named."""
    if context.obj["language"] != "trepl" and not context.params["arguments"]:
        raise click.MissingParameter(ctx=context, param_hint="'INPUT...'", param_type="argument")
    if context.obj["language"] == "trepl" and not context.params["source"]:
        raise click.UsageError("whose changes are to be read is said with --source, such as --source orders=orders.csv")


def _language_held(file: Any) -> str | None:
    """The language of a text that can be read twice, if it begins as programs do."""
    if not file.seekable():
        return None
    try:
        return language_of(file.read())
    except (UnicodeDecodeError, OSError):
        return None  # told where it is read in earnest
    finally:
        file.seek(0)

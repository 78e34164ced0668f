"""What a command was asked to do with a program: the program, the files with its events, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import click

from acelera.cli.arguments import listed, read_text
from acelera.cli.group import in_options
from acelera.cli.inputs import Input, Inputs, find_inputs_by_type
from acelera.cli.program_or_query import language_in
from acelera.cli.reading import Reading, reading_of
from acelera.errors import UsageError
from acelera.programs.options import Options, how
from acelera.streams.program import Options as StreamOptions
from acelera.streams.program import Program as StreamProgram
from acelera.streams.program import streams
from acelera.xchangeeq.program import Program as RuleProgram
from acelera.xchangeeq.program import xchangeeq


@dataclass(frozen=True)
class ProgramJob:
    """A program, its inputs by label (under None if a column tells it), and the options of `Program.run`.

    `times` are the columns that tell times, or the order of events. `ties` is None where there are none.
    """

    program: Any  # RuleProgram | StreamProgram, which have the same methods, with options of their own
    inputs: Mapping[str | None, Inputs]
    options: Options | StreamOptions
    times: tuple[str, ...]
    type_column: str
    ties: str | None = None
    reading: Reading = field(default_factory=Reading)

    @property
    def parts(self) -> list[Input]:
        """All files and folders that are read."""
        return [part for inputs in self.inputs.values() for part in inputs.parts]


def program_job(given: Mapping[str, Any], types: bool = True) -> ProgramJob:
    """What the options that all commands share ask for; with `types`, --schema is that of files."""
    inputs = find_inputs_by_type(given["arguments"], given["kind"])
    job = _of_statements(given, inputs) if language_in(given["file"]) == "streams" else _of_rules(given, inputs)
    for part in job.parts:
        if part.remote:
            raise click.UsageError(f"`{part.path}` is not on this machine, and programs run here; copy it to a file")
        if part.nested:
            raise click.UsageError(
                f"`{part.path}` holds folders that are named key=value, which are not read here; name the files"
            )
    kinds = sorted({each.format for each in inputs.values()})
    reading = reading_of(given, kinds, schema=types) if kinds else Reading()
    return replace(job, reading=replace(reading, several=len(inputs) > 1).ordered_by(job.times))


def _of_rules(given: Mapping[str, Any], inputs: Mapping[str | None, Inputs]) -> ProgramJob:
    options = program_options(given)
    told = how(options)
    program: RuleProgram = xchangeeq(read_text(given["file"]))
    return ProgramJob(program, inputs, options, told.times, told.type_column)


def _of_statements(given: Mapping[str, Any], inputs: Mapping[str | None, Inputs]) -> ProgramJob:
    order, type_column = listed(given["order_by"]), given["type_column"]
    options: StreamOptions = {
        "order_by": order or None,
        "type_column": type_column,
        "event_type": given["event_type"],
    }
    program: StreamProgram = streams(read_text(given["file"]))
    return ProgramJob(program, inputs, options, tuple(order), type_column, given.get("ties"))


def program_options(given: Mapping[str, Any]) -> Options:
    """The options of `Program.run`; what makes no sense is a mistake of the command line."""
    options: Options = {
        "time": given["time"],
        "begin": given["begin"],
        "end": given["end"],
        "type_column": given["type_column"],
        "time_unit": given["time_unit"],
        "longest": _longest(given["longest"]),
    }
    try:
        how(options)
    except UsageError as error:
        raise click.UsageError(in_options(str(error))) from None
    return options


def _longest(given: Sequence[str]) -> dict[str, str]:
    """Labels and durations, which are written as `temp=5s`."""
    found = {}
    for each in given:
        label, equals, time = each.partition("=")
        if not (label.strip() and equals and time.strip()):
            raise click.UsageError(f"--longest {each!r} is no label and time, such as temp=5s")
        found[label.strip()] = time.strip()
    return found

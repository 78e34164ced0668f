"""What a command was asked to do with a program: the program, the files with its events, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from acelera.cli.arguments import read_text
from acelera.cli.group import in_options
from acelera.cli.inputs import Input, Inputs, find_inputs_by_type
from acelera.errors import UsageError
from acelera.programs.options import Options, how
from acelera.xchangeeq.program import Program, xchangeeq


@dataclass(frozen=True)
class ProgramJob:
    """A program, its inputs by label (under None if a column tells it), and the options of `Program.run`."""

    program: Program
    inputs: Mapping[str | None, Inputs]
    options: Options

    @property
    def parts(self) -> list[Input]:
        """All files and folders that are read."""
        return [part for inputs in self.inputs.values() for part in inputs.parts]


def program_job(given: Mapping[str, Any]) -> ProgramJob:
    """What the options that all commands share ask for."""
    options = program_options(given)
    job = ProgramJob(
        xchangeeq(read_text(given["file"])), find_inputs_by_type(given["arguments"], given["kind"]), options
    )
    for part in job.parts:
        if part.remote:
            raise click.UsageError(f"`{part.path}` is not on this machine, and programs run here; copy it to a file")
        if part.nested:
            raise click.UsageError(
                f"`{part.path}` holds folders that are named key=value, which are not read here; name the files"
            )
    return job


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

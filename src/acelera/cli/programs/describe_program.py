"""What can be said of a program without running it: acelera check | explain."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from acelera.cli.arguments import read_schema
from acelera.cli.printing import say, say_pairs
from acelera.cli.programs.program_files import program_files
from acelera.cli.programs.program_job import ProgramJob, program_job
from acelera.cli.progress import Progress


def check_program(given: Mapping[str, Any]) -> None:
    """Print that a program is well formed, what comes in and what it makes; with a schema or data, of which columns."""
    job = program_job(given, types=False)
    program, described = job.program, _described(job, given["schema_file"])
    outputs = {} if described is None else program.check(described, **job.options)
    say(f"{given['file'].name}: ok\n\n{program}\n")
    say(f"comes in: {', '.join(program.labels)}")
    if described is None:
        say(f"is made: {', '.join(program.outputs)}")
    for label, schema in outputs.items():
        say_pairs(label, {field.name: str(field.type) for field in schema})


def explain_program(given: Mapping[str, Any]) -> None:
    """Print what a program is; with a schema or data, also how it runs."""
    job = program_job(given, types=False)
    say(explained(job, _described(job, given["schema_file"])))


def explained(job: ProgramJob, described: object) -> str:
    """What a program is and how it runs, with the options of the command line."""
    text: str = job.program.explain(described, **job.options)
    return text.replace("longest=…", "--longest …")


def _described(job: ProgramJob, schema_file: Path | None) -> object:
    """The columns of events: those of a schema, or of files; None if there is neither."""
    if schema_file is None:
        return program_files(job, Progress()).described if job.parts else None
    if job.parts:
        raise click.UsageError("columns are told by --schema or by INPUTs; give one of them")
    return read_schema(schema_file)

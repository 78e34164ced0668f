"""What a command was asked to do with a program over changes: the program, its sources, and the options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from acelera import cdc
from acelera.cli.arguments import read_schema, read_text
from acelera.cli.changes.change_files import ChangeFiles, change_files, change_source
from acelera.cli.inputs import Input
from acelera.cli.progress import Progress
from acelera.trepl.program import Program, trepl
from acelera.trepl.rule_options import Options


@dataclass(frozen=True)
class ChangeJob:
    """A program over changes, the files of its relations, and the options of `Program.run`."""

    program: Program
    files: Sequence[ChangeFiles]
    options: Options

    @property
    def parts(self) -> list[Input]:
        """All files and folders that are read."""
        return [part for each in self.files for part in each.parts]

    def sources(self, progress: Progress) -> dict[str, cdc.Source]:
        """The sources, with all rows."""
        progress.begin("reading")
        return {each.relation: change_source(each, progress) for each in self.files}

    def described(self, schema_file: Path | None) -> Any:
        """What is known of the relations: by a schema, or by files; None if there is neither."""
        if schema_file is None:
            return self.sources(Progress()) if self.files else None
        if self.files:
            raise click.UsageError("columns are told by --schema or by --source; give one of them")
        return read_schema(schema_file)


def change_job(given: Mapping[str, Any]) -> ChangeJob:
    """What the options that all commands share ask for."""
    options: Options = {"granularity": given["granularity"], "zone": given["zone"]}
    for name in ("method", "max_tuples"):
        if given.get(name) is not None:
            options[name] = given[name]
    return ChangeJob(trepl(read_text(given["file"])), change_files(given["source"], given["kind"]), options)

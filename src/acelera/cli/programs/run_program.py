"""`acelera run` of a program: what it derives from files, a file or a table for each label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from acelera.cli.inputs import FORMATS
from acelera.cli.outputs import Output, find_output, refuse_unfit
from acelera.cli.printing import say, tell
from acelera.cli.programs.describe_program import explained
from acelera.cli.programs.program_files import program_files
from acelera.cli.programs.program_job import ProgramJob, program_job
from acelera.cli.programs.program_outputs import file_stems, show_tables, told_files, told_limit, write_tables
from acelera.cli.progress import Progress, count, progress
from acelera.cli.terminal_tables import console, table_of
from acelera.spelling import warn_of_missing_types

_REMEDY = "let the rule make an event for each value"
_REMEDY_IN_STATEMENTS = "select an aggregate of the values: SELECT max(x.v)"


def run_program(given: Mapping[str, Any]) -> None:
    """Derive all events, and write them or show the first of each label."""
    job, output, limit = program_job(given), None, given["limit"]
    if given["output"] is not None:
        own = [f"{stem}.{kind}" for stem in file_stems(job.program.outputs).values() for kind in FORMATS]
        output = find_output(given["output"], job.parts, given["overwrite"], own)
    if given["explaining"]:
        say(explained(job, program_files(job, Progress()).described))
        return
    with progress(given["quiet"]) as shown:
        events, skipped, found = _derived(job, output, given["method"], shown)
        if output is not None:
            shown.begin("writing")
            write_tables(found, output, limit)
    if output is None:
        show_tables(found, limit, "event")
    elif not given["quiet"]:
        console().print(table_of(told_files(found, output, limit, "label", "events")))
    if not given["quiet"]:
        derived = sum(each.num_rows for each in found.values())
        left_out = f"{count(skipped, 'bad row')} skipped, " if skipped else ""
        told = f"{count(events, 'event')}, {derived:,} derived, {left_out}{shown.elapsed:.1f} s"
        tell(told + told_limit(found, limit, output is not None))


def _derived(
    job: ProgramJob, output: Output | None, method: str, shown: Progress
) -> tuple[int, int, Mapping[str, pa.Table]]:
    """How many events came in, how many rows were skipped, what was derived; what cannot be written is said first."""
    files = program_files(job, shown)
    tables = files.read(shown)
    read = sum(each.num_rows for each in ([tables] if isinstance(tables, pa.Table) else tables.values()))
    if output is not None:
        for schema in job.program.check(tables, **job.options).values():
            refuse_unfit(output, schema, _REMEDY if job.ties is None else _REMEDY_IN_STATEMENTS)
    shown.begin("running")
    if job.ties is not None:
        return read, files.bad.skipped, job.program.run(tables, method=method, ties=job.ties, **job.options)
    found = job.program.run(tables, method=method, **job.options)
    if isinstance(tables, pa.Table):
        labels = set(tables.column(job.type_column).unique().to_pylist())
        warn_of_missing_types(set(job.program.labels), labels, not any(each.num_rows for each in found.values()))
    return read, files.bad.skipped, found

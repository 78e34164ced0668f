"""`acelera run` of a program: what it derives from files, a file or a table for each label."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from rich.text import Text

from acelera.cli.inputs import FORMATS
from acelera.cli.outputs import Output, file_writer, find_output, refuse_unfit, written
from acelera.cli.printing import say, tell, visible
from acelera.cli.programs.describe_program import explained
from acelera.cli.programs.program_files import program_files
from acelera.cli.programs.program_job import ProgramJob, program_job
from acelera.cli.progress import Progress, count, progress
from acelera.cli.terminal_tables import console, table_of
from acelera.programs.options import how
from acelera.spelling import warn_of_missing_types

SHOWN = 20
"""How many events of a label are shown, if nothing is said."""


def run_program(given: Mapping[str, Any]) -> None:
    """Derive all events, and write them or show the first of each label."""
    job, output, limit = program_job(given), None, given["limit"]
    if given["output"] is not None:
        own = [f"{file_stem(label)}.{kind}" for label in job.program.outputs for kind in FORMATS]
        output = find_output(given["output"], job.parts, given["overwrite"], own)
    if given["explaining"]:
        say(explained(job, program_files(job, Progress()).described))
        return
    with progress(given["quiet"]) as shown:
        events, found = _derived(job, output, given["method"], shown)
        if output is not None:
            shown.begin("writing")
            _write(found, output, limit)
    if output is None:
        _show(found, limit or SHOWN)
    elif not given["quiet"]:
        console().print(table_of([_line(label, table, output, limit) for label, table in found.items()]))
    if not given["quiet"]:
        tell(_summary(events, found, shown.elapsed, limit, output is not None))


def _derived(
    job: ProgramJob, output: Output | None, method: str, shown: Progress
) -> tuple[int, Mapping[str, pa.Table]]:
    """How many events came in, and what was derived from them; said first if it could not be written."""
    files = program_files(job, shown)
    tables = files.read(shown)
    if output is not None:
        for schema in job.program.check(tables, **job.options).values():
            refuse_unfit(output, schema, "let the rule make an event for each value")
    shown.begin("running")
    found = job.program.run(tables, method=method, **job.options)
    if isinstance(tables, pa.Table):
        labels = set(tables.column(how(job.options).type_column).unique().to_pylist())
        warn_of_missing_types(set(job.program.labels), labels, not any(each.num_rows for each in found.values()))
    return files.rows, found


# --- files --------------------------------------------------------------------------------------------------------


def file_stem(label: str) -> str:
    """The name of the file for a label, which may hold anything.

    >>> file_stem("burnt_down"), file_stem("a/b: c"), file_stem("..")
    ('burnt_down', 'a%2Fb%3A%20c', '%2E.')
    """
    return re.sub(r"[^\w.-]|^\.", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), label)


def _write(found: Mapping[str, pa.Table], output: Output, limit: int | None) -> None:
    """A folder with a file for each label; it is complete or not there."""
    with written(output) as folder:
        folder.mkdir()
        for label, table in found.items():
            path = folder / f"{file_stem(label)}.{output.format}"
            with file_writer(path, output.format, table.schema) as write:
                for batch in table.slice(0, limit).to_batches():
                    write(batch)


def _line(label: str, table: pa.Table, output: Output, limit: int | None) -> dict[str, Any]:
    rows = table.slice(0, limit).num_rows
    return {"label": label, "events": rows, "file": f"{output.path.rstrip('/')}/{file_stem(label)}.{output.format}"}


# --- the terminal -------------------------------------------------------------------------------------------------


def _show(found: Mapping[str, pa.Table], limit: int) -> None:
    """A table for each label, of its first events."""
    screen = console()
    for label, table in found.items():
        cut = f", the first {limit:,}" if table.num_rows > limit else ""
        screen.print(Text(visible(f"{label}: {count(table.num_rows, 'event')}{cut}")))
        if table.num_rows:
            screen.print(table_of(table.slice(0, limit).to_pylist()))


def _summary(events: int, found: Mapping[str, pa.Table], seconds: float, limit: int | None, is_written: bool) -> str:
    told = f"{count(events, 'event')}, {sum(each.num_rows for each in found.values()):,} derived, {seconds:.1f} s"
    most = limit if is_written else limit or SHOWN
    if most is None or all(each.num_rows <= most for each in found.values()):
        return told
    if is_written:
        return f"{told}; --limit leaves some out"
    return f"{told}; there are more: --limit shows more of them, -o writes all"

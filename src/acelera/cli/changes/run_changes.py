"""`acelera run` of a program over changes: a file or a table for each derived event and each rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from acelera.cli.changes.change_job import ChangeJob, change_job
from acelera.cli.inputs import FORMATS
from acelera.cli.outputs import Output, find_output, refuse_unfit
from acelera.cli.printing import say, tell
from acelera.cli.programs.program_outputs import file_stems, show_tables, told_files, told_limit, write_tables
from acelera.cli.progress import Progress, count, progress
from acelera.cli.terminal_tables import console, table_of
from acelera.trepl.rule_outputs import COMMAND


def run_changes(given: Mapping[str, Any]) -> None:
    """Do what the rules say, and write what they make or show the first of it."""
    job, output, limit = change_job(given), None, given["limit"]
    if given["output"] is not None:
        own = [f"{stem}.{kind}" for stem in file_stems(job.program.outputs).values() for kind in FORMATS]
        output = find_output(given["output"], job.parts, given["overwrite"], own)
    if given["explaining"]:
        say(job.program.explain(job.sources(Progress()), **job.options))
        return
    with progress(given["quiet"]) as shown:
        changes, found = _done(job, output, given["database"], shown)
        if output is not None:
            shown.begin("writing")
            write_tables(found, output, limit)
    if output is None:
        show_tables(found, limit, "row")
    elif not given["quiet"]:
        console().print(table_of(told_files(found, output, limit, "output", "rows")))
    if not given["quiet"]:
        made = sum(table.num_rows for table in found.values())
        told = f"{count(changes, 'change')}, {count(made, 'row')}, {shown.elapsed:.1f} s"
        tell(told + told_limit(found, limit, output is not None))
        _tell_commands(found, given["database"])


def _done(
    job: ChangeJob, output: Output | None, database: str | None, shown: Progress
) -> tuple[int, dict[str, pa.Table]]:
    """How many changes came in, and what was made of them; said first if it could not be written."""
    sources = job.sources(shown)
    if output is not None:
        for schema in job.program.check(sources, **job.options).values():
            refuse_unfit(output, schema, "let the rules make plain values")
    shown.begin("running")
    found = job.program.run(sources, database=database, **job.options)
    granularity = job.options["granularity"]
    known = [sources[name] for name in job.program.relations if name in sources]
    return sum(each.normalized(granularity).num_rows for each in known), found


def _tell_commands(found: Mapping[str, pa.Table], database: str | None) -> None:
    """Who gives no database may think that commands were done."""
    told = sum(table.num_rows for table in found.values() if COMMAND in table.column_names)
    if told and database is None:
        tell(f"{count(told, 'command')} of SQL not done, only told by the column `{COMMAND}`: --database does them")

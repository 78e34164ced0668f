"""`acelera report` of a program, in whatever language: what its page shows of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acelera.cli.changes.change_job import ChangeJob, change_job
from acelera.cli.programs.program_files import program_files
from acelera.cli.programs.program_job import ProgramJob, program_job
from acelera.cli.progress import Progress, count
from acelera.programs.report.run import MOST_EVENTS, Run


def report_job(language: str, given: Mapping[str, Any]) -> ProgramJob | ChangeJob:
    """What a command was asked to do with a program of a language."""
    return change_job(given) if language == "trepl" else program_job(given)


def find_by_program(job: ProgramJob | ChangeJob, progress: Progress, events: int | None) -> Run:
    """What the page shows, of all rows; so many events, or as many as a page can well show."""
    most = MOST_EVENTS if events is None else events
    if isinstance(job, ChangeJob):
        sources = job.sources(progress)
        progress.begin("running")
        return job.program.findings(sources, job.options, most)
    tables = program_files(job, progress).read(progress)
    progress.begin("running")
    run: Run = job.program.findings(tables, job.options, most)
    return run


def summary(run: Run, seconds: float) -> str:
    """One line about a run."""
    came = sum(each.base for each in run.counts.values())
    derived = sum(each.derived for each in run.counts.values())
    return f"{count(came, 'event')}, {derived:,} derived, {seconds:.1f} s"

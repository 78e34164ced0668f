"""`acelera report` of a program: what its page shows of files."""

from __future__ import annotations

from acelera.cli.programs.program_files import program_files
from acelera.cli.programs.program_job import ProgramJob
from acelera.cli.progress import Progress, count
from acelera.programs.report.run import MOST_EVENTS, Run


def find_of_program(job: ProgramJob, progress: Progress, events: int | None) -> Run:
    """What the page shows, of all rows; so many events, or as many as a page can well show."""
    tables = program_files(job, progress).read(progress)
    progress.begin("running")
    return job.program.findings(tables, job.options, MOST_EVENTS if events is None else events)


def summary(run: Run, seconds: float) -> str:
    """One line about a run."""
    came = sum(each.base for each in run.counts.values())
    derived = sum(each.derived for each in run.counts.values())
    return f"{count(came, 'event')}, {derived:,} derived, {seconds:.1f} s"

"""What can be said of a program over changes without running it: acelera check | explain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acelera.cli.changes.change_job import change_job
from acelera.cli.printing import say, say_pairs


def check_changes(given: Mapping[str, Any]) -> None:
    """Print that a program is well formed, what comes in and what it makes; with sources, of which columns."""
    job = change_job(given)
    program, described = job.program, job.described(given["schema_file"])
    outputs = {} if described is None else program.check(described, **job.options)
    ok = "ok so far: attributes are checked with --source or --schema" if described is None else "ok"
    say(f"{given['file'].name}: {ok}\n\n{program}\n")
    say(f"comes in: {', '.join(program.relations)}")
    if described is None:
        say(f"is made: {', '.join(program.outputs)}")
    for name, schema in outputs.items():
        say_pairs(name, {field.name: str(field.type) for field in schema})


def explain_changes(given: Mapping[str, Any]) -> None:
    """Print what a program is; with sources or a schema, also how it runs."""
    job = change_job(given)
    say(job.program.explain(job.described(given["schema_file"]), **job.options))

"""From several queries and a frame to the frames of what each finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from acelera.engine.compiled_query import CompiledQuery
from acelera.errors import UsageError
from acelera.language.schema import names_alike
from acelera.language.sorting import arranges
from acelera.spark.pipeline import Pipeline, pipeline_of
from acelera.spark.results import END_TIME, QUERY, Results
from acelera.spark.running import refuse_names, refuse_options, see_to_python, tells_case
from acelera.spark.several_batch import run_group, together
from acelera.spark.several_groups import (
    APART,
    Group,
    group_lines,
    groups_of,
    stream_group_lines,
    stream_groups,
)
from acelera.spark.several_streaming import run_streaming
from acelera.spark.several_tests import TeamTests
from acelera.spark.slices import last_time
from acelera.spark.summary_shares import time_column


def run(
    queries: Mapping[str, CompiledQuery],
    frame: Any,
    late_events: str | None = None,
    until: int | None = None,
    ties: str = "error",
    checkpoint: str | PathLike[str] | None = None,
) -> Results:
    """What each query finds in a frame."""
    refuse_options(frame, late_events, until, checkpoint)
    for query in queries.values():
        refuse_names(frame, query, late_events is not None or arranges(ties))
    _refuse_taken(queries, late_events, tells_case(frame))
    see_to_python(frame.sparkSession)
    pipelines = {name: pipeline_of(query, frame.isStreaming, ties) for name, query in queries.items()}
    outputs = {name: query.result_schema for name, query in queries.items()}
    ends = {name: time_column(query) for name, query in queries.items()}
    if frame.isStreaming:
        found = run_streaming(frame, queries, stream_groups(pipelines), pipelines, late_events, ties, checkpoint)
        return Results(found, outputs, ends, dict.fromkeys(queries, found))
    if until is None and any(query.checked.waits is not None for query in queries.values()):
        until = last_time(frame, next(iter(queries.values())).schema)
    passes: dict[str, Any] = {}
    frames = []
    for group in groups_of(pipelines):
        frames.append(run_group(frame, group, queries, pipelines, until, ties))
        passes |= dict.fromkeys(group.names, frames[-1])
    return Results(together(frames, queries), outputs, ends, passes)


def _refuse_taken(queries: Mapping[str, Any], late_events: str | None, tells_case: bool) -> None:
    """Names of queries are columns of one frame, beside others."""
    own = [QUERY, END_TIME, *([] if late_events is None else [late_events])]
    taken = next((name for name in queries if name in own), None)
    alike = (taken, taken) if taken else None if tells_case else names_alike([*own, *queries])
    if alike is not None:
        beside = "that of late_events" if alike[0] == late_events else f"`{alike[0]}`"
        raise UsageError(
            f"the query `{alike[1]}` would be a column beside {beside}, which Spark does not tell apart; give "
            "the query another name"
        )


# --- in words -----------------------------------------------------------------------------------------------------


def lines(queries: Mapping[str, CompiledQuery], frame: Any, ties: str) -> list[str]:
    """Which queries share a pass over a frame, and what is done where."""
    pipelines = {name: pipeline_of(query, frame.isStreaming, ties) for name, query in queries.items()}
    groups = stream_groups(pipelines) if frame.isStreaming else groups_of(pipelines)
    count = f"{len(queries)} {'query' if len(queries) == 1 else 'queries'}"
    if frame.isStreaming:
        found = [f"{count}, 1 pass: one operator keeps the state of all; rows wait for the watermark"]
    else:
        found = [f"{count}, {len(groups)} {'pass' if len(groups) == 1 else 'passes'} over the events"]
    for number, group in enumerate(groups, 1):
        what = "group" if frame.isStreaming else "pass"
        found.append(f"{what} {number}: {', '.join(group.names)}")
        found += [f"  {line}" for line in _group_lines(group, queries, pipelines, frame.isStreaming)]
    return found


def _group_lines(
    group: Group, queries: Mapping[str, CompiledQuery], pipelines: Mapping[str, Pipeline], streaming: bool
) -> list[str]:
    if group.how == APART:
        return group_lines(group, queries, pipelines)
    tests = TeamTests.of({name: queries[name] for name in group.names}, pipelines[group.names[0]].ties)
    team, shared = tests.team, tests.team.shared
    made, here = len(shared.elsewhere), len(shared.here)
    alone = sum(len(queries[name].plan.tests) for name in group.names)
    found = [
        f"tests of one event, once for all: {made} in the JVM, before anything is moved, {here} in Python; the queries "
        f"have {alone}"
    ]
    found += _rows_that_travel(tests, queries)
    found.append(f"columns that travel: {', '.join(team.columns)}")
    return [*found, *(stream_group_lines(group, pipelines) if streaming else group_lines(group, queries, pipelines))]


def _rows_that_travel(tests: TeamTests, queries: Mapping[str, CompiledQuery]) -> list[str]:
    if tests.relevant is not None:
        return ["rows that no query reacts to are dropped first, as far as one condition for all tells"]
    all_of = [member.name for member in tests.team.members if member.reader.reactions is None]
    why = [name for name in all_of if queries[name].counts_events]
    if why:
        told = "all rows travel: it matters which event stands right after another, or at which position, to"
        return [f"{told} {_some(why)}"]
    return [f"all rows travel: each may matter to {_some(all_of)}" if all_of else "all rows travel: each may matter"]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} others"

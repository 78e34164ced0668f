"""From a program and sources in Spark frames to the frames of what its rules do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acelera.errors import UsageError
from acelera.language.aggregates import own_aggregates
from acelera.language.schema import names_alike
from acelera.spark.running import cores, tells_case
from acelera.trepl.actions.action_rows import column_of
from acelera.trepl.agreement import Incoming
from acelera.trepl.doing import Acting
from acelera.trepl.on_spark.growing_frames import BucketTask, run_growing
from acelera.trepl.on_spark.part_task import PartTask
from acelera.trepl.on_spark.rule_frames import RuleFrames
from acelera.trepl.on_spark.travelling import travelling
from acelera.trepl.on_spark.whole_frames import run_whole
from acelera.trepl.resolved import Program
from acelera.trepl.rule_options import Coming, How
from acelera.trepl.rule_outputs import Output
from acelera.trepl.splitting import WHOLE, everything, parts_of

MANY_CORES = 8
"""With so many it pays to number stages before rows are spread: that takes as long as three or four passes of two."""


def run_frames(
    program: Program,
    incoming: Incoming,
    how: How,
    outputs: Mapping[str, Output],
    name: str,
    acting: Acting,
    coming: Coming,
) -> RuleFrames:
    """What rules do, of changes in frames; `name` tells the program from others."""
    if how.method != "engine":
        raise UsageError(f"method={how.method!r} takes tables; collect the rows of a Spark DataFrame: frame.toArrow()")
    grows = is_growing(incoming)
    if not grows:
        coming.refuse_of("a frame that is all there")
    tasks = _tasks(program, incoming, how, grows)
    _refuse_alike(tasks, incoming)
    if grows:
        told = f"{name} {how.granularity} {how.zone} {how.max_tuples}"
        task = BucketTask(tasks, travelling(everything(program), program, _schemas(incoming)), told)
        by_module: dict[str, Any] = dict.fromkeys(
            (each.name for each in program.modules), run_growing(task, incoming, coming)
        )
    else:
        by_module = run_whole(tasks, incoming)
    return RuleFrames(by_module, tasks, outputs, program, acting)


def is_growing(incoming: Incoming) -> bool:
    """Whether one of the frames is a stream."""
    return any(source.is_streaming for source in incoming.sources.values())


def plan_on_spark(program: Program, incoming: Incoming) -> list[str]:
    """How Spark runs a program, in words."""
    grows = is_growing(incoming)
    lines = [part.line() for part in parts_of(program, grows, _unnumbered(incoming))]
    return [
        f"on Spark, {'as a stream' if grows else 'over frames that are all there'}",
        *(f"  {line}" for line in lines),
    ]


def _refuse_alike(tasks: tuple[PartTask, ...], incoming: Incoming) -> None:
    """Actions are columns, and Spark need not tell those apart by case."""
    frame = next(iter(incoming.sources.values())).held.frame
    alike = None if tells_case(frame) else names_alike(column_of(place) for task in tasks for place in task.places())
    if alike is not None:
        raise UsageError(
            f"the actions {alike[0]} and {alike[1]} would be columns that Spark does not tell apart; give a rule "
            "another name, or set spark.sql.caseSensitive to true"
        )


def _tasks(program: Program, incoming: Incoming, how: How, together: bool) -> tuple[PartTask, ...]:
    apart, schemas = how.granularity == "operation", _schemas(incoming)
    return tuple(
        PartTask(program, part, travelling(part, program, schemas), how.max_tuples, apart, own_aggregates())
        for part in parts_of(program, together, _unnumbered(incoming))
    )


def _unnumbered(incoming: Incoming) -> str | None:
    """What it would take to number stages before rows are spread, if it is not worth it here."""
    if is_growing(incoming):
        return WHOLE
    spark = next(iter(incoming.sources.values())).held.frame.sparkSession
    return None if cores(spark) >= MANY_CORES else f"which pays with {MANY_CORES} cores or more"


def _schemas(incoming: Incoming) -> dict[str, Any]:
    return {relation: incoming.schema(relation) for relation in incoming.sources}

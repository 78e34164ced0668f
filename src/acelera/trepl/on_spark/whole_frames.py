"""Programs over frames that are all there: part by part, each with an engine in each task.

Rows go where their key is. If stages are those of all keys together, rows are told their numbers before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from acelera.spark.running import see_to_python
from acelera.spark.schemas import spark_schema
from acelera.spark.worker_errors import told_in_short
from acelera.trepl.agreement import Incoming, told_of
from acelera.trepl.on_spark.part_task import PartTask
from acelera.trepl.on_spark.rule_frames import derived_events
from acelera.trepl.on_spark.stage_numbers import with_stages
from acelera.trepl.on_spark.travelling import CHANGE, union
from acelera.trepl.rule_outputs import EventOutput

Batches = Iterator[pa.RecordBatch]


def run_whole(tasks: tuple[PartTask, ...], incoming: Incoming) -> dict[str, Any]:
    """For each module the frame of what its actions do."""
    changes = {relation: _normalized(relation, incoming) for relation in incoming.sources}
    see_to_python(next(iter(changes.values())).sparkSession)
    found: dict[str, Any] = {}
    for task in tasks:
        frame = _run(task, changes, found)
        found |= dict.fromkeys(task.part.modules, frame)
    return found


def _normalized(relation: str, incoming: Incoming) -> Any:
    with told_of(relation):
        return incoming.sources[relation].normalized(incoming.granularity)


def _run(task: PartTask, changes: Mapping[str, Any], made: Mapping[str, Any]) -> Any:
    """The frame of what the actions of a part do."""
    frames = [_fed(task, number, changes, made) for number in range(len(task.travelling.feeds))]
    rows, names = union(frames), task.travelling.columns.names
    if task.part.numbered:
        rows = with_stages(rows, task.travelling, task.apart)
    keys = [name for name in rows.columns if name not in names]
    placed = rows.repartition(*keys) if keys else rows.repartition(1)
    ordered = placed.sortWithinPartitions(*task.travelling.instant_names).select(*names)
    found = ordered.mapInArrow(_reader(task), spark_schema(task.columns))
    return found.dropDuplicates() if task.tells_twice else found


def _reader(task: PartTask) -> Callable[[Batches], Batches]:
    @told_in_short
    def read(batches: Batches) -> Batches:
        yield from task.read(batches)

    return read


def _fed(task: PartTask, number: int, changes: Mapping[str, Any], made: Mapping[str, Any]) -> Any:
    """The rows of one feed, with columns for the key, if there is one."""
    from pyspark.sql import functions

    travelling = task.travelling
    feed = travelling.feeds[number]
    module, name = feed.fed
    if module is None:
        rows = travelling.frame(number, changes[name])
        rows = rows.filter(functions.col(CHANGE).isin(*feed.kinds))
    else:
        maker = next(each for each in task.program.modules if each.name == module)
        output = EventOutput(task.program, maker, name)
        rows = travelling.frame(number, derived_events(made[module], output, len(travelling.instants)))
    keys = travelling.key(number, task.part.keys[feed.fed], task.key_types)
    return rows.select("*", *(column.alias(f"key{place}") for place, column in enumerate(keys)))

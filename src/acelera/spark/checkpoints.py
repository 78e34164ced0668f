"""To whom a checkpoint belongs: each bucket keeps by what it was made, and a worker goes on with nothing else.

A worker notices when rows come. Who knows where the checkpoint is before the stream starts can have it looked at then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike, fspath
from typing import Any

from acelera.errors import SnapshotError
from acelera.spark.buckets import BUCKETS, Hosted

BUCKET_STATE = "bucket"
"""The state variable that tells by what a bucket was made, in its field `task`."""


def made_by(task: Hosted) -> str:
    """What the state of a bucket says of whose it is."""
    return f"{BUCKETS} buckets, {task.fingerprint}"


def refusal(task: Hosted) -> SnapshotError:
    """The error for a checkpoint of something else."""
    return SnapshotError(
        f"the checkpoint belongs to another {task.noun}, to other columns, or to another order or way with ties; begin "
        f"with a new checkpoint, or go on with the {task.noun} that it was made by"
    )


def check_checkpoint(spark: Any, checkpoint: str | PathLike[str] | None, task: Hosted) -> None:
    """Refuse the checkpoint of a stream in which others ran, but not this one; it need not be there yet."""
    if checkpoint is None:
        return
    owners = set(_owners(spark, fspath(checkpoint)))
    if owners and made_by(task) not in owners:
        raise refusal(task)


def _owners(spark: Any, checkpoint: str) -> Iterator[str]:
    """By what the states of a stream were made, as far as micro-batches were completed."""
    from pyspark.errors import PySparkException

    operators = spark.read.format("state-metadata").load(checkpoint).collect()
    for each in operators:
        if BUCKET_STATE not in _variables(each.operatorProperties):
            continue
        state = spark.read.format("statestore").option("operatorId", each.operatorId)
        try:
            rows = state.option("stateVarName", BUCKET_STATE).load(checkpoint).select("value.task").limit(1).collect()
        except PySparkException as error:
            if "STDS_COMMITTED_BATCH_UNAVAILABLE" not in str(error):
                raise
            return
        yield from (row.task for row in rows)


def _variables(properties: str | None) -> set[str]:
    return {each["stateName"] for each in json.loads(properties or "{}").get("stateVariables", [])}

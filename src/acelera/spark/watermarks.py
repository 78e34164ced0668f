"""Watermarks of growing frames: what Spark needs for them, and how many rows came later than they allow."""

from __future__ import annotations

import itertools
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from acelera.errors import AceleraWarning, UsageError
from acelera.language.types import Kind, Type
from acelera.spark.spark_expressions import quoted

METRICS = "acelera-"
"""How the names of observed metrics begin."""

_DELAY = "spark.watermarkDelayMs"
"""What Spark writes to a column with a watermark, and what its operators look for."""

_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PARTITIONS = "spark.sql.shuffle.partitions"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def check_watermark(frame: Any, name: str, kind: Type, where: str = "") -> None:
    """A stream is ordered by a time for which it is known how late it may come."""
    if kind.kind is not Kind.TIMESTAMP:
        raise UsageError(f"a stream is ordered by time, but `{name}` is of type {kind}")
    if not kind.zoned:
        raise UsageError(
            f"Spark has watermarks for times with a zone only, and `{name}`{where} has none; cast it before: "
            f'df.withColumn("{name}", col("{name}").cast("timestamp"))'
        )
    if delay_of(frame, name) is None:
        raise UsageError(
            f"there is no watermark on `{name}`{where}, so it never becomes clear that all rows up to a time have "
            f'come. Add one: df.withWatermark("{name}", "10 minutes")'
        )


def delay_of(frame: Any, name: str) -> Any:
    """How late rows may come, in milliseconds; None if there is no watermark on this column."""
    return next(each.metadata or {} for each in frame.schema.fields if each.name == name).get(_DELAY)


def with_watermark(frame: Any, name: str | None, delay: int) -> Any:
    """The same columns, with the watermark of the rows that they were made of on one of them, if there is one."""
    from pyspark.sql import functions

    named = {each: functions.col(quoted(each)) for each in frame.columns}
    if name is not None:
        named[name] = named[name].alias(name, metadata={_DELAY: delay})
    return frame.select(*named.values())


def check_requirements(frame: Any, buckets: int) -> None:
    """What Spark needs for state, said before anything starts rather than by a worker that dies."""
    provider = frame.sparkSession.conf.get(_PROVIDER, "")
    if provider != _ROCKS_DB:
        raise UsageError(f"state needs the RocksDB store; set {_PROVIDER} to {_ROCKS_DB}")
    partitions = int(frame.sparkSession.conf.get(_PARTITIONS, "200"))
    if partitions > buckets:
        warnings.warn(
            f"{_PARTITIONS} is {partitions}, but there are {buckets} buckets of keys: every other partition only costs "
            f"time in each micro-batch. Set it to {buckets}, or to the number of cores if there are fewer",
            AceleraWarning,
            stacklevel=2,
        )
    for module in ("google.protobuf", "pandas"):
        try:
            __import__(module)
        except ImportError:
            name = module.removeprefix("google.")
            raise UsageError(f"Spark's state needs the Python package `{name}`: pip install {name}") from None


# --- late rows ----------------------------------------------------------------------------------------------------

_used: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))


def metrics_name(fingerprint: str) -> str:
    """A name that no other metrics of a stream have: by what runs, and by how often it has been run before."""
    name = fingerprint[:8]
    number = next(_used[name])
    return f"{METRICS}{name}" if number == 1 else f"{METRICS}{name}-{number}"


def late_events_of(progress: Any) -> int:
    """How many events came late in a micro-batch, from what Spark tells of it."""
    metrics = progress.observedMetrics.items()
    return sum(getattr(row, "late_events", 0) or 0 for name, row in metrics if name.startswith(METRICS))

"""Stages of all keys together, numbered before rows are spread by key.

Rules that keep to one key can be run key by key, but what they tell, and what `any` and absences go by, are the stages
of the whole module. So its instants are numbered first, each of which is one stage: the history is cut into many spans
of the same length, instants are numbered within each, and those of all spans before are added. No task has to see all
of them, and the numbers do not depend on how Spark spreads rows. Then rows are joined with the number of their stage.

What looks at all instants, or at all of a span, counts them by all of their columns: so Spark sees that these are the
same rows, and finds them once.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from acelera.spark.spark_expressions import ticks_of
from acelera.trepl.on_spark.travelling import LAST, NUMBER, SOURCE, WHEN, Travelling

AT_ONCE = 10_000
"""How many instants a span should have."""

_FAR = 1e300
"""Farther away than this no span ends, or its length would be no number."""


def with_stages(rows: Any, travelling: Travelling, apart: bool) -> Any:
    """Rows that also tell the number of their stage and its latest time; `apart` as in `PartTask`."""
    instants = _instants(rows, travelling, apart)
    return rows.join(_numbered(instants, travelling), travelling.instant_names)


def _instants(rows: Any, travelling: Travelling, apart: bool) -> Any:
    """All instants, each once, with the latest time of its rows."""
    from pyspark.sql import functions

    latest = functions.max(WHEN)
    if apart:
        is_tied = functions.count(_relation(travelling)) > 1
        latest = functions.when(is_tied, functions.raise_error(_tie(travelling))).otherwise(latest)
    return rows.groupBy(*travelling.instant_names).agg(latest.alias(LAST))


def _numbered(instants: Any, travelling: Travelling) -> Any:
    """Instants with their rank, from 1."""
    from pyspark.sql import Window, functions

    names = travelling.instant_names
    cut = _cut(instants, travelling)
    spans = cut.groupBy("total", "span").agg(functions.call_function("count", *names, LAST).alias("count"))
    earlier = Window.partitionBy("total").orderBy("span").rowsBetween(Window.unboundedPreceding, -1)
    before = functions.coalesce(functions.sum("count").over(earlier), functions.lit(0))
    rank = functions.row_number().over(Window.partitionBy("total", "span").orderBy(*names))
    ranked = cut.withColumn("rank", rank)
    found = ranked.join(functions.broadcast(spans.select("span", before.alias("before"))), "span")
    return found.select(*names, (functions.col("rank") + functions.col("before")).alias(NUMBER), LAST)


def _cut(instants: Any, travelling: Travelling) -> Any:
    """Instants with the number of their span, and with the total of instants."""
    from pyspark.sql import functions

    place = _place(functions.col(travelling.instant_names[0]), travelling.instants[0])
    total = functions.count(LAST).alias("total")
    ends = instants.agg(functions.min(place).alias("low"), functions.max(place).alias("high"), total)
    low, high, spans = functions.col("low"), functions.col("high"), functions.ceil(functions.col("total") / AT_ONCE)
    span = functions.floor((place - low) / functions.nullif(high - low, functions.lit(0.0)) * spans)
    cut = instants.crossJoin(functions.broadcast(ends))
    return cut.select(*instants.columns, "total", functions.coalesce(span, functions.lit(0)).alias("span"))


def _place(instant: Any, kind: pa.DataType) -> Any:
    """The first column of instants as a number that never falls; for what is no number they are all at one place."""
    from pyspark.sql import functions

    if pa.types.is_timestamp(kind):
        return ticks_of(instant, kind.tz is not None).cast("double")
    if pa.types.is_date(kind):
        return functions.unix_date(instant).cast("double")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return functions.greatest(functions.least(instant.cast("double"), functions.lit(_FAR)), functions.lit(-_FAR))
    return functions.lit(0.0)


# --- one operation a stage --------------------------------------------------------------------------------------------


def _relation(travelling: Travelling) -> Any:
    """The relation of a row; NULL if it is of an event that a module derives, which is no operation."""
    from pyspark.sql import functions

    names = [name if module is None else None for module, name in (feed.fed for feed in travelling.feeds)]
    return functions.get(functions.array(*map(functions.lit, names)), functions.col(SOURCE))


def _tie(travelling: Travelling) -> Any:
    """What is wrong with two operations of one instant."""
    from pyspark.sql import functions

    one, other = functions.min(_relation(travelling)), functions.max(_relation(travelling))
    both = functions.when(one == other, one).otherwise(functions.concat(one, functions.lit("` and `"), other))
    instant = functions.concat_ws(", ", *(functions.col(name).cast("string") for name in travelling.instant_names))
    words: list[Any] = ["two changes of `", both, "` are of one instant, ", instant]
    words.append(
        ", but with granularity='operation' each has its own. Add a column to order_by that tells them apart, also "
        "those of different relations"
    )
    return functions.concat(*(functions.lit(word) if isinstance(word, str) else word for word in words))

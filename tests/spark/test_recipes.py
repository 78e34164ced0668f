"""The recipes of docs/spark.md on real streams: rows come in disorder, the stream is taken up again; the batch answer."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from documents import blocks
from spark.test_streaming import Files, last_row, late_events, shuffled

pytest.importorskip("pyspark")

STREAMS = [
    ("by_hour", "by_alert"),
    pytest.param(("with_sector",), marks=pytest.mark.slow),
    ("followed",),
    pytest.param(("twice",), marks=pytest.mark.slow),
]
"""The recipes that go into one stream. A stream of matches is used in it once."""


def market(size: int) -> pa.Table:
    """Two shares over some hours, with a time of its own for each row."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "type": rng.choice(["SELL", "SELL", "BUY", "NEWS"], size),
            "name": rng.choice(["MSFT", "INTL", "OTHER"], size),
            "price": rng.integers(90, 130, size).astype(float),
            "volume": np.arange(size),
            "ts": pa.array(np.cumsum(rng.integers(1, 40, size)) * 1_000_000, pa.timestamp("us", "UTC")),
        }
    )


def recipes(spark: Any, events: Any, asked: tuple[str, ...]) -> Any:
    """What the scripts under two headings make of the events, as rows of one frame: the recipe, and the row as a text."""
    from pyspark.sql import functions

    import acelera as ac

    names: dict[str, Any] = {"spark": spark, "ac": ac, "events": events}
    for block in blocks("docs/spark.md"):
        if block.is_script and any(word in block.text for word in ("swinging", "alerts = ", "by_alert")):
            lines = block.text.partition("\nquery =")[0].splitlines()
            text = "\n".join(line for line in lines if not line.startswith(("found", "deals")))
            exec(compile(text, str(block), "exec"), names)
    made = (
        names[name].select(functions.lit(name).alias("recipe"), functions.to_json(functions.struct("*")).alias("row"))
        for name in asked
    )
    return reduce(lambda one, two: one.unionByName(two), made)


def counted(frame: Any) -> Counter[tuple[str, str]]:
    return Counter((row.recipe, row.row) for row in frame.collect())


@pytest.mark.parametrize("asked", STREAMS, ids=" ".join)
def test_recipes(spark: Any, tmp_path: Path, asked: tuple[str, ...]) -> None:
    table, files = market(400), Files(spark, tmp_path)
    arriving = shuffled(table, 50)
    files.put(arriving.slice(0, 130))
    files.put(arriving.slice(130, 130))
    progress = files.run(recipes(spark, files.frame("1 minute", 1), asked))
    files.put(arriving.slice(260))
    files.put(last_row(table.schema))
    progress += files.run(recipes(spark, files.frame("1 minute", 1), asked))
    found, expected = (
        counted(spark.read.parquet(files.sink)),
        counted(recipes(spark, spark.read.parquet(files.source), asked)),
    )
    assert found == expected
    assert late_events(progress) == 0
    assert {recipe for recipe, _ in found} == set(asked)

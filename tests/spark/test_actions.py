"""Rules that act on what a stream brings: micro-batches that come again are done once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from acelera.spark.schemas import spark_schema
from acelera.trepl.actions.performing import Actions
from trepl.actions.acting import CREATE, call, content, numbered, program, sql, sqlite_with, table


def frame(rows: pa.Table, place: str, other: str, kind: pa.DataType) -> pa.Table:
    """A frame of the rows of one action, where there is another."""
    structs = pa.array(rows.to_pylist(), pa.struct(list(rows.schema)))
    columns = {place: structs, other: pa.nulls(rows.num_rows, kind)}
    return pa.table({name: columns[name] for name in sorted(columns)})


@pytest.mark.slow
def test_a_stream_of_actions(spark: Any, tmp_path: Path) -> None:
    path = sqlite_with(tmp_path / "test.db", CREATE)
    commands, calls = numbered(6), table([(2, "x"), (4, "y")], key=["a", "b"])
    kinds = {"Main.A.0": pa.struct(list(commands.schema)), "Main.B.0": pa.struct(list(calls.schema))}
    pieces = [
        frame(commands.slice(0, 3), "Main.A.0", "Main.B.0", kinds["Main.B.0"]),
        frame(calls, "Main.B.0", "Main.A.0", kinds["Main.A.0"]),
        frame(commands.slice(2), "Main.A.0", "Main.B.0", kinds["Main.B.0"]),
    ]
    (tmp_path / "in").mkdir()
    for number, piece in enumerate(pieces):
        pq.write_table(piece, tmp_path / "in" / f"{number}.parquet")
    called: list[Any] = []
    functions = {"f": lambda row, _: called.append((row.key["k"], row.arguments[0]))}
    actions = Actions(program([sql()], [call()]), "p", database=path, functions=functions)
    for checkpoint in ("first", "again"):
        stream = spark.readStream.schema(spark_schema(pieces[0].schema)).option("maxFilesPerTrigger", 1)
        writer = stream.parquet(str(tmp_path / "in")).writeStream.foreachBatch(actions.do_batch)
        writer = writer.option("checkpointLocation", str(tmp_path / checkpoint)).trigger(availableNow=True)
        writer.start().awaitTermination()
    assert content(path) == [(number, f"row {number}") for number in range(6)]
    assert called == [("a", "x"), ("b", "y")]

"""The columns of a stream, which are fixed when it is first started, and kept with its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from acelera.cli.inputs import Input, is_remote
from acelera.cli.reading import Reading
from acelera.cli.spark.spark_files import Layout, layout_of, settled
from acelera.errors import DataError
from acelera.language.types import parse_type

FOLDER, FILE = "acelera", "columns.json"
"""Where they are kept: a folder of their own, which Spark does not look into."""


def layout_of_stream(
    spark: Any, kind: str, folder: Input, order_by: Sequence[str], reading: Reading, at: str
) -> Layout:
    """The columns of a stream: those that its checkpoint keeps, or else those of the files that are there."""
    kept, event_type = _read(spark, at), folder.event_type
    if kept is None:
        (found,) = settled([layout_of(spark, kind, [folder], reading, event_type, watched=True)], order_by)
        return found.with_texts()
    if kept["format"] != kind:
        raise click.UsageError(f"the checkpoint `{at}` is of a stream of {kept['format']}, and the input is {kind}")
    types = {name: parse_type(each).arrow for name, each in kept["types"].items()}
    if reading.schema is not None:
        _refuse_others(types, reading.named_by_schema(event_type), at)
    said = f"the checkpoint `{at}`"
    held = None
    if kept["held"] is not None:
        from pyspark.sql.types import StructType

        held = StructType.fromJson(kept["held"])
    said_before = replace(reading, schema=types, said_by=said)
    return layout_of(spark, kind, [folder], said_before, event_type, held, watched=True)


def keep(spark: Any, layout: Layout, at: str) -> None:
    """Note the columns of a stream that starts."""
    if _read(spark, at) is not None:
        return
    kept = {
        "format": layout.format,
        "types": {each.name: str(each.kind) for each in layout.columns if not pa.types.is_nested(each.kind)},
        "held": None if layout.schema is None else json.loads(layout.schema.json()),
    }
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    if is_remote(at):
        spark.createDataFrame([(json.dumps(kept),)], "value string").coalesce(1).write.text(_place(at))
        return
    folder = Path(at) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{FILE}.partial"
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(folder / FILE)


def _place(at: str) -> str:
    return f"{at.rstrip('/')}/{FOLDER}/{FILE}"


def _read(spark: Any, at: str) -> Any:
    """What is kept, or None."""
    if is_remote(at):
        from pyspark.errors import AnalysisException

        try:
            return json.loads("".join(each[0] for each in spark.read.text(_place(at)).collect()))
        except AnalysisException:  # there is no such folder yet
            return None
    path = Path(_place(at))
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"`{path}`, which keeps the columns of the stream, cannot be read: {error}") from None


def _refuse_others(kept: dict[str, pa.DataType], said: dict[str, pa.DataType], at: str) -> None:
    for name, kind in said.items():
        if name in kept and kept[name] != kind:
            raise click.UsageError(
                f"--schema: the column `{name}` is {kind}, but in this stream it has been {kept[name]} from the start; "
                f"leave --schema out, or begin another stream with a checkpoint other than `{at}`"
            )

"""What a snapshot tells of the stream that it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from acelera.engine.storage.snapshots import Section
from acelera.programs.announcement import Announced
from acelera.programs.options import How
from acelera.programs.times import TimeKind


def described(announced: Announced) -> dict[str, Section]:
    """A stream as sections of a snapshot: its options, and the columns of each label."""
    how, others = announced.how, announced.others
    told = {
        "labels": list(announced.labels),
        "others": None if others is None else sorted(others),
        "made": sorted(announced.made),
        "how": [how.begin, how.end, how.type_column, how.time_unit, dict(how.longest)],
        "longest": {label: float(each) for label, each in announced.longest.items()},
        "unit": announced.kind.unit,
    }
    time = pa.schema({"time": announced.kind.arrow})
    columns = {f"columns {number}": _empty(each) for number, each in enumerate(announced.labels.values())}
    return {"stream": told, "time": _empty(time), **columns}


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], each.type) for each in schema], schema=schema)


def announced_by(sections: Mapping[str, Any]) -> Announced:
    """The stream that a snapshot was made of."""
    told = sections["stream"]
    begin, end, type_column, unit, texts = told["how"]
    labels = {label: sections[f"columns {number}"].schema for number, label in enumerate(told["labels"])}
    others = None if told["others"] is None else frozenset(told["others"])
    kind = TimeKind(sections["time"].schema.field("time").type, told["unit"])
    how = How(begin, end, type_column, unit, texts)
    return Announced(labels, kind, how, frozenset(told["made"]), others, told["longest"])

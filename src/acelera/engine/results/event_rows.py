"""Rows of events: what variables hold in the matches of a page becomes one table, with a row for each event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.results.match_ids import Named, Numbers, sum_of, sum_of_events, written
from acelera.engine.storage.columns import in_type
from acelera.language.result import EventRows

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class HeldEvents:
    """The events of a variable, match by match: the match of each, its position, its attributes, and what it adds to
    the id of the match.
    """

    variable: str
    match: Ints
    positions: Ints
    attributes: Mapping[str, Any]
    sums: Numbers


def ids(told: Sequence[Named], held: Sequence[HeldEvents], matches: int) -> Any:
    """The ids of matches, of which these are the keys and the places where they start and end, and the events."""
    sums = sum_of(told, matches)
    for each in held:
        sums += sum_of_events(each.variable, each.sums, each.match, matches)
    return written(sums)


def table_of_events(
    rows: EventRows, names: Any, bounds: Sequence[Any], keys: Sequence[Any], held: Sequence[HeldEvents]
) -> tuple[pa.RecordBatch, Ints]:
    """The rows, by match, position and variable, and how many each match has.

    `names`, `bounds` and `keys` have a value for each match, `held` are the events of the variables that are shown.
    """
    match = np.concatenate([each.match for each in held])
    number = np.repeat(np.arange(len(held)), [len(each.match) for each in held])
    order = np.lexsort((number, np.concatenate([each.positions for each in held]), match))
    of_match, of_variable = pa.array(match[order]), pa.array(number[order])
    variables = pa.array([each.variable for each in held]).take(of_variable)
    attributes = [_put_together(name, kind, held).take(pa.array(order)) for name, kind in rows.attributes]
    told = [names.take(of_match), *(each.take(of_match) for each in (*bounds, *keys)), variables]
    sizes = np.bincount(match, minlength=len(names))
    return pa.RecordBatch.from_arrays([*told, *attributes], schema=rows.schema), sizes


def _put_together(name: str, kind: pa.DataType, held: Sequence[HeldEvents]) -> Any:
    """An attribute of the events of all variables, one after the other; NULL where they lack it."""
    pieces = []
    for each in held:
        known = each.attributes.get(name)
        values = pa.nulls(len(each.match), kind) if known is None else known
        pieces.append(in_type(values, kind))
    return pa.concat_arrays(pieces)

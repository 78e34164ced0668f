"""Ids of matches: for all matches of a page at once, what docs/semantics.md defines for one.

A match is told by its key, its interval and its bags. Each value becomes two numbers of 64 bits, each of them is mixed
with the name that it stands under, and what belongs together is added up: events of bags have no order, and neither
have attributes. The judge computes the same value by value, in `semantics/match_ids.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.storage.columns import in_type
from acelera.language.types import Kind, Type

Numbers = npt.NDArray[np.uint64]
"""A row for each value, and a column for each half of its number."""
Ints = npt.NDArray[Any]

_HALVES = 2
_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_NAN = np.uint64(0x7FF8000000000000)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_HEX = np.frombuffer(b"".join(b"%04x" % pair for pair in range(1 << 16)), np.uint32)
"""The digits of two bytes, as one number."""


@dataclass(frozen=True)
class Named:
    """Values under a name: an array, the type that the language gives them."""

    name: str
    values: Any
    kind: Type


def mixed(numbers: Numbers) -> Numbers:
    """Numbers of which each bit depends on all bits of what is given (the last steps of SplitMix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _FIRST
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _SECOND
    return numbers ^ (numbers >> np.uint64(31))


def number_of(text: bytes) -> Numbers:
    """The number of a text."""
    return np.frombuffer(hashlib.blake2b(text, digest_size=16).digest(), "<u8").astype(np.uint64)


def sum_of(named: Sequence[Named], length: int) -> Numbers:
    """For each row the sum of its values, each mixed with its name; NULL adds nothing."""
    found = np.zeros((length, _HALVES), np.uint64)
    for each in named:
        numbers = _numbers(each.values, each.kind)
        if numbers is not None:
            terms = mixed(numbers + number_of(each.name.encode()))
            if each.values.null_count:
                terms[np.asarray(each.values.is_null().to_numpy(zero_copy_only=False))] = 0
            found += terms
    return found


def sum_of_events(variable: str, sums: Numbers, match: Ints, matches: int) -> Numbers:
    """For each match the sum over the events of a variable, which come match by match."""
    events = mixed(sums + number_of(f"variable {variable}".encode()))
    upto = np.zeros((len(events) + 1, _HALVES), np.uint64)
    np.cumsum(events, axis=0, out=upto[1:])
    ends = np.searchsorted(match, np.arange(matches + 1))
    return upto[ends[1:]] - upto[ends[:-1]]


def written(numbers: Numbers) -> Any:
    """Ids as texts of 32 hexadecimal digits."""
    digits = _HEX[mixed(numbers).astype(">u8").view(">u2")]
    offsets = np.arange(len(numbers) + 1, dtype=np.int32) * 32
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(digits)))


def _numbers(values: Any, kind: Type) -> Numbers | None:
    """The number of each value; None if values of this type are only carried."""
    match kind.kind:
        case Kind.STRING:
            return _of_texts(values)
        case Kind.DECIMAL:
            return _of_decimals(values)
        case Kind.FLOAT:
            return _twice(_of_floats(values))
        case Kind.BOOL:
            return _twice(_whole(values.cast(pa.uint8())))
        case Kind.INT:
            return _twice(_whole(values))
        case Kind.DATE:
            return _twice(_whole(values.cast(pa.date32()).cast(pa.int32())))
        case Kind.TIMESTAMP | Kind.DURATION:
            return _twice(_whole(values.cast(pa.int64())) * np.uint64(_NANOSECONDS[values.type.unit]))
    return None


def _twice(numbers: npt.NDArray[np.uint64]) -> Numbers:
    return np.stack([numbers] * _HALVES, axis=1)


def _whole(values: Any) -> npt.NDArray[np.uint64]:
    whole = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return np.asarray(whole.view(np.uint64))


def _of_floats(values: Any) -> npt.NDArray[np.uint64]:
    floats = pc.fill_null(in_type(values, pa.float64()), 0.0).to_numpy(zero_copy_only=False) + 0.0  # one zero
    return np.where(np.isnan(floats), _NAN, floats.view(np.uint64))


def _of_decimals(values: Any) -> Numbers:
    """The lower 128 bits of what is left without the point."""
    if values.type.bit_width < 128:
        values = values.cast(pa.decimal128(38, values.type.scale))
    words = values.type.bit_width // 64
    stored = np.frombuffer(values.buffers()[1], np.uint64).reshape(-1, words)
    return stored[values.offset : values.offset + len(values), :_HALVES].copy()


def _of_texts(values: Any) -> Numbers:
    """Each text is looked at once."""
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    coded = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
    texts = [b"" if text is None else text.encode() for text in coded.dictionary.to_pylist()]
    known = np.stack([number_of(text) for text in (*texts, b"")])
    codes = pc.fill_null(coded.indices.cast(pa.int64()), len(texts)).to_numpy(zero_copy_only=False)
    return np.asarray(known[codes])

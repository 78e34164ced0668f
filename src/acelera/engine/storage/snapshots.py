"""Snapshots: what a running session knows, as bytes that another process can go on from.

A snapshot is data alone, so reading one runs no code. It holds named sections, each of them a NumPy array, an Arrow
record batch or a JSON value; the values of registers, which JSON does not know, are encoded into it.

    magic | version | length of the whole | length of the header | header | sections | CRC-32 of all before it

The header is JSON: the fingerprint of the query that the snapshot belongs to, and what each section is.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import struct
import zlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.automata.terms import UNSET
from acelera.errors import SnapshotError
from acelera.language.aggregates import INT64, NULLED, Failure
from acelera.language.events import Moment, Value

VERSION = 4
"""The format; whatever changes the meaning of a snapshot's bytes counts it up."""

Json = Any
"""None, bool, int, float, str, and lists and dicts (by str) of these; of exactly these types."""
Section = Any
"""An np.ndarray, a pa.RecordBatch or a Json value."""

_MAGIC = b"\x89ACELERA"
_VERSION = struct.Struct("<H")
_LENGTHS = struct.Struct("<QI")  # of the whole, of the header
_CHECKSUM = struct.Struct("<I")
_START = len(_MAGIC) + _VERSION.size
_PREAMBLE = _START + _LENGTHS.size
_DTYPES = {name: np.dtype(name) for name in ("int8", "int32", "int64", "uint8", "bool", "float64")}
_DEPTH = 100


def fingerprint_of(text: str) -> str:
    """A short text that tells texts apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def with_prefix(prefix: str, sections: Mapping[str, Section]) -> dict[str, Section]:
    """The sections of a part, by names that say whose they are."""
    return {f"{prefix}{name}": section for name, section in sections.items()}


def without_prefix(prefix: str, sections: Mapping[str, Section]) -> dict[str, Section]:
    """The sections of a part, by its own names for them."""
    return {name.removeprefix(prefix): section for name, section in sections.items() if name.startswith(prefix)}


# --- the container ------------------------------------------------------------------------------------------------


def pack(fingerprint: str, sections: Mapping[str, Section]) -> bytes:
    """The snapshot of these sections; only who gives the same fingerprint can unpack it."""
    listed, payloads = [], []
    for name, section in sections.items():
        entry, payload = _packed(name, section)
        listed.append({"name": name, "length": len(payload), **entry})
        payloads.append(payload)
    header = _to_json({"fingerprint": fingerprint, "sections": listed})
    length = _PREAMBLE + len(header) + sum(map(len, payloads)) + _CHECKSUM.size
    preamble = _MAGIC + _VERSION.pack(VERSION) + _LENGTHS.pack(length, len(header))
    body = b"".join((preamble, header, *payloads))
    return body + _CHECKSUM.pack(zlib.crc32(body))


def size_of(section: Section) -> int:
    """About how many bytes a section takes."""
    if isinstance(section, np.ndarray | pa.RecordBatch):
        return int(section.nbytes)
    return len(repr(section))


def belongs_to(data: bytes, fingerprint: str) -> bool:
    """Whether a snapshot, if it is one, was made for this fingerprint."""
    try:
        _check_origin(data)
        begin = _PREAMBLE + _LENGTHS.unpack_from(data, _START)[1]
        return bool(_from_json(data[_PREAMBLE:begin])["fingerprint"] == fingerprint)
    except Exception:  # whatever it is, `unpack` says what is wrong with it
        return False


def unpack(data: bytes, fingerprint: str) -> dict[str, Section]:
    """The sections of a snapshot; arrays are writable and nobody else's. Refused if it is not whole or not for us."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise SnapshotError(f"a snapshot is bytes, not {_name(type(data))}")
    whole = bytes(data)
    _check_origin(whole)
    _check_whole(whole)
    try:
        return _opened(whole, fingerprint)
    except (SnapshotError, MemoryError):
        raise
    except Exception:  # the checksum fits, so it was written like this: whatever it is, it is not a snapshot
        raise SnapshotError("the snapshot is damaged: its parts do not fit together") from None


def _check_origin(data: bytes) -> None:
    """Only what is the same in all versions of the format is looked at before the version is known."""
    if not data.startswith(_MAGIC) and not _MAGIC.startswith(data):
        raise SnapshotError("these bytes are not a snapshot of acelera")
    if len(data) < _START:
        raise SnapshotError(f"the snapshot is cut short: it has {len(data)} bytes, too few for any")
    (version,) = _VERSION.unpack_from(data, len(_MAGIC))
    if version != VERSION:
        raise SnapshotError(
            f"the snapshot was made by version {version} of the format, this is version {VERSION}; "
            "resume it with the acelera that made it, or run the stream again"
        )


def _check_whole(data: bytes) -> None:
    """Whether the bytes are those that were written, all of them and no others."""
    length = _LENGTHS.unpack_from(data, _START)[0] if len(data) >= _PREAMBLE else _PREAMBLE + _CHECKSUM.size
    if len(data) < length:
        raise SnapshotError(f"the snapshot is cut short: it has {len(data)} bytes of at least {length}")
    end = len(data) - _CHECKSUM.size
    if len(data) > length or zlib.crc32(memoryview(data)[:end]) != _CHECKSUM.unpack_from(data, end)[0]:
        raise SnapshotError("the snapshot is damaged: its bytes are not those that were written")


def _opened(data: bytes, fingerprint: str) -> dict[str, Section]:
    begin = _PREAMBLE + _LENGTHS.unpack_from(data, _START)[1]
    header = _from_json(data[_PREAMBLE:begin])
    if header["fingerprint"] != fingerprint:
        raise SnapshotError(
            "the snapshot belongs to another query, schema or options; resume it with the query that made it"
        )
    sections = {}
    for entry in header["sections"]:
        end = begin + entry["length"]
        sections[entry["name"]] = _unpacked(entry, data[begin:end])
        begin = end
    if begin != len(data) - _CHECKSUM.size:
        raise ValueError("the sections are not as long as the header says")
    return sections


# --- sections -----------------------------------------------------------------------------------------------------


def _packed(name: str, section: Section) -> tuple[dict[str, Json], bytes]:
    """What the header says of a section, and its bytes."""
    try:
        if isinstance(section, np.ndarray):
            return _packed_array(section)
        if isinstance(section, pa.RecordBatch):
            return {"kind": "batch"}, _batch_bytes(section)
        return {"kind": "json"}, _to_json(section)
    except (ValueError, TypeError, RecursionError, pa.ArrowException) as error:
        raise SnapshotError(f"the section `{name}` cannot be stored: {error}") from None


def _unpacked(entry: Mapping[str, Json], payload: bytes) -> Section:
    match entry["kind"]:
        case "array":
            dtype = _DTYPES[entry["dtype"]]
            if len(payload) != math.prod(entry["shape"]) * dtype.itemsize:
                raise ValueError("the array is not as long as its shape says")
            stored: npt.NDArray[Any] = np.ndarray(entry["shape"], dtype.newbyteorder("<"), payload)
            return stored.astype(dtype)  # a copy, so writable
        case "batch":
            with pa.ipc.open_stream(payload) as reader:
                return reader.read_next_batch()
        case "json":
            return _from_json(payload)
    raise ValueError("there is no such kind of section")


def _packed_array(array: npt.NDArray[Any]) -> tuple[dict[str, Json], bytes]:
    name = array.dtype.name
    if array.dtype != _DTYPES.get(name):
        raise TypeError(f"arrays are of {', '.join(_DTYPES)}, not of {array.dtype}")
    payload = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return {"kind": "array", "dtype": name, "shape": list(array.shape)}, payload


def _batch_bytes(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _to_json(value: Json) -> bytes:
    """JSON as UTF-8. Surrogates are written as they are: as escapes, two of them could come back as one character."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    _check_json(value)
    return text.encode("utf-8", "surrogatepass")


def _from_json(data: bytes) -> Json:
    constants = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    return json.loads(data.decode("utf-8", "surrogatepass"), parse_constant=constants.__getitem__)


def _check_json(value: Json) -> None:
    """Refuse what would come back as something else, such as tuples, dicts by number and subclasses of int."""
    todo = [value]
    while todo:
        found = todo.pop()
        kind = type(found)
        if kind is list:
            todo.extend(found)
        elif kind is dict and all(type(key) is str for key in found):
            todo.extend(found.values())
        elif found is not None and kind not in (bool, int, float, str):
            raise TypeError(f"{_name(kind)} is not a type of JSON" if kind is not dict else "a key is not a string")


# --- values of registers ------------------------------------------------------------------------------------------


class _Code(NamedTuple):
    """How a value of a type that JSON lacks is written as a text, and read from it."""

    tag: str
    kind: type
    write: Callable[[Any], str]
    read: Callable[[str], Any]


# Integers in hexadecimal: Python refuses to write or read long ones in decimal.
_CODES = (
    _Code("int", int, hex, lambda text: int(text, 16)),
    _Code("float", float, repr, lambda text: math.nan if text == "nan" else float(text)),
    _Code("decimal", Decimal, str, Decimal),
    _Code("moment", Moment, hex, lambda text: Moment(text, 16)),
    _Code("failure", Failure, operator.attrgetter("message"), Failure),
    _Code("bytes", bytes, bytes.hex, bytes.fromhex),
)
_BY_KIND = {code.kind: code for code in _CODES}
_BY_TAG = {code.tag: code for code in _CODES}
_COLLECTIONS: dict[str, type[Any]] = {"tuple": tuple, "set": frozenset}
_COLLECTION_TAGS = {kind: tag for tag, kind in _COLLECTIONS.items()}
_UNIQUE = {"unset": UNSET, "nulled": NULLED}  # compared by identity


def encode(value: Value) -> Json:
    """A value of a register as JSON: itself where JSON has it, otherwise a list of a tag and what it is made of.

    >>> encode((1, 2.5, float("inf"), Decimal("0.10")))
    ['tuple', 1, 2.5, ['float', 'inf'], ['decimal', '0.10']]
    """
    return _encoded(value, _DEPTH)


def decode(coded: Json) -> Value:
    """The value that was encoded: equal and of the same type; NaN, UNSET and NULLED are the very same objects.

    >>> decode(["tuple", 1, ["decimal", "0.10"]])
    (1, Decimal('0.10'))
    """
    try:
        return _decoded(coded)
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
        raise SnapshotError("the snapshot is damaged: it holds something that is not a value") from None


def to_bytes(value: Value) -> bytes:
    """A value as bytes that another process can read.

    >>> from_bytes(to_bytes((1, Decimal("0.10"))))
    (1, Decimal('0.10'))
    """
    return _to_json(encode(value))


def from_bytes(data: bytes) -> Value:
    """The value that bytes stand for."""
    return decode(_from_json(data))


def _encoded(value: Value, depth: int) -> Json:
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if (kind is int and value in INT64) or (kind is float and math.isfinite(value)):
        return value
    if kind in _BY_KIND:
        code = _BY_KIND[kind]
        return [code.tag, code.write(value)]
    if kind in _COLLECTION_TAGS:
        if depth == 0:
            raise SnapshotError(f"a snapshot cannot hold tuples or sets that are nested more than {_DEPTH} deep")
        return [_COLLECTION_TAGS[kind], *(_encoded(item, depth - 1) for item in value)]
    for tag, unique in _UNIQUE.items():
        if value is unique:
            return [tag]
    raise SnapshotError(
        f"a snapshot cannot hold a value of type {_name(kind)}; it can hold None, booleans, integers, floats, strings, "
        "bytes, decimals, and tuples and frozensets of these. If the value is a state of an aggregate function of your "
        "own, make the state of these"
    )


def _decoded(coded: Json) -> Value:
    if type(coded) is dict:
        raise TypeError("no value is encoded as a dict")
    if type(coded) is not list:
        return coded
    tag, *parts = coded
    if tag in _COLLECTIONS:
        return _COLLECTIONS[tag](_decoded(part) for part in parts)
    if tag in _UNIQUE and not parts:
        return _UNIQUE[tag]
    (text,) = parts
    if type(text) is not str:
        raise TypeError("what a tag stands before is a text")
    return _BY_TAG[tag].read(text)


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"

"""A snapshot comes back as it was, or is refused with a reason."""

import json
import math
import struct
import zlib
from collections.abc import Mapping
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acelera import SnapshotError, UsageError
from acelera.automata.terms import UNSET, Unset
from acelera.engine.storage import snapshots
from acelera.engine.storage.snapshots import decode, encode, pack, unpack
from acelera.language.aggregates import NULLED, Failure
from acelera.language.events import Moment, Opaque


def hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:  # a signalling NaN
        return False
    return True


def canonical_nan(value: float) -> float:
    return math.nan if value != value else value


ANY_TEXT = st.text(st.characters(), max_size=8)  # with surrogates, alone and in pairs
WIDE = st.integers(-(2**200), 2**200)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    WIDE,
    st.floats().map(canonical_nan),
    ANY_TEXT,
    st.decimals().filter(hashable),
    WIDE.map(Moment),
    st.sampled_from([UNSET, NULLED]),
    ANY_TEXT.map(Failure),
    st.binary(max_size=8),
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4).map(tuple) | st.frozensets(inner, max_size=4))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
)


class Color(IntEnum):
    RED = 1


class Pair(NamedTuple):
    one: int
    two: int


def shape_of(value: object) -> object:
    """Equal for two values if and only if they are the same in type and value, all the way down."""
    kind = type(value)
    if isinstance(value, tuple | list):
        return kind, [shape_of(item) for item in value]
    if isinstance(value, frozenset):
        return kind, sorted(map(repr, map(shape_of, value)))
    if isinstance(value, dict):
        return kind, [(key, shape_of(item)) for key, item in value.items()]
    if isinstance(value, int):
        return kind, hex(value)
    if isinstance(value, float | Decimal):
        return kind, str(value)  # tells zeros and the NaN of decimals apart
    return kind, value if isinstance(value, str | bytes | Failure) else id(value)


def through_json(value: object) -> Any:
    return decode(unpack(pack("", {"v": encode(value)}), "")["v"])


# --- values of registers ------------------------------------------------------------------------------------------


@pytest.mark.property
@given(VALUES)
@example("\ud83d\ude00")  # two surrogates that are not one character
@example((True, 1, 1.0, Decimal(1), Moment(1), "1", b"1"))
@example((0.0, -0.0, Decimal("-0"), Decimal("0.00"), Decimal("1E+999"), Decimal("NaN123"), Decimal("sNaN")))
@example((2**63, -(2**63), 2**63 - 1, -(2**63) - 1))
@example(("tuple", "set", ("unset",), (), frozenset()))
def test_a_value_comes_back_as_it_was(value: object) -> None:
    for back in (decode(encode(value)), through_json(value)):
        assert shape_of(back) == shape_of(value)


def test_an_integer_may_have_more_digits_than_python_writes() -> None:
    value = (1 << 50_000, -(7**20_000), Moment(1 << 50_000))
    assert shape_of(through_json(value)) == shape_of(value)


def test_what_is_compared_by_identity_is_the_same_object() -> None:
    back = through_json((UNSET, NULLED, float("nan"), -math.nan))
    assert back[0] is UNSET and back[1] is NULLED and back[2] is math.nan and back[3] is math.nan


def test_a_set_with_nan_is_equal() -> None:
    value = frozenset({(1, math.nan), (None, "a")})
    assert through_json(value) == value


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (Fraction(1, 3), "fractions.Fraction"),
        (Opaque([1]), "acelera.language.events.Opaque"),
        (np.float64(1.0), "numpy.float64"),
        (np.int64(1), "numpy.int64"),
        (Color.RED, "Color"),
        (Pair(1, 2), "Pair"),
        (Unset(), "acelera.automata.terms.Unset"),
        (object(), "object"),
        ([1], "list"),
        ({"a": 1}, "dict"),
    ],
)
def test_a_value_of_another_type_is_refused_by_name(value: object, named: str) -> None:
    with pytest.raises(SnapshotError, match=r"cannot hold a value of type .*it can hold None, booleans") as caught:
        encode((1, frozenset({("a", value)}) if hashable(value) else value))
    assert f"{named};" in str(caught.value)


def test_nesting_has_a_limit() -> None:
    value: object = 1
    for _ in range(100):
        value = (value,)
    assert through_json(value) == value
    with pytest.raises(SnapshotError, match="nested more than 100 deep"):
        encode((value,))


@pytest.mark.parametrize(
    "coded",
    [
        [],
        {},
        ["what"],
        [["tuple"]],
        ["int"],
        ["int", 1],
        ["int", "z"],
        ["int", "1", "2"],
        ["decimal", "z"],
        ["bytes", "z"],
        ["unset", 1],
        ["tuple", {}],
        ["set", ["tuple", ["what", "x"]]],
    ],
    ids=json.dumps,
)
def test_what_encodes_no_value_is_refused(coded: Any) -> None:
    with pytest.raises(SnapshotError, match="not a value"):
        decode(coded)


# --- the container ------------------------------------------------------------------------------------------------

BATCH = pa.record_batch(
    {
        "n": pa.array([1, None, 3], pa.int32()),
        "s": pa.array(["a", None, "é\0"]),
        "d": pa.array(["x", "y", "x"]).dictionary_encode(),
        "l": pa.array([[1], [], None]),
        "t": pa.array([1, 2, None], pa.timestamp("us", "UTC")),
        "m": pa.array([Decimal("1.50"), None, Decimal("2.00")], pa.decimal128(10, 2)),
    }
)
ARRAYS = [
    np.array([], np.int64),
    np.array([[1, 2, 3], [4, 5, -6]], np.int32),
    np.asfortranarray(np.array([[1, 2], [3, 4]], np.int64)),
    np.arange(10, dtype=np.int64)[::3],
    np.empty((0, 3), np.int8),
    np.empty((2, 0), np.uint8),
    np.array([True, False]),
    np.array([0.0, -0.0, np.nan, np.inf, 5e-324]),
    np.array(7, np.int64),
    np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
]
BATCHES = [
    BATCH,
    BATCH.slice(1, 1),
    BATCH.slice(3),
    BATCH.select([]),
    BATCH.select([]).slice(0, 0),
    BATCH.replace_schema_metadata({"k": "v"}),
]
SMALL = pack("f", {"a": np.array([1, 2], np.int8), "j": {"k": [1]}})


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_an_array_comes_back_writable(array: Any) -> None:
    data = pack("f", {"before": "x", "a": array})  # nothing is aligned after a byte or three
    back = unpack(data, "f")["a"]
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()
    assert back.flags.writeable and back.flags.owndata
    back.fill(1)
    assert unpack(data, "f")["a"].tobytes() == array.tobytes()


@pytest.mark.parametrize("batch", BATCHES)
def test_a_record_batch_comes_back(batch: Any) -> None:
    back = unpack(pack("f", {"x": "?", "b": batch}), "f")["b"]
    back.validate(full=True)
    assert back.num_rows == batch.num_rows
    assert back.equals(batch) and back.schema.equals(batch.schema, check_metadata=True)


@pytest.mark.property
@given(st.dictionaries(ANY_TEXT, JSON, max_size=3), ANY_TEXT)
def test_json_comes_back(sections: Mapping[str, Any], fingerprint: str) -> None:
    assert shape_of(unpack(pack(fingerprint, sections), fingerprint)) == shape_of(dict(sections))


def test_sections_keep_names_and_order() -> None:
    sections = {"z": ARRAYS[1], "": BATCH, "é": None, "a": {"b": [1, 2.5, True, None, "x"]}, "0": BATCH.select([])}
    back = unpack(pack("f", sections), "f")
    assert list(back) == list(sections)
    assert back["a"] == sections["a"] and back["é"] is None and back["0"].num_rows == 3
    assert unpack(pack("f", {}), "f") == {}


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_all_that_holds_bytes_is_read(kind: Any) -> None:
    assert unpack(kind(SMALL), "f")["j"] == {"k": [1]}


@pytest.mark.parametrize(
    ("section", "says"),
    [
        (np.array(["a"]), "not of <U1"),
        (np.array([1.0], np.float32), "not of float32"),
        (np.array([1], np.dtype(np.int64).newbyteorder()), "not of [<>]i8"),
        (np.array([object()]), "not of object"),
        ((1, 2), "tuple is not a type of JSON"),
        ([{"a": (1,)}], "tuple is not a type of JSON"),
        ({1: 2}, "a key is not a string"),
        ([Moment(1)], "Moment is not a type of JSON"),
        ([np.float64(1)], "numpy.float64 is not a type of JSON"),
        ({"a"}, "set is not JSON serializable"),
        ([1 << 50_000], "integer string"),
    ],
)
def test_a_section_that_would_come_back_otherwise_is_refused(section: Any, says: str) -> None:
    with pytest.raises(SnapshotError, match=f"the section `x` cannot be stored: .*{says}"):
        pack("f", {"x": section})


def test_a_section_in_itself_is_refused() -> None:
    section: list[Any] = []
    section.append(section)
    with pytest.raises(SnapshotError, match="the section `x` cannot be stored"):
        pack("f", {"x": section})


# --- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("text", "a snapshot is bytes, not str"),
        (None, "a snapshot is bytes, not NoneType"),
        (b"PAR1" + bytes(99), "not a snapshot of acelera"),
        (b"x", "not a snapshot of acelera"),
        (b"", "cut short: it has 0 bytes"),
        (SMALL[:-1], f"cut short: it has {len(SMALL) - 1} bytes of at least {len(SMALL)}"),
        (SMALL + b"x", "damaged"),
        (SMALL[:-1] + bytes([SMALL[-1] ^ 1]), "damaged"),
    ],
)
def test_refused_with_the_reason(data: Any, says: str) -> None:
    with pytest.raises(SnapshotError, match=says):
        unpack(data, "f")


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    this = snapshots.VERSION
    with monkeypatch.context() as patched:
        patched.setattr(snapshots, "VERSION", this + 1)
        newer = pack("f", {})
    says = f"was made by version {this + 1} of the format, this is version {this}"
    for data in (newer, newer[:12]):  # whatever comes after the version may be otherwise
        with pytest.raises(SnapshotError, match=says):
            unpack(data, "f")


def test_another_query_is_refused() -> None:
    with pytest.raises(
        UsageError, match="belongs to another query, schema or options; resume it with the query that made it"
    ):
        unpack(SMALL, "g")


def test_one_changed_byte_is_refused() -> None:
    for index in range(len(SMALL)):
        for change in (1, 0x20, 0x80, 0xFF):
            damaged = bytearray(SMALL)
            damaged[index] ^= change
            with pytest.raises(SnapshotError):
                unpack(bytes(damaged), "f")


def test_all_that_is_cut_short_is_refused() -> None:
    for data in (SMALL, pack("f", {"b": BATCH})):
        for length in range(len(data)):
            with pytest.raises(SnapshotError, match="cut short"):
                unpack(data[:length], "f")


@pytest.mark.property
@given(st.binary(max_size=200), st.sampled_from([0, 8, 10, 22]))
def test_random_bytes_are_refused(data: bytes, genuine: int) -> None:
    with pytest.raises(SnapshotError):
        unpack(SMALL[:genuine] + data, "f")


def sealed(header: bytes, payload: bytes = b"") -> bytes:
    """A container whose checksum fits, whatever is in it."""
    body = SMALL[:10] + struct.pack("<QI", 26 + len(header) + len(payload), len(header)) + header + payload
    return body + struct.pack("<I", zlib.crc32(body))


def entry(**described: object) -> bytes:
    return json.dumps({"fingerprint": "f", "sections": [{"name": "x", **described}]}).encode()


@pytest.mark.parametrize(
    ("header", "payload"),
    [
        (b"", b""),
        (b"[]", b""),
        (b"{}", b""),
        (b"\xff", b""),
        (b"[" * 100_000, b""),
        (b'{"fingerprint": "f", "sections": []}', b"x"),
        (b'{"fingerprint": "f", "sections": [1]}', b""),
        (entry(kind="json", length=1), b""),
        (entry(kind="json", length=1), b"?"),
        (entry(kind="pickle", length=1), b"N"),
        (entry(kind="array", dtype="object", shape=[1], length=8), bytes(8)),
        (entry(kind="array", dtype="int8", shape=[2], length=1), b"x"),
        (entry(kind="array", dtype="int8", shape=[1], length=2), b"xx"),
        (entry(kind="array", dtype="int8", shape=[-1, -1], length=1), b"x"),
        (entry(kind="array", dtype="int8", shape=["1"], length=1), b"x"),
        (entry(kind="batch", length=0), b""),
        (entry(kind="batch", length=9), b"not arrow"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(header: bytes, payload: bytes) -> None:
    with pytest.raises(SnapshotError, match="damaged: its parts do not fit together"):
        unpack(sealed(header, payload), "f")


def test_a_sealed_container_is_read() -> None:
    assert unpack(sealed(entry(kind="json", length=1), b"7"), "f") == {"x": 7}

"""The same data in another encoding is the same data."""

from typing import Any

import pyarrow as pa
import pytest

from acelera.programs.columns import plain, plain_column

ENCODED = [
    (pa.array(["a", None, "a"]).dictionary_encode(), pa.string()),
    (pa.array(["a", "b"], pa.large_string()), pa.string()),
    (pa.array(["a", None], pa.string_view()), pa.string()),
    (pa.array([b"a"], pa.large_binary()), pa.binary()),
    (pa.array([b"ab"], pa.binary(2)), pa.binary()),
    (pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]), pa.string()),
    (pa.array([[1], None], pa.large_list(pa.int64())), pa.list_(pa.int64())),
    (pa.array([[1, 2]], pa.list_(pa.int64(), 2)), pa.list_(pa.int64())),
    (pa.array([[1, 2], []], pa.list_view(pa.int64())), pa.list_(pa.int64())),
    (pa.array([{"k": "x"}, None], pa.struct({"k": pa.large_string()})), pa.struct({"k": pa.string()})),
    (
        pa.StructArray.from_arrays([pa.array(["x", "x"]).dictionary_encode()], ["k"]),
        pa.struct({"k": pa.string()}),
    ),
    (
        pa.array(
            [[{"k": "x", "l": [1]}], []], pa.large_list(pa.struct({"k": pa.string_view(), "l": pa.list_(pa.int8())}))
        ),
        pa.list_(pa.struct({"k": pa.string(), "l": pa.list_(pa.int8())})),
    ),
    (pa.array([1, None]), pa.int64()),
]


@pytest.mark.parametrize(("array", "kind"), ENCODED, ids=lambda each: str(getattr(each, "type", each))[:30])
def test_columns_become_plain(array: Any, kind: pa.DataType) -> None:
    column = plain_column(pa.chunked_array([array]))
    assert column.type == kind == plain(array.type)
    assert column.to_pylist() == array.to_pylist()

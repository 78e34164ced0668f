"""Arrow schemas as terms, and back."""

import pyarrow as pa
import pytest

from acelera.errors import SchemaError
from acelera.language.types import FLOAT, INT, STRING
from acelera.xchangeeq.schemas import Child, Content, Shape, arrow_schema, joined, shapes_of

NESTED = pa.schema(
    {
        "id": pa.int64(),
        "net": pa.struct({"ip": pa.string()}),
        "tag": pa.list_(pa.string()),
        "item": pa.list_(pa.struct({"n": pa.int64(), "part": pa.list_(pa.string())})),
    }
)


def no_conflict(label: str, one: Content, other: Content) -> None:
    raise AssertionError(label)


def test_columns_are_children() -> None:
    assert shapes_of({"order": NESTED})["order"] == Shape(
        (
            Child("id", INT),
            Child("net", Shape((Child("ip", STRING),))),
            Child("tag", STRING, True),
            Child("item", Shape((Child("n", INT), Child("part", STRING, True))), True),
        )
    )


def test_children_are_columns() -> None:
    assert arrow_schema(shapes_of({"order": NESTED})["order"]) == NESTED


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (pa.list_(pa.list_(pa.int64())), "`a.x` is an array of arrays"),
        (pa.map_(pa.string(), pa.int64()), "`a.x` is a map"),
        (pa.list_(pa.map_(pa.string(), pa.int64())), "`a.x` is a map"),
        (pa.struct({"y": pa.list_(pa.large_list(pa.int64()))}), "`a.x.y` is an array of arrays"),
    ],
)
def test_what_is_no_term_is_refused(kind: pa.DataType, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        shapes_of({"a": pa.schema({"x": kind})})


def test_shapes_are_joined() -> None:
    left = Shape((Child("v", INT), Child("s", Shape((Child("p", INT),)))))
    right = Shape((Child("w", STRING), Child("s", Shape((Child("q", INT),)), True), Child("v", FLOAT)))
    both = Shape((Child("v", FLOAT), Child("s", Shape((Child("p", INT), Child("q", INT))), True), Child("w", STRING)))
    assert joined(left, right, no_conflict) == both


def test_what_cannot_be_joined_is_told() -> None:
    told: list[str] = []
    left, right = Shape((Child("v", INT), Child("w", INT))), Shape((Child("v", STRING), Child("w", Shape())))
    assert joined(left, right, lambda label, one, other: told.append(label)) == left
    assert told == ["v", "w"]

"""Values of every type on the engine and by the meaning: numbers of few bits, decimals, numbers at the edge."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera.errors import AceleraError

METHODS = ("semantics", "engine")


def made(method: str, program: str, **columns: pa.Array) -> list[dict[str, Any]]:
    """What a program derives of point events `a` with these columns, without times."""
    rows = len(next(iter(columns.values())))
    table = pa.table({"t": pa.array(range(rows), pa.int64()), **columns})
    found = ac.xchangeeq(program).run({"a": table}, method=method, time="t", time_unit="s")["r"]
    return list(found.sort_by("end").drop_columns(["begin", "end"]).to_pylist())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("kind", "given", "computed", "expected"),
    [
        (pa.int8(), -128, "-var V", 128),
        (pa.int8(), -128, "abs(var V)", 128),
        (pa.int16(), 2**15 - 1, "var V * var V", (2**15 - 1) ** 2),
        (pa.int32(), 2**31 - 1, "var V + 1", 2**31),
        (pa.uint8(), 200, "var V - 201", -1),
        (pa.uint32(), 1, "0 - var V", -1),
        (pa.float32(), 0.5, "var V * 3", 1.5),
        (pa.float32(), 16777216.0, "var V + 1", 16777217.0),
    ],
)
def test_computing_with_few_bits(method: str, kind: pa.DataType, given: float, computed: str, expected: float) -> None:
    program = f"DETECT r {{ w {{ {computed} }} }} ON a {{{{ v {{{{ var V }}}} }}}} where {{ {computed} > -1000 }} END"
    assert made(method, program, v=pa.array([given], kind)) == [{"w": expected}]


@pytest.mark.parametrize("method", METHODS)
def test_a_child_keeps_its_type(method: str) -> None:
    table = pa.table({"t": [1], "v": pa.array([7], pa.int16())})
    found = ac.xchangeeq("DETECT r { w { var V } } ON a {{ v {{ var V }} }} END").run(
        {"a": table}, method=method, time="t", time_unit="s"
    )
    assert found["r"].schema.field("w").type == pa.int16()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [2**63 - 1, 2**53 + 1, -(2**63), 0])
def test_a_whole_number_is_its_own_floor(method: str, value: int) -> None:
    program = "DETECT r { f { floor(var V) }, c { ceil(var V) } } ON a {{ v {{ var V }} }} END"
    assert made(method, program, v=pa.array([value])) == [{"f": value, "c": value}]


@pytest.mark.parametrize("method", METHODS)
def test_floors(method: str) -> None:
    program = "DETECT r { n { 1 }, f { floor(var V) }, c { ceil(var V) } } ON a {{ v {{ var V }} }} END"
    found = made(method, program, v=pa.array([-1.5, 2.0, float("nan"), float("inf")]))
    assert [(each["f"], each["c"]) for each in found] == [(-2, -1), (2, 2), (None, None), (None, None)]


@pytest.mark.parametrize("method", METHODS)
def test_a_float_of_few_bits_is_what_it_holds(method: str) -> None:
    program = "DETECT r { } ON a {{ v {{ 0.1 }} }} END"
    assert made(method, program, v=pa.array([0.1], pa.float32())) == []
    assert made(method, program, v=pa.array([0.1])) == [{}]


def decimals(*values: str) -> pa.Array:
    return pa.array([Decimal(each) for each in values], pa.decimal128(8, 2))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "body",
    ["a {{ v {{ 0.1 }} }}", "a {{ v {{ var V }} }} where { var V = 0.1 }", "a {{ v {{ var V }}, x {{ var V }} }}"],
)
def test_a_decimal_is_the_float_that_is_written_so(method: str, body: str) -> None:
    columns = {"v": decimals("0.00", "0.10", "0.11"), "x": pa.array([0.1, 0.1, 0.1])}
    assert made(method, f"DETECT r {{ }} ON {body} END", **columns) == [{}]


@pytest.mark.parametrize("method", METHODS)
def test_computing_with_decimals(method: str) -> None:
    program = """
        DETECT r { more { var V + 1 }, square { var V * var V }, half { var V / 2 }, less { -var V }, mixed { var V * 0.5 } }
        ON a {{ v {{ var V }} }} END
    """
    expected = {
        "more": Decimal("2.55"),
        "square": Decimal("2.4025"),
        "half": 0.775,
        "less": Decimal("-1.55"),
        "mixed": 0.775,
    }
    assert made(method, program, v=decimals("1.55")) == [expected]


@pytest.mark.parametrize("method", METHODS)
def test_aggregates_of_decimals(method: str) -> None:
    program = (
        "DETECT r { s { sum(all var V) }, m { avg(all var V) }, h { max(all var V) } } ON a {{ v {{ var V }} }} END"
    )
    lists = pa.array([[Decimal("1.50"), Decimal("2.25")]], pa.list_(pa.decimal128(8, 2)))
    assert made(method, program, v=lists) == [{"s": Decimal("3.75"), "m": 1.875, "h": Decimal("2.25")}]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("computed", "column"),
    [
        ("var V + 1", pa.array([2**63 - 1])),
        ("abs(var V)", pa.array([-(2**63)])),
        ("floor(var V)", pa.array([1e300])),
        ("var V * var V", pa.array([Decimal(10) ** 30], pa.decimal128(38, 0))),
    ],
)
def test_what_does_not_fit_is_an_error(method: str, computed: str, column: pa.Array) -> None:
    with pytest.raises(AceleraError, match="overflow"):
        made(method, f"DETECT r {{ w {{ {computed} }} }} ON a {{{{ v {{{{ var V }}}} }}}} END", v=column)

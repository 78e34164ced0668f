"""The query in hand: options, order, partitions, aggregates of one's own."""

import re
import warnings

import pyarrow as pa
import pytest

import acelera as ac

TABLE = pa.table(
    {
        "ts": pa.array([3, 1, 2], pa.timestamp("s")),
        "type": ["B", "A", "A"],
        "user": ["u", "u", "w"],
        "v": [3, 1, 2],
    }
)


def test_rows_come_in_the_order_of_the_stream() -> None:
    result = ac.query("SELECT A.v AS a, B.v AS b MATCH A ; B").run(TABLE, order_by="ts")
    assert result.to_pylist() == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]


def test_rows_of_several_keys_come_by_where_they_end() -> None:
    rows = [{"type": "A", "k": k, "n": n} for n, k in enumerate("abab")]
    result = ac.query("SELECT k, A.n MATCH A+ PARTITION BY k").run(rows)
    assert result.to_pylist() == [
        {"k": "a", "A_n": [0]},
        {"k": "b", "A_n": [1]},
        {"k": "a", "A_n": [0, 2]},
        {"k": "a", "A_n": [2]},
        {"k": "b", "A_n": [1, 3]},
        {"k": "b", "A_n": [3]},
    ]


def test_a_stream_of_one_type() -> None:
    table = TABLE.drop_columns(["type"])
    for query, options in (("MATCH M", {"event_type": "M"}), ("FROM M MATCH M", {}), ("FROM x MATCH ANY", {})):
        assert ac.query(f"SELECT start {query}").run(table, order_by="ts", **options).num_rows == 3
    with pytest.raises(ac.QueryCheckError, match="no event type `N`"):
        ac.query("MATCH N").run(table, event_type="M")
    assert ac.query("SELECT M.type MATCH M FILTER M.type = 'M'").run(table, event_type="M").num_rows == 3


def test_another_type_column() -> None:
    table = TABLE.rename_columns(["ts", "kind", "user", "v"])
    result = ac.query("SELECT A.kind, A.type MATCH A").run(table, type_column="kind")
    assert result.to_pylist() == [{"A_kind": "A", "A_type": "A"}] * 2


def test_events_without_a_type_match_any() -> None:
    rows = [{"type": "A"}, {"type": None}]
    assert ac.query("MATCH ANY").run(rows).num_rows == 2
    assert ac.query("MATCH ANY FILTER ANY.type <> 'A'").run(rows).num_rows == 0


def test_ties() -> None:
    rows = [{"type": "A", "t": 1, "k": "x"}, {"type": "A", "t": 2, "k": "x"}, {"type": "B", "t": 1, "k": "x"}]
    with pytest.raises(ac.DataError, match=r"rows 1 and 3 tie: both have t = 1, so .* order_by .* ties='keep'"):
        ac.query("MATCH A").run(rows, order_by="t")
    with pytest.raises(ac.DataError, match="within the partition k = 'x'"):
        ac.query("MATCH A PARTITION BY k").run(rows, order_by="t")
    assert ac.query("MATCH A : B").run(rows, order_by="t", ties="keep").num_rows == 1
    assert ac.query("MATCH A : B").run(rows, order_by=["t", "type"]).num_rows == 1
    timed = TABLE.set_column(0, "ts", pa.array([1, 1, 2], pa.timestamp("us")))
    with pytest.raises(ac.DataError, match=r"ts = 1970-01-01 00:00:00.000001"):
        ac.query("MATCH A").run(timed, order_by="ts")


def test_a_misspelt_type_is_warned_of() -> None:
    rows = [{"type": "view"}, {"type": "pay"}]
    with pytest.warns(ac.AceleraWarning, match="no row is of type `pya`; did you mean `pay`"):
        assert ac.query("MATCH view ; pya").run(rows).num_rows == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ac.query("MATCH view UNLESS error").run(rows).num_rows == 1


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_rows_without_a_place_in_the_order(missing: float | None) -> None:
    table = pa.table({"type": ["A", "A"], "t": pa.array([1.0, missing])})
    with pytest.raises(ac.DataError, match=r"row 2 has (NULL|NaN) in the order column `t`"):
        ac.query("MATCH A").run(table, order_by="t")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "magic"}, "method='magic'"),
        ({"ties": "first"}, "ties='first'"),
        ({"order_by": "no"}, "no column `no`"),
        ({"order_by": 5}, "order_by=5"),
        ({"order_by": "ts,v"}, "pass a list of columns"),
        ({"order_by": "ts DESC"}, "all ascending"),
    ],
)
def test_options_that_are_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(ac.AceleraError, match=says):
        ac.query("MATCH A").run(TABLE, **options)


def test_nan_and_zero_as_keys() -> None:
    rows = [{"type": "A", "k": k} for k in (float("nan"), 0.0, float("nan"), -0.0, None, None)]
    result = ac.query("SELECT k, start, end MATCH A : A PARTITION BY k").run(rows)
    assert [row["k"] for row in result.to_pylist()[1:]] == [0.0, None]
    assert result.num_rows == 3


def test_equality_and_text() -> None:
    one, two = ac.query("match A ; B"), ac.query("MATCH (A) ; B")
    assert one == two and hash(one) == hash(two) and one != ac.query("MATCH A ; B", bag_union="additive")
    assert str(one) == "MATCH A ; B"
    assert repr(ac.query("MATCH A WITHIN 5 EVENTS")) == "<acelera.Query MATCH A WITHIN 5 EVENTS>"


def test_aggregates_of_ones_own() -> None:
    ac.aggregate(
        "spread", lift=lambda v: (v, v), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        identity=(10**9, -(10**9)), finish=lambda state: float(state[1] - state[0]), returns="float",
    )  # fmt: skip
    query = ac.query("MATCH A+ AGG m[d <- SPREAD(A.v)] FILTER m.d > 0.5 PROJECT m")
    assert query.run(TABLE).column("m").to_pylist() == [[{"position": 3, "d": 1.0}]]


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("sum", {}, "built-in"),
        ("a b", {}, "cannot be the name"),
        (3, {}, "cannot be the name"),
        ("fine", {"lift": 5}, "lift must be a function"),
        ("fine", {"identity": []}, "must be hashable"),
        ("fine", {"returns": "nonsense"}, "not a type"),
    ],
)
def test_aggregates_that_are_refused(name: str, options: dict[str, object], says: str) -> None:
    given = {"lift": lambda v: v, "combine": max, "identity": 0, **options}
    with pytest.raises(ac.AceleraError, match=says):
        ac.aggregate(name, **given)  # type: ignore[arg-type]


def test_an_aggregate_that_fails_says_which() -> None:
    ac.aggregate("faulty", lift=lambda v: v["x"], combine=max, identity=0)
    with pytest.raises(ac.AggregateError, match="`faulty` failed: TypeError"):
        ac.query("SELECT faulty(A.v) MATCH A").run(TABLE)


def test_overflow_is_an_error_only_where_it_is_looked_at() -> None:
    rows = [{"type": "A", "v": 2**62}, {"type": "A", "v": 2**62}, {"type": "B", "v": 0}]
    with pytest.raises(ac.AggregateError, match="overflow"):
        ac.query("SELECT sum(A.v) MATCH A+").run(rows)
    with pytest.raises(ac.AggregateError, match="overflow"):
        ac.query("MATCH A+ AGG m[s <- sum(A.v)] FILTER m.s > 0").run(rows)
    with pytest.raises(ac.AggregateError, match="overflow"):
        ac.query("SELECT sum(m.s) MATCH A+ AGG m[s <- sum(A.v)]").run(rows)
    small = ac.query("SELECT m.s MATCH A+ AGG m[s <- sum(A.v)] WITHIN 1 EVENTS")
    assert small.run(rows).num_rows == 2


ROWS = [{"type": "A", "v": 1}, {"type": "B", "v": 2}]


def test_what_cannot_match_is_warned_of() -> None:
    with pytest.warns(ac.AceleraWarning, match="nothing can match"):
        assert ac.query("MATCH A FILTER A.v > 5 AND A.v < 3").run(ROWS).num_rows == 0


def test_types_that_no_row_has_are_told_if_nothing_is_found() -> None:
    with pytest.warns(ac.AceleraWarning, match="no row is of type `deleted`; there are `A`, `B`"):
        assert ac.query("MATCH deleted").run(ROWS).num_rows == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ac.query("MATCH A OR deleted").run(ROWS).num_rows == 1


@pytest.mark.parametrize(
    ("zone", "shown"),
    [(None, "13:01:00,"), ("UTC", "13:01:00Z"), ("Europe/Berlin", "15:01:00+02:00"), ("-03:30", "09:31:00-03:30")],
)
def test_times_in_messages_are_those_of_the_table(zone: str | None, shown: str) -> None:
    times = pa.array([1_729_947_660_000_000] * 2, pa.timestamp("us", zone))
    with pytest.raises(ac.DataError, match=re.escape(f"ts = 2024-10-26 {shown}")):
        ac.query("MATCH A").run(pa.table({"type": ["A", "A"], "ts": times}), order_by="ts")


@pytest.mark.parametrize("window", ["", " WITHIN 5 EVENTS"])
def test_explain_says_that_matches_can_be_many(window: str) -> None:
    assert "each can double their number" in ac.query(f"MATCH A+{window}").explain()
    assert "each can double their number" not in ac.query(f"MATCH A:+{window}").explain()


def test_a_table_describes_its_schema() -> None:
    query = ac.query("SELECT A.v MATCH A")
    table = pa.Table.from_pylist(ROWS)
    for described in (table, table.to_pandas(), table.schema, ROWS, table.to_reader()):
        assert query.check(described) == pa.schema([("A_v", pa.int64())])
        assert "engine" in query.explain(table)

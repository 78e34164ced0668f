"""What a query asks of positions, and sessions that forget keys where it does not ask for their numbers."""

import datetime

import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine.positions import absolute_positions_matter, distances_matter

SCHEMA = {"type": str, "v": int, "k": int, "s": str, "ts": datetime.datetime}


@pytest.mark.parametrize(
    ("text", "absolute", "distances"),
    [
        ("MATCH A ; B", False, False),
        ("MATCH A ; B WITHIN 5 SECONDS", False, False),
        ("MATCH A ; B WITHIN 5 EVENTS", False, True),
        ("SELECT start MATCH A ; B", True, True),
        ("SELECT end MATCH A ; B", True, True),
        ("SELECT start_time, end_time MATCH A ; B", False, False),
        ("SELECT A.position MATCH A ; B", True, True),
        ("SELECT max(A.position) MATCH A ; B", True, True),
        ("SELECT first(x.v), last(x.v) MATCH (A ; B) AS x", False, False),
        ("MATCH (A ; B) AS x AGG m[l <- last(x.v)] FILTER m.l > 3", False, False),
        ("MATCH (A ; B) AS x AGG m[l <- last(x.position)] FILTER m.l > 3", True, True),
        ("MATCH A AS a ; B AS b FILTER a.position + 3 < b.position", True, True),
        ("MATCH START(A) ; B", True, True),
        ("MATCH (A ; C) UNLESS B", False, False),
        ("MATCH (A ; C) UNLESS START(B)", True, True),
    ],
)
def test_what_is_asked_of_positions(text: str, absolute: bool, distances: bool) -> None:
    query = ac.query(text)
    compiled = query._compiled(query._schema(SCHEMA, "ts", "type", None))
    assert absolute_positions_matter(compiled.checked, compiled.plan) is absolute
    assert distances_matter(compiled.checked, compiled.plan) is distances


def test_events_without_a_time_show_their_position() -> None:
    query = ac.query("SELECT A MATCH A ; B")
    compiled = query._compiled(query._schema({"type": str, "v": int}, None, "type", None))
    assert absolute_positions_matter(compiled.checked, compiled.plan)


# --- keys that are forgotten --------------------------------------------------------------------------------------


def at(second: int, kind: str, v: int = 0, k: int = 1, s: str = "x") -> dict[str, object]:
    return {"type": kind, "v": v, "k": k, "s": s, "ts": datetime.datetime(2024, 1, 1, 0, 0, second)}


def forgetting(text: str, *batches: list[dict[str, object]]) -> list[dict[str, object]]:
    """The matches of a session that forgets idle keys after every batch."""
    session, found = ac.query(text).open(SCHEMA, order_by="ts"), []
    for batch in batches:
        found.append(session.push(batch))
        session.compact()
    return pa.concat_tables(found).to_pylist()


@pytest.mark.parametrize("clauses", ["FILTER x[same(k)]", "FILTER x[same(k)] PARTITION BY s", "PARTITION BY k"])
@pytest.mark.parametrize("condition", ["", "AGG m[l <- last(x.v)] FILTER m.l = 5"])
def test_the_events_of_an_open_match_stay_in_order(clauses: str, condition: str) -> None:
    """Each event comes in a batch of its own, after events of other keys that are idle at once."""
    text = f"SELECT first(x.v) AS f, last(x.v) AS l MATCH (A ; B ; C) AS x {condition} {clauses}"
    others = [[at(second, "D", k=2) for second in seconds] for seconds in ((1, 2, 3), (5,), (7, 8))]
    opened = [[at(4, "A", 9)], [at(6, "B", 7)], [at(9, "C", 5)]]
    batches = [batch for pair in zip(others, opened, strict=True) for batch in pair]
    assert forgetting(text, *batches) == [{"f": 9, "l": 5}]


def test_distances_are_counted_on_while_a_match_is_open() -> None:
    text = "SELECT a.v, b.v MATCH A AS a ; B AS b PARTITION BY k WITHIN 3 EVENTS"
    events = [at(1, "D"), at(2, "A", 2), at(3, "D"), at(4, "B", 4), at(5, "B", 5), at(6, "A", 6), at(7, "B", 7)]
    found = forgetting(text, *([event] for event in events))
    assert [(row["a_v"], row["b_v"]) for row in found] == [(2, 4), (6, 7)]


@pytest.mark.parametrize("clauses", ["PARTITION BY k", "FILTER x[same(v)] PARTITION BY k"])
def test_ties_of_idle_keys_are_still_found(clauses: str) -> None:
    text = f"SELECT x.v MATCH (A ; B) AS x {clauses}"
    with pytest.raises(ac.DataError, match=r"rows 2 and 4 tie.* within the partition k = 7"):
        forgetting(text, [at(1, "D", k=6), at(1, "D", k=7)], [at(1, "D", k=8)], [at(1, "D", k=7)])

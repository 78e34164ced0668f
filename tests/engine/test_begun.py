"""Which rows may matter, since a match may have begun: worked out by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine import begun
from acelera.engine.begun import Begun, Placed, Placing
from acelera.engine.window import Window, window_of
from acelera.language import ast
from acelera.language.schema import Schema

KINDS = {"a": 0, "b": 1, "-": 2}
BEGINS, REACTS = np.array([True, False, False]), np.array([True, True, False])
ALL = np.array([True, True, True])


def schema(table: pa.Table) -> Schema:
    return ac.query("MATCH ANY").stream_schema(table, "ts", None, "E")


def rows(events: str, keys: str, times: list[int | None]) -> tuple[pa.RecordBatch, np.ndarray]:
    """Events that begin a match (a), that some state reacts to (b), that none does (-)."""
    batch = pa.RecordBatch.from_pydict({"k": list(keys), "ts": pa.array(times, pa.timestamp("us"))})
    return batch, np.array([KINDS[kind] for kind in events])


def kept(
    *batches: tuple[str, str, list[int | None]],
    within: int | None = None,
    longest: int | None = None,
    reacts: np.ndarray = REACTS,
) -> str:
    """The rows that may matter, batch after batch."""
    placing, told = None, ""
    window = Window() if within is None else Window(within, timed=True)
    known = Begun(window, longest)
    for events, keys, times in batches:
        batch, codes = rows(events, keys, times)
        placing = placing or Placing(["k"], schema(pa.Table.from_batches([batch])))
        found = known.matters(Placed(batch, placing), codes, BEGINS, reacts)
        told += "?" if found is None else "".join(".x"[int(each)] for each in found)
        told += " "
    return told.strip()


def test_what_comes_before_a_beginning_does_not_matter() -> None:
    # The first and the last row of a batch may be equal to rows of others.
    assert kept(("bbabb-b", "xxxxxxx", [1, 2, 3, 4, 5, 6, 7])) == "x.xxx.x"


def test_each_key_has_matches_of_its_own() -> None:
    assert kept(("-abbab-", "xxyxyy-", [1, 2, 3, 4, 5, 6, 7])) == ".x.xxx."


def test_a_match_is_over_when_its_window_is() -> None:
    times = [0, 1, 2, 11, 12, 13]
    assert kept(("-abbb-", "xxxxxx", times), within=10) == ".xxx.."  # a begins at 1, so 11 is its last
    assert kept(("-abbb-", "xxxxxx", times), within=11) == ".xxxx."


def test_where_all_events_count_those_between_matter() -> None:
    assert kept(("--a---", "xxxxxx", [0, 1, 2, 3, 4, 5]), within=2, reacts=ALL) == "x.xxxx"


def test_no_more_rows_matter_than_a_match_can_have() -> None:
    assert kept(("-a----a-", "xxxxxxxx", list(range(8))), longest=3, reacts=ALL) == "xxxx..xx"
    assert kept(("-ab---b-", "xxyyxxxx", list(range(8))), longest=3, reacts=ALL) == "xx..xx.x"
    assert kept(("-abab--b", "xxxxxxxx", list(range(8))), longest=2) == ".xxxx..x"
    assert (
        kept(("-a-", "xxx", [0, 1, 2]), ("-bbb-", "yxxxx", [3, 4, 5, 6, 7]), longest=3) == ".x. .xx.."
    )  # nor does the last row count
    # Those that are tied may all come before the one with which a match begins.
    assert kept(("-abbbbb", "xxxxxxx", [0, 1, 1, 1, 2, 3, 4]), longest=2) == ".xxxx.x"


def test_batches_go_on() -> None:
    assert kept(("-a-", "xxx", [0, 1, 2]), ("-bbb-", "-xyx-", [3, 4, 5, 6, 7]), within=4) == ".x. .x..."
    assert kept(("-a-", "xxx", [0, 1, 2]), ("-bbb-", "-xyx-", [3, 4, 5, 6, 7])) == ".x. .x.x."


def test_rows_that_tie_all_matter() -> None:
    assert kept(("-bba-", "xxxxx", [0, 1, 2, 2, 3])) == "..xx."
    assert kept(("-bba-", "xxyxx", [0, 1, 2, 2, 3])) == "...x."
    assert kept(("-bb", "xxx", [0, 1, 1]), ("bba-", "yxx-", [1, 1, 1, 2])) == ".xx xxx."


def test_keys_that_are_forgotten_may_have_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(begun, "MOST_KEYS", 2)
    first, second = ("-a----", "xxxyzx", [0, 1, 2, 3, 4, 5]), ("-bbb-", "-yxv-", [6, 7, 8, 9, 10])
    assert kept(first, second, within=7) == ".x.... .xx.."  # till 8, in whatever key
    monkeypatch.setattr(begun, "MOST_KEYS", 10)
    assert kept(first, second, within=7) == ".x.... ..x.."


def test_rows_without_a_place_are_left_to_who_reads_them() -> None:
    assert kept(("-ab", "xxx", [0, None, 2]), ("-bb-", "xyyx", [3, 4, 5, 6]), within=4) == "? .xx."


def test_the_ends_of_time() -> None:
    low, high = -(2**63), 2**63 - 1
    assert kept(("abb-", "xxxx", [low, low + 1, low + 9, low + 10]), within=5) == "xx.."
    assert kept(("-abb", "xxxx", [0, high - 3, high - 2, high]), within=2**63 - 1) == ".xxx"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("MATCH A ; B", True),
        ("MATCH A : B WITHIN 5 SECONDS", True),
        ("MATCH ANY ; B", False),
        ("MATCH A ; B WITHIN 5 EVENTS", False),
        ("SELECT start MATCH A ; B", False),
        ("MATCH A:+ AS x FILTER x[v > prev(v)]", False),
        ("MATCH A UNLESS B FOR 5 SECONDS", False),
        ("MATCH (A ; B) UNLESS C", True),
        ("SUMMARIZE count(*) MATCH A ; B BY end", False),
        ("SUMMARIZE count(*) MATCH A ; B OVER 5 SECONDS", True),
    ],
)
def test_queries_of_which_it_is_known(text: str, known: bool) -> None:
    table = pa.table({"type": ["A"], "v": [1], "ts": pa.array([0], pa.timestamp("us"))})
    query = ac.query(text)
    compiled = query.compiled(query.stream_schema(table, "ts", "type", None))
    assert (compiled.beginnings is not None) is known


def test_the_window_is_that_of_the_query() -> None:
    table = pa.table({"ts": pa.array([0], pa.timestamp("ms"))})
    assert window_of(ast.Within(5, "seconds"), schema(table)).timed

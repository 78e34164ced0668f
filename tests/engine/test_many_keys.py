"""Many keys: those that come once, those that fall idle and come back, of each kind that is looked up in a way of its own.

What is expected is found by a loop over the rows, with a dict of what is open for each key.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine.session import keys as session_keys
from acelera.engine.session import session
from acelera.engine.storage import growing

ROWS, WINDOW = 12_000, 3_000
TEXT = f"SELECT a.v, b.v MATCH A AS a ; B AS b PARTITION BY {{}} WITHIN {WINDOW} SECONDS"
REMEMBERING = f"SELECT a.v, b.v MATCH A AS a ; B AS b FILTER a.w < b.w PARTITION BY {{}} WITHIN {WINDOW} SECONDS"
KEYS = {
    "whole numbers": lambda numbers: {"k": pa.array(numbers * 7_919 - 10**12)},
    "small numbers": lambda numbers: {"k": pa.array(numbers % 256 - 128, pa.int8())},
    "numbers and none": lambda numbers: {"k": pa.array(numbers, mask=numbers % 50 == 0)},
    "texts": lambda numbers: {
        "k": pa.array(["0123456789abcdefghij"[: n % 21] + str(n // 21) for n in numbers.tolist()])
    },
    "texts and none": lambda numbers: {
        "k": pa.array([None if n % 50 == 0 else "x" * (n % 9) + str(n) for n in numbers])
    },
    "dictionaries": lambda numbers: {"k": pa.array(numbers).cast(pa.string()).dictionary_encode()},
    "two columns": lambda numbers: {
        "k": pa.array(numbers % 60),
        "l": pa.array([f"l{n // 60}" for n in numbers.tolist()]),
    },
}


def stream(kind: str, seed: int) -> pa.Table:
    """Keys that drift, of which some are old ones again, and at times many events of few keys."""
    random = np.random.default_rng(seed)
    newest = np.arange(ROWS) // 3
    numbers = np.where(random.random(ROWS) < 0.3, random.integers(0, newest + 1), newest - random.integers(0, 40, ROWS))
    numbers = np.where((np.arange(ROWS) // 1_000) % 4 == 3, numbers % 20, np.maximum(numbers, 0))
    return pa.table(
        {
            "type": pa.array(random.choice(["A", "B", "X"], ROWS)),
            **KEYS[kind](numbers),
            "v": np.arange(ROWS),
            "w": random.integers(0, 10, ROWS),
            "ts": pa.array(np.arange(ROWS), pa.timestamp("s")),
        }
    )


def expected(table: pa.Table, names: Sequence[str], remembering: bool) -> list[tuple[int, int]]:
    """All pairs, in the order of their ends and starts."""
    seen: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    found = []
    keys = zip(*(table[name].to_pylist() for name in names), strict=True)
    for v, (kind, key, w) in enumerate(zip(table["type"].to_pylist(), keys, table["w"].to_pylist(), strict=True)):
        if kind == "A":
            seen[key].append((v, w))
        elif kind == "B":
            found += [(a, v) for a, before in seen[key] if a >= v - WINDOW and (not remembering or before < w)]
    return found


def pairs(found: Sequence[Any]) -> list[tuple[int, int]]:
    return [pair for each in found for pair in zip(*(column.to_pylist() for column in each.columns), strict=True)]


@pytest.mark.parametrize("remembering", [False, True])
@pytest.mark.parametrize("kind", KEYS)
def test_keys_that_come_and_go_and_come_back(kind: str, remembering: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table = stream(kind, seed=len(kind))
    names = [name for name in table.column_names if name in ("k", "l")]
    query = ac.query((REMEMBERING if remembering else TEXT).format(", ".join(names)))
    truth = expected(table, names, remembering)
    assert pairs([query.run(table, order_by="ts")]) == truth
    monkeypatch.setattr(growing, "SLACK", 30)  # much is forgotten, again and again
    monkeypatch.setattr(session, "ROWS_AT_ONCE", 700)
    assert pairs([query.run(table, order_by="ts")]) == truth
    monkeypatch.setattr(session_keys, "FEW_AGAIN", 10.0 if kind == "texts" else 0.0)
    random, at, found = np.random.default_rng(3), 0, []
    running = query.open(table.schema, order_by="ts")
    while at < ROWS:
        size = int(random.choice([1, 50, 300, 2_000]))
        found.append(running.push(table.slice(at, size)))
        at += size
        if random.random() < 0.2:
            running = query.resume(running.snapshot())
    assert pairs(found) == truth


def test_idle_keys_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as there are three times as many as were needed when that was last looked at."""
    monkeypatch.setattr(growing, "SLACK", 100)
    query = ac.query("SELECT a.v MATCH A AS a ; B PARTITION BY k WITHIN 300 SECONDS")
    for kind in ("whole numbers", "texts"):
        table = stream(kind, seed=1)
        running = query.open(table.schema, order_by="ts")
        for at in range(0, ROWS, 200):
            running.push(table.slice(at, 200))
            assert len(running.incoming.partitions.keys) <= 3 * 200 + 100 + 200

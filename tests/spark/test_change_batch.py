"""Rules over changes in frames that are all there: the same as in process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera import cdc
from acelera.errors import UsageError
from cdc.messages import MESSAGES, texts

ToFrame = Callable[[pa.Table], Any]
Make = Callable[[Any], cdc.Source]

TIMES = pa.timestamp("us", "UTC")
SECOND = 1_000_000


def at(second: int) -> int:
    return 1_700_000_000 * SECOND + second * SECOND


def changes(*rows: tuple[int, str, Any, Any]) -> pa.Table:
    """Second, kind, key and value of each change, the old value of which is one less."""
    old = [None if op == "i" else (key, value - 1) for _, op, key, value in rows]
    new = [None if op == "d" else (key, value) for _, op, key, value in rows]
    row = pa.struct([("k", pa.string()), ("v", pa.int64())])
    return pa.table(
        {
            "ts": pa.array([at(second) for second, *_ in rows], TIMES),
            "op": [op for _, op, *_ in rows],
            "old": pa.array([each and dict(zip("kv", each, strict=True)) for each in old], row),
            "new": pa.array([each and dict(zip("kv", each, strict=True)) for each in new], row),
        }
    )


TICKS = changes(
    (1, "i", "a", 1), (1, "i", "b", 5), (2, "u", "a", 2), (2, "u", None, 7), (3, "u", "b", 4), (3, "u", "a", 3),
    (4, "d", "a", 3), (4, "u", None, 8), (5, "i", "a", 1), (6, "u", "b", 6), (6, "u", "a", 4), (7, "u", None, 9),
    (8, "d", "b", 6), (9, "u", "a", 5), (9, "d", None, 9), (9, "u", "b", 2),
)  # fmt: skip
OTHERS = changes((2, "i", "b", 1), (4, "i", "a", 3), (5, "u", "b", 2), (6, "u", None, 4), (8, "i", "a", 5))

PROGRAMS = {
    "a key": """
        monitor p, delete(p) as gone partition by k; derived run(k, n);
        Run: (* p(X, X.v > Last(X.v)), Count(X) >= 2) -> run(X.k, Count(X)), write("%s: %d in a row", X.k, Count(X));
        Gone: (run(R), gone(X)) -> write(X.k, R.n, X.v), sql("insert into gone values (?, ?)", X.k, X.v);
    """,
    "no key": """
        monitor p, q; derived both(k);
        Left: (p(X), q(Y, Y.k = X.k)) -> both(X.k);
        Right: q(X) & p(Y, Y.k = X.k) -> both(X.k);
        Again: [both(X), both(Y, Y.k = X.k)] -> write(X.k, Y.Second, Y.Timestamp - X.Timestamp, Y.Date, 1.5);
    """,
    "two relations by a key, one without old values": """
        monitor p, q partition by k;
        Meet: [p(X), *q(Y, Y.v > Last(Y.v))] -> write(X.v, Sum(Y.v), X.old_v);
        None: !q -> write("none");
    """,
    "modules with one key": """
        Begin Module M monitor p partition by k; derived d(k, v); D: (p(X), p(Y)) -> d(Y.k, X.v + Y.v); End Module.
        Begin Module N monitor M.d, q partition by k;
        E: [d(X), q(Y)] -> write(X.k, X.v, Y.v); End Module.
    """,
    "a key, then none": """
        Begin Module M monitor p partition by k; derived d(w, v); D: (p(X), p(Y)) -> d(Y.k, X.v + Y.v);
        F: (any, p(Y)) -> d(Y.k, Y.v); End Module.
        Begin Module N monitor M.d; derived e(v, z); E: (d(X), d(Y)) -> e(X.v, Y.v), write(X.w, X.v, Y.v); End Module.
        Begin Module O monitor M.d, N.e partition by v; G: {d, e} -> write("one"); End Module.
    """,
    "an event that nothing derives": """
        Begin Module M monitor p; derived d(v), e(v); D: p(X) -> d(X.v); End Module.
        Begin Module N monitor M.d, M.e partition by v; E: !e & d(X) -> write(X.v); End Module.
    """,
}  # fmt: skip


def sources(wrap: Callable[[pa.Table], Any]) -> dict[str, cdc.Source]:
    return {"p": cdc.changes(wrap(TICKS)), "q": cdc.changes(wrap(OTHERS))}


def rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def agree(frames: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
    """The same rows in columns of the same names and types."""
    assert list(frames) == list(tables)
    for name, table in tables.items():
        found = frames[name].toArrow()
        assert rows(found) == rows(table), name
        assert found.schema.names == table.schema.names
        assert [each.type for each in found.schema] == [each.type for each in table.schema]


@pytest.mark.filterwarnings("ignore::acelera.errors.AceleraWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_frames_give_what_tables_give(name: str, to_frame: ToFrame) -> None:
    program = ac.trepl(PROGRAMS[name])
    tables = program.run(sources(lambda table: table))
    assert sum(table.num_rows for table in tables.values()) > 4
    agree(program.run(sources(to_frame)), tables)

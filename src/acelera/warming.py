"""Compiles the kernels before they are needed: for an image or an archive that workers get, and before tests begin.

`python -m acelera.warming matching others` runs what uses all kernels but a few; one process for each part, which take
about as long as each other, and compile next to nothing that the other one does.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

from acelera.errors import AceleraError

MATCHING, OTHERS = "matching", "others"
PARTS = {
    MATCHING: [
        "MATCH (A ; B) UNLESS C WITHIN 5 SECONDS",
        "MATCH A ; B+ AS b AGG m[t <- sum(b.v), f <- avg(b.f), l <- first(b.s), n <- count(b), r <- range(b.f)] "
        "PARTITION BY s, v WITHIN 6 SECONDS",
        "MATCH A ; B WITHIN 5 EVENTS",
        "SELECT a.v, count(b) AS n, max(b.f) AS hi, sum(b.v) AS t, last(b.s) AS l MATCH A AS a ; B+ AS b ; C "
        "WITHIN 5 EVENTS",
        "SELECT a.v MATCH A AS a ; B PARTITION BY v WITHIN 5 SECONDS",
        "SELECT x, start MATCH (A ; B) AS x FILTER x[same(s)] WITHIN 9 SECONDS",
        "SELECT a.s, b.v MATCH A AS a ; B AS b FILTER a.v < b.v WITHIN 5 EVENTS",
        "MATCH (A ; B) UNLESS (A AS a ; C AS c FILTER a.v < c.v) WITHIN 5 EVENTS",
        "SELECT start, end MATCH A+ AS a ; B AS b FILTER a.v + 1 <> b.v AND a.s <> b.s WITHIN 4 EVENTS",
        "SUMMARIZE log2_count(*), avg(B.v) MATCH A ; B+",
        "SUMMARIZE count(*) MATCH A AS a ; B AS b FILTER a.v < b.v",
    ],
    OTHERS: [
        "SUMMARIZE count(*) MATCH A ; B+ WITHIN 5 EVENTS",
        "SUMMARIZE count(*) MATCH A ; B+ OVER 6 EVENTS EVERY 2 EVENTS",
        "SUMMARIZE sum(B.v), min(B.v), avg(B.f) MATCH A ; B+ WITHIN 5 EVENTS BY end",
        "MATCH A+ KEEP LONGEST PER END",
        "MATCH A ; B+ WITHIN 6 EVENTS KEEP LONGEST PER END",
        "MATCH (A ; B+) AS x PARTITION BY s WITHIN 6 EVENTS KEEP SHORTEST APART",
        "MATCH A ; B+ WITHIN 6 EVENTS KEEP ANY 2 PER START",
        "SELECT stddev(x.f) MATCH A:+ AS x FILTER x[v > prev(v)] PARTITION BY s",
        "SELECT start MATCH A AS a ; B AS b FILTER a.d * 2 < b.d WITHIN 3 EVENTS",
    ],
}
"""By tables, by registers, both also for what UNLESS forbids and for what is counted; by matrices, beside changes; what
is kept; what looks back; value by value.
"""

TOGETHER = {
    "pairs": "SELECT a.v MATCH A AS a ; B FILTER a.v = 0 PARTITION BY s WITHIN 5 SECONDS",
    "runs": "MATCH A AS a : B FILTER a.v = 0 AND a.s = 'x' PARTITION BY s",
}
"""Several in one pass."""

RULES = """
monitor a partition by s; derived d(v, n);
Phase: (* a(X, X.f > Last(X.f)), Count(X) >= 2, !a(U, U.f > X.f)) -> d(X.v + 1, Avg(X.f)), write(X.s, Max(X.v));
Later: [d(X), a(Y, Y.v = X.v)] -> write(Y.s);
"""


def warm() -> None:
    """All parts at once."""
    started = [subprocess.Popen([sys.executable, "-m", "acelera.warming", part]) for part in PARTS]
    failed = [process.args for process in started if process.wait()]
    if failed:
        raise AceleraError("the kernels could not all be compiled; what was in the way stands above")


def compiled_kernels(since: float = 0.0) -> tuple[Path, int] | None:
    """The folder below which kernels are written, and how many are there that were compiled since a time, in seconds
    of the clock; None if they can be written nowhere.
    """
    from acelera.engine.machines.advance import advance

    path = getattr(getattr(advance, "stats", None), "cache_path", None)
    if path is None:
        return None
    beside = Path(__file__).parent
    folder = beside if Path(path).is_relative_to(beside) else Path(path).parent
    return folder, sum(path.stat().st_mtime >= since for path in folder.rglob("*.nbc"))


def run(part: str) -> None:
    """The queries of a part, over a table and as a stream that is taken up again."""
    import numpy as np
    import pyarrow as pa

    import acelera as ac
    from acelera.engine.results.gathering import taken
    from acelera.engine.summaries import adaptive_summarizer

    size, rng = 200, np.random.default_rng(1)
    table = pa.table(
        {
            "type": rng.choice(["A", "B", "C"], size),
            "v": rng.integers(0, 5, size),
            "f": rng.random(size),
            "s": rng.choice(["x", "y"], size),
            "d": pa.array(rng.integers(0, 5, size)).cast(pa.decimal128(19, 0)),
            "ts": pa.array(np.arange(size) // 2 * 1_000_000, pa.timestamp("us")),
        }
    )
    if part == OTHERS:
        rules, changes = ac.trepl(RULES), ac.cdc.inserts(table, time="ts")
        rules.run({"a": changes})
        queries = {name: ac.query(text) for name, text in TOGETHER.items()}
        ac.run_all(queries, table, order_by="ts", ties="any")
        for kind, places in product((pa.int8(), pa.int16(), pa.int32(), pa.int64()), (np.int32, np.int64)):
            taken(pa.array([1, 2], kind), np.zeros(1, places))
        # matrices at once
        adaptive_summarizer.NODES_PER_EVENT = adaptive_summarizer.AT_FIRST = 0
    for text in PARTS[part]:
        query = ac.query(text)
        query.run(table, order_by="ts", ties="keep")
        session = query.open(table.schema, order_by="ts", ties="keep")
        session.push(table.slice(0, size // 2))
        query.resume(session.snapshot()).push(table.slice(size // 2))


if __name__ == "__main__":
    for part in sys.argv[1:]:
        run(part)

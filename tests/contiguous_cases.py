"""Random queries for events in a row, and rows with all that may be taken otherwise."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

NAN = math.nan
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "type": (pa.string(), ["A", "A", "B", "C"]),
    "k": (pa.string(), [None, "x", "y"]),
    "w": (pa.float64(), [None, NAN, 0.0, -0.0, 1.0]),
    "n": (pa.int64(), [None, 0, 1, 2, 3]),
    "tiny": (pa.int8(), [None, -128, 127, 1]),
    "p": (pa.float64(), [None, NAN, 0.0, -0.0, 1.5, 2.5, -1.0, math.inf]),
    "g": (pa.float32(), [None, NAN, 0.1, 2.5]),
    "s": (pa.string(), [None, "a", "b", "b ", "é"]),
    "d": (pa.decimal128(9, 2), [None, Decimal("1.50"), Decimal("2.00")]),
    "b": (pa.bool_(), [None, True, False]),
    "listed": (pa.list_(pa.int64()), [None, [], [1, None]]),
}


def stream(size: int, seed: int) -> pa.Table:
    """Rows with all that may be taken otherwise, in any order; `z` is the time with a zone."""
    chosen = random.Random(seed)
    seconds = sorted(chosen.sample(range(3 * size), size))
    begin = datetime.datetime(2024, 3, 31)
    columns = {name: pa.array(chosen.choices(values, k=size), kind) for name, (kind, values) in VALUES.items()}
    columns["ts"] = pa.array([begin + datetime.timedelta(seconds=each) for each in seconds], pa.timestamp("us"))
    columns["z"] = columns["ts"].cast(pa.timestamp("us", "UTC"))
    return pa.table(columns).take(pa.array(chosen.sample(range(size), size)))


NAMES = ("x", "y", "z")
ALONE_CONDITIONS = ("{0}[p > 0]", "{0}[s = 'b']", "{0}[n IS NULL OR p < 2]", "{0}[p > prev(p)]", "{0}[n <> prev(n)]", "{0}[increasing(n)]", "{0}[same(s)]", "{0}[same(w)]", "{0}[-n + 1 < p]", "{0}[decreasing(p)]")  # fmt: skip
TOGETHER = ("{0}.p < {1}.p", "{0}.n + 1 >= {1}.n", "{0}.s = {1}.s", "{0}.s <> {1}.s", "{0}.n = {1}.p", "({0}.p <= {1}.p OR {0}.n = {1}.n)", "{0}.d > {1}.g", "{0}.n + {1}.n < 3 + {0}.p")  # fmt: skip
ITEMS = ("{0}", "{0}.p", "{0}.listed", "{0}.g", "count({0}) AS c{0}", "sum({0}.p) AS t{0}", "max({0}.p IGNORE NULLS) AS m{0}", "min({0}.s) AS l{0}", "avg({0}.n IGNORE NULLS) AS a{0}", "nth({0}.p, 2) AS s{0}", "last({0}.n) - 1 AS e{0}", "start", "end_time", "{0}.position")  # fmt: skip


@st.composite
def contiguous(draw: st.DrawFn) -> str:
    """A query for events in a row; it may be one that the JVM does not say, or none at all."""
    used: list[str] = []

    def one() -> str:
        used.append(draw(st.sampled_from(NAMES)))
        return f"({draw(st.sampled_from(('A', 'B', 'ANY', 'ANY')))} AS {used[-1]})"

    def part() -> str:
        kind = draw(st.integers(0, 5))
        if kind == 0:
            return f"({one()} OR {one()})"
        if kind == 1:
            return f"({one()} OR {one()} : {one()})"
        return one() + (draw(st.sampled_from((":{2}", ":{1,2}", ":{0,1}"))) if kind == 2 else "")

    formula = " : ".join(part() for _ in range(draw(st.integers(1, 3))))
    if draw(st.integers(0, 9)) == 0:
        formula = f"START({formula})"
    known = st.sampled_from(sorted(set(used)))
    conditions = [draw(st.sampled_from(ALONE_CONDITIONS)).format(draw(known)) for _ in range(draw(st.integers(0, 2)))]
    conditions += [
        draw(st.sampled_from(TOGETHER)).format(draw(known), draw(known)) for _ in range(draw(st.integers(0, 2)))
    ]
    items = draw(st.lists(st.sampled_from(ITEMS), max_size=4, unique=True))
    select = ", ".join(dict.fromkeys(item.format(draw(known)) for item in items)) or "*"
    keys = draw(st.sampled_from(("", "", "PARTITION BY k", "PARTITION BY w", "PARTITION BY k, b")))
    within = draw(st.sampled_from(("", "", "WITHIN 4 SECONDS", "WITHIN 2 EVENTS")))
    filtered = f" FILTER {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {select} MATCH ({formula}){filtered} {keys} {within}"

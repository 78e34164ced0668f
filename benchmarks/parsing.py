"""How long a query takes to parse, print and check, against Python compiling an expression of the same length."""

from __future__ import annotations

import time
from collections.abc import Callable

import acelera as ac

QUERY = """
SELECT a.price, max(b.price) AS hi
MATCH SELL AS a ; (SELL AS b)+ ; BUY AS c
  FILTER a[name = 'MSFT' AND price > 100] AND b[name = 'INTL'] AND c.price > a.price + 10
  AGG m[hi <- max(b.price), n <- count(b)] FILTER m.n > 3
PARTITION BY name
WITHIN 5 MINUTES
"""


def seconds(work: Callable[[], object], repeat: int = 300) -> float:
    """The shortest of five runs, for one call."""
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(repeat):
            work()
        best = min(best, (time.perf_counter() - begin) / repeat)
    return best


def main() -> None:
    """Print the ratios."""
    ac.query(QUERY)  # the grammar is read once
    python = "(a + b * c(d, 'e')) > 1 and " * (len(QUERY) // 28) + "True"
    beside = seconds(lambda: compile(python, "beside", "eval"))
    schema = {"type": str, "name": str, "price": float, "ts": "timestamp"}
    query = ac.query(QUERY)
    for name, work in (
        ("query(text)", lambda: ac.query(QUERY)),
        ("str(query)", lambda: str(query)),
        ("query.check(schema)", lambda: query.check(schema, order_by="ts")),
    ):
        print(f"{name:<20} {seconds(work) / beside:6.1f} times Python's compile() of {len(python)} characters")


if __name__ == "__main__":
    main()

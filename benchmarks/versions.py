"""This checkout against another one, on the same queries and data, in turns: `python benchmarks/versions.py FOLDER`.

Each has a process of its own that stays, so that a noisy moment strikes both alike and nothing is compiled meanwhile.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import acelera as ac
from acelera.demo import market
from data import ticks
from listing import QUERIES, WHOLE
from measuring import heading, line, seconds
from speed import REMEMBERING, sequence, steps

HERE = Path(__file__).parents[1]
ROUNDS = 15
MOST = 1.05

KEYS = """SELECT a.price, b.price MATCH SELL AS a ; BUY AS b ; SELL AS c
    FILTER a.price > 195 AND b.price > 195 AND c.price > 195 PARTITION BY name WITHIN 100 EVENTS"""
CASES = {
    "a ; b ; c, price > 195": (sequence(steps(195.0)), "ticks"),
    "a ; b ; c, price > 150": (sequence(steps(150.0)), "ticks"),
    "a ; b+ ; c, price > 150": (sequence(steps(150.0), iterate="+"), "ticks"),
    "WITHIN 10000, price > 199.7": (sequence(steps(199.7), window=10_000), "ticks"),
    "1,000 keys": (KEYS, "keys"),
    **{name: (text, "ticks") for name, text in REMEMBERING.items()},
    **{name: (text, "few") for name, text in QUERIES.items()},
    **{f"start, end of {name}": (f"SELECT start, end {text}", "market") for name, text in WHOLE.items()},
    **{f"everything of {name}": (text, "market") for name, text in WHOLE.items()},
}
TABLES = {
    "ticks": lambda: ticks(1_000_000),
    "keys": lambda: ticks(1_000_000, stocks=1000),
    "few": lambda: ticks(200_000),
    "market": lambda: market.ticks(1_000_000),
}


def work() -> None:
    """Run each case that is named on a line, and answer with the seconds that it took."""
    tables, queries = {}, {}
    for case in map(str.strip, sys.stdin):
        text, name = CASES[case]
        if name not in tables:
            tables[name] = TABLES[name]()
        if case not in queries:
            queries[case] = ac.query(text)
            queries[case].run(tables[name].slice(0, 1000))
        print(seconds(partial(queries[case].run, tables[name])), flush=True)


def worker(folder: Path) -> subprocess.Popen[str]:
    """A process that runs the sources in a folder."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    command = [sys.executable, str(Path(__file__)), "--work"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def asked(process: subprocess.Popen[str], case: str) -> float:
    """How long a case took there."""
    assert process.stdin is not None and process.stdout is not None
    print(case, file=process.stdin, flush=True)
    return float(process.stdout.readline())


def main(other: Path, only: str = "") -> None:
    """Print the ratios."""
    heading(f"this checkout against {other}, the shortest of {ROUNDS} runs each")
    both = worker(HERE), worker(other)
    for case in CASES:
        if only not in case:
            continue
        runs = [[asked(each, case) for each in both] for _ in range(ROUNDS)]
        here, there = (min(times) for times in zip(*runs, strict=True))
        line(case, here / there, "times", at_most=MOST, note=f"{here * 1e3:.0f} and {there * 1e3:.0f} ms")
    for each in both:
        each.communicate()


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        work()
    elif len(sys.argv) in (2, 3):
        main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
    else:
        sys.exit(f"usage: {sys.argv[0]} FOLDER [PART OF A NAME]")

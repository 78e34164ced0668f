"""How long the first use takes in a fresh process: with numba's cache warm, and with nothing compiled yet."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from measuring import heading, line

QUERIES = {
    "three steps": "MATCH SELL AS a ; BUY AS b ; SELL AS c WITHIN 5 EVENTS",
    "with registers": "MATCH SELL AS a ; BUY AS b FILTER a.price < b.price WITHIN 5 EVENTS",
}
BESIDE = "import numba, numpy, pyarrow.compute"
PROGRAM = """
import sys, time
begin = time.perf_counter()
import acelera as ac
imported = time.perf_counter()
rows = [{"type": "SELL" if i % 3 else "BUY", "price": 100.0 + i * 37 % 100} for i in range(1000)]
made = time.perf_counter()
found = ac.query(sys.argv[1]).run(rows).num_rows
done = time.perf_counter()
print(f"import {imported - begin:.2f} s, query and run {done - made:.2f} s, {found:,} matches")
"""


def fresh(cache: str, *arguments: str) -> tuple[float, str, str]:
    """Run a program in a process of its own, whose compiled kernels are in a folder; seconds and what it printed."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - begin, done.stdout.strip(), done.stderr.strip()


def main() -> None:
    """Print the times."""
    heading("import acelera, compile a query and run it on 1,000 events: a whole process, with an empty cache")
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        caches = dict(zip(QUERIES, (first, second), strict=True))
        for name, text in QUERIES.items():
            taken, printed, said = fresh(caches[name], PROGRAM, text)
            line(f"{name}, cold", taken, "seconds", at_most=30, note=printed)
            print(f"    on stderr: {said or '(nothing)'}")
        heading(f"the same with a warm cache, best of five, and a process that does: {BESIDE}")
        works = {"beside": (first, BESIDE), **{name: (caches[name], PROGRAM, QUERIES[name]) for name in QUERIES}}
        runs = [{name: fresh(*given) for name, given in works.items()} for _ in range(5)]
        beside = min(run["beside"][0] for run in runs)
        for name in QUERIES:
            taken, printed, said = min(run[name] for run in runs)
            note = f"{taken / beside:.1f} times the imports; {printed}{'; on stderr: ' + said if said else ''}"
            line(f"{name}, warm", taken, "seconds", at_most=2, note=note)


if __name__ == "__main__":
    main()

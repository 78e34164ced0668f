"""What benchmarks share: the shortest of several runs, taken in turns; lines that say whether a bar holds; memory."""

from __future__ import annotations

import gc
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

Argument = TypeVar("Argument")


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes. Garbage is collected before, not meanwhile."""
    gc.collect()
    gc.disable()
    try:
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin
    finally:
        gc.enable()


LONG = 10.0
"""What takes longer than so many seconds is not repeated."""


def in_turns(works: Mapping[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """The shortest of several runs of each, in turns, so that a noisy moment strikes all of them alike."""
    best = {name: seconds(work) for name, work in works.items()}
    again = {name: work for name, work in works.items() if best[name] < LONG}
    for _ in range(rounds):
        for name, work in again.items():
            best[name] = min(best[name], seconds(work))
    return best


def heading(text: str) -> None:
    """A line above others."""
    print(f"\n{text}", flush=True)


def line(
    name: str,
    value: float,
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    note: str = "",
) -> None:
    """Print a measurement and, if there is a bar, whether it holds."""
    bar = ""
    if at_most is not None:
        bar = f"at most {at_most:,g}: {'holds' if value <= at_most else 'MISSED'}"
    elif at_least is not None:
        bar = f"at least {at_least:,g}: {'holds' if value >= at_least else 'MISSED'}"
    digits = 2 if value < 100 else 0
    print(f"  {name:<46} {value:>9,.{digits}f} {unit:<26} {bar:<22} {note}".rstrip(), flush=True)


def peak() -> int:
    """The most bytes of this process that ever were in memory."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def apart(work: Callable[[Argument], None], argument: Argument) -> None:
    """Run in a fresh process."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=(argument,))
    process.start()
    process.join()

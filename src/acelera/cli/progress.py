"""How far a run is: a live line on a terminal, now and then a line where there is none, or nothing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from acelera.cli.printing import tell, visible

EVERY = 5.0
"""Seconds between two lines."""


class Progress:
    """What is being done, how much of it is done, and since when."""

    def __init__(self) -> None:
        self.started = self._since = time.monotonic()
        self.doing, self.unit, self.what = "starting", "events", "match"
        self.done, self.total, self.matches = 0, 0, 0

    def begin(self, doing: str, total: int = 0, unit: str = "events") -> None:
        """A new stretch of work; the total is 0 if it is not known."""
        self.doing, self.unit, self.done, self.total, self._since = doing, unit, 0, total, time.monotonic()
        self.show()

    def advance(self, more: int, matches: int = 0) -> None:
        """So much more of it is done."""
        self.done += more
        self.matches += matches
        self.show()

    def reach(self, done: int, total: int) -> None:
        """So much of it is done now."""
        self.done, self.total = done, total
        self.show()

    def say(self, line: str) -> None:
        """A line that stays."""

    def show(self) -> None:
        """Bring it before the user's eyes."""

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def line(self) -> str:
        """All of it in a line."""
        spent = time.monotonic() - self._since
        parts = [self.doing]
        if self.done or self.total:
            parts[0] += f": {self.done:,}" + (f" of {self.total:,}" if self.total else "") + f" {self.unit}"
        if self.matches:
            parts.append(count(self.matches, self.what))
        if self.done and self.unit == "events" and spent > 0.5:
            parts.append(f"{self.done / spent:,.0f} a second")
        parts.append(f"{self.elapsed:.0f} s")
        if 0 < self.done < self.total and spent > 1:
            parts.append(f"{spent / self.done * (self.total - self.done):.0f} s left")
        return ", ".join(parts)


class _Lines(Progress):
    """A line on standard error every few seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = self.started

    def say(self, line: str) -> None:
        tell(line)

    def show(self) -> None:
        if time.monotonic() - self._shown >= EVERY:
            self._shown = time.monotonic()
            tell(self.line)


class _Live(Progress):
    """A line that changes, with a bar where the end is known."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._spinner = Spinner("dots")
        self._live = Live(get_renderable=self._drawn, console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> _Live:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, line: str) -> None:
        self._live.console.print(Text(visible(line)))

    def _drawn(self) -> RenderableType:
        grid = Table.grid(padding=(0, 1))
        bar = [ProgressBar(self.total, self.done, width=16)] if self.total else []
        grid.add_row(self._spinner, *bar, Text(visible(self.line), no_wrap=True, overflow="ellipsis"))
        return grid


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """What fits standard error."""
    if quiet:
        yield Progress()
    elif sys.stderr.isatty():
        # A file of its own: standard error is led elsewhere while a JVM starts.
        with open(os.dup(2), "w", encoding="utf-8") as file, _Live(Console(file=file)) as live:
            yield live
    else:
        yield _Lines()


def count(number: int, what: str) -> str:
    """A number of things.

    >>> count(1, "match"), count(12000, "event")
    ('1 match', '12,000 events')
    """
    plural = "es" if what.endswith("ch") else "s"
    return f"{number:,} {what}{'' if number == 1 else plural}"


def told_beside(counts: Mapping[str, int]) -> list[str]:
    """Counts that are told only if there are any.

    >>> told_beside({"late": 2, "tied": 0, "dropped": 1200})
    ['2 late', '1,200 dropped']
    """
    return [f"{number:,} {what}" for what, number in counts.items() if number]

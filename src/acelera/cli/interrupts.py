"""Ctrl-C: a program ends at once, says so in a line, and leaves nothing half-done behind.

As an exception, it would come at any moment, also inside of compiled code and of libraries that call Python back, where
it turns into another one or gets lost. So a program of acelera raises none, but where it waits for Spark.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from acelera.files import undo_unfinished

INTERRUPTED = 130
"""The exit code."""

_CLEAR_LINE, _SHOW_CURSOR = b"\r\x1b[2K", b"\x1b[?25h"


def end_on_interrupt() -> None:
    """From now on Ctrl-C ends the process; not if it is to be ignored, as in the background."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(_: int, __: FrameType | None) -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        undo_unfinished()
        os.write(2, (_CLEAR_LINE + _SHOW_CURSOR if os.isatty(2) else b"") + b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """For a while, Ctrl-C is an exception: what works elsewhere is to be told."""
    before = signal.getsignal(signal.SIGINT)
    if before is not _end:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

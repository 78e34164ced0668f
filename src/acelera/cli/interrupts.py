"""Ctrl-C, and SIGTERM: a program ends at once, says so in a line, and leaves nothing half-done behind.

As an exception, it would come at any moment, also inside of compiled code and of libraries that call Python back, where
it turns into another one or gets lost. So a program of acelera raises none, but where it waits for Spark.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from acelera.files import undo_unfinished

INTERRUPTED, TERMINATED = 130, 143
"""The exit codes."""

_ENDS = {signal.SIGINT: (INTERRUPTED, b"interrupted\n"), signal.SIGTERM: (TERMINATED, b"terminated\n")}
_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
_CLEAR_LINE, _SHOW_CURSOR = b"\r\x1b[2K", b"\x1b[?25h"


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, as an exception."""


def end_on_interrupt() -> None:
    """From now on Ctrl-C and SIGTERM end the process; not if they are to be ignored, as in the background."""
    for each, usual in _USUAL.items():
        if signal.getsignal(each) is usual:
            signal.signal(each, _end)


def _end(number: int, _: FrameType | None) -> None:
    code, told = _ENDS[signal.Signals(number)]
    try:
        for each in _ENDS:
            signal.signal(each, signal.SIG_IGN)
        undo_unfinished()
        os.write(2, (_CLEAR_LINE + _SHOW_CURSOR if os.isatty(2) else b"") + told)
    finally:
        os._exit(code)


def _raise_terminated(_: int, __: FrameType | None) -> NoReturn:
    raise TerminatedError


_RAISING = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _raise_terminated}


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """For a while, Ctrl-C and SIGTERM are exceptions: what works elsewhere is to be told."""
    ending = [each for each in _ENDS if signal.getsignal(each) is _end]
    for each in ending:
        signal.signal(each, _RAISING[each])
    try:
        yield
    finally:
        for each in ending:
            signal.signal(each, _end)

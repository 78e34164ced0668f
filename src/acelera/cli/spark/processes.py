"""The processes that Spark starts: none is left behind if it does not come up, or does not go down."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_launched: list[subprocess.Popen[bytes]] = []


class _Recorded(subprocess.Popen):  # type: ignore[type-arg]  # as Spark calls it, it gives bytes
    """A process with a group of its own, so that all that it starts can be ended with it."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **{**options, "start_new_session": True})
        _launched.append(self)


@contextmanager
def launched_or_ended() -> Iterator[None]:
    """What Spark launches is known here; if something goes wrong, or Ctrl-C is pressed, it ends at once."""
    from pyspark import java_gateway

    usual = java_gateway.Popen
    java_gateway.Popen = _Recorded
    try:
        yield
    except BaseException:
        _end_all()
        raise
    finally:
        java_gateway.Popen = usual


def _end_all() -> None:
    """Spark is told, too, that there is nothing to talk to any more."""
    from pyspark import SparkContext

    while _launched:
        process = _launched.pop()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None

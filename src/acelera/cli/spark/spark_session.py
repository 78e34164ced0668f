"""The Spark that a run uses: one that is there, one that the environment names, or one of its own."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from acelera.cli.group import LackingError
from acelera.cli.interrupts import interrupts_raised
from acelera.cli.spark.processes import launched_or_ended
from acelera.spark.floods import MARK

OPTIONS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # the usual INT96 does not tell that it is in UTC
    "spark.sql.legacy.javaCharsets": "true",  # else it knows no cp1252
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
"""What a run needs; a session that was there before gets its own settings back."""

_AT_START = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}

PACKAGES = "pip install 'pyspark>=4.0,<4.4' 'pandas>=2.2,<3' 'protobuf>=5'"
"""What installs it, wherever acelera was installed from."""

_OTHERWISE = "or run it without Spark: --in-process"


@contextmanager
def session(debug: bool) -> Iterator[Any]:
    """A Spark session; it is stopped afterwards if it was started here."""
    _require()
    from pyspark.sql import SparkSession

    there = SparkSession.getActiveSession()
    with interrupts_raised(), _logging(debug):
        if there is not None:
            with with_options(there, OPTIONS):
                yield there
            return
        with launched_or_ended():
            started = _start(debug)
        try:
            yield started
        finally:
            with launched_or_ended():
                started.stop()


def starts_here() -> bool:
    """Whether a session would be started on this machine for the time of a run, which takes many seconds."""
    if importlib.util.find_spec("pyspark") is None:
        return False
    from pyspark.sql import SparkSession

    elsewhere = any(name in os.environ for name in ("SPARK_REMOTE", "MASTER", "PYSPARK_GATEWAY_PORT"))
    return not elsewhere and SparkSession.getActiveSession() is None


@contextmanager
def _logging(debug: bool) -> Iterator[None]:
    """Spark logs exceptions in Python before it raises them."""
    before = logging.root.manager.disable
    logging.disable(before if debug else logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def with_options(spark: Any, options: dict[str, str]) -> Iterator[None]:
    """Set options of a session for a while."""
    before = {name: spark.conf.get(name) for name in options}
    for name, value in options.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def is_classic(spark: Any) -> bool:
    """Whether this is a session in a JVM of its own, not one of Spark Connect."""
    return ".connect." not in type(spark).__module__


def _require() -> None:
    if importlib.util.find_spec("pyspark") is None:
        raise LackingError(f"there is no pyspark; install what Spark needs with `{PACKAGES}`, {_OTHERWISE}")
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", "java").exists() if home else shutil.which("java") is not None
    if not found and "SPARK_REMOTE" not in os.environ:
        where = f"JAVA_HOME is {home}, where there is none" if home else "none is on the PATH"
        raise LackingError(
            f"Spark needs Java 17 or newer, and {where}. Install it (on Debian: "
            f"`apt install openjdk-17-jre-headless`), {_OTHERWISE}"
        )


def _start(debug: bool) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("acelera")
    for name, value in {**OPTIONS, **(_AT_START if "SPARK_REMOTE" not in os.environ else {})}.items():
        builder = builder.config(name, value)
    with tempfile.TemporaryFile() as log:
        try:
            if debug:
                return builder.getOrCreate()
            with _standard_error_into(log):
                found = builder.getOrCreate()
            _heard.listen_to(log)
            return found
        except (PySparkException, RuntimeError, OSError) as error:
            log.seek(0)
            raise _does_not_start(log.read().decode("utf-8", "replace"), error) from None


class _Heard:
    """What a JVM and its workers have printed: of it only what is meant for the user is of interest."""

    def __init__(self) -> None:
        self._log: int | None = None
        self._at = 0

    def listen_to(self, log: IO[bytes]) -> None:
        """From here on it is printed there, to the end of this process."""
        self._at, self._log = log.seek(0, os.SEEK_END), os.dup(log.fileno())

    def warnings(self) -> list[str]:
        """The warnings that workers have printed since this was asked before."""
        if self._log is None:
            return []
        whole, _, _ = os.pread(self._log, 1 << 20, self._at).rpartition(b"\n")
        self._at += len(whole)
        lines = whole.decode("utf-8", "replace").splitlines()
        return [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]


_heard = _Heard()


def warnings_of_workers() -> list[str]:
    """What workers on this machine have warned of since this was asked before; elsewhere it is in their logs."""
    return _heard.warnings()


def _does_not_start(log: str, error: Exception) -> LackingError:
    """The reason, out of what was printed by what did not start."""
    remote = os.environ.get("SPARK_REMOTE")
    if remote is not None:
        return LackingError(f"the Spark that SPARK_REMOTE names, {remote}, does not answer: {error}")
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if "Exception" in line or "Error" in line] or lines[:1] or [str(error)]
    return LackingError(f"Spark does not start: {telling[0].rstrip('.')}. It needs Java 17 or newer; {_OTHERWISE}")


@contextmanager
def _standard_error_into(log: IO[bytes]) -> Iterator[None]:
    """A JVM that starts now prints there as long as it lives, and so do its workers: failures come as exceptions."""
    sys.stderr.flush()
    saved = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)

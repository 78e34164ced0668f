"""What went wrong on Spark, in a line."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from acelera import errors
from acelera.cli.group import LackingError
from acelera.errors import AceleraError, DataError

_OURS = re.compile(r"acelera\.errors\.(\w+): (.+?)(?=\s+SQLSTATE: |\n\s*at |\n\s*\n|\n\S*Traceback|\s*\Z)", re.DOTALL)
_CONDITION = re.compile(r"\[([A-Z_]+(?:\.[A-Z_]+)*)\] ([^\n]+)")
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (.+?)(?= SQLSTATE: |\n|\Z)")
"""What a query that the JVM runs alone finds wrong with rows."""

_CAUSE = re.compile(r"^(?:Caused by)?: (?:[\w$]+\.)+[\w$]+: ([^\n]+)", re.MULTILINE)
_FILE = re.compile(r"while reading file (\S+?)\.?\s")
_SENTENCE = re.compile(r"\.? SQLSTATE: |\.\s")
_NAMES = re.compile(
    r"CSV header does not conform to the schema\.\s+Header: (.+)\s+Schema: (.+)\s[\s\S]*?CSV file: (\S+)"
)
"""What Spark says of a line of names that is not that of the other files."""

_FULL = os.strerror(errno.ENOSPC)
_WRAPPERS = ("STREAM_FAILED", "FAILED_READ_FILE", "TASK_WRITE_FAILED", "JOB_", "CANNOT_READ_FILE_FOOTER")
"""Conditions that only say that there is another one."""


@contextmanager
def told_in_short() -> Iterator[None]:
    """Exceptions of Spark become errors with one line; its interruptions, and errors of acelera, stay what they are."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.", "grpc.")):
            raise
        if _FULL in str(error):
            raise LackingError(f"Spark: {_FULL}") from error
        raise in_short(str(error)) from error


def in_short(text: str) -> AceleraError:
    """The error of acelera that a worker raised, from all that Spark says about it; or else the gist of that.

    >>> in_short("Job aborted … Traceback …\\nacelera.errors.DataError: rows 1 and 2 tie\\n\\n\\tat org.apache.spark…")
    DataError('rows 1 and 2 tie')
    """
    ours = _OURS.search(text)
    if ours is not None:
        return _class(ours[1])(ours[2].strip())
    raised = _RAISED.search(text)
    if raised is not None:
        return DataError(raised[1])
    names = _NAMES.search(text)
    if names is not None:
        return DataError(
            f"the names of columns in {names[3]}, {names[1]}, are not those of the other files, {names[2]}"
        )
    if "TIMESTAMP(NANOS" in text:
        return DataError(
            f"Spark reads no times in nanoseconds, as pandas writes them{_file(text)}. Write them in microseconds, "
            "df.to_parquet(…, coerce_timestamps='us', allow_truncated_timestamps=True), or read them here: --in-process"
        )
    conditions = [(name, told) for name, told in _CONDITION.findall(text) if not name.startswith(_WRAPPERS)]
    if conditions:
        name, told = conditions[-1]
        return DataError(f"Spark: {_with_file(told, text)} [{name}]")
    reasons = _CAUSE.findall(text) or text.strip().splitlines()[:1] or ["no reason given"]
    return DataError(f"Spark: {_with_file(reasons[-1], text)}; --debug shows all")


def _class(name: str) -> type[AceleraError]:
    """The class of an error; those of queries are made of more than a text."""
    found = getattr(errors, name, DataError)
    return DataError if issubclass(found, errors.QueryError) else found


def _with_file(told: str, text: str) -> str:
    """The first sentence of a reason, and the file that was being read if it does not name one."""
    sentence = _SENTENCE.split(told)[0]
    return sentence if "file:" in sentence else f"{sentence}{_file(text)}"


def _file(text: str) -> str:
    """The file that was being read, if there was one."""
    found = _FILE.search(text)
    return "" if found is None else f" in {found[1]}"

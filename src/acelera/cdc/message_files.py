"""Files with a message of Debezium a line, packed or not; blank lines are no messages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from acelera.cdc.rows import Held, Numbers
from acelera.errors import DataError, SchemaError, UsageError, listing
from acelera.files import reason

_MARK = b"\xef\xbb\xbf"
"""What some programs begin a text in UTF-8 with."""
_LOOKED_AT = 1000


def messages_in(files: Sequence[str | Path], value: str, needed: bool) -> Held:
    """The lines of files as a column of texts; each is told by its file and its number.

    If messages are `needed`, since nothing else tells their types, there must be one.
    """
    lines: list[bytes] = []
    places: list[tuple[str, Numbers]] = []
    for file in files:
        found = _content(file).splitlines()
        kept = [number for number, line in enumerate(found, 1) if line.strip()]
        lines += [found[number - 1] for number in kept]
        places.append((str(file), np.array(kept, np.int64)))
    if needed and not lines:
        raise SchemaError(
            f"there is no message in {listing([str(file) for file in files])}, so the columns of the table are not "
            "known; give schema=…"
        )
    table = pa.table({value: pa.array(lines, pa.binary())})
    return Held(table.schema, tables=lambda: iter([table]), whole=True, named=lambda number: _named(number, places))


def _named(number: int, places: Sequence[tuple[str, Numbers]]) -> str:
    for file, numbers in places:
        if number <= len(numbers):
            return f"{file}, line {numbers[number - 1]}"
        number -= len(numbers)
    raise IndexError(number)


def _content(file: str | Path) -> bytes:
    """What is in a file of texts."""
    try:
        with pa.input_stream(str(file), compression="detect") as stream:
            found: bytes = stream.read().removeprefix(_MARK)
    except OSError as error:
        raise UsageError(f"the file {file} cannot be read: {reason(error)}") from None
    if b"\0" in found[:_LOOKED_AT] or found.startswith(b"PAR1"):
        raise DataError(f"{file} is not JSON lines; read it with pyarrow and pass the table")
    if found.lstrip().startswith(b"["):
        raise DataError(
            f"{file} has to have one message a line; this looks like a JSON array: write each of its messages into a "
            "line of its own, or pass the list that json.load(…) reads"
        )
    return found

"""Where the tables that a program makes go: a folder with a file for each, or the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from rich.text import Text

from acelera.cli.outputs import Output, file_writer, written
from acelera.cli.printing import visible
from acelera.cli.progress import count
from acelera.cli.terminal_tables import console, table_of

SHOWN = 20
"""How many rows of a table are shown, if nothing is said."""

Tables = Mapping[str, pa.Table]


# --- files ------------------------------------------------------------------------------------------------------------


def file_stem(label: str) -> str:
    """The name of the file for a label, which may hold anything.

    >>> file_stem("burnt_down"), file_stem("a/b: c"), file_stem("..")
    ('burnt_down', 'a%2Fb%3A%20c', '%2E.')
    """
    return re.sub(r"[^\w.-]|^\.", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), label)


def file_stems(labels: Iterable[str]) -> dict[str, str]:
    """The names of all files, which differ in more than case: there are disks that do not tell it apart.

    >>> file_stems(["running", "Running"])
    {'running': 'running', 'Running': 'Running~2'}
    """
    found: dict[str, str] = {}
    taken: dict[str, int] = {}
    for label in labels:
        stem = file_stem(label)
        taken[stem.casefold()] = times = taken.get(stem.casefold(), 0) + 1
        found[label] = stem if times == 1 else f"{stem}~{times}"
    return found


def write_tables(found: Tables, output: Output, limit: int | None) -> None:
    """A folder with a file for each table; it is complete or not there."""
    with written(output) as folder:
        folder.mkdir()
        for label, stem in file_stems(found).items():
            path = folder / f"{stem}.{output.format}"
            with file_writer(path, output.format, found[label].schema) as write:
                for batch in found[label].slice(0, limit).to_batches():
                    write(batch)


def told_files(found: Tables, output: Output, limit: int | None, what: str, rows: str) -> list[dict[str, Any]]:
    """What was written: `what` is what tables stand for, and `rows` what is in them."""
    folder = output.path.rstrip("/")
    return [
        {what: label, rows: found[label].slice(0, limit).num_rows, "file": f"{folder}/{stem}.{output.format}"}
        for label, stem in file_stems(found).items()
    ]


# --- the terminal -----------------------------------------------------------------------------------------------------


def show_tables(found: Tables, limit: int | None, row: str) -> None:
    """The first rows of each table; a `row` is called so."""
    screen, most = console(), limit or SHOWN
    for label, table in found.items():
        cut = f", the first {most:,}" if table.num_rows > most else ""
        screen.print(Text(visible(f"{label}: {count(table.num_rows, row)}{cut}")))
        if table.num_rows:
            screen.print(table_of(table.slice(0, most).to_pylist()))


def told_limit(found: Tables, limit: int | None, is_written: bool) -> str:
    """Whether there is more than is written or shown."""
    most = limit if is_written else limit or SHOWN
    if most is None or all(each.num_rows <= most for each in found.values()):
        return ""
    if is_written:
        return "; --limit leaves some out"
    return "; there are more: --limit shows more of them, -o writes all"

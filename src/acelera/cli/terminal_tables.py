"""Rows as a table on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from acelera.cells import cell
from acelera.cli.printing import visible


def console() -> Console:
    """Standard output: as wide as the terminal, or 110 characters where there is none."""
    return Console(width=None if sys.stdout.isatty() else 110)


def table_of(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table of rows, numbers to the right."""
    table = Table()
    for name in rows[0] if rows else []:
        table.add_column(Text(visible(name)), justify="right" if isinstance(rows[0][name], int | float) else "left")
    for row in rows:
        table.add_row(*(Text(visible(cell(value))) for value in row.values()))
    return table

"""In a notebook results show themselves: IPython is told how to show an Arrow table."""

from __future__ import annotations

import sys
from html import escape
from typing import Any

import pyarrow as pa

from acelera.cells import cell

SHOWN = 20
"""How many rows of a table are shown."""


def show_tables() -> None:
    """Tell IPython, if it runs, unless somebody else has."""
    known = sys.modules.get("IPython")
    shell: Any = known.get_ipython() if known is not None else None
    if shell is None:
        return
    html = shell.display_formatter.formatters["text/html"]
    try:
        html.lookup_by_type(pa.Table)
    except KeyError:
        html.for_type(pa.Table, table_html)


def table_html(table: pa.Table) -> str:
    """The first rows of a table.

    >>> table_html(pa.table({"a": [1]}))
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
    rows = table.slice(0, SHOWN).to_pylist()
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell(row[name]))}</td>' for name in row)}</tr>" for row in rows)
    more = f"<p>the first {SHOWN} of {table.num_rows:,} rows</p>" if table.num_rows > SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

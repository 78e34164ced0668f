"""`acelera demo`: three queries over a small table."""

from __future__ import annotations

from importlib.resources import files

import pyarrow as pa
import pyarrow.csv
from rich.console import Console

from acelera.cli.group import main
from acelera.cli.tables import console, table_of
from acelera.query import Query, query


@main.command(short_help="See it find things in a small table.")
def demo() -> None:
    """Run three queries over a small table of stock ticks that comes with the package.

    \b
    Example:
      acelera demo
    """
    folder, screen = files("acelera.demo"), console()
    ticks = pa.csv.read_csv(pa.BufferReader(folder.joinpath("ticks.csv").read_bytes()))
    screen.print(f"[bold]{ticks.num_rows} ticks of a market morning[/bold], in order of ts:")
    screen.print(table_of(ticks.slice(0, 6).to_pylist()), "…")
    for each in sorted(item.name for item in folder.iterdir() if item.name.endswith(".acel")):
        text = folder.joinpath(each).read_text(encoding="utf-8")
        _show(screen, query(text), text, ticks)


def _show(screen: Console, shown: Query, text: str, ticks: pa.Table) -> None:
    screen.rule()
    screen.print(text.strip(), style="cyan", highlight=False, markup=False)
    result = shown.run(ticks, order_by="ts")
    screen.print(f"[bold]{result.num_rows} matches[/bold]" + (", the first ten:" if result.num_rows > 10 else ":"))
    screen.print(table_of(result.slice(0, 10).to_pylist()))

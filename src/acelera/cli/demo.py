"""`acelera demo`: three queries over a market day."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.text import Text

from acelera.cli.group import main
from acelera.cli.outputs import not_written, page_written
from acelera.cli.printing import visible
from acelera.cli.progress import progress
from acelera.cli.terminal_tables import console, table_of
from acelera.demo.market import ticks
from acelera.files import beside
from acelera.query import Query, query

SHOWN = 8
"""How many rows of a result are printed."""


@main.command(short_help="See it find things in a market day.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default="acelera-demo",
    show_default=True,
    help="The folder for the ticks and the pages.",
)
@click.option(
    "--events", type=click.IntRange(1, 10_000_000), default=100_000, show_default=True, help="How many ticks."
)
@click.option("--in-process", is_flag=True, help="Without Spark.")
@click.option("--debug", is_flag=True, help="Show what Spark prints.")
def demo(output: Path, events: int, in_process: bool, debug: bool) -> None:
    """Make up a market day, run three queries over it on Spark, and write a page about each.

    \b
    Example:
      acelera demo --events 100000
    """
    screen = console()
    output.mkdir(parents=True, exist_ok=True)
    path = output / "ticks.parquet"
    day = ticks(events)
    _write(day, path)
    screen.print(Text.assemble((f"{events:,} ticks of a market day", "bold"), visible(f", in order of ts ({path}):")))
    screen.print(table_of(day.slice(0, 5).to_pylist()), "…")
    with _source(path, in_process, debug) as source:
        pages = [_show(screen, name, source, output) for name in _names()]
    screen.rule()
    screen.print("[bold]A page for each query[/bold], to look at in a browser:")
    for page in pages:
        screen.print(f"  {page.resolve().as_uri()}", soft_wrap=True, highlight=False, markup=False)


def _write(day: pa.Table, path: Path) -> None:
    try:
        with beside(path) as partial:
            pq.write_table(day, partial)
    except OSError as error:
        raise not_written(path, error) from error


def _names() -> list[str]:
    return sorted(each.name for each in files("acelera.demo").iterdir() if each.name.endswith(".acel"))


@contextmanager
def _source(path: Path, in_process: bool, debug: bool) -> Iterator[Any]:
    """The ticks as a table, or as a frame of a Spark that ends with it."""
    if in_process:
        yield pq.read_table(path)
        return
    from acelera.cli.spark.spark_session import session

    with ExitStack() as stack:
        with _doing("starting Spark"):
            frame = stack.enter_context(session(debug)).read.parquet(str(path.resolve()))
        yield frame


@contextmanager
def _doing(what: str) -> Iterator[None]:
    with progress(quiet=False) as shown:
        shown.begin(what)
        yield


def _show(screen: Console, name: str, source: Any, output: Path) -> Path:
    """Run a query, print its first matches, and write its page."""
    text = files("acelera.demo").joinpath(name).read_text(encoding="utf-8")
    asked, page = query(text), output / f"{Path(name).stem}.html"
    screen.rule()
    screen.print(text.strip(), style="cyan", highlight=False, markup=False)
    screen.print(
        "\n".join(asked.explain(source, order_by="ts").split("\n\n")[-1].splitlines()[1:]), style="dim", markup=False
    )
    with _doing(f"running {name} (the first query of an installation compiles the engine)"):
        count, first = _found(asked, source)
    screen.print(f"[bold]{count:,} matches[/bold]" + (f", the first {SHOWN}:" if count > SHOWN else ":"))
    screen.print(table_of(first))
    with _doing(f"writing {page}"), page_written():
        return asked.report(source, page, order_by="ts")


def _found(asked: Query, source: Any) -> tuple[int, list[dict[str, Any]]]:
    """How many matches there are, and the first of them."""
    result = asked.run(source, order_by="ts")
    if not isinstance(result, pa.Table):
        result = result.toArrow().sort_by("start_time")
    return result.num_rows, result.slice(0, SHOWN).to_pylist()

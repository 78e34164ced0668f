"""`acelera demo`: three queries over a market day, and programs over seven minutes in a building and a shop."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from acelera.demo.building import readings
from acelera.demo.market import ticks
from acelera.demo.shop import lines, sources
from acelera.errors import AceleraWarning
from acelera.files import beside
from acelera.query import Query, query

if TYPE_CHECKING:
    from acelera.xchangeeq.program import Program

SHOWN = 8
"""How many rows of a result are printed."""
SHOWN_OF_A_LABEL = 3

Read = Callable[[Path], Any]
"""A parquet file as a table, or as a Spark DataFrame; a text file as it is, or as a frame of its lines."""


@main.command(short_help="See it find things in a market day, a fire, and thieves.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default="acelera-demo",
    show_default=True,
    help="The folder for the data and the pages.",
)
@click.option(
    "--events", type=click.IntRange(1, 10_000_000), default=100_000, show_default=True, help="How many ticks."
)
@click.option("--in-process", is_flag=True, help="Without Spark.")
@click.option("--debug", is_flag=True, help="Show what Spark prints.")
def demo(output: Path, events: int, in_process: bool, debug: bool) -> None:
    """Make up a market day, run three queries over it on Spark, and write a page about each.

    Then run a program, whose rules make events of events, over what sensors in a building tell while its kitchen burns,
    and one over the changes in the database of a shop, which writes alerts into a table.

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
    with _reader(in_process, debug) as read:
        source = read(path)
        pages = [_show(screen, name, source, output) for name in _names()]
        pages.append(_show_program(screen, "fire.xceq", read, output))
        pages.append(_show_changes(screen, "shop.trepl", read, output))
    screen.rule()
    screen.print("[bold]A page for each query and each program[/bold], to look at in a browser:")
    for page in pages:
        screen.print(f"  {page.resolve().as_uri()}", soft_wrap=True, highlight=False, markup=False)


def _write(day: pa.Table, path: Path) -> None:
    try:
        with beside(path) as partial:
            pq.write_table(day, partial)
    except OSError as error:
        raise not_written(path, error) from error


def _text(name: str) -> str:
    return files("acelera.demo").joinpath(name).read_text(encoding="utf-8")


def _names() -> list[str]:
    return sorted(each.name for each in files("acelera.demo").iterdir() if each.name.endswith(".acel"))


@contextmanager
def _reader(in_process: bool, debug: bool) -> Iterator[Read]:
    """Files become tables, or frames of a Spark that ends with it."""
    if in_process:
        yield lambda path: pq.read_table(path) if path.suffix == ".parquet" else path
        return
    from acelera.cli.spark.spark_session import session

    with ExitStack() as stack:
        with _doing("starting Spark"):
            spark = stack.enter_context(session(debug))
        formats = {".parquet": spark.read.parquet, ".jsonl": spark.read.text}
        yield lambda path: formats[path.suffix](str(path.resolve()))


@contextmanager
def _doing(what: str) -> Iterator[None]:
    with progress(quiet=False) as shown:
        shown.begin(what)
        yield


def _show(screen: Console, name: str, source: Any, output: Path) -> Path:
    """Run a query, print its first matches, and write its page."""
    text = _text(name)
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


def _show_program(screen: Console, name: str, read: Read, output: Path) -> Path:
    """Run a program, print some events of each label that it makes, and write its page."""
    from acelera.xchangeeq.program import xchangeeq

    path, page, events = output / "readings.parquet", output / f"{Path(name).stem}.html", readings()
    _write(events, path)
    screen.rule()
    screen.print(_text(name).strip(), style="cyan", highlight=False, markup=False)
    screen.print(Text.assemble((f"{events.num_rows:,} events in a building", "bold"), visible(f" ({path}):")))
    screen.print(table_of(events.slice(0, 5).to_pylist()), "…")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AceleraWarning)  # of windows in which events lie that happen at a moment
        program = xchangeeq(_text(name))
        with _doing(f"running {name}"):
            found = _derived(program, read(path))
        for label, table in found.items():
            more = f", the first {SHOWN_OF_A_LABEL}:" if table.num_rows > SHOWN_OF_A_LABEL else ":"
            screen.print(Text.assemble((f"{label}: {table.num_rows:,} events", "bold"), more))
            screen.print(table_of(table.slice(0, SHOWN_OF_A_LABEL).to_pylist()))
        with _doing(f"writing {page}"), page_written():
            return program.report(events, page)


def _derived(program: Program, source: Any) -> dict[str, pa.Table]:
    """What a program derives, in order of end, whatever it was run on."""
    found: dict[str, Any] = program.run(source)
    return {
        label: each if isinstance(each, pa.Table) else each.toArrow().sort_by("end") for label, each in found.items()
    }


def _show_changes(screen: Console, name: str, read: Read, output: Path) -> Path:
    """Run a program over changes, print the alerts that it wrote into a table, and write its page."""
    from acelera.trepl.program import trepl

    path, page, text = output / "shop.jsonl", output / f"{Path(name).stem}.html", _text(name)
    messages = lines()
    _write_text(messages, path)
    screen.rule()
    screen.print(text.strip(), style="cyan", highlight=False, markup=False)
    told = f"{messages.count(chr(10)):,} messages of Debezium from the database of a shop"
    screen.print(Text.assemble((told, "bold"), visible(f" ({path})")))
    program = trepl(text)
    with (
        _doing(f"writing {page}"),
        page_written(),
    ):  # first, so that kernels are compiled once
        written = program.report(sources(path), page)
    with _doing(f"running {name}"), _alerts(output / "shop.db") as alerts:
        program.run(sources(read(path)), database=output / "shop.db")
        rows = alerts()
    screen.print(Text.assemble((f"{len(rows):,} alerts", "bold"), visible(f" in {output / 'shop.db'}:")))
    screen.print(table_of(rows))
    return written


def _write_text(text: str, path: Path) -> None:
    try:
        with beside(path) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise not_written(path, error) from error


@contextmanager
def _alerts(path: Path) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """A database with a table for alerts, made if it is not there, and what is in it."""
    with closing(sqlite3.connect(path)) as database:
        with database:
            database.execute("create table if not exists alerts(kind text, customer integer, number integer, at text)")

        def rows() -> list[dict[str, Any]]:
            found = database.execute("select * from alerts order by kind, number")
            return [dict(zip(("kind", "customer", "number", "at"), row, strict=True)) for row in found]

        yield rows

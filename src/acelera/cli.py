"""The command line: acelera check | explain | draw | demo."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

from acelera import __version__
from acelera.errors import AceleraError, SchemaError
from acelera.query import Query, query


class _Group(click.Group):
    """Errors of acelera are messages, not tracebacks; the exit code is 1."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except AceleraError as error:
            click.echo(f"error: {error}", err=True)
            context.exit(1)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Find complex events in ordered tables.

    Exit codes: 0, all is well; 1, a query, schema or table is wrong; 2, the command line is wrong.
    """


@main.command()
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option(
    "--schema",
    "schema_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Columns and their types: a JSON file, or a parquet file whose schema is read.",
)
@click.option("--order-by", help="The columns that order the events, separated by commas.")
@click.option("--type-column", default="type", show_default=True, help="The column that tells an event's type.")
@click.option("--event-type", help="The type of all events, if there is no type column.")
def check(file: Any, schema_file: Path | None, order_by: str | None, type_column: str, event_type: str | None) -> None:
    """Check the query in FILE (- for standard input), against a schema if one is given.

    \b
    Example:
      acelera check examples/rise.acel --schema examples/stocks.json --order-by ts
    """
    name = getattr(file, "name", "query")
    checked, result = query(_read(file)), None
    if schema_file is not None:
        result = checked.check(
            _read_schema(schema_file),
            order_by=[name.strip() for name in order_by.split(",")] if order_by else None,
            type_column=type_column,
            event_type=event_type,
        )
    click.echo(f"{name}: ok\n\n{checked}\n")
    _echo_pairs("variables", checked.variables)
    if result is not None:
        _echo_pairs("result", {column.name: str(column.type) for column in result})


def _echo_pairs(title: str, pairs: Mapping[str, str]) -> None:
    click.echo(f"{title}:")
    width = max((len(name) for name in pairs), default=0)
    for name, value in pairs.items():
        click.echo(f"  {name:<{width}}  {value}")


def _read_schema(path: Path) -> object:
    if path.suffix == ".parquet":
        try:
            return pa.parquet.read_schema(path)
        except pa.ArrowException as error:
            raise SchemaError(f"{path} is not a parquet file: {error}") from None
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SchemaError(f"{path} is neither JSON nor parquet: {error}") from None
    if not isinstance(described, dict):
        raise SchemaError(f'{path} must hold an object of columns and types, such as {{"price": "float"}}')
    return described


@main.command()
@click.argument("file", type=click.File("r", encoding="utf-8"))
def explain(file: Any) -> None:
    """Say what the query in FILE does: its variables, its automaton, what must be remembered.

    \b
    Example:
      acelera explain examples/rise.acel
    """
    click.echo(query(_read(file)).explain())


@main.command()
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("--format", "kind", type=click.Choice(["dot", "mermaid", "svg"]), default="dot", show_default=True)
@click.option(
    "-o", "--output", type=click.File("w", encoding="utf-8"), default="-", help="Where to write; standard output."
)
def draw(file: Any, kind: str, output: Any) -> None:
    """Draw the automaton of the query in FILE, as SVG or as text for Graphviz or Mermaid.

    \b
    Example:
      acelera draw examples/rise.acel --format mermaid
    """
    drawing = query(_read(file)).automaton.draw()
    output.write({"dot": lambda: drawing.dot, "mermaid": lambda: drawing.mermaid, "svg": drawing.svg}[kind]() + "\n")


def _read(file: Any) -> str:
    try:
        return str(file.read())
    except UnicodeDecodeError as error:
        raise AceleraError(f"{getattr(file, 'name', 'the file')} is not a text in UTF-8: {error}") from None


# --- demo ---------------------------------------------------------------------------------------------------------


@main.command()
def demo() -> None:
    """Run three queries over a small table of stock ticks that comes with the package.

    \b
    Example:
      acelera demo
    """
    folder = files("acelera.demo")
    ticks = pa.csv.read_csv(pa.BufferReader(folder.joinpath("ticks.csv").read_bytes()))
    console = Console(width=None if sys.stdout.isatty() else 110)
    console.print(f"[bold]{ticks.num_rows} ticks of a market morning[/bold], in order of ts:")
    console.print(_rich_table(ticks.slice(0, 6).to_pylist()), "…")
    for each in sorted(item.name for item in folder.iterdir() if item.name.endswith(".acel")):
        text = folder.joinpath(each).read_text(encoding="utf-8")
        _show(console, query(text), text, ticks)


def _show(console: Console, shown: Query, text: str, ticks: pa.Table) -> None:
    console.rule()
    console.print(text.strip(), style="cyan", highlight=False, markup=False)
    result = shown.run(ticks, order_by="ts")
    console.print(f"[bold]{result.num_rows} matches[/bold]" + (", the first ten:" if result.num_rows > 10 else ":"))
    console.print(_rich_table(result.slice(0, 10).to_pylist()))


def _rich_table(rows: list[dict[str, Any]]) -> Table:
    table = Table()
    for name in rows[0] if rows else []:
        table.add_column(name, justify="right" if isinstance(rows[0][name], int | float) else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    return table


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_cell(item) for item in value)
    if isinstance(value, float):
        return f"{value:.2f}"
    return "" if value is None else str(value)

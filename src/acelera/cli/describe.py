"""What can be said of a query without data: acelera check | explain | draw."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet

from acelera.cli.group import main
from acelera.cli.outputs import not_written, refuse_folder
from acelera.cli.printing import say, tell
from acelera.errors import AceleraError, SchemaError
from acelera.files import beside, is_special, reason
from acelera.query import query

QUERY = click.argument("file", metavar="QUERY", type=click.File("r", encoding="utf-8"))
SCHEMA = click.option(
    "--schema",
    "schema_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Columns and their types: a JSON file, or a parquet file whose schema is read.",
)
ORDER_BY = click.option("--order-by", help="The columns that order the events, separated by commas.")
TYPE_COLUMN = click.option(
    "--type-column", default="type", show_default=True, help="The column that tells an event's type."
)
EVENT_TYPE = click.option("--event-type", help="The type of all events, if there is no type column.")


@main.command(short_help="Check a query, against a schema if one is given.")
@QUERY
@SCHEMA
@ORDER_BY
@TYPE_COLUMN
@EVENT_TYPE
def check(file: Any, schema_file: Path | None, order_by: str | None, type_column: str, event_type: str | None) -> None:
    """Check the query in the file QUERY (- for standard input), against a schema if one is given.

    \b
    Example:
      acelera check examples/rise.acel --schema examples/stocks.json --order-by ts
    """
    name = getattr(file, "name", "query")
    checked, result = query(read_text(file)), None
    if schema_file is not None:
        result = checked.check(
            read_schema(schema_file),
            order_by=listed(order_by) or None,
            type_column=type_column,
            event_type=event_type,
        )
    say(f"{name}: ok\n\n{checked}\n")
    if not checked.automaton.transitions:
        tell("warning: nothing can match: parts of the query exclude each other")
    _echo_pairs("variables", checked.variables)
    if result is not None:
        _echo_pairs("result", {column.name: str(column.type) for column in result})


def _echo_pairs(title: str, pairs: Mapping[str, str]) -> None:
    say(f"{title}:")
    width = max((len(name) for name in pairs), default=0)
    for name, value in pairs.items():
        say(f"  {name:<{width}}  {value}")


@main.command(short_help="Say what a query does, and how it runs.")
@QUERY
@SCHEMA
@ORDER_BY
@TYPE_COLUMN
@EVENT_TYPE
def explain(
    file: Any, schema_file: Path | None, order_by: str | None, type_column: str, event_type: str | None
) -> None:
    """Say what the query in the file QUERY does: its variables, its automaton, what must be remembered.

    With a schema, also how the engine runs it. `acelera run … --explain` says it for given data.

    \b
    Example:
      acelera explain examples/rise.acel
    """
    schema = None if schema_file is None else read_schema(schema_file)
    say(
        query(read_text(file)).explain(
            schema, order_by=listed(order_by) or None, type_column=type_column, event_type=event_type
        )
    )


@main.command(short_help="Draw the automaton of a query.")
@QUERY
@click.option("--format", "kind", type=click.Choice(["dot", "mermaid", "svg"]), default="dot", show_default=True)
@click.option("-o", "--output", metavar="FILE", default="-", help="Where to write; standard output.")
def draw(file: Any, kind: str, output: str) -> None:
    """Draw the automaton of the query in the file QUERY. DOT, for Graphviz, and Mermaid are texts; SVG is a picture.

    \b
    Example:
      acelera draw examples/rise.acel --format mermaid
    """
    drawing = query(read_text(file)).automaton.draw()
    text = {"dot": lambda: drawing.dot, "mermaid": lambda: drawing.mermaid, "svg": drawing.svg}[kind]()
    if output == "-":
        say(text)
        return
    if Path(output).is_dir():
        raise click.UsageError(f"`{output}` is a folder; name the file of the picture")
    if not is_special(Path(output)):
        refuse_folder(Path(output))
    try:
        with beside(Path(output)) as partial:
            partial.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise not_written(output, error) from error


# --- arguments ----------------------------------------------------------------------------------------------------


def read_text(file: Any) -> str:
    """The text of a query."""
    try:
        return str(file.read())
    except UnicodeDecodeError as error:
        raise AceleraError(f"{getattr(file, 'name', 'the file')} is not a text in UTF-8: {error}") from None
    except OSError as error:
        raise AceleraError(f"{getattr(file, 'name', 'the file')} cannot be read: {reason(error)}") from None


def read_schema(path: Path) -> object:
    """Columns and types, as `Query.check` takes them."""
    if path.suffix == ".parquet":
        try:
            return pa.parquet.read_schema(path)
        except pa.ArrowException as error:
            raise SchemaError(f"{path} is not a parquet file: {error}") from None
        except OSError as error:
            raise SchemaError(f"{path} cannot be read: {reason(error)}") from None
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SchemaError(f"{path} is neither JSON nor parquet: {error}") from None
    except OSError as error:
        raise SchemaError(f"{path} cannot be read: {reason(error)}") from None
    if not isinstance(described, dict):
        raise SchemaError(f'{path} must hold an object of columns and types, such as {{"price": "float"}}')
    return described


def listed(names: str | None) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in (names or "").split(",") if name.strip()]

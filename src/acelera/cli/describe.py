"""What can be said of a query or a program without running it: acelera check | explain | draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from acelera.cli.arguments import listed, read_schema, read_text
from acelera.cli.group import main
from acelera.cli.options import (
    DATA,
    EVENT_TYPE,
    FORMAT,
    ORDER_BY,
    QUERY,
    SCHEMA,
    TYPE_COLUMN,
    how_files_are_read,
    sources_of_changes,
    times_of_events,
)
from acelera.cli.outputs import not_written, refuse_folder
from acelera.cli.printing import say, say_pairs, tell
from acelera.cli.program_or_query import language_in, refuse_options, refuse_reading
from acelera.files import beside, is_special
from acelera.query import query

PICTURES = {".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid", ".svg": "svg"}
"""The kinds of pictures by the endings of files."""


@main.command(short_help="Check a query or a program, against a schema if one is given.")
@QUERY
@DATA
@SCHEMA
@ORDER_BY
@TYPE_COLUMN
@EVENT_TYPE
@times_of_events
@sources_of_changes
@FORMAT
@how_files_are_read
@click.pass_context
def check(context: click.Context, /, **given: Any) -> None:
    """Check the query in the file QUERY (- for standard input), against a schema if one is given.

    If QUERY ends with .xceq, it is a program of rules. Its schema is that of one table with a column that tells the
    label of events, or in JSON an object with the columns of each label; or it is taken from INPUTs, which are those
    of `acelera run`. If it ends with .trepl, it is a program over changes; its schema is an object with the attributes
    of each relation, or it is taken from the --source of each.

    If it ends with .acelp, it is a program of statements, whose schema is that of a query, or that of INPUTs.

    \b
    Examples:
      acelera check examples/rise.acel --schema examples/stocks.json --order-by ts
      acelera check examples/fire.xceq examples/sensors.csv
      acelera check examples/waves.acelp examples/ticks.csv --order-by ts
    """
    refuse_options(context)
    if context.obj["language"] in ("xchangeeq", "streams"):
        from acelera.cli.programs.describe_program import check_program

        check_program(given)
        return
    if context.obj["language"] == "trepl":
        from acelera.cli.changes.describe_changes import check_changes

        check_changes(given)
        return
    _refuse_data(given)
    checked, result = query(read_text(given["file"])), None
    if given["schema_file"] is not None:
        result = checked.check(read_schema(given["schema_file"]), **_options(given))
    say(f"{getattr(given['file'], 'name', 'query')}: ok\n\n{checked}\n")
    if not checked.automaton.transitions:
        tell("warning: nothing can match: parts of the query exclude each other")
    say_pairs("variables", checked.variables)
    if result is not None:
        say_pairs("result", {column.name: str(column.type) for column in result})


@main.command(short_help="Say what a query or a program does, and how it runs.")
@QUERY
@DATA
@SCHEMA
@ORDER_BY
@TYPE_COLUMN
@EVENT_TYPE
@times_of_events
@sources_of_changes
@FORMAT
@how_files_are_read
@click.pass_context
def explain(context: click.Context, /, **given: Any) -> None:
    """Say what the query in the file QUERY does: its variables, its automaton, what must be remembered.

    With a schema, also how the engine runs it. `acelera run … --explain` says it for given data.

    Of a program, a file .xceq, it says what is made before what, and its rules in normal form; with a schema or INPUTs
    also how they are run, what is kept, for how long and why. Of a program over changes, a file .trepl, it says so with
    a schema or the --source of each relation. Of a program of statements, a file .acelp, it says what each reads, and
    what is said of its query.

    \b
    Examples:
      acelera explain examples/rise.acel
      acelera explain examples/fire.xceq examples/sensors.csv
    """
    refuse_options(context)
    if context.obj["language"] in ("xchangeeq", "streams"):
        from acelera.cli.programs.describe_program import explain_program

        explain_program(given)
        return
    if context.obj["language"] == "trepl":
        from acelera.cli.changes.describe_changes import explain_changes

        explain_changes(given)
        return
    _refuse_data(given)
    schema = None if given["schema_file"] is None else read_schema(given["schema_file"])
    say(query(read_text(given["file"])).explain(schema, **_options(given)))


def _refuse_data(given: dict[str, Any]) -> None:
    if given["arguments"]:
        raise click.UsageError(
            f"INPUTs are for programs, which are files .xceq; the columns of a query are told by --schema, not by "
            f"`{given['arguments'][0]}`"
        )
    refuse_reading(given)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """How the stream of a query is to be read."""
    return {
        "order_by": listed(given["order_by"]) or None,
        "type_column": given["type_column"],
        "event_type": given["event_type"],
    }


@main.command(short_help="Draw the automaton of a query, or the rules of a program.")
@QUERY
@click.option(
    "--format",
    "kind",
    type=click.Choice(["dot", "mermaid", "svg"]),
    help="The kind of picture.  [default: what the ending of FILE tells, or dot]",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="Where to write; standard output.")
def draw(file: Any, kind: str | None, output: str) -> None:
    """Draw the automaton of the query in the file QUERY. DOT, for Graphviz, and Mermaid are texts; SVG is a picture.

    Of a program, a file .xceq, .trepl or .acelp, it draws what is made of what.

    \b
    Examples:
      acelera draw examples/rise.acel --format mermaid
      acelera draw examples/fire.xceq -o fire.svg
    """
    kind = kind or _kind_of(output)
    drawing = _drawing(file)
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


def _kind_of(output: str) -> str:
    """The kind of picture that the ending of a file tells; one without an ending is DOT, as standard output."""
    suffix = Path(output).suffix.lower()
    if suffix and suffix not in PICTURES:
        raise click.UsageError(
            f"`{output}` ends with {suffix}, which is no kind of picture that is drawn here; there are "
            f"{', '.join(PICTURES)}, and --format"
        )
    return PICTURES.get(suffix, "dot")


def _drawing(file: Any) -> Any:
    language = language_in(file)
    if language == "xchangeeq":
        from acelera.xchangeeq.program import xchangeeq

        return xchangeeq(read_text(file)).draw()
    if language == "trepl":
        from acelera.trepl.program import trepl

        return trepl(read_text(file)).draw()
    if language == "streams":
        from acelera.streams.program import streams

        return streams(read_text(file)).draw()
    return query(read_text(file)).automaton.draw()

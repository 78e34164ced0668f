"""The page itself: what was found becomes data for the script, which stands in the same file as all else."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import pyarrow as pa

from acelera.automata.model import Acea
from acelera.errors import UsageError
from acelera.files import beside, is_special, reason
from acelera.language.result import Column, EventStructs
from acelera.report.buckets import NANOSECONDS
from acelera.report.extension import ALL_MADE, NOTHING_MADE, made_in
from acelera.report.findings import About, Findings, Match
from acelera.report.highlight import highlighted
from acelera.report.values import cells, embedded
from acelera.version import __version__

MOST_STATES = 150
"""Larger automata are not drawn."""


def refuse_place(path: Path) -> None:
    """A page is a file in a folder that is there or can be made; said before matches are looked for."""
    try:
        if path.is_dir():
            raise UsageError(f"`{path}` is a folder; name the file of the report, such as `{path / 'report.html'}`")
        above = next(each for each in path.absolute().parents if each.exists())
    except OSError as error:
        raise _not_written(path, error) from error
    if not above.is_dir():
        raise UsageError(f"the report cannot be written to `{path}`: `{above}` is not a folder")
    if not is_special(path) and not os.access(above, os.W_OK | os.X_OK):
        raise UsageError(f"the report cannot be written to `{path}`: the folder `{above}` cannot be written to")


def save(text: str, path: Path) -> Path:
    """Write a page, in a folder that is made if it is not there; the page is complete or as it was before."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside(path) as partial:
            partial.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise _not_written(path, error) from error
    return path


def _not_written(path: Path, error: OSError) -> UsageError:
    return UsageError(f"the report cannot be written to `{path}`: {reason(error)}")


def page(found: Findings) -> str:
    """The text of the page."""
    frame, style, script, shared = (own_file(name) for name in ("page.html", "page.css", "page.js", "parts.js"))
    return filled(
        frame,
        title="Matches of a query",
        style=style,
        script=shared + script,
        data=data_of(found),
        about=query_html(found.about),
    )


def own_file(name: str) -> str:
    """A file that pages are made of."""
    return files("acelera.report").joinpath(name).read_text(encoding="utf-8")


def head_html(title: str, headline: str, style: str, *, lead: str = "", first: Sequence[str], scripts: str = "") -> str:
    """What all pages begin with; `first` is what matters on the page, as an anchor and in words."""
    return _piece(
        "head.html",
        title=escape(title),
        headline=escape(headline),
        lead=escape(lead),
        style=style,
        first=first[0],
        first_name=first[1],
        scripts=scripts,
    )


def query_html(about: About) -> str:
    """The text of a query, and the picture of its automaton beside it."""
    drawn, size = picture(about.automaton), escape(about.automaton.size())
    return _piece("query.html", query=highlighted(about.text), automaton=drawn, size=size)


def _piece(name: str, **pieces: str) -> str:
    """A file that stands in pages, filled with HTML."""
    return Template(own_file(name).removesuffix("\n")).substitute(pieces)


def filled(frame: str, *, title: str, style: str, script: str, data: object, **pieces: str) -> str:
    """A page with a timeline, which runs this script and no other; the pieces are HTML."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'; "
    return Template(frame).substitute(
        pieces,
        head=head_html(title, title, style, first=("timeline", "timeline"), scripts=scripts),
        script=script,
        data=embedded(data),
        version=escape(__version__),
    )


def in_notebook(about: About) -> str:
    """A query as a notebook shows it: its text and the picture of its automaton."""
    style = "margin:0 0 .8em;padding:0;background:none;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace"
    text, drawn = highlighted(about.text), picture(about.automaton)
    return f'<div class="acelera-query"><pre style="{style}">{text}</pre>{drawn}</div>'


def picture(automaton: Acea) -> str:
    """The picture of an automaton, or a word if it is too large."""
    if automaton.states + sum(guard.states for guard in automaton.guards) > MOST_STATES:
        return f"<p>An automaton of {escape(automaton.size())}: too large for a picture.</p>"
    return automaton.draw().svg()


# --- data ---------------------------------------------------------------------------------------------------------


def data_of(found: Findings) -> dict[str, Any]:
    """What the script of the page works on. Events are told by their number among those that are shown."""
    schema = found.checked.schema
    assert schema is not None
    number = {int(place): index for index, place in enumerate(found.places)}
    ticks, unit = _ticks(found)
    origin = int(ticks[0]) if len(ticks) else 0
    types, type_numbers = _types(found)
    columns = [
        name for name in schema.columns if name not in (schema.type_column, schema.order_by[0] if unit else None)
    ]
    variables = [name for name, held in found.checked.variables.items() if held.bounds.high]
    return {
        "version": __version__,
        "timed": bool(unit),
        "zoned": schema.time is not None and schema.time.zoned,
        "origin": _number(origin * unit, 1_000_000) if unit else 0,
        "types": types,
        "keys": [key.name for key in found.checked.clauses.partition_by],
        "variables": _variables(found),
        "events": {
            "place": (found.places + 1).tolist(),
            "x": [_number((tick - origin) * unit, 1_000_000) if unit else tick + 1 for tick in ticks],
            "time": cells(found.rows.column(schema.order_by[0])) if unit else None,
            "type": type_numbers,
            "columns": [{"name": name, "values": cells(found.rows.column(name))} for name in columns],
        },
        "columns": [column.name for column in found.checked.result.columns],
        "kinds": [_kind(column) for column in found.checked.result.columns],
        "matches": [_match(match, variables, number) for match in found.matches],
        "buckets": {
            "start": _number((found.buckets.first - origin) * unit, 1_000_000) if unit else found.buckets.first + 1,
            "width": _number(found.buckets.width * unit, 1_000_000) if unit else found.buckets.width,
            "events": list(found.buckets.events),
            "matches": list(found.buckets.matches),
        },
        "counts": {
            "events": found.events_found,
            "matches": found.matches_found,
            "counted": found.counted,
        },
    }


def _ticks(found: Findings) -> tuple[list[int], int]:
    """Where the events stand on the axis, and how long a tick is in nanoseconds; 0 if they have no time."""
    schema = found.checked.schema
    assert schema is not None
    if schema.time is None:
        return found.places.tolist(), 0
    ticks = found.rows.column(schema.order_by[0]).cast(pa.int64()).to_pylist()
    return ticks, NANOSECONDS[schema.time.arrow.unit]


def _number(value: int, divisor: int) -> int | float:
    """A quotient, as an integer if it is one."""
    return value // divisor if value % divisor == 0 else value / divisor


def _types(found: Findings) -> tuple[list[str | None], list[int]]:
    """The types that occur, by name, and that of each event."""
    schema = found.checked.schema
    assert schema is not None
    if schema.type_column is None:
        only = next(iter(schema.event_types or ()))
        return [only], [0] * len(found.places)
    listed = cells(found.rows.column(schema.type_column))
    types = sorted(set(listed), key=lambda each: (each is None, each or ""))
    numbers = {each: index for index, each in enumerate(types)}
    return types, [numbers[each] for each in listed]


def _variables(found: Findings) -> list[dict[str, Any]]:
    """The variables that can hold something; those that are only the name of an event type are `implied`."""
    shown = []
    for name, held in found.checked.variables.items():
        if held.bounds.high:
            made = {NOTHING_MADE: "none", ALL_MADE: "all"}.get(made_in(held), "some")
            shown.append(
                {"name": name, "holds": str(held.bounds), "made": made, "implied": name in found.about.implied}
            )
    return shown


def _match(match: Match, variables: Sequence[str], number: Mapping[int, int]) -> dict[str, Any]:
    held = [[variables.index(name), [number[place] for place in places]] for name, places in match.held.items()]
    made = [[variables.index(each.variable), number[each.place], dict(each.values)] for each in match.made]
    return {"row": list(match.row), "start": number[match.start], "end": number[match.end], "held": held, "made": made}


def _kind(column: Column) -> str:
    """How a column of the result is shown: as numbers, as events, or as texts."""
    test, kind = pa.types, column.type
    if isinstance(column.source, EventStructs):
        return "events"
    return "number" if test.is_integer(kind) or test.is_floating(kind) or test.is_decimal(kind) else "text"

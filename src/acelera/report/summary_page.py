"""The page of a summary: a chart of its items and a table of its rows. It has no script."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import Any

import pyarrow as pa

from acelera.language.result import MatchBound
from acelera.language.types import from_arrow
from acelera.report.buckets import NANOSECONDS
from acelera.report.chart import Axis, Panel, over_time, short, side_by_side
from acelera.report.page import head_html, own_file, query_html
from acelera.report.summary_findings import SummaryFindings
from acelera.report.values import cells
from acelera.version import __version__

MOST_GROUPS, MOST_ITEMS, MOST_BARS = 8, 6, 24
"""How many lines a chart has, how many items have one, and how many bars stand side by side."""


def summary_page(found: SummaryFindings) -> str:
    """The text of the page."""
    drawn, said, legend = _chart(found)
    headline = f"{_many(found.rows_found, 'row')} over {_many(found.events_found, 'event')}"
    return Template(own_file("summary.html")).substitute(
        head=head_html(
            f"{headline} – acelera",
            headline,
            own_file("page.css") + own_file("summary.css"),
            lead=_lead(found),
            first=("listed", "result"),
        ),
        about=query_html(found.about),
        chart=drawn,
        legend=legend,
        said=escape(said),
        shown=escape(_shown(found)),
        table=_table(found),
        version=escape(__version__),
    )


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _lead(found: SummaryFindings) -> str:
    if not found.rows_found:
        return "Nothing matches, or HAVING keeps no row: a group without a match has none."
    return (
        "Each row summarizes all matches of its group. None of them is listed, so there are none to look at one by one."
    )


def _shown(found: SummaryFindings) -> str:
    if found.rows.num_rows == found.rows_found:
        return _many(found.rows_found, "row") if found.rows_found else "no rows"
    return f"the first {_many(found.rows.num_rows, 'row')} of {found.rows_found:,}; report(…, matches=…) shows more"


# --- the table ----------------------------------------------------------------------------------------------------


def _table(found: SummaryFindings) -> str:
    names, columns = found.rows.column_names, [cells(column) for column in found.rows.columns]
    numbers = [_is_number(column.type) for column in found.rows.columns]
    kinds = [' class="number"' if number else "" for number in numbers]
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(names, kinds, strict=True))
    rows = [
        "<tr>" + "".join(_cell(value, number) for value, number in zip(row, numbers, strict=True)) + "</tr>"
        for row in zip(*columns, strict=True)
    ]
    body = "".join(rows)
    return f'<table id="rows"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value: Any, number: bool) -> str:
    if value is None:
        kind = "null number" if number else "null"
        return f'<td class="{kind}">NULL</td>'
    text = short(value) if isinstance(value, float) and math.isfinite(value) else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        text = f"{value:,}"
    kind = ' class="number"' if number else ""
    title = f' title="{escape(str(value), quote=True)}"' if len(text) > 36 or text != str(value) else ""
    return f"<td{kind}{title}>{escape(text)}</td>"


def _is_number(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))


# --- the chart ----------------------------------------------------------------------------------------------------


def _chart(found: SummaryFindings) -> tuple[str, str, str]:
    """The chart, what is to be said of it, and its legend."""
    summary = found.checked.summary
    assert summary is not None
    items = [item.name for item in summary.items if _is_number(found.rows.column(item.name).type)]
    along = _along(found)
    keys = [column.name for column in summary.keys if column.name != along]
    if not items or not found.rows.num_rows or (along is None and not keys):
        return f'<p class="empty">{_why_nothing(found, items)}</p>', "", ""
    said = [] if len(items) <= MOST_ITEMS else [f"the first {MOST_ITEMS} of {len(items)} items"]
    if found.rows.num_rows < found.rows_found:
        said.append(f"the first {_many(found.rows.num_rows, 'row')}")
    values = {name: _numbers(found.rows.column(name)) for name in items[:MOST_ITEMS]}
    named = _groups(found, keys)
    if along is None:
        said += [f"the first {MOST_BARS} of {len(named):,} groups"] if len(named) > MOST_BARS else []
        bars = [Panel(name, [_known({0: value}) for value in listed[:MOST_BARS]]) for name, listed in values.items()]
        return side_by_side(bars, named[:MOST_BARS]), ", ".join(said), ""
    listed = Counter(named)
    groups = [name for name, _ in listed.most_common(MOST_GROUPS)] if len(listed) > MOST_GROUPS else list(listed)
    said += [f"the {MOST_GROUPS} of {len(listed):,} groups with most rows"] if len(listed) > MOST_GROUPS else []
    axis, places = _axis(found, along)
    panels = [Panel(name, [_of_group(name, values, places, named, group) for group in groups]) for name in values]
    return over_time(axis, panels, groups), ", ".join([f"over {along}", *said]), _legend(groups)


def _why_nothing(found: SummaryFindings, items: Sequence[str]) -> str:
    """What stands in the place of a chart."""
    if not found.rows.num_rows:
        return "There is nothing to draw."
    if not items:
        return "There is nothing to draw: no item of the summary is a number."
    return "One row is no chart. A query with OVER has a row for each window, one with BY a row for each group."


def _along(found: SummaryFindings) -> str | None:
    """The column that rows stand along: the window, or where matches end or start."""
    summary = found.checked.summary
    assert summary is not None
    if summary.windows is not None:
        return "window_start"
    bounds = [column for column in summary.keys if isinstance(column.source, MatchBound)]
    bounds.sort(key=lambda column: isinstance(column.source, MatchBound) and not column.source.end)
    return bounds[0].name if bounds else None


def _axis(found: SummaryFindings, along: str) -> tuple[Axis, list[int]]:
    summary, column = found.checked.summary, found.rows.column(along)
    assert summary is not None
    time = from_arrow(column.type) if pa.types.is_timestamp(column.type) else None
    places: list[int] = column.cast(pa.int64()).to_pylist()
    step = wide = None
    if summary.windows is not None:
        unit = NANOSECONDS[column.type.unit] if time is not None else 1
        step, wide = summary.windows.every // unit, min(summary.windows.every, summary.windows.length) // unit
    return Axis(along, min(places), max(places), time, step, wide), places


def _groups(found: SummaryFindings, keys: Sequence[str]) -> list[str]:
    """The group of each row, in words."""
    columns = [cells(found.rows.column(name)) for name in keys]
    if not columns:
        return [""] * found.rows.num_rows
    return [", ".join("NULL" if value is None else str(value) for value in row) for row in zip(*columns, strict=True)]


def _numbers(column: pa.ChunkedArray) -> list[float]:
    """Values as numbers that can be drawn; NaN where there is none."""
    return [math.nan if value is None else float(value) for value in column.to_pylist()]


def _of_group(
    item: str, values: Mapping[str, Sequence[float]], places: Sequence[int], named: Sequence[str], group: str
) -> Mapping[int, float]:
    """The values of an item in the rows of a group, by place."""
    rows = zip(places, values[item], named, strict=True)
    return _known({place: value for place, value, name in rows if name == group})


def _known(values: Mapping[int, float]) -> Mapping[int, float]:
    return {place: value for place, value in values.items() if math.isfinite(value)}


def _legend(groups: Sequence[str]) -> str:
    if len(groups) < 2:
        return ""
    shown = "".join(f'<span><span class="key v{n}"></span>{escape(group)}</span>' for n, group in enumerate(groups))
    return f'<div class="legend" aria-label="Groups">{shown}</div>'

"""The page itself: what a run holds becomes data for the script, which stands in the same file as all else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from acelera.programs.drawing import drawn
from acelera.programs.report.program_text import program_html
from acelera.programs.report.run import Made, Run, Time
from acelera.report.page import filled, own_file, refuse_place, save
from acelera.report.values import plain_value, timestamp_text

MOST_LABELS = 150
"""Larger graphs are not drawn."""
COLOURS = 8


def write(run: Run, path: Path) -> Path:
    """Write the page, and return where it is."""
    refuse_place(path)
    return save(page(run), path)


def page(run: Run) -> str:
    """The text of the page."""
    folder = files("acelera.programs.report")
    frame, style, script = (
        folder.joinpath(f"program.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    return filled(
        frame,
        title="Events of a program",
        style=own_file("page.css") + style,
        script=own_file("parts.js") + script,
        data=data_of(run),
        program=program_html(run.text, run.rules, run.words, colours_of(run)),
        picture=_picture(run),
    )


def colours_of(run: Run) -> Mapping[str, int]:
    """A colour for each label that rules make, by its number; the ninth label has that of the first."""
    return {label: number % COLOURS for number, label in enumerate(dict.fromkeys(run.graph.made))}


def _picture(run: Run) -> str:
    if len(run.graph.bands) > MOST_LABELS:
        return f"<p>A program of {len(run.graph.made)} rules: too large for a picture.</p>"
    return drawn(run.graph).svg()


# --- data ---------------------------------------------------------------------------------------------------------


def data_of(run: Run) -> dict[str, Any]:
    """What the script of the page works on. Events are told by their number among those that are shown."""
    colours = colours_of(run)
    made = [label for label in colours if label in run.counts]
    labels = [*sorted(run.counts.keys() - colours.keys()), *made]
    number = {label: index for index, label in enumerate(labels)}
    axis = _Axis(run)
    return {
        "timed": run.timestamps,
        "zoned": run.zoned,
        "origin": axis.origin_in_milliseconds,
        "labels": [
            {
                "name": each,
                "colour": colours.get(each),
                "base": run.counts[each].base,
                "derived": run.counts[each].derived,
            }
            for each in labels
        ],
        "rules": [rule.label for rule in run.rules],
        "names": [rule.name or str(number) for number, rule in enumerate(run.rules, 1)],
        "events": {
            "label": [number[event.label] for event in run.events],
            "begin": [axis.place(event.begin) for event in run.events],
            "end": [axis.place(event.end) for event in run.events],
            "from": [axis.text(event.begin) for event in run.events],
            "to": [axis.text(event.end) for event in run.events],
            "derived": [int(event.derived) for event in run.events],
            "fields": [{name: json_value(value) for name, value in event.fields.items()} for event in run.events],
            "ways": [[_way(made, axis) for made in event.made_from] for event in run.events],
        },
    }


class _Axis:
    """Times as places, in milliseconds after the first or as they are, and as texts."""

    def __init__(self, run: Run) -> None:
        times = [event.begin for event in run.events]
        times += [timer.begin for event in run.events for made in event.made_from for timer in made.timers]
        self.timed, self.zoned = run.timestamps, run.zoned
        self.origin = int(min(times, default=0)) if run.timestamps else 0

    @property
    def origin_in_milliseconds(self) -> float | int:
        """The first time, since 1970."""
        return _number(self.origin, 1_000)

    def place(self, time: Time) -> float | int:
        """Where a time is on the axis."""
        return _number(time - self.origin, 1_000 if self.timed else 1)

    def text(self, time: Time) -> str:
        """A time as people read it."""
        if not self.timed:
            return str(time) if time == int(time) else str(float(time))
        return timestamp_text(int(time * 1_000)) + ("Z" if self.zoned else "")


def _number(value: Time, divisor: int) -> int | float:
    """A quotient, as an integer if it is one."""
    return int(value // divisor) if value % divisor == 0 else float(value / divisor)


def json_value(value: Any) -> Any:
    """A value with all its parts, as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(name): json_value(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [json_value(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return plain_value(value)


def _way(made: Made, axis: _Axis) -> dict[str, Any]:
    return {
        "rule": made.rule,
        "parts": [[part.name, part.event] for part in made.parts],
        "timers": [
            {
                "name": timer.name,
                "what": timer.what,
                "begin": axis.place(timer.begin),
                "end": axis.place(timer.end),
                "from": axis.text(timer.begin),
                "to": axis.text(timer.end),
            }
            for timer in made.timers
        ],
        "looked": [
            {"during": each.during, "query": each.query, "events": None if each.events is None else list(each.events)}
            for each in made.looked
        ],
    }

"""Absolute timers: what can be asked of the clock and the calendar."""

from __future__ import annotations

import datetime
import zoneinfo

from acelera.errors import Span, did_you_mean
from acelera.programs.problems import Notes
from acelera.xchangeeq import ast
from acelera.xchangeeq.normal import NormalRule
from acelera.xchangeeq.schemas import TIMERS
from acelera.xchangeeq.strata import root_label

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def check_timers(rule: NormalRule, notes: Notes) -> None:
    """Absolute timers have the children they may have, and stand where a timer may."""
    for event in rule.absolute:
        assert isinstance(event.query, ast.Labelled)
        _check_children(event.query, notes)
    for identifier, query in rule.queries:
        label = root_label(query) or ""
        if label.startswith("timer:"):
            _misplaced(label, query, identifier is not None, notes)
    if rule.head.label.startswith("timer:"):
        notes.wrong("a rule cannot make a timer", rule.head.span, "choose another label")


def _misplaced(label: str, query: ast.Query, is_event: bool, notes: Notes) -> None:
    known = [*TIMERS, "timer:periodic", *(f"timer:{each}" for each in ast.RELATIVE)]
    if label not in known:
        notes.wrong(f"there is no {label}{did_you_mean(label, known)}", query.span)
    elif is_event:
        notes.wrong(f"{label} needs a name and its own form", query.span, f"write event i: {label} …")
    else:
        notes.wrong(f"{label} cannot stand in a window", query.span, f"write event i: {label} …")


def _check_children(query: ast.Labelled, notes: Notes) -> None:
    shape = TIMERS[query.label or ""]
    seen: set[str] = set()
    for child in query.children:
        constant = _constant(child)
        if constant is None:
            hint = f'a timer has constants: {query.label} {{{{ {shape.labels[0]} {{{{ "…" }}}} }}}}'
            notes.wrong(f"{query.label} cannot be asked for this", child.span, hint)
            continue
        label, value = constant
        if label not in shape.labels:
            near = did_you_mean(label, shape.labels)
            hint = f"{query.label} has {', '.join(shape.labels)}"
            notes.wrong(f"no child {label} in {query.label}{near}", child.span, hint)
            continue
        if label in seen:
            notes.wrong(f"{label} is said twice", child.span)
        seen.add(label)
        _check_value(label, value, child.span, notes)


def _constant(child: ast.Query) -> tuple[str, bool | int | float | str] | None:
    """The label and the constant of `time { "16:00" }`."""
    if isinstance(child, ast.Labelled) and child.label is not None and len(child.children) == 1:
        inner = child.children[0]
        if isinstance(inner, ast.IsValue):
            return child.label, inner.value
    return None


_EXAMPLES = {
    "time": '"16:00"',
    "date": '"2008-07-31"',
    "weekday": '"Mon"',
    "day": "31",
    "month": "7",
    "timezone": '"Europe/Berlin"',
}


def _check_value(label: str, value: bool | int | float | str, span: Span | None, notes: Notes) -> None:
    if not _fits(label, value):
        shown = f'"{value}"' if isinstance(value, str) else str(value)
        notes.wrong(f"{shown} is no {label}", span, f"write {label} {{ {_EXAMPLES[label]} }}")


def _fits(label: str, value: bool | int | float | str) -> bool:
    if label in ("day", "month"):
        return type(value) is int and 1 <= value <= (31 if label == "day" else 12)
    if not isinstance(value, str):
        return False
    try:
        if label == "time":
            return datetime.time.fromisoformat(value).tzinfo is None
        if label == "date":
            return bool(datetime.date.fromisoformat(value))
        if label == "timezone":
            return bool(zoneinfo.ZoneInfo(value))
    except (ValueError, zoneinfo.ZoneInfoNotFoundError, OSError):
        return False
    return value in WEEKDAYS

"""Durations in ticks: how long they are in the unit of the times, of which they must be whole numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from fractions import Fraction

from acelera.errors import Problem, Span, UsageError, place
from acelera.programs.problems import ProgramCheckError
from acelera.programs.times import TimeKind, finer_unit, whole_ticks
from acelera.xchangeeq import ast
from acelera.xchangeeq.normal import is_absolute
from acelera.xchangeeq.parser import UNIT_NAMES
from acelera.xchangeeq.printer import nodes_below, print_node

_AMOUNT = r"(\d+(?:\.\d*)?|\.\d+)\s*([^\W\d_]+)"


def parse_duration(text: str) -> ast.Duration:
    """A duration from its text, as it stands in rules.

    >>> parse_duration("1 min 30 sec").amounts
    ((1, 'min'), (30, 's'))
    """
    amounts = re.findall(_AMOUNT, text)
    if not re.fullmatch(rf"\s*(?:{_AMOUNT}\s*)+", text) or any(unit not in UNIT_NAMES for _, unit in amounts):
        units = "ms, sec, min, hour, day, week"
        raise UsageError(f"{text!r} is no duration; write '5 sec' or '1 min 30 sec'; the units are {units}")
    return ast.Duration(
        tuple((int(amount) if amount.isdigit() else float(amount), UNIT_NAMES[unit]) for amount, unit in amounts)
    )


def ticks(duration: ast.Duration, tick: int) -> int:
    """A duration in ticks of so many microseconds; that it is a whole number of them has been checked.

    >>> ticks(parse_duration("1 min 30 sec"), 1_000_000)
    90
    """
    found = duration.microseconds / tick
    assert found.denominator == 1, f"{print_node(duration)} is no whole number of ticks"
    return int(found)


def check_lengths(program: ast.Program, kind: TimeKind, text: str) -> None:
    """Refuse durations and times of day that integers cannot tell: without a unit, or with one that is too coarse."""
    lengths = list(_lengths(program))
    if lengths and not kind.measured:
        _, said, span = lengths[0]
        line, _ = place(text, span)
        raise UsageError(
            f"times are integers, so it must be known what 1 is to tell how long {_written(said, span, text)} (line "
            f"{line}) is; say time_unit='s', or another unit"
        )
    problems = [
        Problem(_too_fine(_written(said, span, text), length, kind), span)
        for length, said, span in lengths
        if whole_ticks(length, kind) is None
    ]
    if problems:
        raise ProgramCheckError(problems, text)


def longest_ticks(label: str, text: str, kind: TimeKind) -> int:
    """How long events of a label last at most."""
    try:
        length = parse_duration(text).microseconds
    except UsageError as error:
        raise UsageError(f"longest={{{label!r}: …}}: {error}") from None
    if not kind.measured:
        raise UsageError(f"longest={{{label!r}: {text!r}}} needs to know what 1 is; say time_unit='s', or another unit")
    found = whole_ticks(length, kind)
    if found is None:
        raise UsageError(f"longest={{{label!r}: {text!r}}}: {_too_fine(text, length, kind)}")
    return found


def _too_fine(said: str, length: Fraction, kind: TimeKind) -> str:
    finer = finer_unit(length)
    unit = kind.unit or "us"
    remedy = f"give the times in {finer}" if finer is not None else "make it a whole number of microseconds"
    return f"{said} is no whole number of {unit}, which is the unit of the times; {remedy}"


def _written(said: str, span: Span | None, text: str) -> str:
    """A piece of a program as it was written, if it was."""
    return text[span.start : span.end] if span is not None and text else said


def _lengths(program: ast.Program) -> Iterator[tuple[Fraction, str, Span | None]]:
    """Every length that a program speaks of, in microseconds, with its text and its place.

    Those of absolute timers are how far into a day they are. Time zones lie whole seconds apart.
    """
    todo: list[ast.Node] = [program]
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.Duration):
            yield node.microseconds, print_node(node), node.span
        elif isinstance(node, ast.Event) and is_absolute(node.query):
            assert isinstance(node.query, ast.Labelled)
            yield Fraction(ast.UNITS["d"]), print_node(node.query), node.query.span
            for child in node.query.children:
                yield from _part_of_day(child)
        todo[:0] = nodes_below(node)


def _part_of_day(child: ast.Query) -> Iterator[tuple[Fraction, str, Span | None]]:
    match child:
        case ast.Labelled("time", (ast.IsValue(str(at)),)):
            since = datetime.combine(date.min, time.fromisoformat(at)) - datetime.min
            yield Fraction(since // timedelta(microseconds=1)), print_node(child), child.span
        case ast.Labelled("timezone", (ast.IsValue(str(zone)),)) if zone != "UTC":
            yield Fraction(ast.UNITS["s"]), print_node(child), child.span

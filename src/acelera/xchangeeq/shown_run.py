"""A run of a program as its page shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from acelera.errors import Span
from acelera.programs.inputs import Given
from acelera.programs.outputs import TIMES
from acelera.programs.report.run import MOST_EVENTS, Count, Looked, Made, Part, RuleText, Run, Shown, Timer
from acelera.programs.times import TimeKind
from acelera.xchangeeq import ast
from acelera.xchangeeq.candidates import in_order
from acelera.xchangeeq.judged import events_that_came
from acelera.xchangeeq.lineage import Way, lineage
from acelera.xchangeeq.printer import print_node
from acelera.xchangeeq.rule_graph import label_graph
from acelera.xchangeeq.terms import Event, Term, Time, events_of, name_of

WORDS = frozenset(
    """DETECT ON END detect on end and or event while not collect where var all group by order asc desc without optional
    within apart-by true false before after during contains overlaps overlapped-by meets met-by starts started-by
    finishes finished-by equals simultaneous""".split()
)


def shown_run(
    program: ast.Program,
    text: str,
    events: Iterable[Event],
    derived: Iterable[Event],
    *,
    aggregates: str = "nodes",
    tick: int | Fraction = 1,
    timestamps: bool = True,
    zoned: bool = False,
    most: int = MOST_EVENTS,
    ends: tuple[Time, Time] | None = None,
) -> Run:
    """What a page shows of base events and of all that a program derives from them: the first by where they end.

    `text` is what the program was read from; `aggregates` and `tick` are those of `derive`. `ends` are the smallest
    and the greatest end of all that came in, where there was more than these events. All that an event was made from
    ends when it does or before, so nothing of it is left out.
    """
    base = frozenset(events)
    made = frozenset(derived) - base
    last = sorted(each.end for each in (*base, *made))[: most + 1][-1:]
    shown_base, shown_made = ([each for each in group if not last or each.end <= last[0]] for group in (base, made))
    if ends is None and base:
        ends = min(each.end for each in base), max(each.end for each in base)
    ways = lineage(program, shown_base, shown_made, aggregates, tick, ends)
    unknown = [each for each in shown_made if each not in ways]
    order = sorted([*in_order(shown_base), *ways, *in_order(unknown)], key=lambda each: each.end)[:most]
    number = {event: index for index, event in enumerate(order)}
    return Run(
        text,
        tuple(_rule_text(rule) for rule in program.rules),
        WORDS,
        label_graph(program),
        tuple(_shown(event, event in made, ways.get(event), number) for event in order),
        _counts(base, made),
        timestamps,
        zoned,
    )


def run_of_tables(
    program: ast.Program,
    text: str,
    given: Given,
    made: Mapping[str, pa.Table],
    kind: TimeKind,
    aggregates: str,
    most: int,
) -> Run:
    """The same of events that came in, and of the tables that a program makes of them."""
    begin, end = TIMES
    ends = None if given.first is None or given.last is None else (given.first, given.last)
    return shown_run(
        program,
        text,
        events_that_came(given),
        [each for label, table in made.items() for each in events_of(table, label, begin=begin, end=end)],
        aggregates=aggregates,
        tick=kind.tick,
        timestamps=not kind.is_integer,
        zoned=not kind.is_integer and kind.arrow.tz is not None,
        most=most,
        ends=ends,
    )


def _rule_text(rule: ast.Rule) -> RuleText:
    span = rule.span or Span(0, 0)
    return RuleText(rule.head.label, span.start, span.end)


def _counts(base: Iterable[Event], made: Iterable[Event]) -> Mapping[str, Count]:
    came, derived = (Counter(event.label for event in group) for group in (base, made))
    return {label: Count(came[label], derived[label]) for label in sorted({*came, *derived})}


def _shown(event: Event, derived: bool, way: Way | None, number: Mapping[Event, int]) -> Shown:
    made = () if way is None else (_made(way, number),)
    return Shown(event.label, event.begin, event.end, fields_of(event.term), derived, made)


def _made(way: Way, number: Mapping[Event, int]) -> Made:
    """A way in numbers and texts. What has no name in the rule has none here."""
    rule = way.rule
    written = {each.identifier for each in ast.walk(rule.rule.body) if isinstance(each, ast.Event)}
    parts = [
        Part(name if name in written else "", number[each])
        for name, each in way.trace.items()
        if isinstance(each, Event)
    ]
    clocks: Sequence[ast.Event | ast.PeriodicTimer | ast.RelativeTimer]
    clocks = [*rule.absolute, *rule.periodic, *rule.relative]
    timers = []
    for literal in clocks:
        each = way.trace[str(literal.identifier)]
        timers.append(Timer(str(literal.identifier), _timer_text(literal), each.begin, each.end))
    found = [
        Looked(literal.window, print_node(literal.query), tuple(number[each] for each in events))
        for literal, events in zip(rule.collects, way.collected, strict=True)
    ]
    absent = [Looked(literal.window, print_node(literal.query), None) for literal in rule.nots]
    return Made(rule.number, tuple(parts), tuple(timers), (*found, *absent))


def _timer_text(literal: ast.Event | ast.PeriodicTimer | ast.RelativeTimer) -> str:
    """A timer as it is written, without its name."""
    return print_node(literal).partition(": ")[2]


def fields_of(term: Term) -> dict[str, Any]:
    """The children of a term as a row has them: values, rows in rows, and lists of what is there more than once.

    >>> fields_of(Term("a", (Term("v", (1,)), Term("w", (2,)), Term("w", (Term("x", (3,)),)))))
    {'v': 1, 'w': [2, {'x': 3}]}
    """
    found: dict[str, list[Any]] = {}
    for child in term.children:
        found.setdefault(name_of(child), []).append(_content(child) if isinstance(child, Term) else child)
    return {name: cells if len(cells) > 1 else cells[0] for name, cells in found.items()}


def _content(term: Term) -> Any:
    """The value of a child, or its own children."""
    inner = term.children
    return inner[0] if len(inner) == 1 and not isinstance(inner[0], Term) else fields_of(term)

"""A run of a program over changes as its page shows it: what happened to rows, and what rules did when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from acelera.cdc.layout import KIND, NEW, OLD, TIME
from acelera.errors import Span
from acelera.programs.report.run import Count, Made, RuleText, Run, Shown
from acelera.trepl import ast, resolved
from acelera.trepl.rule_graph import label_graph, label_made
from acelera.trepl.rule_outputs import MODULE, STAMP, output_name

WORDS = frozenset(
    """Begin End Module begin end module monitor derived partition by as insert ins update upd delete del any first
    prior write sql AND OR NOT IS NULL IN BETWEEN LIKE and or not is null in between like INTERVAL TIMESTAMP DATE
    Timestamp Date Time Year Month Day Hour Minute Second""".split()
)


class _Event(NamedTuple):
    """A change, or what a rule did: its label, its time, its values, and the number of its rule if one made it."""

    label: str
    time: int
    fields: Mapping[str, Any]
    rule: int | None = None


def shown_run(
    written: ast.Program,
    text: str,
    program: resolved.Program,
    changes: Mapping[str, pa.Table],
    made: Mapping[str, pa.Table],
    most: int,
) -> Run:
    """What a page shows of normalized changes, and of the tables that `run` gives: the first by their times."""
    graph = label_graph(written)
    known = set(graph.bands)
    came = [each for relation, table in changes.items() for each in _changes(relation, table, known)]
    did = list(_done(written, made))
    order = sorted([*came, *did], key=lambda each: (each.time, each.rule is not None))[:most]
    arrow = program.timestamp.arrow
    return Run(
        text,
        tuple(_rule_texts(written)),
        WORDS,
        graph,
        tuple(map(_shown, order)),
        _counts(came, did),
        timestamps=bool(pa.types.is_timestamp(arrow)),
        zoned=program.timestamp.zoned,
    )


def _shown(event: _Event) -> Shown:
    made = () if event.rule is None else (Made(event.rule),)
    return Shown(event.label, event.time, event.time, event.fields, event.rule is not None, made)


def _counts(came: Iterable[_Event], did: Iterable[_Event]) -> dict[str, Count]:
    bases, derived = (Counter(each.label for each in events) for events in (came, did))
    return {label: Count(bases[label], derived[label]) for label in sorted({*bases, *derived})}


def _times(column: pa.ChunkedArray) -> list[int]:
    """Times as the page counts them: microseconds since 1970, or integers as they are."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz))
    return list(column.cast(pa.int64()).to_pylist())


# --- changes ----------------------------------------------------------------------------------------------------------


def _changes(relation: str, table: pa.Table, known: set[str]) -> Iterator[_Event]:
    """The changes that rules can see, under the names that they have in the picture."""
    times = _times(table.column(TIME))
    for time, row in zip(times, table.to_pylist(), strict=True):
        kind = ast.KINDS[row[KIND]]
        plain = relation if kind != "delete" else ""
        label = next((each for each in (f"{kind}({relation})", plain) if each in known), None)
        if label is not None:
            yield _Event(label, time, _values(row, kind))


def _values(row: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The values of a change: new ones, of a delete old ones; of an update those before it that are known, too."""
    side = OLD if kind == "delete" else NEW
    found = {name.removeprefix(side): value for name, value in row.items() if name.startswith(side)}
    if kind == "update":
        olds = {name: value for name, value in row.items() if name.startswith(OLD) and value is not None}
        found |= {f"old_{name.removeprefix(OLD)}": value for name, value in olds.items()}
    return found


# --- what rules did ---------------------------------------------------------------------------------------------------


def _done(program: ast.Program, made: Mapping[str, pa.Table]) -> Iterator[_Event]:
    """What rules did; an event that several derive is shown once, as made by the first of them."""
    derived = {each.name: each.attributes for module in program.modules for each in module.derived}
    seen = set()
    for number, rule in enumerate(_rules(program)):
        for action, act in enumerate(rule.actions):
            table, label = made[output_name(rule.name, action)], label_made(rule, act, derived)
            for time, row in zip(_times(table.column(STAMP)), table.to_pylist(), strict=True):
                fields = _told(row, derived.get(label, ()))
                same = (label, time, repr(fields))
                if same not in seen:
                    seen.add(same)
                    yield _Event(label, time, fields, number)


def _told(row: Mapping[str, Any], attributes: Iterable[str]) -> dict[str, Any]:
    """The values of a row; arguments of an event have the names of its attributes."""
    names = {f"arg{number}": name for number, name in enumerate(attributes, 1)}
    return {names.get(name, name): value for name, value in row.items() if name not in (MODULE, STAMP)}


def _rules(program: ast.Program) -> Iterator[ast.Rule]:
    return (rule for module in program.modules for rule in module.rules)


def _rule_texts(program: ast.Program) -> Iterator[RuleText]:
    derived = {each.name for module in program.modules for each in module.derived}
    for rule in _rules(program):
        span = rule.span or Span(0, 0)
        yield RuleText(label_made(rule, rule.actions[0], derived), span.start, span.end, rule.name)

"""Programs as text, histories as short lists of rows, and what the meaning says of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from acelera.language.events import Moment
from acelera.language.literals import parse_timestamp
from acelera.language.types import BOOL, FLOAT, INT, NULL, STRING, Type, from_arrow
from acelera.trepl.checker import check
from acelera.trepl.history import Change, Fired
from acelera.trepl.parser import parse
from acelera.trepl.resolved import Program, Relation
from acelera.trepl.semantics import fired

TIMESTAMP = from_arrow(pa.timestamp("ns", "UTC"))
LETTERS = {name: Relation({"k": INT}) for name in "abc"}
"""Relations that are known even if nothing happens to them."""
_TYPES: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT, str: STRING, type(None): NULL}


# --- histories --------------------------------------------------------------------------------------------------------


def moment(at: int | str) -> Moment:
    """A number of seconds since 1970, or a text such as `2024-01-31 10:00`."""
    if isinstance(at, int):
        return Moment(at * 10**9)
    instant = parse_timestamp(at)
    assert instant is not None
    return Moment(instant.nanoseconds)


def ins(relation: str, at: int | str, /, instant: Any = None, **row: Any) -> Change:
    return _change(relation, "insert", at, instant, None, row)


def gone(relation: str, at: int | str, /, instant: Any = None, **row: Any) -> Change:
    return _change(relation, "delete", at, instant, row, None)


def upd(relation: str, at: int | str, /, instant: Any = None, **row: Any) -> Change:
    """A pair is the old and the new value, anything else is both."""
    sides = [{name: cell[side] if isinstance(cell, tuple) else cell for name, cell in row.items()} for side in (0, 1)]
    return _change(relation, "update", at, instant, *sides)


def _change(relation: str, kind: str, at: int | str, instant: Any, old: Any, new: Any) -> Change:
    return Change(relation, kind, old, new, moment(at) if instant is None else instant, moment(at))


def letters(happened: list[str]) -> list[Change]:
    """`c1 a2`: an insert into c with k = 1 and one into a with k = 2, at one stage; `c` has NULL for k."""
    rows = [(stage, each) for stage, those in enumerate(happened, 1) for each in those.split()]
    return [ins(each[0], stage, k=int(each[1:]) if each[1:] else None) for stage, each in rows]


# --- programs ---------------------------------------------------------------------------------------------------------


def relations_of(history: Iterable[Change]) -> dict[str, Relation]:
    """The relations that changed, with the types of what is in them."""
    found: dict[str, dict[str, Type]] = {}
    for change in history:
        for name, value in {**(change.old or {}), **(change.new or {})}.items():
            known = found.setdefault(change.relation, {})
            if known.get(name, NULL) is NULL or isinstance(value, float):
                known[name] = _TYPES[type(value)]
    return {name: Relation(attributes) for name, attributes in found.items()}


def checked(
    text: str, history: Iterable[Change], relations: dict[str, Relation] | None = None, zone: str = "UTC"
) -> Program:
    known = {**LETTERS, **relations_of(history), **(relations or {})}
    return check(parse(text).program, known, TIMESTAMP, zone).program


def judge(
    text: str, history: Sequence[Change], relations: dict[str, Relation] | None = None, zone: str = "UTC"
) -> list[Fired]:
    return fired(checked(text, history, relations, zone), history)


def told(text: str, history: Sequence[Change], rule: str | None = None, **options: Any) -> list[tuple[Any, ...]]:
    """The stage and the arguments of what a rule does; of the last rule, if none is named."""
    rows = judge(text, history, **options)
    name = rule or parse(text).program.modules[-1].rules[-1].name
    return [(each.stage, *each.arguments) for each in rows if each.rule == name]


def stages(text: str, history: Sequence[Change], **options: Any) -> list[int]:
    """The stages at which the last rule fires, each as often as it does something else."""
    return [stage for stage, *_ in told(text, history, **options)]

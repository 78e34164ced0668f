"""Warnings: programs that mean something, but most likely not what was meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from itertools import combinations

from acelera.algebra.intervals import TIMERS
from acelera.errors import did_you_mean, listing
from acelera.programs.problems import Notes
from acelera.xchangeeq import ast
from acelera.xchangeeq.heads import variables_in
from acelera.xchangeeq.mistakes import RESERVED
from acelera.xchangeeq.normal import NormalRule
from acelera.xchangeeq.query_terms import bound, children_named
from acelera.xchangeeq.schemas import Shape
from acelera.xchangeeq.scopes import positive
from acelera.xchangeeq.strata import root_label


def warn(rule: NormalRule, labels: Mapping[str, Shape], notes: Notes) -> None:
    """Note all warnings of a rule that has no mistakes; `labels` are those of rows and of heads."""
    _unknown_labels(rule, labels, notes)
    _left_over(rule, labels, notes)
    _windows_with_their_anchor(rule, labels, notes)
    _same_events(rule, labels, notes)
    _unbounded_state(rule, notes)


def _unknown_labels(rule: NormalRule, labels: Collection[str], notes: Notes) -> None:
    for _, query in rule.queries:
        label = root_label(query)
        if label is None or label in labels:
            continue
        near = did_you_mean(label, labels)
        hint = f"the word {label.lower()} is written in lower case" if label.lower() in RESERVED else None
        notes.warn(f"no row and no head has the label {label}{near}", query.span, hint)


def _left_over(rule: NormalRule, labels: Mapping[str, Shape], notes: Notes) -> None:
    """Total terms that do not name all children of their label: single braces are easily written for double ones."""
    roots = (bound(query) for _, query in rule.queries)
    todo = [(root, labels.get(root.label or "", Shape())) for root in roots if isinstance(root, ast.Labelled)]
    while todo:
        term, shape = todo.pop()
        named = children_named(term)
        if term.total and None not in named and set(shape.labels) - set(named):
            _warn_of_left_over(term, shape, notes)
        for label, terms in named.items():
            child = shape.child(label or "")
            if child is not None and isinstance(child.content, Shape):
                todo += [(each, child.content) for each in terms]


def _warn_of_left_over(term: ast.Labelled, shape: Shape, notes: Notes) -> None:
    named = [label for label in children_named(term) if label is not None]
    others = listing([label for label in shape.labels if label not in named])
    shown, partial = ("[ … ]", "[[ … ]]") if term.ordered else ("{ … }", "{{ … }}")
    asked = f"no other children than {listing(named)}" if named else "no children"
    notes.warn(
        f"{term.label} {shown} matches what has {asked}; {term.label} may have {others}{', too' if named else ''}",
        term.span,
        f"write {term.label} {partial} to allow others",
    )


# --- choice B: windows are closed ---------------------------------------------------------------------------------


def _windows_with_their_anchor(rule: NormalRule, labels: Mapping[str, Shape], notes: Notes) -> None:
    """Windows are closed: a point event lies in one that begins or ends with it, so `not` finds the event itself."""
    events = {event.identifier: event for event in rule.events}
    for each in rule.nots:
        anchor, begin, end = reach(each.window, rule)
        event = events.get(anchor)
        if event is None or not begin <= 0 <= end or not may_be_one(each.query, event.query, labels):
            continue
        label = root_label(event.query) or "any event"
        _, first, last = reach(each.window, rule, _LONG)
        always = first <= 0 and last >= _LONG
        notes.warn(
            f"{anchor} lies in {_called(each.window, anchor)}{'' if always else f' if {label} is a point event'}, "
            "and `not` then finds it",
            each.span,
            _way_out(each.window, anchor, begin, end),
        )


_LONG = Fraction(10**18)
"""A duration, in microseconds, beside which all others are short."""


def _called(window: str, anchor: str) -> str:
    return "its own time" if window == anchor else f"the closed window {window}"


def _way_out(window: str, anchor: str, begin: Fraction, end: Fraction) -> str:
    """A window without its anchor."""
    if window == anchor:
        return f"make a window after it: event w: timer:shift-forward [ event {anchor}, 1 min ]"
    if begin < 0 < end:
        return f"make two windows, one that ends before {anchor}, one that begins after it"
    kind = "shorten" if begin < 0 else "shorten-begin"
    opened = f"event o: timer:{kind} [ event {window}, 1 ms ] (or the least unit of your times)"
    return f"open the window: {opened}, while o: not …"


def reach(window: str, rule: NormalRule, length: Fraction = Fraction(0)) -> tuple[str, Fraction, Fraction]:
    """The event that a window hangs on, and where the window begins and ends if that event is [0, length]."""
    timers = {timer.identifier: timer for timer in rule.relative}
    chain: list[ast.RelativeTimer] = []
    while window in timers and timers[window] not in chain:
        chain.append(timers[window])
        window = timers[window].anchor
    begin, end = Fraction(0), length
    for timer in reversed(chain):
        begin, end = _interval(timer.kind, begin, end, timer.duration.microseconds)
    return window, begin, end


def _interval(kind: str, begin: Fraction, end: Fraction, duration: Fraction) -> tuple[Fraction, Fraction]:
    """Where a timer begins and ends beside an interval."""
    first, last = ((begin if shift.end == "begin" else end) + shift.direction * duration for shift in TIMERS[kind])
    return first, last


# --- two literals, one event --------------------------------------------------------------------------------------


def may_be_one(left: ast.Query, right: ast.Query, labels: Mapping[str, Shape]) -> bool:
    """Whether one event can match both queries, as far as labels and constants tell."""
    one, other = bound(left), bound(right)
    if not isinstance(one, ast.Labelled) or not isinstance(other, ast.Labelled):
        return True
    if None not in (one.label, other.label) and one.label != other.label:
        return False
    shape = labels.get(one.label or other.label or "", Shape())
    single = {child.label for child in shape.children if not child.repeated}
    constants = dict(_constants(other))
    return all(constants.get(label, value) == value for label, value in _constants(one) if label in single)


def _constants(query: ast.Labelled) -> Iterator[tuple[str, object]]:
    for child in query.children:
        if isinstance(child, ast.Labelled) and child.label is not None and len(child.children) == 1:
            inner = child.children[0]
            if isinstance(inner, ast.IsValue):
                yield child.label, inner.value


def _same_events(rule: NormalRule, labels: Mapping[str, Shape], notes: Notes) -> None:
    """Nothing but `within` between two events of one kind: each is near itself."""
    for left, right in combinations(rule.events, 2):
        names = {left.identifier or "", right.identifier or ""}
        near = [each for each in rule.conditions if isinstance(each, ast.Within) and names <= set(each.identifiers)]
        if not near or not may_be_one(left.query, right.query, labels) or _told_apart(left, right, rule):
            continue
        first, second = left.identifier, right.identifier
        hint = f"say that they differ: {first} before {second}, or compare two of their values"
        notes.warn(f"{first} and {second} can be one and the same event", near[0].span, hint)


def _told_apart(left: ast.Event, right: ast.Event, rule: NormalRule) -> bool:
    names = {left.identifier, right.identifier}
    own, others = positive(left.query) - positive(right.query), positive(right.query) - positive(left.query)
    for condition in rule.conditions:
        for each in ast.walk(condition):
            match each:
                case ast.Temporal(one, relation, other) if {one, other} == names and relation != "equals":
                    return True
                case ast.ApartBy(identifiers, duration) if names <= set(identifiers) and duration.microseconds:
                    return True
                case ast.Comparison():
                    used = {variable.name for variable in variables_in(each)}
                    if used & own and used & others:
                        return True
    return False


# --- unbounded state ----------------------------------------------------------------------------------------------


def _unbounded_state(rule: NormalRule, notes: Notes) -> None:
    """Events between which time may pass without end are kept for ever. No event is taken to last without end."""
    group = {name: name for name in rule.identifiers}

    def tie(names: Collection[str]) -> None:
        joined = {group[name] for name in names if name in group}
        for name, each in group.items():
            if each in joined:
                group[name] = min(joined)

    for timer in rule.relative:
        tie([timer.identifier, timer.anchor])
    for condition in _certain(rule.conditions):
        match condition:
            case ast.Within(identifiers, _):
                tie(identifiers)
            case ast.Temporal(left, relation, right) if relation not in ("before", "after"):
                tie([left, right])
    labels = {event.identifier: root_label(event.query) or "every event" for event in rule.events}
    apart: dict[str, str] = {}
    for name in rule.identifiers:
        apart.setdefault(group[name], name)
    if len(apart) < 2:
        return
    kept = next((name for name in rule.identifiers if name in labels), None)
    if kept is None:
        return
    other = next(name for each, name in apart.items() if each != group[kept])
    message = f"{labels[kept]} is kept for ever: nothing bounds how long after {kept} the event {other} may end"
    notes.warn(message, rule.rule.body.span, f"add {{{kept}, {other}}} within …")


def _certain(conditions: Collection[ast.Condition]) -> Iterator[ast.Condition]:
    """The conditions that hold in any case: not those under `or` and `not`."""
    todo = list(conditions)
    while todo:
        each = todo.pop()
        if isinstance(each, ast.Both):
            todo.extend(each.conditions)
        else:
            yield each

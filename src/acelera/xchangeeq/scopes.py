"""Names in rules: events that timers, windows and conditions speak of, and variables that must be bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from acelera.errors import Span, did_you_mean
from acelera.programs.problems import Notes
from acelera.xchangeeq import ast
from acelera.xchangeeq.heads import variables_in
from acelera.xchangeeq.normal import NormalRule, asked
from acelera.xchangeeq.query_terms import bound, variables_of


def check_identifiers(rule: NormalRule, notes: Notes) -> None:
    """Each event has a name of its own, and whatever is named is there."""
    named: dict[str, Span | None] = {}
    for name, span in _named(rule):
        if name in named:
            notes.wrong(f"event identifier {name} is used twice", span, "give one of the events another name")
        named[name] = span
    for name, span in _mentioned(rule):
        if name not in named:
            near = did_you_mean(name, [each for each in named if not each.startswith("_")])
            notes.wrong(f"no event {name} in this part of the rule{near}", span, _among(named))
    anchors = {timer.identifier: timer.anchor for timer in rule.relative}
    for timer in rule.relative:
        if _returns(timer.identifier, anchors):
            notes.wrong(
                f"the timer {timer.identifier} depends on itself", timer.span, "it needs an event to start from"
            )
    if not (rule.events or rule.absolute or rule.periodic):
        hint = "name what happens: event e: temp {{ … }}"
        notes.wrong("a rule needs an event that is not a relative timer", rule.rule.body.span, hint)


def _named(rule: NormalRule) -> Iterator[tuple[str, Span | None]]:
    """All events with a name, in the order of the text."""
    events = [(each.identifier or "", each.span) for each in (*rule.events, *rule.absolute)]
    periodic = [(each.identifier, each.span) for each in rule.periodic]
    relative = [(each.identifier, each.span) for each in rule.relative]
    yield from sorted(events + periodic + relative, key=lambda each: each[1] or Span(0, 0))


def _mentioned(rule: NormalRule) -> Iterator[tuple[str, Span | None]]:
    for timer in rule.relative:
        yield timer.anchor, timer.span
    for each in (*rule.collects, *rule.nots):
        yield each.window, each.span
    for condition in rule.conditions:
        for inner in ast.walk(condition):
            yield from ((name, inner.span) for name in asked(inner))


def _among(named: Iterable[str]) -> str | None:
    shown = [each for each in named if not each.startswith("_")]
    return f"there are {', '.join(shown)}" if shown else "name an event: event e: temp {{ … }}"


def _returns(name: str, anchors: dict[str, str]) -> bool:
    """Whether a timer hangs on itself."""
    seen: set[str] = set()
    each = anchors.get(name)
    while each is not None and each not in seen:
        if each == name:
            return True
        seen.add(each)
        each = anchors.get(each)
    return False


# --- variables ----------------------------------------------------------------------------------------------------


def positive(query: ast.Query, optional: bool = True) -> set[str]:
    """The variables that a query binds: those outside of `without`, and of `optional` if so wanted."""
    left_out: tuple[type[ast.Query], ...] = (ast.Without,) if optional else (ast.Without, ast.Optional)
    found: set[str] = set()
    todo: list[ast.Query] = [query]
    while todo:
        each = todo.pop()
        if isinstance(each, left_out):
            continue
        found |= {each.name} if isinstance(each, ast.Binds) else set()
        todo.extend(ast.children(each))
    return found


def bound_by(rule: NormalRule) -> set[str]:
    """The variables that events and collects of a rule bind."""
    queries = [each.query for each in rule.events] + [each.query for each in rule.collects]
    return {name for query in queries for name in positive(query)}


def check_variables(alternatives: Sequence[NormalRule], notes: Notes) -> None:
    """Range restriction, in each alternative of one rule; and where optional variables may stand."""
    somewhere = {name for rule in alternatives for name in bound_by(rule)}
    for rule in alternatives:
        held = bound_by(rule)
        absent = variables_of(each.query for each in rule.nots)
        for name, span in absent.items():
            if name not in held:
                notes.wrong(f"var {name} occurs only under not", span, _instead_of_not(name, rule))
        for kind, node in (("the head", rule.head), *(("a condition", each) for each in rule.conditions)):
            for variable in variables_in(node):
                if variable.name not in held and variable.name not in absent:
                    _unbound(variable, kind, somewhere, notes)
        _check_without(rule, notes)
        _check_optional(rule, notes)


def _instead_of_not(name: str, rule: NormalRule) -> str:
    """What to do about a variable that is bound under `not` alone; conditions do not reach there."""
    if name not in {variable.name for condition in rule.conditions for variable in variables_in(condition)}:
        return "bind it in an event or collect literal, or leave it out"
    absent = next(each for each in rule.nots if name in variables_of([each.query]))
    query = bound(absent.query)
    label = query.label if isinstance(query, ast.Labelled) and query.label is not None else "*"
    return (
        f"what must not be is made by a rule of its own: DETECT unwanted {{ … }} ON {label} {{{{ … }}}} where {{ … }} "
        f"END; then write while {absent.window}: not unwanted {{{{ … }}}}"
    )


def _unbound(variable: ast.Variable, kind: str, somewhere: set[str], notes: Notes) -> None:
    if variable.name in somewhere:
        message = f"var {variable.name} of {kind} is not bound in every alternative of or"
        notes.wrong(message, variable.span, "bind it in each of them, or make a rule of each")
    else:
        near = did_you_mean(variable.name, sorted(somewhere))
        message = f"var {variable.name} of {kind} is not bound{near}"
        notes.wrong(message, variable.span, "bind it in an event or collect literal: temp {{ value {{ var V }} }}")


def _check_without(rule: NormalRule, notes: Notes) -> None:
    for _, query in rule.queries:
        held = positive(query)
        for each in ast.walk(query):
            if not isinstance(each, ast.Without):
                continue
            for name, span in variables_of([each.query]).items():
                if name not in held:
                    hint = "bind it elsewhere in the same term, or leave it out"
                    notes.wrong(f"var {name} occurs only under without", span, hint)


def _check_optional(rule: NormalRule, notes: Notes) -> None:
    queries = [query for _, query in rule.queries]
    for place, query in enumerate(queries):
        optional = positive(query) - positive(query, optional=False)
        others = variables_of([*queries[:place], *queries[place + 1 :]])
        for name in sorted(optional & set(others)):
            hint = "what may be missing can be used in the head and in conditions"
            notes.wrong(f"var {name} is optional in one literal and used in another", others[name], hint)

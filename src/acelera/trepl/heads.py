"""What the actions of rules stand for: derived events, messages, commands, functions."""

from __future__ import annotations

import re
from collections.abc import Collection

from acelera.errors import Span, did_you_mean
from acelera.language.ast import Expression, Literal
from acelera.programs.problems import Notes
from acelera.trepl import ast
from acelera.trepl.commands import quoted_terms, unbound
from acelera.trepl.formats import no_places, taken_apart
from acelera.trepl.named_events import ModuleEvents
from acelera.trepl.resolved import Action, CallFunction, Derive, Sql, Write
from acelera.trepl.scopes import Scope
from acelera.trepl.term_names import TermNames

_NO_PARAMETERS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


def resolve_action(
    act: ast.Act | ast.Command,
    events: ModuleEvents,
    functions: Collection[str],
    terms: TermNames,
    scope: Scope,
    notes: Notes,
) -> Action | None:
    """The action with all its names known; None, with a note, if there is no such action."""
    arguments = tuple(terms.resolve(each, scope) for each in act.arguments)
    if isinstance(act, ast.Command):
        _warn_of_command(act.text, scope, act.span, notes)
        return Sql(act.text, arguments, span=act.span)
    if act.name in events.own:
        return _derive(act, arguments, len(events.own[act.name]), notes)
    if act.name == "write":
        return _write(act, arguments, notes)
    if act.name == "sql":
        return _sql(act, arguments, scope, notes)
    if act.name in functions:
        return CallFunction(act.name, arguments, span=act.span)
    near = did_you_mean(act.name, (*events.own, *functions, "write", "sql"))
    hint = f"declare an event, derived {act.name}(…), or give a function: ac.trepl(…, functions={{{act.name!r}: …}})"
    notes.wrong(f"no action {act.name}{near}", act.span, hint)
    return None


def _derive(act: ast.Act, arguments: tuple[Expression, ...], wanted: int, notes: Notes) -> Derive:
    if len(arguments) != wanted:
        attributes = "attribute" if wanted == 1 else "attributes"
        notes.wrong(f"{act.name} has {wanted} {attributes}, {_given(len(arguments))}", act.span)
    return Derive(act.name, arguments, span=act.span)


def _given(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'} given"


def _text(arguments: tuple[Expression, ...]) -> str | None:
    """The first argument, if it is a text."""
    first = arguments[0] if arguments else None
    return first.value if isinstance(first, Literal) and isinstance(first.value, str) else None


def _write(act: ast.Act, arguments: tuple[Expression, ...], notes: Notes) -> Write:
    form = _text(arguments)
    if form is None or "%" not in form:
        return Write(None, arguments, span=act.span)
    wanted = len(taken_apart(form)[1])
    for other in no_places(form):
        hint = "there are %s, %d and %f, with a width (%5d) or decimals (%.2f); a percent sign is written %%"
        notes.warn(f"`{other}` in the format is no place for a value: it stays as it is", act.span, hint)
    if len(arguments) - 1 < wanted:
        message = f"the format has {wanted} places for values, {_given(len(arguments) - 1)}"
        notes.wrong(message, act.span, "a percent sign is written %%")
    return Write(form, arguments[1:], span=act.span)


def _warn_of_command(text: str, scope: Scope, span: Span | None, notes: Notes) -> None:
    for term in unbound(text):
        if term.partition(".")[0] in scope.known:
            notes.warn(f"{term} is left to the database", span, f'write sql("… ? …", {term})')
            continue
        hint = "an event binds a variable: st(X, …)"
        notes.warn(f"{term} is left to the database: the rule binds no such variable", span, hint)
    for term in quoted_terms(text, scope.known):
        notes.warn(f"{term} in quotes is no term of the rule", span, f"the value is {term[1:-1]}, without quotes")


def _sql(act: ast.Act, arguments: tuple[Expression, ...], scope: Scope, notes: Notes) -> Sql | None:
    text = _text(arguments)
    if text is None:
        notes.wrong("sql takes a command as its first argument", act.span, 'write sql("insert into … values (?)", X.a)')
        return None
    wanted = _NO_PARAMETERS.sub("", text).count("?")
    if wanted != len(arguments) - 1:
        notes.wrong(f"the command has {wanted} `?`, {_given(len(arguments) - 1)}", act.span)
    _warn_of_command(text, scope, act.span, notes)
    return Sql(text, arguments[1:], span=act.span)

"""From the text of a program to its AST.

The LALR parser calls `_AstBuilder` while it reads, so neither parsing nor building recurses, however deep the nesting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import lark

from acelera.errors import Problem, QuerySyntaxError, Span, did_you_mean
from acelera.language import ast as expressions
from acelera.language.conditions import Name, fail
from acelera.language.expression_builder import Duration, ExpressionBuilder, no_tokens, span_of
from acelera.programs.problems import ProgramSyntaxError
from acelera.trepl import ast
from acelera.trepl.commands import command
from acelera.trepl.goals import KIND_WORDS, Called, Dotted, Grouped, Known, Plain, Read, event, goal, sequence, value
from acelera.trepl.mistakes import explain_syntax_error
from acelera.trepl.strings import quoted, unescaped

MAIN = "Main"
"""The name of a module without Begin Module."""


@dataclass(frozen=True)
class Parsed:
    """A program, and what in its text is most likely not what was meant."""

    program: ast.Program
    warnings: tuple[Problem, ...]


def parse(text: str) -> Parsed:
    """The AST of a program; raises a ProgramSyntaxError that says where the text goes wrong."""
    try:
        result = _lark().parse(text)
    except lark.UnexpectedInput as error:
        raise ProgramSyntaxError([explain_syntax_error(error, text)], text) from None
    except QuerySyntaxError as error:
        raise ProgramSyntaxError(error.problems, text) from None
    assert isinstance(result, Parsed)
    return result


@cache
def _lark() -> lark.Lark:
    grammar = files("acelera.trepl").joinpath("grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(
        grammar,
        parser="lalr",
        start="program",
        transformer=_AstBuilder(),
        keep_all_tokens=True,
        maybe_placeholders=True,
        lexer_callbacks={"STRING": _string},
    )


class _Body(NamedTuple):
    """What stands in a module."""

    monitored: tuple[ast.Source, ...]
    partition: tuple[str, ...]
    derived: tuple[ast.Declared, ...]
    rules: tuple[ast.Rule, ...]
    warnings: tuple[Problem, ...]
    span: Span


class _Monitor(NamedTuple):
    """A monitor statement."""

    sources: tuple[ast.Source, ...]
    keys: tuple[Name, ...]
    span: Span


class _Derived(NamedTuple):
    """A derived statement."""

    declared: tuple[ast.Declared, ...]
    span: Span


class _Rule(NamedTuple):
    """A rule, and what is to be said about it."""

    rule: ast.Rule
    warnings: tuple[Problem, ...]
    span: Span


class _Module(NamedTuple):
    """A module, and what is to be said about it."""

    module: ast.Module
    warnings: tuple[Problem, ...]


_BUILT = ExpressionBuilder()


def _span(items: Sequence[Any]) -> Span:
    """From the first item to the last, where some are lists."""
    return span_of(*(each for item in items for each in (item if isinstance(item, list) else [item])))


def _known(node: ast.Goal | expressions.Expression) -> Read:
    return Known(node, span=node.span)


def _expression(build: Callable[[list[Any]], expressions.Expression]) -> Callable[..., Read]:
    """An operator of expressions: its operands are values, whatever else they might have been."""

    def built(_: lark.Transformer[Any, Any], items: list[Any]) -> Read:
        return _known(build([value(item) if isinstance(item, Read) else item for item in items]))

    return built


def _string(token: lark.Token) -> lark.Token:
    """All strings in single quotes, so that what follows knows one kind."""
    return token.update(value=quoted(unescaped(token))) if token.startswith('"') else token


class _AstBuilder(lark.Transformer[Any, Any]):
    """One method for each alternative of the grammar; `items` are its tokens and what was made of its parts."""

    # programs

    def program(self, items: list[_Module]) -> Parsed:
        modules = tuple(item.module for item in items)
        return Parsed(
            ast.Program(modules, span=span_of(*modules)), tuple(each for item in items for each in item.warnings)
        )

    def main(self, items: list[_Body]) -> Parsed:
        return self.program([_module(MAIN, items[0], items[0].span)])

    def module(self, items: list[Any]) -> _Module:
        return _module(str(items[2]), items[3], span_of(*items))

    def body(self, items: list[Any]) -> _Body:
        monitors = [item for item in items if isinstance(item, _Monitor)]
        rules = [item for item in items if isinstance(item, _Rule)]
        return _Body(
            tuple(source for item in monitors for source in item.sources),
            _partition(monitors),
            tuple(each for item in items if isinstance(item, _Derived) for each in item.declared),
            tuple(item.rule for item in rules),
            tuple(each for item in rules for each in item.warnings),
            span_of(*items),
        )

    # what is monitored and derived

    def monitor(self, items: list[Any]) -> _Monitor:
        sources = tuple(item for item in items if isinstance(item, ast.Source))
        keys = next((item for item in items if isinstance(item, list)), [])
        return _Monitor(sources, tuple(keys), _span(items))

    def keys(self, items: list[Any]) -> list[Name]:
        return no_tokens(items)

    def monitored(self, items: list[Any]) -> ast.Source:
        name, _, alias = items
        return ast.Source(None, None, str(name), _text(alias), span=span_of(*items))

    def monitored_kind(self, items: list[Any]) -> ast.Source:
        kind, _, relation, _, _, alias = items
        if kind.lower() not in KIND_WORDS:
            near = did_you_mean(kind, KIND_WORDS)
            fail(f"`{kind}` is not a kind of changes{near}", kind.span, f"there are {', '.join(ast.KINDS)}")
        return ast.Source(KIND_WORDS[kind.lower()], None, str(relation), _text(alias), span=span_of(*items))

    def monitored_of_module(self, items: list[Any]) -> ast.Source:
        module, _, name, _, alias = items
        return ast.Source(None, str(module), str(name), _text(alias), span=span_of(*items))

    def derived(self, items: list[Any]) -> _Derived:
        return _Derived(tuple(item for item in items if isinstance(item, ast.Declared)), span_of(*items))

    def declared(self, items: list[Any]) -> ast.Declared:
        name, *attributes = no_tokens(items)
        return ast.Declared(str(name), tuple(str(each) for each in attributes), span=span_of(*items))

    # rules

    def rule(self, items: list[Any]) -> _Rule:
        name, _, read, _, actions, _ = items
        return _rule(name, goal(read), actions, _span(items))

    def unclosed_rule(self, items: list[Any]) -> _Rule:
        name, _, opening, goals, _, actions, _ = items
        made = sequence([goal(each) for each in goals], False, span_of(opening, *goals))
        warning = Problem("this `(` is never closed", span_of(opening), "it is read as if it were closed before ->")
        return _rule(name, made, actions, _span(items), warning)

    def actions(self, items: list[Any]) -> list[Any]:
        return [item for item in items if item is not None and getattr(item, "type", None) != "COMMA"]

    def act(self, items: list[Any]) -> ast.Act:
        name, _, arguments, _ = items
        word = name.lower()
        called = word if word in ("write", "sql") and not name.quoted else str(name)
        return ast.Act(called, tuple(value(each) for each in arguments or ()), span=span_of(*items[:2], items[-1]))

    def command(self, items: list[lark.Token]) -> lark.Token:
        return items[0]

    # goals

    def name(self, items: list[lark.Token]) -> Name:
        return _BUILT.name(items)

    def goals(self, items: list[Any]) -> list[Read]:
        return no_tokens(items)

    def both(self, items: list[Any]) -> Read:
        goals = tuple(event(each, "beside &") for each in no_tokens(items))
        return _known(ast.Both(goals, span=span_of(*items)))

    def negated(self, items: list[Any]) -> Read:
        return _known(ast.Not(event(items[1], "after !"), span=span_of(*items)))

    def star(self, items: list[Any]) -> Read:
        return _known(ast.Star(event(items[-1], "after *"), len(items) == 3, span=span_of(*items)))

    star_every = star

    def relaxed(self, items: list[Any]) -> Read:
        return _known(sequence([goal(each) for each in items[1]], True, span_of(items[0], items[2])))

    def either(self, items: list[Any]) -> Read:
        goals = tuple(event(each, "in {…}") for each in items[1])
        return _known(ast.Either(goals, span=span_of(items[0], items[2])))

    def grouped(self, items: list[Any]) -> Read:
        return Grouped(tuple(items[1]), span=span_of(items[0], items[2]))

    def plain(self, items: list[Any]) -> Read:
        return Plain(items[0], span=items[0].span)

    def dotted(self, items: list[Any]) -> Read:
        return Dotted(items[0], items[2], span=span_of(*items))

    def called(self, items: list[Any]) -> Read:
        name, opening, inner, closing = items
        return Called(None, name, tuple(inner), span=span_of(name, opening, closing))

    def called_of_module(self, items: list[Any]) -> Read:
        module, _, name, _, inner, closing = items
        return Called(module, name, tuple(inner), span=span_of(module, closing))

    def time_length(self, items: list[Any]) -> Duration:
        return _BUILT.time_length(items)

    # expressions

    binary = _expression(_BUILT.binary)
    not_ = _expression(_BUILT.not_)
    minus = _expression(_BUILT.minus)
    is_null = _expression(_BUILT.is_null)
    is_not_null = _expression(_BUILT.is_not_null)
    in_ = _expression(_BUILT.in_)
    not_in = _expression(_BUILT.not_in)
    between = _expression(_BUILT.between)
    not_between = _expression(_BUILT.not_between)
    like = _expression(_BUILT.like)
    not_like = _expression(_BUILT.not_like)
    number = _expression(_BUILT.number)
    string = _expression(_BUILT.string)
    true = _expression(_BUILT.true)
    false = _expression(_BUILT.false)
    null = _expression(_BUILT.null)
    timestamp = _expression(_BUILT.timestamp)
    date = _expression(_BUILT.date)
    interval = _expression(_BUILT.interval)
    cast = _expression(_BUILT.cast)


def _module(name: str, body: _Body, span: Span) -> _Module:
    monitored, partition, derived, rules, warnings, _ = body
    if not monitored:
        hint = "all events that its rules name make its stages; write monitor …"
        warnings = (Problem(f"module {name} has no monitor statement", rules[0].span, hint), *warnings)
    return _Module(ast.Module(name, monitored, partition, derived, rules, span=span), warnings)


def _partition(monitors: Sequence[_Monitor]) -> tuple[str, ...]:
    """The attributes of `partition by`, which may stand after one monitor statement or be the same after several."""
    given = [item.keys for item in monitors if item.keys]
    for keys in given[1:]:
        if keys != given[0]:
            hint = "a module has one partition by, for all that it monitors"
            fail("partition by differs from the one before", span_of(*keys), hint)
    return tuple(str(key) for key in given[0]) if given else ()


def _rule(name: Name, made: ast.Goal, actions: Iterable[Any], span: Span, *warnings: Problem) -> _Rule:
    bound = {node.variable for node in ast.walk(made) if isinstance(node, ast.Named) and node.variable is not None}
    done = tuple(command(each, bound) if isinstance(each, lark.Token) else each for each in actions)
    return _Rule(ast.Rule(str(name), made, done, span=span), warnings, span)


def _text(name: Name | None) -> str | None:
    return None if name is None else str(name)

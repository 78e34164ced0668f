"""From the AST of a program to its text, which parses back to an equal AST."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from acelera.language.ast import Binary, Expression
from acelera.language.printer import print_expression
from acelera.trepl import ast
from acelera.trepl.commands import filled
from acelera.trepl.goals import WORDS_OF_EVENTS
from acelera.trepl.mistakes import RESERVED
from acelera.trepl.parser import MAIN
from acelera.trepl.strings import written

_LONGEST_LINE = 100
_BOTH, _UNARY, _PRIMARY = range(3)


def printed(program: ast.Program) -> str:
    """The text of a program, a rule after the other."""
    if [module.name for module in program.modules] == [MAIN]:
        return _body(program.modules[0])
    return "\n\n".join(f"Begin Module {name(module.name)}\n{_body(module)}\nEnd Module." for module in program.modules)


def print_monitor(module: ast.Module) -> str:
    """The monitor statement of a module, which need not have one."""
    if not module.monitored:
        return ""
    keys = f" partition by {', '.join(map(name, module.partition))}" if module.partition else ""
    return f"monitor {', '.join(map(_source, module.monitored))}{keys};"


def print_rule(rule: ast.Rule) -> str:
    """The text of a rule; the goals of a long one stand on lines of their own."""
    goal = print_goal(rule.goal)
    actions = ", ".join(_action(each) for each in rule.actions)
    line = f"{name(rule.name)}: {goal} -> {actions};"
    if len(line) <= _LONGEST_LINE and "\n" not in actions:
        return line
    return f"{name(rule.name)}:\n  {_broken(rule.goal, goal)}\n  -> {actions};"


def print_goal(goal: ast.Goal) -> str:
    """The text of an event or a condition, on one line."""
    return ast.fold(goal, _goal).text


def name(text: str) -> str:
    """A name, in backticks if it must be."""
    plain = re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) and text.lower() not in RESERVED | WORDS_OF_EVENTS
    return text if plain else "`" + text.replace("`", "``") + "`"


def value(expression: Expression) -> str:
    """The text of an expression."""
    return print_expression(expression, written)


def _body(module: ast.Module) -> str:
    lines = [print_monitor(module)] if module.monitored else []
    if module.derived:
        lines.append(f"derived {', '.join(map(_declared, module.derived))};")
    return "\n".join([*lines, *map(print_rule, module.rules)])


def _source(source: ast.Source) -> str:
    what = name(source.name)
    if source.kind is not None:
        what = f"{source.kind}({what})"
    if source.module is not None:
        what = f"{name(source.module)}.{what}"
    return what if source.alias is None else f"{what} as {name(source.alias)}"


def _declared(declared: ast.Declared) -> str:
    return f"{name(declared.name)}({', '.join(map(name, declared.attributes))})"


def _action(action: ast.Act | ast.Command) -> str:
    arguments = [value(each) for each in action.arguments]
    if isinstance(action, ast.Command):
        return filled(action.text, arguments)
    reserved = action.name not in ("write", "sql") and action.name.lower() in ("write", "sql")
    called = f"`{action.name}`" if reserved else name(action.name)
    return f"{called}({', '.join(arguments)})"


def _broken(goal: ast.Goal, line: str) -> str:
    """A goal with each of its outermost parts on its own line."""
    if not isinstance(goal, ast.Sequence | ast.Either):
        return line
    parts = ",\n    ".join(print_goal(each) for each in goal.goals)
    return f"{line[0]} {parts} {line[-1]}"


class _Piece(NamedTuple):
    """Text, and how tightly its outermost operator binds."""

    text: str
    binding: int

    def at_least(self, binding: int) -> str:
        return self.text if self.binding >= binding else f"({self.text})"


def _goal(goal: ast.Goal, made: Sequence[_Piece]) -> _Piece:
    listed = ", ".join(piece.text for piece in made)
    match goal:
        case ast.Named():
            return _Piece(_named(goal), _PRIMARY)
        case ast.Any():
            return _Piece("any", _PRIMARY)
        case ast.Not():
            return _Piece(f"!{made[0].at_least(_UNARY)}", _UNARY)
        case ast.Star(_, every):
            return _Piece(f"{'*:' if every else '*'} {made[0].at_least(_UNARY)}", _UNARY)
        case ast.Both():
            return _Piece(" & ".join(piece.at_least(_UNARY) for piece in made), _BOTH)
        case ast.Either():
            return _Piece(f"{{{listed}}}", _PRIMARY)
        case ast.Sequence(_, relaxed):
            return _Piece(f"[{listed}]" if relaxed else f"({listed})", _PRIMARY)
        case ast.First():
            return _Piece(f"first({listed})", _PRIMARY)
        case ast.Prior():
            return _Piece(f"prior({listed})", _PRIMARY)
        case ast.Test(condition):
            return _Piece(value(condition), _BOTH)
    raise AssertionError(f"unknown goal {type(goal).__name__}")


def _named(event: ast.Named) -> str:
    what = name(event.name) if event.module is None else f"{name(event.module)}.{name(event.name)}"
    conditions = [value(each) for each in _between_commas(event.condition)]
    bound = [] if event.variable is None else [name(event.variable)]
    if event.kind is None:
        return f"{what}({', '.join(bound + conditions)})" if bound else what
    relation = f"{what}({bound[0]})" if bound else what
    return f"{event.kind}({', '.join([relation, *conditions])})"


def _between_commas(condition: Expression | None) -> list[Expression]:
    """What AND joins from left to right, as commas do: `a AND (b AND c)` stays one for each bracket."""
    found: list[Expression] = []
    while isinstance(condition, Binary) and condition.operator == "AND":
        found.append(condition.right)
        condition = condition.left
    return [*([] if condition is None else [condition]), *reversed(found)]

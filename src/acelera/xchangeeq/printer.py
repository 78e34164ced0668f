"""From the AST of a program to its text, which parses back to an equal AST."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from acelera.xchangeeq import ast
from acelera.xchangeeq.mistakes import RESERVED

_LONGEST_LINE = 100


def print_program(program: ast.Program) -> str:
    """The text of a program, a rule after the other."""
    return "\n".join(print_rule(rule) for rule in program.rules)


def print_rule(rule: ast.Rule) -> str:
    """The text of a rule; the parts of a long one stand on lines of their own."""
    head, body = print_node(rule.head), print_node(rule.body)
    line = f"DETECT {head} ON {body} END"
    return line if len(line) <= _LONGEST_LINE else f"DETECT {head}\nON {_broken(rule.body, body)}\nEND"


def print_node(node: ast.Node) -> str:
    """The text of any part of a program, on one line."""
    return ast.fold(node, _text, nodes_below)


def nodes_below(node: ast.Node) -> tuple[ast.Node, ...]:
    """All nodes that are direct parts of a node, left to right, of whatever family."""
    found: list[ast.Node] = []
    for part in node.parts():
        if isinstance(part, ast.Node):
            found.append(part)
        elif isinstance(part, tuple):
            found.extend(item for item in part if isinstance(item, ast.Node))
    return tuple(found)


def label(text: str) -> str:
    """A label, in backticks if it must be."""
    plain = re.fullmatch(r"[A-Za-z_]\w*(?:-\w+)*(?::[A-Za-z_]\w*(?:-\w+)*)?", text, re.ASCII)
    timer = text.startswith("timer:") and text not in ast.ABSOLUTE
    return text if plain and text not in RESERVED and not timer else "`" + text.replace("`", "``") + "`"


def value(given: bool | int | float | str) -> str:
    """A constant."""
    if isinstance(given, bool):
        return "true" if given else "false"
    return '"' + given.replace('"', '""') + '"' if isinstance(given, str) else repr(given)


def duration(given: ast.Duration) -> str:
    """`1 min 30 s`."""
    return " ".join(f"{amount!r} {unit}" for amount, unit in given.amounts)


def _broken(body: ast.Body, line: str) -> str:
    """A body with each of its outermost parts on its own line."""
    inner = body.body if isinstance(body, ast.Where) else body
    if not isinstance(inner, ast.AllOf | ast.OneOf):
        return line
    word = "and" if isinstance(inner, ast.AllOf) else "or"
    broken = f"{word} {{\n" + ",\n".join("  " + print_node(each) for each in inner.bodies) + "\n}"
    if isinstance(body, ast.Where):
        broken += " where {" + _list(print_node(each) for each in body.conditions) + "}"
    return broken


def _list(made: Iterable[str]) -> str:
    joined = ", ".join(made)
    return f" {joined} " if joined else " "


def _text(node: ast.Node, made: Sequence[str]) -> str:
    """The text of a node, given the texts of its parts."""
    for kind, write in _FAMILIES:
        if isinstance(node, kind):
            return write(node, made)
    match node:
        case ast.Construct(name, _, ordered):
            return f"{label(name)} [{_list(made)}]" if ordered else f"{label(name)} {{{_list(made)}}}"
        case ast.All(_, group_by, order_by):
            return _all(made, len(group_by), len(order_by))
        case ast.OrderKey(_, descending):
            return f"{made[0]} desc" if descending else made[0]
        case ast.Duration():
            return duration(node)
        case ast.Rule():
            return f"DETECT {made[0]} ON {made[1]} END"
        case ast.Program():
            return "\n".join(made)
    raise AssertionError(f"unknown node {type(node).__name__}")


def _all(made: Sequence[str], grouped: int, ordered: int) -> str:
    text = f"all {made[0]}"
    if grouped:
        text += f" group by {{{_list(made[1 : 1 + grouped])}}}"
    if ordered:
        text += f" order by [{_list(made[1 + grouped :])}]"
    return text


def _body(node: ast.Node, made: Sequence[str]) -> str:
    match node:
        case ast.Event(identifier, _):
            return made[0] if identifier is None else f"event {identifier}: {made[0]}"
        case ast.RelativeTimer(identifier, kind, anchor, _):
            return f"event {identifier}: timer:{kind} [ event {anchor}, {made[0]} ]"
        case ast.PeriodicTimer(identifier, _):
            return f"event {identifier}: timer:periodic [ {made[0]} ]"
        case ast.While(window, negated, _):
            return f"while {window}: {'not' if negated else 'collect'} {made[0]}"
        case ast.AllOf():
            return f"and {{{_list(made)}}}"
        case ast.OneOf():
            return f"or {{{_list(made)}}}"
        case ast.Where():
            return f"{made[0]} where {{{_list(made[1:])}}}"
    raise AssertionError(f"unknown part {type(node).__name__}")


def _query(node: ast.Node, made: Sequence[str]) -> str:
    match node:
        case ast.IsValue(given):
            return value(given)
        case ast.Binds(name, query):
            return f"var {name}" if query is None else f"var {name} -> {made[0]}"
        case ast.Descendant():
            return f"desc {made[0]}"
        case ast.Without():
            return f"without {made[0]}"
        case ast.Optional():
            return f"optional {made[0]}"
        case ast.Labelled(name, _, total, ordered):
            opening, closing = "[]" if ordered else "{}"
            times = 1 if total else 2
            return f"{'*' if name is None else label(name)} {opening * times}{_list(made)}{closing * times}"
    raise AssertionError(f"unknown query {type(node).__name__}")


def _condition(node: ast.Node, made: Sequence[str]) -> str:
    match node:
        case ast.Temporal(left, relation, right):
            return f"{left} {relation} {right}"
        case ast.Within(identifiers, _):
            return f"{{{', '.join(identifiers)}}} within {made[0]}"
        case ast.ApartBy(identifiers, _):
            return f"{{{', '.join(identifiers)}}} apart-by {made[0]}"
        case ast.Comparison(operator, _, _):
            return f"{made[0]} {operator} {made[1]}"
        case ast.Not():
            return f"not {{ {made[0]} }}"
        case ast.Both():
            return f"and {{{_list(made)}}}"
        case ast.Either():
            return f"or {{{_list(made)}}}"
    raise AssertionError(f"unknown condition {type(node).__name__}")


_BINDING = {"+": 0, "-": 0, "*": 1, "/": 1}
"""How tightly operators bind."""


def _binding(node: ast.Expression) -> int:
    if isinstance(node, ast.Arithmetic):
        return _BINDING[node.operator]
    negative = isinstance(node, ast.Literal) and value(node.value).startswith("-")
    return 2 if negative or isinstance(node, ast.Negative) else 3


def _at_least(node: ast.Expression, text: str, binding: int) -> str:
    return text if _binding(node) >= binding else f"({text})"


def _expression(node: ast.Node, made: Sequence[str]) -> str:
    match node:
        case ast.Literal(given):
            return value(given)
        case ast.Variable(name):
            return f"var {name}"
        case ast.Arithmetic(operator, left, right):
            binding = _BINDING[operator]
            return f"{_at_least(left, made[0], binding)} {operator} {_at_least(right, made[1], binding + 1)}"
        case ast.Negative(operand):
            return f"-{_at_least(operand, made[0], 3)}"  # two minus signs would begin a comment
        case ast.Call(function, _):
            return f"{function}({', '.join(made)})"
        case ast.Aggregate(function, _):
            return f"{function}({made[0]})"
    raise AssertionError(f"unknown expression {type(node).__name__}")


_FAMILIES = (
    (ast.Expression, _expression),
    (ast.Query, _query),
    (ast.Condition, _condition),
    (ast.Body, _body),
)

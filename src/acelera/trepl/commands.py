"""Commands of SQL as actions: terms of the rule in them become parameters."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import lark

from acelera.errors import Span
from acelera.language.aggregates import find_aggregate
from acelera.language.ast import Attribute, Call, Expression
from acelera.language.conditions import fail
from acelera.trepl import ast

_PIECE = re.compile(
    r"""(?P<kept>'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|/\*.*?\*/)"""
    r"|(?P<comment>--[^\n]*)"
    r"|(?P<aggregate>(?<![\w.])(?P<function>[^\W\d]\w*)\s*\(\s*(?P<over>[^\W\d]\w*)(?:\s*\.\s*(?P<of>[^\W\d]\w*))?\s*\))"
    r"|(?P<term>(?<![\w.])(?P<variable>[^\W\d]\w*)\s*\.\s*(?P<attribute>[^\W\d]\w*)(?!\w|\s*[.(]))"
    r"|(?P<next>,\s*(?:write|sql)\s*\()"
    r"|(?P<parameter>\?)",
    re.DOTALL | re.IGNORECASE,
)


def command(token: lark.Token, bound: Collection[str]) -> ast.Command:
    """A command with `?` for each `X.A` and each aggregate of a variable that the rule binds."""
    begin = token.start_pos or 0
    arguments: list[Expression] = []

    def replaced(match: re.Match[str]) -> str:
        span = Span(begin + match.start(), begin + match.end())
        if match["next"]:
            fail("a command is the last action of a rule", span, "write the other actions before it")
        if match["parameter"]:
            fail("a command has no parameters of its own", span, 'write X.a itself, or sql("… ? …", X.a)')
        if match["comment"]:
            return ""
        start, end, argument = _argument(match, bound, begin)
        if argument is None:
            return match.group()
        arguments.append(argument)
        return token[match.start() : start] + "?" + token[end : match.end()]

    text = _PIECE.sub(replaced, token).strip()
    return ast.Command(text, tuple(arguments), span=Span(begin, begin + len(token)))


def filled(text: str, arguments: Sequence[str]) -> str:
    """The text of a command with its arguments where they stood."""
    rest = iter(arguments)
    return _PIECE.sub(lambda match: next(rest) if match["parameter"] else match.group(), text)


_TABLES = re.compile(r"\b(?:into|update|from|join)\s+{0}(?:\s*,\s*{0})*".format(r"[\w.]+(?:\s+(?:as\s+)?\w+)?"), re.I)
_TERM = re.compile(r"(?<![\w.\"`])([^\W\d]\w*)\.([^\W\d]\w*)(?!\w|\s*[.(])")
_QUOTED = re.compile(r"""(['"])([^\W\d]\w*)\.[^\W\d]\w*\1""")
_OF_THE_DATABASE = ("excluded", "new", "old", "inserted", "deleted")
"""What databases call rows that a command is about."""


def unbound(text: str) -> list[str]:
    """Terms of a command whose variable neither the rule binds nor a table of the command has."""
    bare = re.sub(r"'(?:[^']|'')*'|/\*.*?\*/", "''", text, flags=re.DOTALL)
    terms = dict.fromkeys(_TERM.findall(_TABLES.sub("", bare)))
    return [f"{name}.{of}" for name, of in terms if not _is_known(name, bare)]


def _is_known(name: str, command: str) -> bool:
    """Whether the database knows what is called so: a table or another name for it."""
    return name.lower() in _OF_THE_DATABASE or re.search(rf"\b{name}\b(?!\.)", command, re.IGNORECASE) is not None


def quoted_terms(text: str, bound: Collection[str]) -> list[str]:
    """Texts of a command that are a term of the rule in quotes."""
    kept = [match["kept"] or "" for match in _PIECE.finditer(text)]
    return [each for each in kept if (found := _QUOTED.fullmatch(each)) and found[2] in bound]


def _argument(match: re.Match[str], bound: Collection[str], begin: int) -> tuple[int, int, Expression | None]:
    """The term or aggregate of a variable of the rule, if there is one, and its place in the command."""
    start, end = match.span()
    variable, attribute = match["variable"] or match["over"], match["attribute"] or match["of"]
    if variable not in bound:
        return start, end, None
    function = (match["function"] or "").lower()
    if find_aggregate(function) is not None:
        over = Attribute(None, variable) if attribute is None else Attribute(variable, attribute)
        return start, end, Call(function, (over,), span=Span(begin + start, begin + end))
    if attribute is None:
        return start, end, None
    if function:
        start, end = match.start("over"), match.end("of")
    return start, end, Attribute(variable, attribute, span=Span(begin + start, begin + end))

"""The text of a program: statements `STREAM name AS query;`, each query in the language of queries.

A `;` also means "then, later" in a formula. It ends a statement where the text ends, or where `STREAM name AS` follows,
which no formula can hold. Everything between is left to the parser of queries, which sees all else as blanks, so that
its places are those of the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from acelera.errors import Problem, QueryError, Span, nearest
from acelera.language import ast
from acelera.language.parser import parse_query
from acelera.language.printer import name as written
from acelera.language.printer import print_query
from acelera.language.syntax_errors import RESERVED
from acelera.programs.problems import ProgramSyntaxError

_TOKEN = re.compile(
    r"(?P<blank>\s+|--[^\n]*)|(?P<string>'(?:[^']|'')*')|(?P<quoted>`(?:[^`]|``)+`)|(?P<word>[^\W\d]\w*)|(?P<other>.)",
    re.DOTALL,
)
_FIRST_WORDS = ("SELECT", "MATCH", "FROM", "SUMMARIZE")
_EXAMPLE = "a program looks like STREAM rise AS SELECT a.price MATCH TICK AS a ; TICK AS b FILTER b.price > a.price;"


@dataclass(frozen=True)
class Statement:
    """A stream by its name, and the query whose matches are its events; `span` is the statement without its `;`."""

    name: str
    query: ast.Query
    span: Span = field(default=Span(0, 0), compare=False)
    name_span: Span = field(default=Span(0, 0), compare=False)
    from_span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        body = "\n".join(f"  {line}" for line in print_query(self.query).splitlines())
        return f"STREAM {written(self.name)} AS\n{body};"


def parse_statements(text: str) -> tuple[Statement, ...]:
    """The statements of a program, in order; raises a ProgramSyntaxError that tells the first mistake of each."""
    tokens = _tokens(text)
    if not tokens:
        raise ProgramSyntaxError([Problem("the program is empty", Span(0, 0), _EXAMPLE)], text)
    heads = [number for number in range(len(tokens)) if _begins(tokens, number)]
    problems: list[Problem] = []
    found: list[Statement] = []
    if not heads or heads[0] != 0:
        raise ProgramSyntaxError([_no_head(tokens)], text)
    for head, following in zip(heads, [*heads[1:], len(tokens)], strict=True):
        try:
            found.append(_statement(text, tokens[head:following], following == len(tokens)))
        except QueryError as error:
            problems += error.problems
    if problems:
        raise ProgramSyntaxError(problems, text)
    return tuple(found)


class _Token(NamedTuple):
    kind: str
    text: str
    span: Span

    def is_word(self, *words: str) -> bool:
        """Whether this is one of some words, in any case."""
        return self.kind == "word" and self.text.upper() in words

    @property
    def names(self) -> bool:
        """Whether this can be meant as a name."""
        return self.kind in ("word", "quoted")


def _tokens(text: str) -> list[_Token]:
    found = (_Token(str(each.lastgroup), each.group(), Span(*each.span())) for each in _TOKEN.finditer(text))
    return [token for token in found if token.kind != "blank"]


def _begins(tokens: Sequence[_Token], number: int) -> bool:
    """Whether a statement begins here: after the end of another as STREAM name AS, or wherever a query follows that."""
    if not tokens[number].is_word("STREAM"):
        return False
    if number == 0:
        return True
    _, name, *rest = [*tokens[number : number + 4], *[_Token("end", "", Span(0, 0))] * 4][:4]
    if not name.names or name.is_word("AS"):
        return False
    if tokens[number - 1].text == ";" and rest[0].is_word("AS", *_FIRST_WORDS):
        return True
    return rest[0].is_word("AS") and rest[1].is_word(*_FIRST_WORDS)


def _no_head(tokens: Sequence[_Token]) -> Problem:
    """What is wrong with a text that does not begin with a statement."""
    first = tokens[0]
    if first.is_word(*_FIRST_WORDS):
        hint = "write STREAM name AS before it; a single query is read by acelera.query(…)"
        return Problem("a query has no name here", first.span, hint)
    if first.is_word("CREATE", "INSERT"):
        return Problem(f"unexpected `{first.text}`; expected STREAM", first.span, f"{_EXAMPLE}")
    near = first.kind == "word" and nearest(first.text, ["STREAM"])
    hint = "did you mean STREAM?" if near else _EXAMPLE
    return Problem(f"unexpected `{first.text}`; expected STREAM", first.span, hint)


def _statement(text: str, tokens: Sequence[_Token], is_last: bool) -> Statement:
    head, name, *rest = tokens if len(tokens) > 1 else (*tokens, _Token("end", "", tokens[0].span))
    _check_name(head, name, text)
    if not (rest and rest[0].is_word("AS")):
        span = rest[0].span if rest else _behind(name)
        hint = f"write STREAM {name.text} AS SELECT … MATCH …"
        raise ProgramSyntaxError([Problem(f"AS is missing after `{name.text}`", span, hint)], text)
    body = rest[1:]
    if body and body[-1].text == ";":
        body = body[:-1]
    elif not is_last:
        hint = "a statement ends with `;`"
        raise ProgramSyntaxError([Problem("`;` is missing before the next STREAM", _behind(tokens[-1]), hint)], text)
    if not body:
        hint = f"write STREAM {name.text} AS SELECT … MATCH …"
        raise ProgramSyntaxError([Problem(f"`{name.text}` has no query", name.span, hint)], text)
    start, end = body[0].span.start, body[-1].span.end
    try:
        query = parse_query(_blank(text[:start]) + text[start:end])
    except QueryError as error:
        raise ProgramSyntaxError(error.problems, text) from None
    return Statement(_plain(name), query, Span(head.span.start, end), name.span, _from(body))


def _check_name(head: _Token, name: _Token, text: str) -> None:
    problem = None
    if not name.names or name.is_word("AS"):
        hint = "write STREAM name AS SELECT … MATCH …"
        problem = Problem("the stream has no name", _behind(head) if name.kind == "end" else name.span, hint)
    elif name.kind == "word" and name.text.upper() in RESERVED:
        hint = f"as a name it is written `{name.text}`, in backticks, wherever it stands"
        problem = Problem(f"`{name.text}` is a word of the language", name.span, hint)
    if problem is not None:
        raise ProgramSyntaxError([problem], text)


def _from(body: Sequence[_Token]) -> Span | None:
    """Where FROM says what is read."""
    for token, following in pairwise(body):
        if token.is_word("MATCH"):
            return None
        if token.is_word("FROM"):
            return following.span
    return None


def _plain(name: _Token) -> str:
    return name.text[1:-1].replace("``", "`") if name.kind == "quoted" else name.text


def _behind(token: _Token) -> Span:
    return Span(token.span.end, token.span.end + 1)


def _blank(text: str) -> str:
    """As many characters, of which only the ends of lines are left."""
    return "".join(char if char in "\n\r" else " " for char in text)

"""Commands whose parameters are written `?`, as drivers want to have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from acelera.errors import UsageError

_PIECES = re.compile(
    r"""
      (?<!\w)[eE]'(?:[^'\\]|\\.|'')*'                         # text with backslashes, as PostgreSQL has it
    | '(?:[^']|'')*'                                          # text
    | "(?:[^"]|"")*" | `[^`]*`                                # quoted names
    | --[^\n]* | /\*.*?\*/                                    # comments
    | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$   # text between dollars
    | (?P<parameter>\?)
    """,
    re.VERBOSE | re.DOTALL,
)

_PLACEHOLDERS = {
    "qmark": "?",
    "format": "%s",
    "numeric": ":{number}",
    "numeric_dollar": "${number}",
    "named": ":p{number}",
    "pyformat": "%(p{number})s",
}
STYLES = tuple(_PLACEHOLDERS)
"""How drivers write parameters: the `paramstyle` of their modules."""


@dataclass(frozen=True)
class Statement:
    """A command in the words of a driver; `named` says that its parameters have names."""

    text: str
    named: bool

    def bound(self, values: Sequence[Any]) -> Sequence[Any] | dict[str, Any]:
        """The values of its parameters, as the driver takes them."""
        return {f"p{number}": value for number, value in enumerate(values, 1)} if self.named else tuple(values)


def parameters_in(text: str) -> int:
    """How many parameters a command has; question marks in texts, names and comments are none.

    >>> parameters_in("insert into t values (?, '?', ?) -- ?")
    2
    """
    return sum(found["parameter"] is not None for found in _PIECES.finditer(text))


@lru_cache(maxsize=1000)
def statement(text: str, style: str) -> Statement:
    """A command for drivers of a style.

    >>> statement("update t set a = ? where b like '?%'", "pyformat").text
    "update t set a = %(p1)s where b like '?%%'"
    """
    if style not in _PLACEHOLDERS:
        raise UsageError(f"paramstyle={style!r} is not known; it is one of {', '.join(map(repr, STYLES))}")
    if not parameters_in(text):
        return Statement(text, named=False)  # a driver that is given no parameters looks for none
    pieces, end, number = [], 0, 0
    for found in _PIECES.finditer(text):
        if found["parameter"]:
            number += 1
            pieces += [_other(text[end : found.start()], style), _PLACEHOLDERS[style].format(number=number)]
            end = found.end()
    return Statement("".join([*pieces, _other(text[end:], style)]), named=style in ("named", "pyformat"))


def _other(text: str, style: str) -> str:
    """What is no parameter: where parameters begin with `%`, any other is doubled."""
    return text.replace("%", "%%") if style in ("format", "pyformat") else text

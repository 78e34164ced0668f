"""Programs of rules in whatever language: the text tells which."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acelera.trepl.program import Program as TreplProgram
    from acelera.xchangeeq.program import Program as XChangeEQProgram

_BEGINNINGS = {
    "xchangeeq": r"DETECT\b",
    "trepl": r"begin\s+module\b|monitor\b|derived\b",
}
"""How programs of each language begin, after comments and in any case."""

_COMMENTS = r"(?:\s|(?:--|#)[^\n]*)*"


def language_of(text: str) -> str | None:
    """The language of a program: `xchangeeq` or `trepl`, or None if its beginning does not tell.

    >>> language_of("DETECT b { } ON a {{ }} END"), language_of("-- who sells\\nmonitor owns;"), language_of("MATCH A")
    ('xchangeeq', 'trepl', None)
    """
    for language, beginning in _BEGINNINGS.items():
        if re.match(f"{_COMMENTS}(?:{beginning})", text, re.IGNORECASE):
            return language
    return None


def program(text: str) -> TreplProgram | XChangeEQProgram:
    """A program from its text, in the language of `acelera.xchangeeq`, whose rules begin with DETECT, or in that of
    `acelera.trepl`.

    >>> import acelera as ac
    >>> ac.program("DETECT b { } ON a {{ }} END") == ac.xchangeeq("DETECT b { } ON a {{ }} END")
    True
    >>> ac.program("monitor a; R: a(X) -> write(X.v);") == ac.trepl("monitor a; R: a(X) -> write(X.v);")
    True
    """
    from acelera.errors import UsageError

    if not isinstance(text, str):
        raise UsageError(f"a program is made of a text, not of {type(text).__name__}")
    if language_of(text) == "xchangeeq":
        from acelera.xchangeeq.program import xchangeeq

        return xchangeeq(text)
    from acelera.trepl.program import trepl

    return trepl(text)

"""Programs of rules in whatever language: the text tells which."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acelera.streams.program import Program as StreamProgram
    from acelera.trepl.program import Program as TreplProgram
    from acelera.xchangeeq.program import Program as XChangeEQProgram

_BEGINNINGS = {
    "xchangeeq": r"DETECT\b",
    "trepl": r"begin\s+module\b|monitor\b|derived\b",
    "streams": r"STREAM\b",
}
"""How programs of each language begin, after comments and in any case."""

_QUERY = r"SELECT\b|MATCH\b|FROM\b|SUMMARIZE\b|CREATE\b|INSERT\b"
"""How texts begin that are meant to be statements, and lack their STREAM name AS."""

_COMMENTS = r"(?:\s|(?:--|#)[^\n]*)*"


def language_of(text: str) -> str | None:
    """The language of a program: `xchangeeq`, `trepl` or `streams`, or None if its beginning does not tell.

    >>> language_of("DETECT b { } ON a {{ }} END"), language_of("-- who sells\\nmonitor owns;"), language_of("MATCH A")
    ('xchangeeq', 'trepl', None)
    """
    for language, beginning in _BEGINNINGS.items():
        if re.match(f"{_COMMENTS}(?:{beginning})", text, re.IGNORECASE):
            return language
    return None


def program(text: str) -> StreamProgram | TreplProgram | XChangeEQProgram:
    """A program from its text: statements `STREAM name AS SELECT … MATCH …;`, each of which makes events of its
    matches, for later ones to use; or one in the language of `acelera.xchangeeq`, whose rules begin with DETECT, or in
    that of `acelera.trepl`.

    >>> import acelera as ac
    >>> p = ac.program('''
    ...     STREAM spike AS SELECT t.v MATCH TICK AS t FILTER t.v > 10;
    ...     STREAM alert AS SELECT s.t_v AS v, n.text MATCH spike AS s ; NEWS AS n WITHIN 3 EVENTS;
    ... ''')
    >>> rows = [{"type": "TICK", "v": 9}, {"type": "TICK", "v": 11}, {"type": "NEWS", "text": "sold"}]
    >>> p.run(rows)["alert"].to_pylist()
    [{'v': 11, 'n_text': 'sold'}]
    >>> ac.program("DETECT b { } ON a {{ }} END") == ac.xchangeeq("DETECT b { } ON a {{ }} END")
    True
    >>> ac.program("monitor a; R: a(X) -> write(X.v);") == ac.trepl("monitor a; R: a(X) -> write(X.v);")
    True
    """
    from acelera.errors import UsageError

    if not isinstance(text, str):
        raise UsageError(f"a program is made of a text, not of {type(text).__name__}")
    language = language_of(text)
    if language == "xchangeeq":
        from acelera.xchangeeq.program import xchangeeq

        return xchangeeq(text)
    if language == "streams" or not text.strip() or re.match(f"{_COMMENTS}(?:{_QUERY})", text, re.IGNORECASE):
        from acelera.streams.program import streams

        return streams(text)
    from acelera.trepl.program import trepl

    return trepl(text)

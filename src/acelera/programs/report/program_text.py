"""The text of a program as HTML: each rule with the colour of what it makes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from html import escape

from acelera.programs.report.run import RuleText
from acelera.report.highlight import printable

_TOKEN = re.compile(
    r"""(?P<comment>(?:--|\#)[^\n]*)|(?P<string>"(?:[^"]|"")*"|'(?:[^']|'')*')|(?P<quoted>`[^`]*`)"""
    r"|(?P<number>\b\d+(?:\.\d+)?)|(?P<name>[^\W\d][\w]*(?:-\w+)*)|(?P<other>.)",
    re.DOTALL,
)


def program_html(text: str, rules: Sequence[RuleText], words: Collection[str], colours: Mapping[str, int]) -> str:
    """The text with a block for each rule, and a span for each word, text, number and comment; all is escaped."""
    found, at = [], 0
    for number, rule in enumerate(rules):
        found.append(_between(text[at : rule.start], words))
        column = rule.start - text.rfind("\n", 0, rule.start) - 1
        inside = highlighted(_moved(text[rule.start : rule.end], column), words)
        colour = f"--rule: var(--v{colours[rule.label]})"
        found.append(f'<span class="rule" data-rule="{number}" style="{colour}">{inside}</span>')
        at = rule.end
    return "".join([*found, _between(text[at:], words)])


def _between(text: str, words: Collection[str]) -> str:
    """What stands between rules: comments, if anything."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f'<span class="between">{highlighted(chr(10).join(lines), words)}</span>' if lines else ""


def _moved(text: str, column: int) -> str:
    """A rule whose further lines are as far to the left as its first one."""
    return re.sub(rf"\n[ \t]{{1,{column}}}", "\n", text) if column else text


def highlighted(text: str, words: Collection[str]) -> str:
    """A text with a span for each word, text, number and comment; everything in it is escaped."""
    found = []
    for token in _TOKEN.finditer(printable(text)):
        kind, piece = token.lastgroup, token.group()
        if kind == "name":
            kind = "word" if piece in words else None
        shown = escape(piece)
        found.append(shown if kind in (None, "quoted", "other") else f'<span class="q-{kind}">{shown}</span>')
    return "".join(found)

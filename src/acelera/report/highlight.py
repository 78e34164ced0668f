"""The text of a query as HTML, lightly coloured."""

from __future__ import annotations

import re
import textwrap
from html import escape
from itertools import chain

from acelera.language.aggregates import aggregate_names

_WORDS = """SELECT SUMMARIZE FROM MATCH PARTITION BY WITHIN EVENTS EVENT OVER EVERY HAVING FILTER AND OR NOT ALL UNLESS
PROJECT AGG AS START END STRICT NEXT ANY KEEP LONGEST SHORTEST PER APART FOR LESS THAN IS IN BETWEEN LIKE NULL TRUE
FALSE CAST TIMESTAMP DATE INTERVAL IGNORE NULLS DISTINCT
MILLISECOND SECOND MINUTE HOUR DAY MILLISECONDS SECONDS MINUTES HOURS DAYS""".split()
_FUNCTIONS = """prev same increasing decreasing abs floor ceil sqrt lower upper trim length coalesce nullif if
log2_count nth""".split()
_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*)|(?P<string>'(?:[^']|'')*')|(?P<quoted>`[^`]*`)|(?P<number>\b\d+(?:\.\d+)?\b)"
    r"|(?P<name>[^\W\d]\w*)|(?P<sign><-|:\+|[;:+])|(?P<other>.)",
    re.DOTALL,
)


def highlighted(text: str) -> str:
    """The text with a span for each word, text, number and comment; everything in it is escaped."""
    functions = {name.lower() for name in chain(_FUNCTIONS, aggregate_names())}
    found = []
    tidy = textwrap.dedent(text).strip("\n").rstrip()
    for token in _TOKEN.finditer(printable(tidy)):
        kind, piece = token.lastgroup, token.group()
        if kind == "name":
            called = tidy[token.end() : token.end() + 1] == "("
            kind = "word" if piece.upper() in _WORDS else "function" if called and piece.lower() in functions else None
        shown = escape(piece)
        found.append(shown if kind in (None, "quoted", "other") else f'<span class="q-{kind}">{shown}</span>')
    return "".join(found)


def printable(text: str) -> str:
    """The text without what no page can hold: halves of characters, and those that only control."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(char if char >= " " or char in "\t\n" else "�" for char in whole.replace("\r\n", "\n"))

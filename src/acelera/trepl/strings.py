"""Strings as they are written: `'text'` with doubled quotes, `"text"` with the escapes of C."""

from __future__ import annotations

import re

import lark

from acelera.errors import Span
from acelera.language.conditions import fail

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"} | {c: c for c in "\\\"'?"}
_ESCAPED = {char: f"\\{letter}" for letter, char in _ESCAPES.items() if letter not in "'?"}
_CONTROL = re.compile(r'[\x00-\x1f\x7f"\\]')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)


def quoted(text: str) -> str:
    """A string in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def written(text: str) -> str:
    """A string in the quotes that show it best: on one line, whatever it holds."""
    return quoted(text) if text.isprintable() else '"' + _CONTROL.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _ESCAPED[char] if char in _ESCAPED else f"\\x{ord(char):02x}"


def unescaped(token: lark.Token) -> str:
    """What a string in double quotes says."""

    def said(match: re.Match[str]) -> str:
        octal, hexadecimal, char = match.groups()
        if char is None:
            return chr(int(octal, 8) if octal else int(hexadecimal, 16))
        if char not in _ESCAPES:
            start = (token.start_pos or 0) + 1 + match.start()
            fail(f"\\{char} is not an escape", Span(start, start + 2), "a backslash is written \\\\")
        return _ESCAPES[char]

    return _ESCAPE.sub(said, token[1:-1])

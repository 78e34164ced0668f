"""LIKE, as Spark says it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acelera.language.like import WILD, parts_of, split


def like(column: Any, pattern: str) -> Any:
    """LIKE. Java's regular expressions, which are behind Spark's, would try every way to divide a text among several
    `%`; here each segment is taken where it first occurs, for good, as `language.like` does.
    """
    first, *others = (_regex(each) for each in split(pattern))
    if len(others) < 2 or not (first or others[-1] or others[1:-1]):  # which Spark knows how to push into files
        return column.like(_spark_pattern(pattern))
    taken = "".join(f"(?>.*?{segment})" for segment in others[:-1] if segment)
    return column.rlike(f"(?s)\\A{first}{taken}.*{others[-1]}\\z")


def _regex(parts: Sequence[str]) -> str:
    return "".join("." if part == "_" else f"\\x{{{ord(part[-1]):x}}}" for part in parts)


def _spark_pattern(pattern: str) -> str:
    """A pattern for LIKE, in which Spark lets a backslash stand only before %, _ and itself."""
    return "".join(part if part in WILD else _escaped(part[-1]) for part in parts_of(pattern))


def _escaped(character: str) -> str:
    return f"\\{character}" if character in "%_\\" else character

"""LIKE, without backtracking: the work is bounded by the length of the text times that of the pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

WILD = ("%", "_")


def parts_of(pattern: str) -> list[str]:
    """A pattern as `%`, `_` and characters; a character is the last of its part, a backslash before it is dropped."""
    return re.findall(r"\\.|.", pattern, re.DOTALL)


def split(pattern: str) -> list[list[str]]:
    """The parts of a pattern, divided at each `%`."""
    found: list[list[str]] = [[]]
    for part in parts_of(pattern):
        if part == "%":
            found.append([])
        else:
            found[-1].append(part)
    return found


@lru_cache(maxsize=256)
def segments_of(pattern: str) -> tuple[Segment, ...]:
    """What stands between the `%` of a pattern; without any, one segment."""
    return tuple(_segment(parts) for parts in split(pattern))


def matches(text: str, pattern: str) -> bool:
    """Whether a text is LIKE a pattern.

    The first segment stands at the beginning and the last one at the end. Each of the others is taken where it first
    occurs after those before it: that leaves most room for the rest, so no choice is ever taken back.

    >>> matches("the user was denied", "%user%den_ed"), matches("aaab", "%a%a%a%a%")
    (True, False)
    """
    first, *others = segments_of(pattern)
    if not others:
        return first.length == len(text) and first.stands_at(text, 0)
    *middle, last = others
    at, end = first.length, len(text) - last.length
    if at > end or not first.stands_at(text, 0) or not last.stands_at(text, end):
        return False
    for segment in middle:
        found = segment.find(text, at, end)
        if found < 0:
            return False
        at = found + segment.length
    return True


@dataclass(frozen=True)
class Segment:
    """A piece of a pattern without `%`: so many characters, and which texts are where in it."""

    length: int
    pieces: tuple[tuple[int, str], ...]

    def stands_at(self, text: str, at: int) -> bool:
        """Whether the text goes on like this at a place."""
        return all(text.startswith(piece, at + offset) for offset, piece in self.pieces)

    def find(self, text: str, begin: int, end: int) -> int:
        """The first place from `begin` on where the segment stands, if it is there before `end`; otherwise -1."""
        if not self.pieces:
            return begin if begin + self.length <= end else -1
        offset, piece = self.pieces[0]
        last = end - self.length + offset + len(piece)
        found = text.find(piece, begin + offset, last)
        while found >= 0 and not self.stands_at(text, found - offset):
            found = text.find(piece, found + 1, last)
        return found if found < 0 else found - offset


def _segment(parts: Sequence[str]) -> Segment:
    written = "".join("_" if part == "_" else "x" for part in parts)
    plain = "".join(part[-1] for part in parts)
    return Segment(len(parts), tuple((run.start(), plain[slice(*run.span())]) for run in re.finditer("x+", written)))

"""The id of a match, by its definition in docs/semantics.md, one value at a time."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from fractions import Fraction

from acelera.language.events import Value
from acelera.language.types import Kind, Type

Halves = tuple[int, int]
"""A number of 128 bits as two of 64."""

_BITS = 2**64


def match_id(terms: Iterable[Halves], events: Iterable[Halves]) -> str:
    """The id of a match: of the terms of its key and interval, and the numbers of all events of its variables."""
    return "".join(f"{half:016x}" for half in mixed(added([*terms, *events])))


def event_number(variable: str, terms: Iterable[Halves]) -> Halves:
    """The number of an event that a variable holds."""
    return mixed(added([*terms, text_number(f"variable {variable}")]))


def term(name: str, value: Value, kind: Type) -> Halves:
    """What a value under a name adds; nothing if it is NULL, or of a type whose values are only carried."""
    number = None if value is None else value_number(value, kind)
    return (0, 0) if number is None else mixed(added([number, text_number(name)]))


def value_number(value: Value, kind: Type) -> Halves | None:
    """The number of a value."""
    match kind.kind:
        case Kind.STRING:
            return text_number(value)
        case Kind.DECIMAL:
            whole = int(Fraction(value) * 10**kind.arrow.scale)
            return whole % _BITS, (whole >> 64) % _BITS
        case Kind.FLOAT:
            double = float(value) + 0.0  # one zero; a decimal stands in a float where both may stand
            bits = struct.unpack("<Q", struct.pack("<d", double if double == double else float("nan")))[0]
            return bits, bits
        case Kind.BOOL | Kind.INT | Kind.DATE | Kind.TIMESTAMP | Kind.DURATION:
            return int(value) % _BITS, int(value) % _BITS
    return None


def text_number(text: str) -> Halves:
    """The number of a text."""
    first, second = struct.unpack("<QQ", hashlib.blake2b(text.encode(), digest_size=16).digest())
    return first, second


def added(numbers: Iterable[Halves]) -> Halves:
    """The sum of some numbers, each half by itself."""
    listed = list(numbers)
    return sum(first for first, _ in listed) % _BITS, sum(second for _, second in listed) % _BITS


def mixed(number: Halves) -> Halves:
    """Both halves through the last steps of SplitMix64."""
    return _mixed(number[0]), _mixed(number[1])


def _mixed(half: int) -> int:
    half = (half ^ (half >> 30)) * 0xBF58476D1CE4E5B9 % _BITS
    half = (half ^ (half >> 27)) * 0x94D049BB133111EB % _BITS
    return half ^ (half >> 31)

"""The bytes of CSV files as UTF-8, whatever they are written in, and what their first line tells of that."""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from acelera.cli.reading import Reading
from acelera.errors import AceleraWarning

MARK = "\U0010ffff"
"""Stands before a byte that is not of the encoding, which is the sign behind it. It is a sign of no text."""

BYTES_AT_ONCE = 1 << 22
TAIL = 1 << 16
"""How many of the last bytes are remembered."""

_DELIMITERS = {";": "';'", "\t": r"'\t'", "|": "'|'", ",": ","}
_MARKED = re.compile(MARK + "(.)", re.DOTALL)


class Utf8(io.RawIOBase):
    """A file as UTF-8. Bytes that are not of its encoding are marked, and it is then `damaged`.

    So Arrow never meets what it cannot decode, which it would tell of where nobody can catch it.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        self._raw = pa.input_stream(str(path), compression="detect")
        self._plain = reading.is_utf8
        self._decoder = codecs.getincrementaldecoder(reading.encoding)(_MARKING)
        self._rest, self.tail = b"", b""
        self.damaged = False

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """So many bytes, and fewer only at the end: a small block could be less than a line, which Arrow refuses."""
        while size < 0 or len(self._rest) < size:
            piece = self._raw.read(BYTES_AT_ONCE)
            decoded = self._decoded(piece)
            self.tail = (self.tail + decoded[-TAIL:])[-TAIL:]
            self._rest = self._rest + decoded if self._rest else decoded
            if not piece:
                break
        found, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return found

    def _decoded(self, piece: bytes) -> bytes:
        if self._plain and piece.isascii() and not self._decoder.getstate()[0]:
            return piece
        text = self._decoder.decode(piece, final=not piece)
        self.damaged |= MARK in text
        return text.encode("utf-8", "surrogatepass")

    def close(self) -> None:
        """Close the file, too."""
        if not self.closed:
            self._raw.close()
        super().close()


_MARKING = "acelera.marking"


def _marking(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(f"{MARK}{chr(byte)}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_MARKING, _marking)


def as_written(text: str) -> bytes:
    """A text with marks, as bytes of a file.

    >>> as_written("gr\U0010ffff\u00fcn")
    b'gr\\xfcn'
    """
    pieces = _MARKED.split(text)
    return b"".join(
        each.encode("latin-1") if number % 2 else each.encode("utf-8", "surrogatepass")
        for number, each in enumerate(pieces)
    )


def unmarked(raw: bytes) -> bytes:
    """Bytes of UTF-8 in which some are marked, without the marks."""
    return as_written(raw.decode("utf-8", "surrogatepass"))


def warn_of_delimiter(names: Sequence[str], reading: Reading, where: str) -> None:
    """A single column whose name holds what often stands between values is hardly meant."""
    if len(names) != 1:
        return
    for sign, told in _DELIMITERS.items():
        if sign in names[0] and sign != reading.delimiter:
            name = _MARKED.sub("\ufffd", names[0])
            warnings.warn(
                f"`{where}` has but one column, and `{sign.join(name.split(sign)[:3])}"
                f"{'…' if names[0].count(sign) > 2 else ''}` is its name; is it --delimiter {told}?",
                AceleraWarning,
                stacklevel=3,
            )
            return

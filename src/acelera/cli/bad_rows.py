"""Rows that cannot be read: which is the first and where it stands, and how many were skipped."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa

from acelera.cli.progress import Progress, count
from acelera.cli.reading import Reading
from acelera.errors import AceleraWarning, DataError

ENDLESS = "a quote that never ends"
_END = "\U0010fffethe end"
"""A line of signs that are of no text."""


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file is said with its name."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(
            f"`{path}` has bytes that are not {error.encoding}, {error.object[error.start : error.end]!r}; say what it "
            "is written in, as --encoding latin-1"
        ) from None
    except (pa.ArrowException, OSError, UnicodeError, csv.Error) as error:
        raise DataError(f"`{path}` cannot be read: {' '.join(str(error).split())}") from None


OF_VALUES = "; --bad-rows skip leaves such rows out, --null says which texts are NULL"
OF_WIDTHS = "; is it --delimiter? --bad-rows skip leaves such rows out"
OF_BYTES = "; say what it is written in, as --encoding latin-1; --bad-rows skip leaves such rows out"
OF_LINES = "; --bad-rows skip leaves such rows out"
"""What can be done about a bad value, a row of other length, bytes of another encoding, or what is no row at all."""

_MANY = 10
"""If more than one row of so many is skipped, something is wrong with all of them; a single one tells what it is."""


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be read: where it begins, what is wrong with it, and what can be done."""

    path: Path
    line: int
    wrong: str
    remedy: str = OF_VALUES

    @property
    def told(self) -> str:
        """One line."""
        return f"{self.path}{f', line {self.line}' if self.line else ''}{self.wrong}"


@dataclass
class BadRows:
    """How many rows were skipped, and what is wrong with the first; or the first is an error."""

    skip: bool = False
    skipped: int = 0
    first: BadRow | None = None

    def meet(self, number: int, first: BadRow) -> None:
        """So many rows of a file are bad; those that are met later may stand before those that were met."""
        if not self.skip:
            raise DataError(f"{first.told}{first.remedy}")
        self.skipped += number
        known = self.first
        if known is None or (known.path == first.path and first.line < known.line):
            self.first = first

    def tell(self, progress: Progress, read: int | None) -> None:
        """Say which was the first of the rows that were skipped, if there were any; `read` others were not."""
        if self.first is not None:
            tell_skipped(self.skipped, read, "the first", self.first.told, progress)


def tell_skipped(skipped: int, read: int | None, which: str, example: str, progress: Progress) -> None:
    """Say how many rows were skipped, and what is wrong with one; warn if they are many of all that there are."""
    if not skipped:
        return
    progress.say(f"{count(skipped, 'row')} skipped{'' if skipped == 1 else f'; {which}'}: {example}")
    if skipped > 1 and read is not None and skipped * _MANY > read + skipped:
        warnings.warn(
            f"{skipped:,} of {read + skipped:,} rows were skipped; is --encoding, --delimiter or a format wrong?",
            AceleraWarning,
            stacklevel=2,
        )


@dataclass(frozen=True)
class Record:
    """A row of a text file: the line it begins in, its values, and whether a quote in it never ends."""

    line: int
    values: Sequence[str]
    endless: bool = False


def records(path: Path, reading: Reading) -> Iterator[Record]:
    """The rows of a CSV file, slowly, with their lines; without the names of columns."""
    with pa.input_stream(str(path), compression="detect") as raw:
        text = io.TextIOWrapper(raw, encoding=_encoding(reading), errors="backslashreplace", newline="")
        csv.field_size_limit(1 << 30)
        reader = csv.reader(_ended(text), delimiter=reading.delimiter)
        begin, header = 1, not reading.header
        for values in reader:
            line, begin = begin, reader.line_num + 1
            if values and header:
                header = False
            elif values and values != [_END]:
                endless = values[-1].endswith(_END)
                yield Record(line, [each.removesuffix(_END) for each in values], endless)


def _encoding(reading: Reading) -> str:
    return "utf-8-sig" if reading.is_utf8 else reading.encoding


def _ended(text: IO[str]) -> Iterator[str]:
    """Lines, and one more: only an open quote can swallow that."""
    yield from text
    yield _END


def ragged(path: Path, reading: Reading, width: int) -> BadRow:
    """The first row with too few or too many values, or with a quote that never ends."""
    for record in records(path, reading):
        if record.endless:
            return BadRow(path, record.line, f": {ENDLESS}", OF_LINES)
        if len(record.values) != width and any(each.strip() for each in record.values):
            said = f": {count(len(record.values), 'value')} for {count(width, 'column')}"
            return BadRow(path, record.line, said, OF_WIDTHS)
    return BadRow(path, 0, ": a row has too few or too many values", OF_WIDTHS)


def refuse_endless(path: Path, reading: Reading) -> None:
    """A quote that never ends swallows all that follows, so it is an error in any case."""
    for record in records(path, reading):
        if record.endless:
            raise DataError(f"{path}, line {record.line}: {ENDLESS}, so all that follows it would be one value")


def line_of(path: Path, reading: Reading, width: int, number: int) -> int:
    """Where a row begins, of those that have as many values as there are columns."""
    fit = (each for each in records(path, reading) if len(each.values) == width)
    return next((each.line for place, each in enumerate(fit) if place == number), 0)

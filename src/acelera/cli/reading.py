"""How files are read: what the command line says of their columns and of the way they are written."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import click
import pyarrow as pa

from acelera.cli.arguments import read_schema
from acelera.cli.epochs import EPOCHS, out_of_range
from acelera.cli.text_types import IN_TEXTS, INSTANT, Form, form_of
from acelera.cli.time_formats import time_form
from acelera.errors import SchemaError, UsageError, did_you_mean, listing
from acelera.language.schema import refuse_repeated, schema_of

_ORDER = ""
"""Stands for the order column among the columns that have a time format."""

_SHOWN = 60
_DELIMITERS = {r"\t": "\t", "tab": "\t", "space": " "}


@dataclass(frozen=True)
class Reading:
    """What was said of the files: types of columns, formats of times, other names, and how text is written.

    `header`: the names of the columns of files that have no line of names. Columns are named as in queries, but in
    `renamed`, whose keys are names in files, and in `header`. `said_by` names the schema in messages. All events are
    of `one_type` if that was said; then what a schema nests is a struct, and not the columns of an event type. If there
    are `several` event types with files of their own, a column that is named need be there in one of them only.
    """

    schema: Any = None
    times: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    nulls: tuple[str, ...] = ()
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    header: tuple[str, ...] = ()
    bad_rows: str = "error"
    said_by: str = "--schema"
    one_type: bool = False
    several: bool = False

    @property
    def is_utf8(self) -> bool:
        """Whether bytes need no other decoding."""
        return codecs.lookup(self.encoding).name == "utf-8"

    def ordered_by(self, names: Sequence[str]) -> Reading:
        """The same for files whose order columns, or columns of times, have these names."""
        if _ORDER not in self.times:
            return self
        if not names:
            raise click.UsageError(
                f"--time-format {self.times[_ORDER]!r} is for the order column, and there is none; name the column: "
                f"--time-format COLUMN={self.times[_ORDER]}"
            )
        others = {name: written for name, written in self.times.items() if name != _ORDER}
        return replace(self, times={**dict.fromkeys(names, self.times[_ORDER]), **others})

    def names(self, written: Sequence[str], where: str) -> list[str]:
        """The names of columns in queries, of those in files; one without a name has that of its place, `_c0`."""
        names = [self.renamed.get(name, name) or f"_c{place}" for place, name in enumerate(written)]
        if not self.several:
            self._refuse_unknown(written, names, where)
        refuse_repeated(names, where)
        return names

    def refuse_unknown(self, described: Iterable[Sequence[Column]]) -> None:
        """Of several event types, at least one has each column that is named."""
        if not self.several:
            return
        columns = [each for one in described for each in one]
        names = list(dict.fromkeys(each.name for each in columns))
        where = " in any of the inputs"
        self._refuse_unknown(list(dict.fromkeys(each.written for each in columns)), names, where)
        for name in () if self.schema is None or self._nested else self._said(None)[0]:
            if name not in names:
                raise self._no_column(name, names, where)

    def _refuse_unknown(self, written: Sequence[str], names: Sequence[str], where: str) -> None:
        for option, given, known in (("--rename", self.renamed, written), ("--time-format", self.times, names)):
            for name in given:
                if name not in known:
                    _refuse_field(f"{option} {name}=…", name, known)
                    raise SchemaError(
                        f"{option} {name}=…: there is no column `{name}`{where}{did_you_mean(name, known)} "
                        f"(columns: {listing(known)})"
                    )

    def _no_column(self, name: str, names: Sequence[str], where: str) -> SchemaError:
        return SchemaError(
            f"{self.said_by}: there is no column `{name}`{where}{did_you_mean(name, names)} (columns: {listing(names)})"
        )

    def types(self, event_type: str | None, names: Sequence[str], where: str) -> dict[str, pa.DataType]:
        """The types that are said of the columns of an event type."""
        if self.schema is None:
            return {}
        said, own = self._said(event_type)
        if self._nested and not own:
            said = {name: kind for name, kind in said.items() if name in names}
        for name in said:
            if name not in names and (own or event_type is None):
                raise self._no_column(name, names, where)
        return {name: kind for name, kind in said.items() if name in names}

    def named_by_schema(self, event_type: str | None) -> dict[str, pa.DataType]:
        """The columns that a schema names, and their types."""
        return self._said(event_type)[0]

    @property
    def _nested(self) -> bool:
        """Whether the schema has columns for each event type."""
        if self.one_type or not isinstance(self.schema, Mapping) or not self.schema:
            return False
        return all(isinstance(each, Mapping) for each in self.schema.values())

    def _said(self, event_type: str | None) -> tuple[dict[str, pa.DataType], bool]:
        """The columns of an event type and their types, and whether they are its own."""
        described, nested = self.schema, self._nested
        own = nested and event_type in described
        if own:
            described, nested = described[event_type], False
        schema = schema_of(described, event_type=None if nested else "E")
        return {name: kind.arrow for name, kind in schema.columns.items()}, own


def _refuse_field(option: str, name: str, columns: Sequence[str]) -> None:
    column = name.partition(".")[0]
    if column in columns:
        raise SchemaError(f"{option}: `{name}` is a field of the column `{column}`; the option is for whole columns")


def shown(value: str) -> str:
    """A value in a message; a long one in part."""
    return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")


@dataclass(frozen=True)
class Column:
    """A column of files: its name there and in queries, the type of its values, and what that is in the file.

    `form` tells how texts become values; None if they are values already. `epoch` is the format of times that are
    numbers.
    """

    written: str
    name: str
    kind: pa.DataType
    held: pa.DataType = pa.string()  # noqa: RUF009  # types do not change
    form: Form | None = None
    epoch: str | None = None

    @property
    def unit(self) -> str | None:
        """What numbers count since 1970, in the file, if they are times."""
        return self.epoch or (None if self.form is None else self.form.epoch)

    def expected(self, value: object) -> str:
        """What is wrong with a value.

        >>> Column("p", "price", pa.int64(), form=form_of(pa.int64())).expected("n/a")
        "column price: 'n/a' is no int64"
        >>> Column("t", "t", INSTANT, form=time_form("epoch")).expected("1533123640000")
        "column t: '1533123640000' as epoch is in the year 50552; is it epoch-ms?"
        """
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        told = None if self.unit is None else out_of_range(text, self.unit)
        if told is not None:
            return f"column {self.name}: {shown(text)} as {self.unit} {told}"
        kind = f"time in the format {self.epoch}" if self.epoch else self.form.expected if self.form else "text"
        return f"column {self.name}: {shown(text)} is no {kind}"


Guess = Callable[[Sequence[str]], Mapping[str, tuple[pa.DataType, Form | None]]]
"""Finds types of columns, which are named as in files, by their values."""


def columns_of_csv(
    written: Sequence[str], reading: Reading, event_type: str | None, where: str, guess: Guess
) -> list[Column]:
    """The columns of files in which all values are texts; those of which nothing is said are looked at."""
    names = reading.names(written, where)
    said = reading.types(event_type, names, where)
    known: dict[str, tuple[pa.DataType, Form | None]] = {}
    for name, kind in said.items():
        known[name] = (kind, form_of(kind, reading.decimal) if name not in reading.times else None)
    for name, format_ in reading.times.items():
        timed = time_form(format_, said.get(name, INSTANT))
        known[name] = (timed.kind, timed)
    unknown = [each for each, name in zip(written, names, strict=True) if name not in known]
    found = guess(unknown) if unknown else {}
    columns = []
    for each, name in zip(written, names, strict=True):
        kind, form = known[name] if name in known else found[each]
        columns.append(Column(each, name, kind, form=form))
    return columns


def columns_of_types(
    held: Mapping[str, pa.DataType], reading: Reading, where: str, forms: Mapping[str, Form | None]
) -> list[Column]:
    """The columns of files whose values have types, which are texts only where it says so; times are read as said."""
    names = reading.names(list(held), where)
    columns = []
    for (written, kind), name in zip(held.items(), names, strict=True):
        form = forms.get(written)
        column = Column(written, name, kind if form is None else form.kind, kind, form)
        columns.append(column if name not in reading.times else _timed(column, reading.times[name]))
    return columns


def _timed(column: Column, written: str) -> Column:
    kind = column.held
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        form = time_form(written, column.kind if pa.types.is_date(column.kind) and "%" in written else INSTANT)
        return replace(column, kind=form.kind, form=form)
    if written in EPOCHS and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return replace(column, kind=INSTANT, form=None, epoch=written)
    if written in EPOCHS and pa.types.is_decimal(kind):
        return replace(column, kind=INSTANT, held=pa.float64(), form=None, epoch=written)
    what = (
        "numbers are times only as epoch, epoch-ms and so on" if pa.types.is_integer(kind) else "it has values already"
    )
    raise UsageError(
        f"the time format {written!r} is for texts; the column `{column.name}` is of type {kind}, and {what}"
    )


def with_times(described: Sequence[Sequence[Column]], order_by: Sequence[str], kind: str) -> list[list[Column]]:
    """The columns of each event type; texts that order the stream are times if no type has a value there."""
    found = [list(columns) for columns in described]
    for name in order_by if kind != "parquet" else ():
        known = [each for columns in found for each in columns if each.name == name]
        if all(pa.types.is_null(each.kind) for each in known):
            times = {id(each): replace(each, kind=INSTANT, held=pa.string(), form=IN_TEXTS[-1]) for each in known}
            found = [[times.get(id(each), each) for each in columns] for columns in found]
    return found


# --- the command line -------------------------------------------------------------------------------------------------

_OF_TEXT = {"delimiter": "CSV", "encoding": "CSV", "decimal": "CSV", "header": "CSV", "nulls": "CSV and JSON"}


def reading_of(given: Mapping[str, Any], kinds: Sequence[str], schema: bool = True) -> Reading:
    """What the options say; `kinds` are the formats of the inputs. With `schema`, also types of columns."""
    said = {name: given.get(name) for name in _OF_TEXT}
    for name, formats in _OF_TEXT.items():
        if said[name] and not any(kind.upper() in formats for kind in kinds):
            option = {"header": "columns", "nulls": "null"}.get(name, name)
            raise click.UsageError(f"--{option} is for {formats}; the inputs are {' and '.join(kinds)}")
    if set(kinds) == {"parquet"}:
        for name, option in (("schema_file", "schema"), ("bad_rows", "bad-rows")):
            if given.get(name) and schema:
                raise click.UsageError(f"--{option} is for CSV and JSON; parquet files have types of their own")
    path = given.get("schema_file") if schema else None
    try:
        return Reading(
            schema=None if path is None else read_schema(path),
            times=_times(given.get("time_formats") or ()),
            renamed=_renamed(given.get("renames") or ()),
            nulls=tuple(said["nulls"] or ()),
            delimiter=_delimiter(said["delimiter"], said["decimal"]),
            encoding=_encoding(said["encoding"]),
            decimal=said["decimal"] or ".",
            header=_header(said["header"]),
            bad_rows=given.get("bad_rows") or "error",
            one_type=bool(given.get("event_type")),
        )
    except UsageError as error:
        raise click.UsageError(str(error)) from None


def _header(given: str | None) -> tuple[str, ...]:
    names = tuple(each.strip() for each in given.split(",")) if given else ()
    if not all(names):
        raise click.UsageError(f"--columns {given!r}: each column needs a name, also one that is not used")
    return names


def _times(given: Sequence[str]) -> dict[str, str]:
    """Formats by columns: `ts=%d/%m/%Y`; one without a column is for the order column."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, written = each.partition("=")
        if not equals or "%" in name:
            name, written = _ORDER, each
        if name in found:
            raise click.UsageError(f"--time-format {each!r}: there is one for {name or 'the order column'} already")
        time_form(written)
        found[name] = written
    return found


def _renamed(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        old, equals, new = each.rpartition("=")
        if not (old and equals and new):
            raise click.UsageError(f"--rename {each!r} is no pair of names, such as '# Timestamp=ts'")
        if old in found:
            raise click.UsageError(f"--rename {each!r}: `{old}` is renamed already")
        found[old] = new
    return found


def _delimiter(given: str | None, decimal: str | None) -> str:
    found = _DELIMITERS.get(given or ",", given or ",")
    if len(found) != 1 or not found.isascii() or found in '"\r\n':
        raise click.UsageError(f"--delimiter {given!r} is no sign that can stand between values, such as ; or \\t or |")
    if decimal == found:
        raise click.UsageError(
            f"--decimal {decimal} and --delimiter {found} are the same sign; files with decimal commas mostly have "
            "--delimiter ';'"
        )
    return found


def _encoding(given: str | None) -> str:
    name = given or "utf-8"
    try:
        found = codecs.lookup(name)
    except LookupError:
        raise click.UsageError(
            f"--encoding {name!r} is not known; there are utf-8, latin-1, cp1252, utf-16 and others of Python"
        ) from None
    if not found._is_text_encoding:  # as base64 or rot13 are not
        raise click.UsageError(f"--encoding {name!r} is none of text; there are utf-8, latin-1, cp1252, utf-16")
    return name

"""Every error a user can meet. All are AceleraError, so one except clause catches whatever is the user's to mend."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple


class Span(NamedTuple):
    """A piece of a query's text, as offsets."""

    start: int
    end: int

    def to(self, other: Span | None) -> Span:
        """The piece from here to the end of another."""
        return self if other is None else Span(self.start, max(self.end, other.end))


@dataclass(frozen=True)
class Problem:
    """One mistake: what is wrong, where, and what to do about it."""

    message: str
    span: Span | None = None
    hint: str | None = None


class AceleraError(Exception):
    """The base of all errors that acelera raises on purpose.

    >>> import acelera as ac
    >>> try:
    ...     ac.query("MATCH A ; B WITHIN 5 APPLES")
    ... except ac.AceleraError as error:
    ...     print(error)
    line 1, column 22: `APPLES` is not a unit
      MATCH A ; B WITHIN 5 APPLES
                           ^^^^^^
      hint: the units are events, milliseconds, seconds, minutes, hours, days
    """


class AceleraWarning(UserWarning):
    """Something that is most likely not what was meant.

    >>> import warnings
    >>> import acelera as ac
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ac.query("SELECT start MATCH Sell").run([{"type": "SELL"}]).num_rows
    0
    >>> print(caught[0].category.__name__, caught[0].message)
    AceleraWarning no row is of type `Sell`; did you mean `SELL`?
    """


class UsageError(AceleraError):
    """An argument or an option that makes no sense.

    >>> import acelera as ac
    >>> ac.query("MATCH A").run([{"type": "A"}], ties="first")
    Traceback (most recent call last):
        ...
    acelera.errors.UsageError: ties='first' is not known; it is one of 'error', 'any', 'drop', 'keep'
    """


class SnapshotError(UsageError):
    """A snapshot that cannot be made, or one that cannot be resumed: damaged, or of another version or query.

    >>> import acelera as ac
    >>> ac.query("MATCH A").resume(b"something else")
    Traceback (most recent call last):
        ...
    acelera.errors.SnapshotError: these bytes are not a snapshot of acelera
    """


class SchemaError(AceleraError):
    """A schema, or the shape of a table, that cannot be used.

    >>> import acelera as ac
    >>> ac.query("MATCH A").run([{"kind": "A"}])
    Traceback (most recent call last):
        ...
    acelera.errors.SchemaError: there is no column `type` that tells an event's type (columns: kind). Name it with
    type_column=…, or, if all rows are of one type, name that type with event_type=… (or FROM)
    """


class DataError(AceleraError):
    """A stream whose rows break a rule, such as having no defined order.

    >>> import acelera as ac
    >>> ac.query("MATCH A ; B").run([{"type": "A", "n": 1}, {"type": "B", "n": 1}], order_by="n")
    Traceback (most recent call last):
        ...
    acelera.errors.DataError: rows 1 and 2 tie: both have n = 1, so their order is not defined. Add a column to order_by
    that tells them apart, or pass ties='any' to order such rows by all columns, ties='drop' to also take equal rows as
    one, or ties='keep' to keep the order of arrival
    """


class AggregateError(AceleraError):
    """An aggregate that has no right value, such as a sum too large for int64.

    >>> import acelera as ac
    >>> ac.query("SELECT sum(A.v) MATCH A : A").run([{"type": "A", "v": 2**62}, {"type": "A", "v": 2**62}])
    Traceback (most recent call last):
        ...
    acelera.errors.AggregateError: integer overflow: an aggregate does not fit into its type; aggregate floats instead,
    or fewer events
    """


class TooManyMatchesError(AceleraError):
    """A result, or partial matches, that do not fit into memory, or a result of more than 100 million rows.

    Of matches, `limit=…` gives the first.

    >>> import warnings
    >>> import acelera as ac
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # that there are more of them
    ...     ac.query("SELECT start, end MATCH A+").run([{"type": "A"}] * 40, limit=3).num_rows
    3
    """


class QueryError(AceleraError):
    """A mistake in a query, with the place where it was made.

    >>> import acelera as ac
    >>> try:
    ...     ac.query("MATCH A ;")
    ... except ac.QueryError as error:
    ...     print(error.line, error.column)
    1 10
    """

    def __init__(self, problems: Sequence[Problem], text: str = "") -> None:
        self.problems = tuple(problems)
        self.text = text
        super().__init__("\n\n".join(render(problem, text) for problem in self.problems))

    @property
    def line(self) -> int:
        """The line of the first mistake, counted from 1."""
        return place(self.text, self.problems[0].span)[0]

    @property
    def column(self) -> int:
        """The column of the first mistake, counted from 1."""
        return place(self.text, self.problems[0].span)[1]


class QuerySyntaxError(QueryError):
    """A text that is not a query.

    >>> import acelera as ac
    >>> ac.query("MATCH A ;; B")
    Traceback (most recent call last):
        ...
    acelera.errors.QuerySyntaxError: line 1, column 10: unexpected `;`; expected an event type or `(`
      MATCH A ;; B
               ^
    """


class QueryCheckError(QueryError):
    """A query that is well formed but cannot mean anything: unknown names, wrong types.

    >>> import acelera as ac
    >>> ac.query("MATCH A FILTER A.v > 1").check({"type": str, "v": str})
    Traceback (most recent call last):
        ...
    acelera.errors.QueryCheckError: line 1, column 16: string cannot be compared with int64
      MATCH A FILTER A.v > 1
                     ^^^^^^^
      hint: numbers are written without quotes; CAST(… AS int) makes a number of a string
    """


class QueryTooLargeError(QueryError):
    """A query that makes sense, but whose automaton would be too large; found while it is compiled.

    >>> import acelera as ac
    >>> try:
    ...     ac.query("MATCH " + " ALL ".join(f"T{n}" for n in range(30))).check({"type": str})
    ... except ac.QueryTooLargeError as error:
    ...     print(error.problems[0].message)
    the query is too large to compile: its automaton would have more than 20,000 transitions, and up to 1,073,741,824
    states
    """


def place(text: str, span: Span | None) -> tuple[int, int]:
    """Line and column (from 1) of the start of a piece of text."""
    offset = 0 if span is None else min(span.start, len(text))
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def render(problem: Problem, text: str) -> str:
    """A problem as a person wants to read it: place, message, the line with a caret under the place, hint."""
    hint = f"\n  hint: {problem.hint}" if problem.hint else ""
    if problem.span is None or not (text or problem.span == (0, 0)):
        return problem.message + hint
    line, column = place(text, problem.span)
    source = text.split("\n")[line - 1].rstrip("\r")
    # Tabs are kept in the padding, so that the caret stands under the place whatever their width.
    padding = "".join(char if char == "\t" else " " for char in source[: column - 1])
    width = max(1, min(problem.span.end - problem.span.start, len(source) - column + 1))
    head = f"line {line}, column {column}: {problem.message}"
    return f"{head}\n  {source}\n  {padding}{'^' * width}{hint}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean …?` when a known name is near, otherwise nothing."""
    match = nearest(name, known)
    return f"; did you mean `{match}`?" if match else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a person most likely meant, if any is near."""
    others = [other for other in dict.fromkeys(known) if other != name]
    folded = name.casefold()
    for other in others:
        if abs(len(other) - len(name)) <= _FOLDING and other.casefold() == folded:
            return other
    by_folded = {other.casefold(): other for other in reversed(_worth_comparing(name, others[:_MOST_KNOWN]))}
    found = difflib.get_close_matches(folded, by_folded, n=1, cutoff=_NEAR)
    return by_folded[found[0]] if found else None


_NEAR = 0.6
"""The part of their letters that two names must have in common."""
_FOLDING = 3
"""Letters by which a name may become longer when it is told without regard to case, as ß becomes ss."""
_MOST_KNOWN = 20_000
_MOST_COMPARED = 500
_LONGEST_COMPARED = 100
"""To compare names takes long, so that where there are very many, a misspelling may get no hint."""


def _worth_comparing(name: str, others: Iterable[str]) -> list[str]:
    """The first names of a like length; those of a like beginning, if there are too many."""
    size = len(name)
    like = [each for each in others if 2 * min(size, len(each)) >= _NEAR * (size + len(each)) and size + len(each) > 0]
    like = like if size <= _LONGEST_COMPARED else []
    if len(like) > _MOST_COMPARED:
        like.sort(key=lambda each: each[:2].casefold() != name[:2].casefold())
    return like[:_MOST_COMPARED]


def listing(names: Collection[str]) -> str:
    """The names, or the first of them if there are very many."""
    shown = ", ".join(islice(names, _MOST_LISTED))
    return shown if len(names) <= _MOST_LISTED else f"{shown}, … ({len(names):,} in all)"


_MOST_LISTED = 50


@contextmanager
def of_query(name: str) -> Iterator[None]:
    """Errors say which of several queries they are of."""
    try:
        yield
    except AceleraError as error:
        error.args = (f"query `{name}`: {error}",)
        raise


def outside() -> int:
    """The `stacklevel` of a warning that the caller gives, so that it points at the code of a user."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "acelera":
        frame, level = frame.f_back, level + 1
    return level

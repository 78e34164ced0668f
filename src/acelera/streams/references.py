"""What each statement reads: the events that come in, events of earlier statements, or both in one stream.

A statement reads the events that come in, and beside them those of each earlier statement that its formula names.
FROM a stream reads the events of that stream alone. So a statement says itself what stands in its stream, and another
one above it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from acelera.errors import Problem, QueryCheckError, Span, did_you_mean, nearest
from acelera.language import ast
from acelera.language.printer import name as written
from acelera.programs.problems import Notes, ProgramCheckError
from acelera.query import Query, of_tree
from acelera.streams.statements import Statement, parse_statements


@dataclass(frozen=True)
class Stream:
    """A statement without mistakes that can be found without a schema.

    `reads` are the numbers of the statements whose events it reads, and `base` tells whether it reads what comes in.
    """

    statement: Statement
    query: Query
    reads: tuple[int, ...]
    base: bool

    @property
    def name(self) -> str:
        """The type of its events."""
        return self.statement.name

    @property
    def keys(self) -> tuple[str, ...]:
        """The attributes that it is partitioned by."""
        return tuple(key.name for key in self.query.clauses.partition_by)

    @property
    def mixed(self) -> bool:
        """Whether it reads events of other statements."""
        return bool(self.reads)

    def types(self) -> dict[str, Span | None]:
        """The event types that its formula names, each with its first place."""
        assert self.query.pattern.formula is not None
        return types_of(self.query.pattern.formula)

    @cached_property
    def reads_any(self) -> bool:
        """Whether it asks for events of any type."""
        formula = self.query.pattern.formula
        assert formula is not None
        return any(isinstance(node, ast.AnyEvent) for node in ast.walk(formula))


@dataclass(frozen=True)
class Streams:
    """The statements of a program, in order."""

    text: str
    listed: tuple[Stream, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The types of events that are made."""
        return tuple(each.name for each in self.listed)

    @property
    def base_name(self) -> str | None:
        """What the events that come in are called, if FROM says it."""
        found = (each.query.clauses.stream for each in self.listed if each.base)
        return next((name for name in found if name is not None), None)

    def base_types(self) -> tuple[str, ...]:
        """The event types that must come in, since no statement makes them."""
        named = (name for each in self.listed if each.base for name in each.types())
        return tuple(dict.fromkeys(name for name in named if name not in self.names))

    def levels(self) -> tuple[int, ...]:
        """For each statement how many others must be computed one after the other before it."""
        found: list[int] = []
        for each in self.listed:
            found.append(max((found[read] + 1 for read in each.reads), default=0))
        return tuple(found)

    def __str__(self) -> str:
        return "\n".join(str(each.statement) for each in self.listed)


def types_of(formula: ast.Formula) -> dict[str, Span | None]:
    """The event types that a formula names, each with its first place."""
    found: dict[str, Span | None] = {}
    for node in ast.walk(formula):
        if isinstance(node, ast.EventType):
            earlier = found.get(node.name)
            if node.name not in found or (earlier and node.span and node.span < earlier):
                found[node.name] = node.span
    return dict(sorted(found.items(), key=lambda item: item[1] or Span(0, 0)))


def read_streams(text: str) -> Streams:
    """A program from its text; raises errors that list every mistake that can be found without a schema."""
    statements = parse_statements(text)
    notes, found = Notes(), []
    _check_names(statements, notes)
    for number, statement in enumerate(statements):
        try:
            query = of_tree(statement.query, text)
        except QueryCheckError as error:
            notes.problems += error.problems
            continue
        notes.problems += _refused(statement)
        found.append(_stream(statements, number, query, notes))
    _check_base_names(found, notes)
    if notes.problems:
        raise ProgramCheckError(sorted(notes.problems, key=lambda each: each.span or Span(0, 0)), text)
    return Streams(text, tuple(found))


def _check_names(statements: Sequence[Statement], notes: Notes) -> None:
    known: dict[str, Statement] = {}
    for each in statements:
        if each.name in known:
            hint = "give one of them another name; OR in one formula makes one stream of several"
            notes.wrong(f"there is a stream `{each.name}` already", each.name_span, hint)
        known.setdefault(each.name, each)


def _refused(statement: Statement) -> Iterator[Problem]:
    """What a query can do, and a statement cannot."""
    summary = statement.query.summary
    if summary is not None:
        yield Problem(
            "SUMMARIZE makes rows of groups, which are no events: a group has no moment at which it happens",
            summary.span,
            "select aggregates of a match: SELECT count(x) …; or summarize the stream: acelera.query(…).run of its "
            "table",
        )


def _stream(statements: Sequence[Statement], number: int, query: Query, notes: Notes) -> Stream:
    """What a statement reads, as far as that makes sense."""
    statement = statements[number]
    earlier = {each.name: place for place, each in enumerate(statements[:number])}
    later = {each.name for each in statements[number:]} - earlier.keys()
    types = types_of(statement.query.formula)
    for name in types:
        if name in later:
            notes.wrong(*_not_yet(name, statement, types[name]))
    source = statement.query.stream
    if source in later and source is not None:
        notes.wrong(*_not_yet(source, statement, statement.from_span))
    if source in earlier and source is not None:
        for name, span in types.items():
            if name != source and name not in later:
                hint = f"leave FROM {written(source)} out, and all events that are named are read"
                notes.wrong(f"FROM {written(source)} reads its events alone, so there is no `{name}`", span, hint)
        return Stream(statement, query, (earlier[source],), base=False)
    reads = tuple(sorted(earlier[name] for name in types if name in earlier))
    return Stream(statement, query, reads, base=True)


def _not_yet(name: str, statement: Statement, span: Span | None) -> tuple[str, Span | None, str]:
    if name == statement.name:
        return f"`{name}` reads its own events", span, "a statement uses events that come in, and earlier statements"
    return (
        f"`{name}` is made by a later statement",
        span,
        "a statement uses earlier ones only; move that one before this one, or rename it if this is what comes in",
    )


def _check_base_names(found: Sequence[Stream], notes: Notes) -> None:
    """FROM is the name of what comes in, which is one stream, unless it names an earlier statement."""
    known: str | None = None
    for number, each in enumerate(found):
        name, span = each.query.clauses.stream, each.statement.from_span
        if not each.base or name is None:
            continue
        names = [other.name for other in found[:number]]
        near = nearest(name, names) if name not in {other.name for other in found} else None
        if near is not None:
            notes.wrong(f"there is no stream `{name}`{did_you_mean(name, names)}", span, None)
        elif known is not None and name != known:
            hint = "what comes in is one stream, which has one name; events of several types have a type column"
            notes.wrong(f"FROM names what comes in `{name}` here, and `{known}` above", span, hint)
        known = known or name

"""The tester: a query, a stream that a test pushes to it, and what is to be said of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acelera.automata.model import Acea
from acelera.errors import UsageError, did_you_mean, listing
from acelera.language import ast
from acelera.language.builder import FormulaBuilder
from acelera.language.checker import BagUnion
from acelera.language.printer import amount, print_keep
from acelera.language.sorting import arranges
from acelera.query import Query
from acelera.query import query as query_of
from acelera.testing.partial import Partials, Runs, Start, Steps, event_text, partials
from acelera.testing.stream import Key, Match, Stream, read
from acelera.testing.written import Columns, Row, rows_of

MOST_KEYS, MOST_BEGUN = 20, 10
"""How many keys, and how many matches that came to nothing, are explained."""


class Tester:
    """A query, and a stream that a test pushes to it as it likes.

    The query is anything that `acelera.query` takes, or what it gives. The options are those of `Query.open`; without
    `schema` the columns and their types are those of the events that are pushed first, and a column that the query
    asks for but that these do not have is NULL.

    >>> t = Tester("SELECT user, A.v MATCH A : B FILTER A.v > 1 PARTITION BY user")
    >>> t.push("A(user='x', v=1) A(user='y', v=2) B(user='x') B(user='y')")
    [Match(key='y', start=1, end=2, A=[1], B=[2])]
    >>> t.rows
    [{'user': 'y', 'A_v': 2}]
    >>> print(t.explain("x"))
    user = 'x': 2 events, no matches
    no partial matches: no event could begin one; that takes A, v > 1, and the events were of type A, B
    """

    __test__ = False  # pytest would take it for a class of tests

    def __init__(
        self,
        query: str | FormulaBuilder | ast.Query | Acea | Query,
        *,
        schema: object = None,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
        ties: str = "error",
        bag_union: BagUnion = "once",
    ) -> None:
        if isinstance(query, Query) and bag_union != "once":
            raise UsageError("this query has its bag_union already; pass it to acelera.query")
        if arranges(ties):
            raise UsageError(
                f"ties={ties!r} would hold each event back until a later one comes, and a tester shows what each of "
                "them does; push events in their order, with ties='keep'"
            )
        self.query = query if isinstance(query, Query) else query_of(query, bag_union=bag_union)
        self.matches: list[Match] = []
        self._options: dict[str, Any] = {
            "order_by": order_by,
            "type_column": type_column,
            "event_type": event_type,
            "ties": ties,
        }
        only = event_type or (self.query.clauses.stream if type_column is None else None)
        ordered = [order_by] if isinstance(order_by, str) else order_by
        self._columns = Columns(type_column, only, ordered[0] if isinstance(ordered, Sequence) and ordered else None)
        self._stream = None if schema is None else Stream(self.query, schema, (), **self._options)

    # --- events in ------------------------------------------------------------------------------------------------

    def push(self, events: str | Row | Sequence[Row]) -> list[Match]:
        """Read more events; the matches that they end.

        In a string events stand apart by blanks, with attributes in brackets and, for the order column, the time since
        2024-01-01 00:00:00: `"A(v=1, s='x')@3s B(v=2)@1.5m"`; units are ms, s, m, h and d. A string without blanks,
        brackets and times has an event a letter, as in `"ABXBC"`, unless the query names a type that is longer.
        """
        rows = self._rows(events)
        if not rows:
            return []
        if self._stream is None:
            self._stream = Stream(self.query, None, rows, **self._options)
        ended = self._stream.read(rows)
        self.matches += ended
        return ended

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The result so far: a row for each match, with the columns of SELECT.

        Of a summary, the rows that it has over all events so far, as if there were no more; what it summarizes are the
        `matches`, which a tester lists all the same.

        >>> t = Tester("SUMMARIZE count(*), sum(B.v) AS total MATCH A ; B")
        >>> t.push("A A B(v=5)")
        [Match(start=1, end=3, A=[1], B=[3]), Match(start=2, end=3, A=[2], B=[3])]
        >>> t.rows
        [{'count': 2, 'total': 10}]
        """
        if self.query.clauses.summary is not None:
            return [] if self._stream is None else self._stream.summary()
        return [match.row for match in self.matches]

    def _rows(self, events: object) -> Sequence[Row]:
        if isinstance(events, str):
            named = self.query.pattern.event_types
            letters = all(len(name) == 1 for name in (*named, self._options["event_type"] or "?"))
            return rows_of(events, self._columns, letters)
        rows = [events] if isinstance(events, Mapping) else events
        if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
            raise UsageError(f"events are a string, a dict or a list of dicts, not {events!r}")
        return rows

    # --- partial matches ------------------------------------------------------------------------------------------

    def partial(self, key: Any = None, *, limit: int = 20) -> Partials:
        """The partial matches of a key, or of all keys: those that go on, and that the next event finds in the window.

        At most `limit` are listed, since there may be very many; `more` tells how many there are besides.
        """
        keys = self._asked(key)
        return Partials() if self._stream is None else partials(self._stream, keys, limit)

    def _asked(self, key: Any) -> list[Key]:
        """The keys that are asked for: all if it is None."""
        names = [each.name for each in self.query.clauses.partition_by]
        values = key if isinstance(key, tuple) else (key,)
        if key is not None and len(names) != len(values):
            wanted = f"has a value for each of {', '.join(names)}" if names else "needs PARTITION BY"
            raise UsageError(f"key={key!r}: a key {wanted}")
        if self._stream is None:
            return []
        return list(self._stream.shown) if key is None else [self._stream.key_of(values)]

    # --- why ------------------------------------------------------------------------------------------------------

    def explain(self, key: Any = None) -> str:
        """What goes on, for a key or for all: how much was read, what waits for what, and if nothing does, why."""
        keys, stream = self._asked(key), self._stream
        if stream is None or not stream.keys:
            return f"no events yet; a match begins with {self._beginning()}"
        lines = [line for each in keys[:MOST_KEYS] for line in self._about(each, stream)]
        if len(keys) > MOST_KEYS:
            lines.append(f"… and {len(keys) - MOST_KEYS} more keys")
        for name in stream.missing:
            near = did_you_mean(name, stream.known)
            lines.append(f"`{name}` is NULL: the events that were pushed first had no such column{near}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        events = 0 if self._stream is None else len(self._stream.keys)
        read = f"{_number(events, 'event')}, {_number(len(self.matches), 'match')}"
        return f"<Tester of {' '.join(str(self.query).split())}: {read}>"

    def _about(self, key: Key, stream: Stream) -> list[str]:
        name = stream.key_text(key)
        read = f"{_number(stream.keys.count(key), 'event')}, {_number(stream.ended[key], 'match')}"
        lines = [f"{name}: {read}" if name else read]
        if key not in stream.shown:
            return lines
        waiting, ended = partials(stream, [key], 20), Runs(stream.session, key).ended()
        if ended:
            ends = listing([str(stream.position(place)) for place in sorted(ended)])
            lines.append(f"matches wait that end at {ends}: {self._why_ended_wait()}")
        if waiting:
            lines += [f"{_number(len(waiting) + waiting.more, 'partial match')}:", *(f"  {each}" for each in waiting)]
            return [*lines, f"  … and {waiting.more} more"] if waiting.more else lines
        begun = self._begun(key, stream)
        if not begun:
            types = list(dict.fromkeys(of for of, each in zip(stream.types, stream.keys, strict=True) if each == key))
            seen = ", ".join([*types[:10], "…"] if len(types) > 10 else types)
            why = f"that takes {self._beginning()}, and the events were of type {seen}"
            return [*lines, f"no partial matches: no event could begin one; {why}"]
        lines += ["no partial matches are left; those that began:", *(f"  {each}" for each in begun[-MOST_BEGUN:])]
        return [*lines, f"  … and {len(begun) - MOST_BEGUN} before"] if len(begun) > MOST_BEGUN else lines

    def _why_ended_wait(self) -> str:
        """What must be known of a match that has ended before it is given."""
        asked = []
        if self.query.automaton.absences:
            asked.append("nothing follows in time that rules them out")
        if self.query.clauses.keep is not None:
            asked.append(f"{print_keep(self.query.clauses.keep)} keeps them")
        return f"it is not known yet whether {' and whether '.join(asked)}"

    def _beginning(self) -> str:
        """What an event must be for a match to begin with it."""
        if self._stream is not None:
            events = Steps(self._stream).beginning()
        else:
            automaton = self.query.automaton
            labels = (t.label for t in automaton.transitions if t.source == automaton.initial)
            events = list(dict.fromkeys(event_text(label.assign, label.predicate) for label in labels))
        return " or ".join(events) or "what cannot be, as the parts of the query exclude each other"

    def _begun(self, key: Key, stream: Stream) -> list[_Begun]:
        """What became of matches that began: the stream is read again, event by event."""
        session, steps, within = stream.open(), Steps(stream), self.query.clauses.within
        begun: dict[int, _Begun] = {}
        waiting: dict[int, Start] = {}
        for place, (event, its_key) in enumerate(zip(stream.events(), stream.keys, strict=True)):
            ended = Counter(start for _, start, _ in read(session, event) if stream.keys[start] == key)
            runs = Runs(session, key)
            held, before = runs.starts(runs.floor()), waiting
            kept = {start for starts in runs.ended().values() for start in starts}
            waiting = {start: each for start, each in held.items() if each.tick >= runs.floor(ahead=1)}
            if its_key == key and (place in held or place in ended or place in kept):
                begun[place] = _Begun(runs.events)
            for start, matches in ended.items():
                begun[start].matches += matches
            for start, each in begun.items():
                if each.waits and start not in kept and not each.matches:
                    each.after = f"; what waited of it was dropped at {runs.events}"
                each.waits = start in kept
            for start in ({*before, place} & begun.keys()) - waiting.keys():
                if start in held or (not (start in ended or start in kept) and before[start].tick < runs.floor()):
                    window = "" if within is None else amount(within.amount, within.unit)
                    begun[start].end = f"left the window of {window}"
                elif start in ended or start in kept:
                    begun[start].end = f"nothing of it goes on after {runs.events}"
                else:
                    wanted = " or ".join(steps.waits(before[start].standing))
                    begun[start].end = f"{stream.types[place]} at {runs.events} did not fit, it waited for {wanted}"
        return list(begun.values())


@dataclass
class _Begun:
    """What became of the matches that began at a position."""

    start: int
    matches: int = 0
    end: str = ""
    waits: bool = False
    after: str = ""

    def __str__(self) -> str:
        after = "; what ended waits" if self.waits else self.after
        return f"from {self.start}: {_number(self.matches, 'match')}; {self.end}{after}"


def _number(count: int, what: str) -> str:
    plural = f"{what}es" if what.endswith("ch") else f"{what}s"
    return f"1 {what}" if count == 1 else f"{count or 'no'} {plural}"

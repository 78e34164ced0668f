"""The tests of several queries as columns of a frame: each is made once, by the JVM where it can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.frames import columns_of
from acelera.engine.shared_tests import names_in, shared_tests
from acelera.spark.batch import column_travelling
from acelera.spark.several_team import Member, Team
from acelera.spark.spark_expressions import refusal
from acelera.spark.words import MOST_ASKED, Test, relevant, size_of, words_of


@dataclass(frozen=True)
class TeamTests:
    """Queries that share a pass, and the columns of the tests that the JVM makes for them.

    `relevant` is what a row must satisfy to matter to any of them, as far as the JVM can tell; None if all rows travel.
    """

    team: Team
    relevant: Any | None

    @classmethod
    def of(cls, queries: Mapping[str, CompiledQuery], ties: str) -> TeamTests:
        """The tests of some queries over one frame."""
        shared = shared_tests(list(queries.values()), lambda tests: _in_jvm(tests, list(queries.values())))
        named = zip(queries.items(), shared.readers, strict=True)
        members = tuple(Member.of(name, query, reader, ties) for (name, query), reader in named)
        schema = next(iter(queries.values())).schema
        reactions = _reactions(queries.values())
        return cls(Team(members, shared, schema), None if reactions is None else relevant(reactions))

    def travelling(self) -> list[Any]:
        """Columns of the stream, and the words of tests, under plain names."""
        words = (word.alias(f"w{number}") for number, word in enumerate(self.words()))
        return [*self.columns_travelling(self.team.columns), *words]

    def columns_travelling(self, names: Sequence[str]) -> list[Any]:
        """Columns of the stream under plain names."""
        return [column_travelling(name, self.team.schema).alias(f"c{number}") for number, name in enumerate(names)]

    def words(self) -> list[Any]:
        """The words of tests that the JVM makes."""
        return words_of(self.team.shared.elsewhere)


def _in_jvm(tests: Sequence[Test], queries: Sequence[CompiledQuery]) -> list[Test]:
    """The tests that the JVM makes: no more than it compiles, and all of a column or none, so that it need not travel.

    First come those of columns that no query reads otherwise.
    """
    kept = set[str]().union(*(query.columns_read(range(len(query.plan.tests))) for query in queries))
    by_columns: dict[frozenset[str], list[Test]] = {}
    for test, schema in tests:
        if refusal(test, schema) is None:
            by_columns.setdefault(frozenset(columns_of(names_in(test), schema)), []).append((test, schema))
    found, asked = list[Test](), 0
    for columns in sorted(by_columns, key=lambda columns: columns <= kept):
        size = sum(map(size_of, by_columns[columns]))
        if asked + size <= MOST_ASKED:
            found, asked = [*found, *by_columns[columns]], asked + size
    return found


def _reactions(queries: Iterable[CompiledQuery]) -> list[list[Test]] | None:
    """What a row must satisfy to matter, as far as the JVM can tell; None if all rows may."""
    found = []
    for query in queries:
        if query.reactions is None:
            return None
        for each in query.reactions:
            found.append([(test, query.schema) for test in each if refusal(test, query.schema) is None])
    return found if all(found) else None

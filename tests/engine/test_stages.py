"""Hits that stages hold beyond the reading of events are listed later as they would have been at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.machines.machine import Events
from acelera.engine.nodes import arena, starts
from acelera.engine.nodes.held import Ended, Held
from acelera.engine.session import session
from acelera.engine.session.stages import Stage
from acelera.engine.storage import growing
from acelera.language import ast
from strategies import checked_query, long_cases, unordered

OPTIONS: dict[str, Any] = {"order_by": "ts", "ties": "keep"}


class Late:
    """Holds every hit until so many others have come, or nothing comes any more."""

    def __init__(self, others: int) -> None:
        self.held, self._others = Held(), others

    def take(self, hits: Ended) -> Ended:
        self.held.add(hits)
        return self._given(len(self.held) - self._others)

    def settle(self, now: int | None) -> Ended:
        return Ended.none()

    def read(self, events: Events, keys: int) -> None:
        pass

    def rest(self, until: int | None) -> Ended:
        return self._given(len(self.held))

    def due(self) -> int | None:
        return None

    def _given(self, count: int) -> Ended:
        given, self.held.hits = (
            self.held.hits.only(np.arange(max(0, count))),
            self.held.hits.only(np.s_[max(0, count) :]),
        )
        return given

    def compact(self) -> None:
        pass

    def keep_partitions(self, kept: Any) -> None:
        self.held.keep_partitions(kept)

    def dump(self) -> Any:
        return self.held.dump("late")

    def load(self, sections: Any, nodes: int, rows: int, partitions: int) -> None:
        self.held.load("late", sections)
        self.held.check("late", nodes, rows, partitions)


@contextmanager
def delaying(*delays: int) -> Iterator[None]:
    """All matches pass through such stages."""

    def stages_of(checked: Any, incoming: Any, matcher: Any) -> list[Stage]:
        return [Late(each) for each in delays]

    with patch.object(session, "stages_of", stages_of):
        yield


@pytest.mark.property
@settings(max_examples=12)
@given(case=long_cases(), data=st.data())
def test_matches_that_wait_are_the_same(case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    """All machines, while nodes, rows and keys are forgotten again and again, and through snapshots."""
    tree, table = case
    query = checked_query(tree, table, "once", "ts")
    try:
        expected = shown([query.run(table, **OPTIONS)])
    except ac.AggregateError:
        return
    made, size, found = arena.Arena.__init__, data.draw(st.integers(1, 60)), []
    with (
        delaying(data.draw(st.integers(0, 5)), data.draw(st.integers(0, 50))),
        patch.object(arena.Arena, "__init__", lambda self: made(self, nodes=64, hits=16)),
        patch.object(starts.NewestStarts.__init__, "__defaults__", (16,)),
        patch.object(growing, "SLACK", 0),
    ):
        running = query.open(table.schema, **OPTIONS)
        for at in range(0, table.num_rows, size):
            found.append(running.push(table.slice(at, size)))
            running = query.resume(running.snapshot())
        found.append(running.finish())
    assert shown(found) == expected


def shown(tables: list[pa.Table]) -> list[str]:
    """All rows, in no order."""
    return sorted(repr(unordered(row)) for table in tables for row in table.to_pylist())


def test_what_waits_is_told_by_where_it_ends() -> None:
    with delaying(1):
        running = ac.query("SELECT start, end MATCH A ; B").open({"type": str})
    assert running.push([{"type": kind} for kind in "AXB"]).num_rows == 0
    assert (running.events, running.settled, running.matches) == (3, 2, 0)
    assert running.push([{"type": "B"}]).to_pylist() == [{"start": 1, "end": 3}]
    assert (running.events, running.settled, running.matches) == (4, 3, 1)
    assert running.finish().to_pylist() == [{"start": 1, "end": 4}]
    assert running.settled == 4

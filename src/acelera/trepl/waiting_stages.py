"""Stages that are not complete: changes of the newest instant wait, since more of it may come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from acelera.errors import DataError
from acelera.trepl.instants import Instant, columns, is_before, later, latest, said_instant

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class Waiting:
    """Changes that wait, by relation, and the last instant that is closed, of which no more may come."""

    tables: Tables
    closed: Instant | None = None

    def with_more(self, more: Tables, names: Sequence[str], apart: bool) -> Waiting:
        """Take further changes; `names` are the columns of the instant, and `apart` says that no two are of one."""
        tables = dict(self.tables)
        for relation, table in more.items():
            self._refuse_late(relation, table, names)
            tables[relation] = pa.concat_tables([tables[relation], table]) if relation in tables else table
        if apart:
            _refuse_ties(tables, names)
        return Waiting(tables, self.closed)

    def _refuse_late(self, relation: str, table: pa.Table, names: Sequence[str]) -> None:
        if self.closed is None:
            return
        instants = columns(table, names)
        late = table.filter(pc.invert(is_before(self.closed, instants)))
        if late.num_rows:
            instant = said_instant([late.column(name)[0] for name in names])
            raise DataError(
                f"`{relation}`: {late.num_rows:,} of these changes come too late, such as one of {instant}: "
                f"the stage of {said_instant(self.closed)} is closed. Nothing of this push was taken; push changes of "
                "one instant together with all that come before any later one, of all relations"
            )

    def closed_by(self, now: Instant | None, names: Sequence[str]) -> tuple[Tables, Waiting]:
        """What is complete, and what waits on: stages before the newest one are closed, and those until `now`."""
        newest = latest(self.tables.values(), names)
        if newest is None:
            return {}, Waiting({}, later(self.closed, now))
        passing, staying = {}, {}
        for relation, table in self.tables.items():
            instants = columns(table, names)
            passes = is_before(instants, newest)
            if now is not None:
                passes = pc.or_(passes, pc.invert(is_before(now, instants)))
            passing[relation], staying[relation] = table.filter(passes), table.filter(pc.invert(passes))
        closed = later(later(self.closed, now), latest(passing.values(), names))
        return _there(passing), Waiting(_there(staying), closed)


def _there(tables: Tables) -> dict[str, pa.Table]:
    return {relation: table for relation, table in tables.items() if table.num_rows}


def _refuse_ties(tables: Tables, names: Sequence[str]) -> None:
    """With one operation a stage, changes of different relations, too, are of different instants."""
    parts = [
        table.select(names).append_column("#of", pa.repeat(relation, table.num_rows))
        for relation, table in tables.items()
    ]
    if not parts:
        return
    groups = pa.concat_tables(parts).group_by(names).aggregate([("#of", "count"), ("#of", "min"), ("#of", "max")])
    for group in groups.filter(pc.greater(groups["#of_count"], 1)).slice(0, 1).to_batches():
        relations = " and ".join(dict.fromkeys(f"`{group[name][0]}`" for name in ("#of_min", "#of_max")))
        instant = said_instant([group[name][0] for name in names])
        raise DataError(
            f"two changes of {relations} are of one instant, {instant}, but with granularity='operation' each has its "
            "own. Add a column to order_by that tells them apart, also those of different relations"
        )

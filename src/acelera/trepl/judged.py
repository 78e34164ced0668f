"""The meaning of a program as an engine: it keeps all changes, and asks anew at each step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from acelera.cdc.layout import INSTANT, KIND, NEW, OLD, TIME
from acelera.engine.storage.snapshots import fingerprint_of, pack, unpack
from acelera.language.types import from_arrow
from acelera.tables import plain_values
from acelera.trepl.actions.action_rows import from_fired
from acelera.trepl.ast import KINDS
from acelera.trepl.history import Change
from acelera.trepl.resolved import Program
from acelera.trepl.semantics import fired
from acelera.trepl.stepping import Place

_FINGERPRINT = fingerprint_of("all changes")


class Judged:
    """All changes so far, and what the definitions say of them; `instants` are the types of what orders changes."""

    def __init__(
        self, program: Program, instants: Sequence[pa.DataType], tables: Mapping[str, pa.Table] | None = None
    ) -> None:
        self._program, self._instants = program, instants
        self._tables = dict(tables or {})

    def step(self, given: Mapping[str, pa.Table]) -> dict[Place, pa.Table]:
        """Take whole stages; what actions do at them."""
        tables = dict(self._tables)
        for relation, table in given.items():
            tables[relation] = pa.concat_tables([tables[relation], table]) if relation in tables else table
        before = max((change.instant for change in _changes(self._tables)), default=None)
        found = fired(self._program, _changes(tables))
        self._tables = tables
        new = [row for row in found if before is None or row.instant > before]
        return from_fired(self._program, new, self._instants)

    def snapshot(self) -> bytes:
        """All changes."""
        sections = {relation: table.combine_chunks() for relation, table in self._tables.items()}
        batches = {relation: (table.to_batches() or [_empty(table)])[0] for relation, table in sections.items()}
        return pack(_FINGERPRINT, batches)

    def kept(self) -> dict[str, int]:
        """How many changes there are, by relation."""
        return {f"changes of {relation}": table.num_rows for relation, table in self._tables.items()}


def judged_again(program: Program, instants: Sequence[pa.DataType], snapshot: bytes) -> Judged:
    """Go on from a snapshot."""
    sections = unpack(snapshot, _FINGERPRINT)
    tables = {relation: pa.Table.from_batches([batch]) for relation, batch in sections.items()}
    return Judged(program, instants, tables)


def _empty(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], table.schema)


def _changes(tables: Mapping[str, pa.Table]) -> Iterator[Change]:
    """Normalized changes as the meaning reads them."""
    for relation, table in tables.items():
        columns = {each.name: plain_values(table.column(each.name), from_arrow(each.type)) for each in table.schema}
        instants = zip(*(values for name, values in columns.items() if name.startswith(INSTANT)), strict=True)
        news, olds = (_rows(columns, side, table.num_rows) for side in (NEW, OLD))
        for kind, time, instant, new, old in zip(columns[KIND], columns[TIME], instants, news, olds, strict=True):
            name = KINDS[kind]
            yield Change(
                relation, name, None if name == "insert" else old, None if name == "delete" else new, instant, time
            )


def _rows(columns: Mapping[str, list[object]], side: str, rows: int) -> list[dict[str, object]]:
    """The values of a side; of a source without old ones they are NULL."""
    names = [name.removeprefix(NEW) for name in columns if name.startswith(NEW)]
    listed = [columns.get(f"{side}{name}", [None] * rows) for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*listed, strict=True)] if names else [{}] * rows

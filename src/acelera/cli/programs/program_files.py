"""The files with the events of a program: their columns, and their rows as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from acelera.cli.bad_rows import BadRows
from acelera.cli.programs.program_job import ProgramJob
from acelera.cli.progress import Progress
from acelera.cli.sources import Source, sources_of


@dataclass(frozen=True)
class ProgramFiles:
    """The files of each label, of which there is one table; under None if a column tells the label."""

    sources: Mapping[str | None, list[Source]]
    schemas: Mapping[str | None, pa.Schema]
    bad: BadRows

    @property
    def rows(self) -> int:
        """How many events there are."""
        return sum(each.rows or 0 for sources in self.sources.values() for each in sources)

    @property
    def described(self) -> object:
        """The columns, as `Program.check` takes them."""
        return self.schemas.get(None, self.schemas)

    def read(self, progress: Progress) -> Any:
        """All rows, as `Program.run` takes them."""
        progress.begin("reading", self.rows)
        tables = {label: self._table(label, progress) for label in self.sources}
        self.bad.tell(progress, sum(each.num_rows for each in tables.values()))
        return tables.get(None, tables)

    def _table(self, label: str | None, progress: Progress) -> pa.Table:
        batches = []
        for source in self.sources[label]:
            for batch in source.batches(bad=self.bad):
                if batch.num_rows:  # of texts without rows, the types are told by others
                    batches.append(batch)
                progress.advance(batch.num_rows)
        return pa.Table.from_batches(batches, self.schemas[label])


def program_files(job: ProgramJob, progress: Progress) -> ProgramFiles:
    """Look at the types of the columns; text is read once to find out."""
    if any(inputs.format != "parquet" for inputs in job.inputs.values()):
        progress.begin("looking at types")
    sources = {
        label: sources_of(inputs, job.times, progress.advance, job.reading) for label, inputs in job.inputs.items()
    }
    job.reading.refuse_unknown(each[0].columns for each in sources.values())
    return ProgramFiles(sources, _schemas(sources, job.times), BadRows(job.reading.bad_rows == "skip"))


def _schemas(sources: Mapping[str | None, list[Source]], names: Sequence[str]) -> dict[str | None, pa.Schema]:
    """The columns of each label. Texts without rows tell no types, so their times are those of the others."""
    schemas = {label: each[0].schema for label, each in sources.items()}
    empty = [
        label for label, each in sources.items() if each[0].format != "parquet" and all(one.rows == 0 for one in each)
    ]
    known = next((schema for label, schema in schemas.items() if label not in empty), None)
    times = [] if known is None else [known.field(name) for name in names if name in known.names]
    for label in empty:
        for time in times:
            if time.name in schemas[label].names:
                schemas[label] = schemas[label].set(schemas[label].get_field_index(time.name), time)
    return schemas

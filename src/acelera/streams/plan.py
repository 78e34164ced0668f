"""What runs: the compiled queries of a program, and who reads whom. It can be sent elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from acelera.engine.compiled_query import CompiledQuery
from acelera.language.result import PartitionKey
from acelera.language.schema import Schema
from acelera.streams.program_checker import CheckedStreams


@dataclass(frozen=True)
class Step:
    """A statement: its query, the columns of its events, and the numbers of the statements that it reads.

    `base` tells whether it reads what comes in. `keys` are the attributes that it is partitioned by, and `carried`
    those of them that its events have under the same name.
    """

    name: str
    query: CompiledQuery
    events: pa.Schema
    reads: tuple[int, ...]
    base: bool
    keys: tuple[str, ...]
    carried: frozenset[str]

    @property
    def schema(self) -> Schema:
        """That of what it reads."""
        return self.query.schema

    @property
    def mixed(self) -> bool:
        """Whether it reads events of other statements."""
        return bool(self.reads)

    @property
    def timed(self) -> bool:
        """Whether events have times; that of an event is its first column."""
        return self.schema.time is not None

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The columns of its SELECT."""
        return tuple(self.events.names[1:] if self.timed else self.events.names)


@dataclass(frozen=True)
class Plan:
    """The statements of a program, in order, over what comes in."""

    base: Schema
    steps: tuple[Step, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The types of events that are made."""
        return tuple(each.name for each in self.steps)

    @property
    def outputs(self) -> dict[str, pa.Schema]:
        """The columns of each stream that is made."""
        return {each.name: each.events for each in self.steps}

    def only(self, name: str) -> Plan:
        """What a stream is made of, and nothing else."""
        kept = {self.names.index(name)}
        for number in range(len(self.steps) - 1, -1, -1):
            kept |= set(self.steps[number].reads) if number in kept else set()
        places = {number: place for place, number in enumerate(sorted(kept))}
        steps = (self.steps[old] for old in places)
        return Plan(self.base, tuple(replace(s, reads=tuple(places[read] for read in s.reads)) for s in steps))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The attributes that all statements are partitioned by, and that all events that are read have."""
        read = {number for each in self.steps for number in each.reads}
        common = set.intersection(*(set(each.keys) for each in self.steps))
        for number in read:
            common &= self.steps[number].carried
        return tuple(key for key in self.steps[0].keys if key in common and key in self.base.columns)

    def columns_read(self) -> list[str]:
        """The columns of what comes in that some statement looks at."""
        base = [each.query for each in self.steps if each.base]
        needed = {name for query in base for name in query.schema.read_for(query.columns_read())}
        needed |= {key for each in self.steps if each.base for key in each.keys}
        needed |= {*self.base.order_by, *([self.base.type_column] if self.base.type_column else [])}
        return [name for name in self.base.columns if name in needed]


def plan_of(checked: CheckedStreams) -> Plan:
    """The statements of a program, compiled."""
    steps = []
    for each in checked.listed:
        query, stream = each.placed.compiled(each.schema), each.stream
        carried = {column.name for column in query.checked.result.columns if column.source == PartitionKey(column.name)}
        steps.append(Step(stream.name, query, each.events, stream.reads, stream.base, stream.keys, frozenset(carried)))
    return Plan(checked.base, tuple(steps))

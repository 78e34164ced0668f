"""A module that runs: its events come as tables, and what its actions do goes out as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.cdc.layout import INSTANT, KIND, TIME
from acelera.engine.session.keys import Keys, count_positions
from acelera.errors import AggregateError, DataError, TooManyMatchesError
from acelera.language.ast import Attribute
from acelera.language.types import NULL, Type, unify
from acelera.stages.counting import count_silent
from acelera.trepl.ast import KINDS
from acelera.trepl.resolved import EventType, Module, Program
from acelera.trepl.running.ordering import fitting, picked, ranks, stages, taken
from acelera.trepl.running.slot_columns import SlotColumns, computed, stage_columns
from acelera.trepl.time_functions import Functions
from acelera.trepl.translation.machines import Translation

Ints = npt.NDArray[Any]
KEY, STAGE, ARGUMENT = "#key.", "#stage", "arg"

LATEST = "#latest"
"""The latest time of a stage: events whose stages are numbered elsewhere have it, and the number as `STAGE`."""


class Given(NamedTuple):
    """Events in the order of stages: for each table of the machine the rows that come from it, and where they go.

    `begins` is where each stage begins, `times` are those of stages, `keys` their keys.
    """

    types: Ints
    tables: Mapping[int, tuple[SlotColumns, Ints]]
    begins: Ints
    keys: Ints
    silent: Ints  # how many stages without events of the key come before each
    times: Any
    first_times: Ints
    in_order: bool  # whether times are what orders stages
    stage_columns: SlotColumns


class Answer(NamedTuple):
    """What a head told: the numbers of stages, and a column for each of its arguments."""

    stages: Ints
    columns: Sequence[Any]


class Machine(Protocol):
    """What carries out a machine."""

    def take(self, given: Given, keys: int) -> dict[int, Answer]:
        """Take all stages; what shown heads told."""

    def dump(self) -> dict[str, Any]:
        """All that is needed to go on."""

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""

    @property
    def kept(self) -> tuple[int, int]:
        """How many configurations rest, and how many wait."""

    @property
    def reached(self) -> int:
        """After an error: the number of the stage that it came at, of those that were to be taken."""


class _Frame:
    """Columns by name, as keys are read from."""

    def __init__(self, columns: Mapping[str, Any], rows: int) -> None:
        self._columns, self._rows = columns, rows

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]


@dataclass(frozen=True)
class _KeySchema:
    columns: Mapping[str, Type]


class ModuleRun:
    """A module and the keys it has seen."""

    def __init__(
        self,
        module: Module,
        program: Program,
        translation: Translation,
        machine: Machine,
        functions: Functions,
        split: str | None = None,
    ) -> None:
        self._module, self._program, self._translation = module, program, translation
        self.machine, self._functions = machine, functions
        names = module.partition if split is None else (split,)
        self._key_types = {name: self._key_type(name) for name in names}
        self._keys = Keys(names, _KeySchema(self._key_types))  # type: ignore[arg-type]  # all it asks for
        self._counts = np.zeros(1, np.int64)
        self._splits, self._stages = split is not None, 0
        relations = [each.name for each in translation.sources if each is not None and each.module is None]
        self._monitored = {
            name: np.array([EventType(kind, name) in module.universe for kind in KINDS]) for name in relations
        }
        self._first_types = {name: translation.types[EventType(KINDS[0], name)] for name in relations}

    def _key_type(self, name: str) -> Type:
        """The type that holds an attribute of all events; that of one that is never made holds nothing."""
        found = NULL
        for event in self._module.universe:
            found = unify(found, self._attributes(event)[name]) or found
        return found

    def _attributes(self, event: EventType) -> Mapping[str, Type]:
        if event.module is None:
            return self._program.relations[event.name].attributes
        other = next(each for each in self._program.modules if each.name == event.module)
        return other.derived[event.name]

    # --- in ---------------------------------------------------------------------------------------------------

    def step(self, given: Mapping[str, pa.Table], made: Mapping[tuple[str, str], pa.Table]) -> dict[Any, pa.Table]:
        """Take changes by relation, and what other modules made, by module and event; what actions do."""
        parts = list(self._parts(given, made))
        if not parts:
            return {}
        columns = [SlotColumns(table, self._program.zone, self._functions) for _, table, _ in parts]
        types = np.concatenate([numbers for _, _, numbers in parts])
        key_columns = dict(self._key_columns(columns))
        keys = self._keys.read(_Frame(key_columns, len(types))).astype(np.int64)  # type: ignore[arg-type]
        instants = [table.select(_instants(table)) for _, table, _ in parts]
        told = _told([table for _, table, _ in parts])
        rank = np.concatenate(ranks(instants)) if told is None else told.numbers
        order, begins = stages(rank, keys)
        whole_instants = pa.concat_tables(instants)
        times = pa.concat_tables([table.select([TIME]) for _, table, _ in parts]).column(0)
        in_order = whole_instants.num_columns == 1 and whole_instants.column(0).equals(times)
        times = taken(times, order).combine_chunks()
        times = pa.concat_arrays(times.chunks) if isinstance(times, pa.ChunkedArray) else times
        ticks = np.asarray(times.cast(pa.int64()).to_numpy(zero_copy_only=False))
        alone = len(begins) == len(ticks) + 1  # each stage has one event
        firsts = order[begins[:-1]]
        stage_keys = picked(keys, firsts)
        numbers, silent = self._numbered(stage_keys, picked(rank, firsts), told is not None)
        if told is not None:
            latest = pa.array(told.latest[firsts]).cast(times.type)
        else:
            latest = times if alone and not self._splits else self._latest(ticks, begins, numbers).cast(times.type)
        asked = Given(
            picked(types, order),
            dict(self._placed(parts, columns, order)),
            begins,
            stage_keys,
            silent,
            latest,
            ticks if alone else np.minimum.reduceat(ticks, begins[:-1]),
            in_order,
            stage_columns(latest, self._program.zone, self._functions),
        )
        shown = pa.table(
            {
                **{f"{KEY}{name}": taken(key_columns[name], firsts) for name in self._module.partition},
                STAGE: pa.array(numbers),
                **{name: taken(whole_instants.column(name), firsts) for name in whole_instants.column_names},
                TIME: latest,
            }
        )
        return dict(self._shown(self._answers(asked, shown), shown))

    def _answers(self, asked: Given, shown: pa.Table) -> dict[int, Answer]:
        """What heads told; what goes wrong is told with its module, stage and key."""
        try:
            return self.machine.take(asked, len(self._keys))
        except (AggregateError, TooManyMatchesError) as error:
            place = self.machine.reached
            key = "".join(f", {name} = {shown[f'{KEY}{name}'][place]}" for name in self._module.partition)
            where = f"module `{self._module.name}`, stage {shown[STAGE][place]} at {shown[TIME][place]}{key}"
            raise type(error)(f"{where}: {error}") from None

    def _parts(
        self, given: Mapping[str, pa.Table], made: Mapping[tuple[str, str], pa.Table]
    ) -> Iterator[tuple[int, pa.Table, Ints]]:
        """The tables that the machine reads, with the event type of each row; what is not monitored is left out."""
        for number, source in enumerate(self._translation.sources):
            if source is None:
                continue
            if source.module is not None:
                table = made.get((source.module, source.name))
                if table is not None and table.num_rows:
                    yield number, table, np.full(table.num_rows, self._translation.types[source], np.int64)
                continue
            table = given.get(source.name)
            if table is None or not table.num_rows:
                continue
            kinds = np.asarray(table.column(KIND).to_numpy())
            wanted = self._monitored[source.name]
            chosen = wanted[kinds]
            if not chosen.all():
                table, kinds = table.filter(pa.array(chosen)), kinds[chosen]
            if table.num_rows:
                yield number, table, kinds.astype(np.int64) + self._first_types[source.name]

    def _key_columns(self, columns: Sequence[SlotColumns]) -> Iterator[tuple[str, Any]]:
        for name, kind in self._key_types.items():
            parts = [fitting(each.attribute(name), kind.arrow) for each in columns]
            yield name, parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

    def _placed(
        self, parts: Sequence[tuple[int, pa.Table, Ints]], columns: Sequence[SlotColumns], order: Ints
    ) -> Iterator[tuple[int, tuple[SlotColumns, Ints]]]:
        """Where the rows of each table go."""
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        begin = 0
        for (number, table, _), each in zip(parts, columns, strict=True):
            yield number, (each, places[begin : begin + table.num_rows])
            begin += table.num_rows

    def _numbered(self, keys: Ints, ranks_of_stages: Ints, told: bool) -> tuple[Ints, Ints]:
        """The numbers of stages within their keys, and how many are left out before each.

        Of a module that is only split to be quick all stages count: at those of others a key is silent. If numbers are
        told, they are the ranks.
        """
        if len(self._keys) > len(self._counts):
            counts = np.zeros(max(2 * len(self._counts), len(self._keys)), np.int64)
            counts[: len(self._counts)] = self._counts
            self._counts = counts
        numbers, silent = np.empty(len(keys), np.int64), np.zeros(len(keys), np.int64)
        if not self._splits:
            count_positions(keys, self._counts, numbers)
            return numbers, silent
        changes = np.concatenate(([0], np.cumsum(np.diff(ranks_of_stages) != 0)))
        numbers[:] = ranks_of_stages if told else self._stages + 1 + changes
        self._stages = int(numbers[-1])
        count_silent(keys, numbers, self._counts, silent)
        return numbers, silent

    def _latest(self, ticks: Ints, begins: Ints, numbers: Ints) -> Any:
        """The latest times of stages, also of those that keys are silent at."""
        latest = np.maximum.reduceat(ticks, begins[:-1])
        if self._splits:
            changes = np.concatenate(([0], np.flatnonzero(np.diff(numbers)) + 1))
            latest = np.maximum.reduceat(latest, changes)[numbers - numbers[0]]
        return pa.array(latest)

    # --- out --------------------------------------------------------------------------------------------------

    def _shown(self, answers: Mapping[int, Answer], stages_shown: pa.Table) -> Iterator[tuple[Any, pa.Table]]:
        for each in self._translation.shown:
            rule = self._module.rules[each.rule]
            answer = answers.get(each.head)
            if answer is None:
                continue
            kinds = self._module.argument_types(rule, each.action)
            rows = taken(stages_shown, answer.stages)
            for number, (expression, kind) in enumerate(zip(each.arguments, kinds, strict=True), 1):
                column = computed(expression, answer.columns, len(answer.stages), kind, self._functions)
                rows = rows.append_column(f"{ARGUMENT}{number}", column)
            told = {expression.name for expression in each.arguments if isinstance(expression, Attribute)}
            if self._splits or len(told) < len(answer.columns):
                rows = _distinct(rows)
            yield (self._module.name, rule.name, each.action), rows

    # --- snapshots --------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """All that is needed to go on."""
        return {
            **self.machine.dump(),
            **self._keys.dump("histories"),
            "counts": self._counts[: len(self._keys)],
            "stages": self._stages,
        }

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.machine.load(sections)
        self._keys.load("histories", sections)
        self._counts, self._stages = np.array(sections["counts"], np.int64), int(sections["stages"])
        if len(self._counts) != len(self._keys):
            raise DataError("the snapshot is damaged: it counts the stages of other keys than it has")


def _distinct(rows: pa.Table) -> pa.Table:
    """Each row once: what is computed of different values, or told for different keys, may be the same."""
    return rows.group_by(rows.column_names, use_threads=False).aggregate([])


class _Told(NamedTuple):
    """The stages of events, and the latest times of these."""

    numbers: Ints
    latest: Ints


def _told(tables: Sequence[pa.Table]) -> _Told | None:
    """The stages that events tell of themselves, if they are numbered elsewhere."""
    if STAGE not in tables[0].column_names:
        return None
    rows = pa.concat_tables([table.select([STAGE, LATEST]) for table in tables])
    return _Told(*(np.asarray(column.cast(pa.int64()).to_numpy()) for column in rows.columns))


def _instants(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if name.startswith(INSTANT)]

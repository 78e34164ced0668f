"""What carries out the machine of a module: the kernel, or, for what has no instructions, plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.registers import opcodes as op
from acelera.engine.registers.code import TIMES, UNITS
from acelera.engine.registers.encoding import time_type
from acelera.engine.storage.snapshots import decode, encode
from acelera.language.types import Kind, Type, from_arrow
from acelera.stages import layout as at
from acelera.stages.coding import Coded
from acelera.stages.model import Machine
from acelera.stages.plain_machine import Happened, PlainMachine, Stage, Standing
from acelera.stages.quick_machine import QuickMachine
from acelera.tables import leaves, plain_values
from acelera.trepl.running.module_runs import Answer, Given
from acelera.trepl.running.ordering import fitting, is_in_order
from acelera.trepl.time_functions import Functions
from acelera.trepl.translation.machines import Translation

Ints = npt.NDArray[Any]


class Quick:
    """By the kernel: values become numbers, and what is told becomes columns again."""

    def __init__(self, translation: Translation, code: Coded, max_tuples: int) -> None:
        self._translation, self._code = translation, code
        self._machine = QuickMachine(code, max_tuples)

    def take(self, given: Given, keys: int) -> dict[int, Answer]:
        """Take all stages; what shown heads told."""
        texts = self._as_numbers(given)
        batch = self._machine.batch(len(given.keys), len(given.types))
        stages = batch.stages
        stages[:, at.STAGE_BEGIN], stages[:, at.STAGE_END] = given.begins[:-1], given.begins[1:]
        stages[:, at.STAGE_KEY], stages[:, at.STAGE_SILENT] = given.keys, given.silent
        stages[:, at.STAGE_TIME] = times = self._times(given)
        batch.types[:] = given.types
        for target, slot, places, numbers, tags in texts:
            inputs = batch.stage_inputs if target is None else batch.inputs
            there: Any = slice(None) if places is None else places
            inputs[there, 2 * slot], inputs[there, 2 * slot + 1] = numbers, tags
        answers = dict(self._answers(*self._machine.take(keys)))
        self._machine.tidy(int(times[-1]) if given.in_order else None)
        return answers

    def _times(self, given: Given) -> Ints:
        kind = given.times.type
        if not pa.types.is_timestamp(kind):
            return given.first_times
        return given.first_times * (UNITS[kind.unit] // UNITS[self._code.unit])

    # --- in ---------------------------------------------------------------------------------------------------

    def _as_numbers(self, given: Given) -> list[tuple[int | None, int, Ints | None, Ints, Any]]:
        """What is read of events and stages: the table (None for stages), the slot, where, the numbers, the tags."""
        found: list[tuple[int | None, int, Ints | None, Ints, Any]] = []
        for number, (columns, places) in given.tables.items():
            kinds = self._code.machine.tables[number].slots
            there = None if len(places) == len(given.types) and is_in_order(places) else places
            for slot, (expression, kind) in enumerate(zip(self._translation.slots[number], kinds, strict=True)):
                column = columns.column(expression, kind)
                found.append((number, slot, there, self._numbers(column, kind.kind), _tags(column)))
        slots = zip(self._translation.stage_slots, self._code.machine.stage_slots, strict=True)
        for slot, (expression, kind) in enumerate(slots):
            column = given.stage_columns.column(expression, kind)
            found.append((None, slot, None, self._numbers(column, kind.kind), _tags(column)))
        return found

    def _numbers(self, column: Any, kind: Kind) -> Ints:
        """Values as numbers; 0 for NULL."""
        if kind is Kind.NULL or pa.types.is_null(column.type):
            return np.zeros(len(column), np.int64)
        if kind is Kind.STRING:
            found = self._machine.strings.numbers(column)
            return np.where(column.is_null().to_numpy(zero_copy_only=False), 0, found) if column.null_count else found
        if kind is Kind.FLOAT:
            floats = np.asarray(_filled(fitting(column, pa.float64()), 0.0).to_numpy(zero_copy_only=False)) + 0.0
            undefined = floats != floats
            if undefined.any():
                floats[undefined] = np.nan
            return floats.view(np.int64)
        if kind in TIMES:
            column = column.cast(time_type(column.type, self._code.unit))
        if kind is Kind.DATE:
            column = column.cast(pa.date32()).cast(pa.int32())
        return np.asarray(_filled(fitting(column, pa.int64()), 0).to_numpy(zero_copy_only=False))

    # --- out --------------------------------------------------------------------------------------------------

    def _answers(self, stages: Ints, heads: Ints, arguments: Ints) -> Iterator[tuple[int, Answer]]:
        alone = len(self._translation.shown) == 1
        for each in self._translation.shown:
            rows: Any = slice(None) if alone else np.flatnonzero(heads == each.head)
            if len(stages[rows]):
                types = self._code.machine.heads[each.head].types
                columns = [
                    self._column(arguments[rows, 2 * number] == 0, arguments[rows, 2 * number + 1], kind)
                    for number, kind in enumerate(types)
                ]
                yield each.head, Answer(stages[rows], columns)

    def _column(self, missing: Ints, values: Ints, kind: Type) -> Any:
        match kind.kind:
            case Kind.NULL:
                return pa.nulls(len(values))
            case Kind.FLOAT:
                return pa.array(np.ascontiguousarray(values).view(np.float64), mask=missing)
            case Kind.STRING:
                return self._machine.strings.texts().take(pa.array(values, mask=missing)).cast(pa.string())
            case Kind.TIMESTAMP | Kind.DURATION:
                return pa.array(values, mask=missing).cast(time_type(kind.arrow, self._code.unit))
            case Kind.DATE:
                return pa.array(values.astype(np.int32), mask=missing).cast(pa.date32())
            case Kind.BOOL:
                return pa.array(values != 0, mask=missing)
        return pa.array(values, mask=missing)

    # --- what is kept -----------------------------------------------------------------------------------------

    @property
    def reached(self) -> int:
        """After an error: the number of the stage that it came at."""
        return self._machine.reached

    @property
    def kept(self) -> tuple[int, int]:
        """How many configurations rest, and how many wait."""
        return self._machine.kept

    def dump(self) -> dict[str, Any]:
        """All that is needed to go on."""
        return self._machine.dump()

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._machine.load(sections)


def _filled(column: Any, value: object) -> Any:
    return pc.fill_null(column, value) if column.null_count else column


def _tags(column: Any) -> Any:
    """Whether there are values."""
    if not column.null_count:
        return op.VALUE
    return np.where(column.is_null().to_numpy(zero_copy_only=False), op.NULL, op.VALUE)


class Plain:
    """On plain values, event by event."""

    def __init__(self, translation: Translation, functions: Functions, max_tuples: int) -> None:
        self._translation = translation
        self._machine = PlainMachine(translation.machine, functions, max_tuples)
        self._standing: dict[int, Standing] = {}
        self._reached = 0

    def take(self, given: Given, keys: int) -> dict[int, Answer]:
        """Take all stages; what shown heads told."""
        machine: Machine = self._translation.machine
        events = self._events(given)
        stage_slots = [
            plain_values(given.stage_columns.column(expression, kind), from_arrow(kind.arrow))
            for expression, kind in zip(self._translation.stage_slots, machine.stage_slots, strict=True)
        ]
        factor = UNITS[given.times.type.unit] if pa.types.is_timestamp(given.times.type) else 0
        told: dict[int, list[tuple[int, tuple[Any, ...]]]] = {}
        for number, key in enumerate(given.keys.tolist()):
            self._reached = number
            standing = self._standing.setdefault(key, None) or self._machine.begin()  # type: ignore[arg-type]
            self._standing[key] = standing
            for _ in range(int(given.silent[number])):
                before = set(standing.resting)
                self._machine.step(standing, Stage(()))
                if standing.resting == before:
                    break
            time = int(given.first_times[number]) * factor if factor and given.in_order else None
            slots = tuple(values[number] for values in stage_slots)
            stage = Stage(events[given.begins[number] : given.begins[number + 1]], slots, time)
            for head, values in self._machine.step(standing, stage):
                told.setdefault(head, []).append((number, values))
        return {head: self._answer(head, rows) for head, rows in told.items()}

    def _events(self, given: Given) -> list[Happened]:
        machine = self._translation.machine
        found: list[Any] = [None] * len(given.types)
        for number, (columns, places) in given.tables.items():
            kinds = machine.tables[number].slots
            slots = [
                plain_values(columns.column(expression, kind), kind)
                for expression, kind in zip(self._translation.slots[number], kinds, strict=True)
            ]
            rows: Sequence[Any] = list(zip(*slots, strict=True)) if slots else [()] * len(places)
            for place, row in zip(places.tolist(), rows, strict=True):
                found[place] = Happened(int(given.types[place]), row)
        return found

    def _answer(self, head: int, rows: Sequence[tuple[int, tuple[Any, ...]]]) -> Answer:
        types = self._translation.machine.heads[head].types
        columns = [
            leaves([row[number] for _, row in rows], kind.arrow, "an argument") for number, kind in enumerate(types)
        ]
        return Answer(np.array([stage for stage, _ in rows], np.int64), columns)

    @property
    def reached(self) -> int:
        """After an error: the number of the stage that it came at."""
        return self._reached

    @property
    def kept(self) -> tuple[int, int]:
        """How many configurations rest, and how many wait."""
        standing = self._standing.values()
        return sum(len(each.resting) for each in standing), sum(len(each.waiting) for each in standing)

    def dump(self) -> dict[str, Any]:
        """All that is needed to go on."""
        listed = [
            [key, _coded(each.resting), _coded(each.waiting), sorted(each.seen)] for key, each in self._standing.items()
        ]
        return {"standing": listed}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._standing = {
            key: Standing(_decoded(resting), _decoded(waiting), set(seen))
            for key, resting, waiting, seen in sections["standing"]
        }


def _coded(rows: set[tuple[int, tuple[Any, ...]]]) -> list[Any]:
    return [[state, [encode(value) for value in row]] for state, row in rows]


def _decoded(rows: Sequence[Any]) -> set[tuple[int, tuple[Any, ...]]]:
    return {(state, tuple(decode(value) for value in row)) for state, row in rows}

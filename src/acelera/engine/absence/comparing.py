"""What comes after a match, compared with the events that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.automata.model import Absence
from acelera.engine.absence.happening import Happening
from acelera.engine.frames import attribute_type
from acelera.engine.predicates.masks import predicate_mask
from acelera.language import ast
from acelera.language.conditions import replace_attributes
from acelera.language.schema import Schema
from acelera.language.types import Kind, Type, from_arrow

Ints = npt.NDArray[Any]
Key = tuple[str | None, str]

MOST_PAIRS = 1 << 20
"""How many pairs of an event and a match are compared at once."""

_CODED = (Kind.INT, Kind.STRING, Kind.BOOL)
"""Values that are equal exactly if they are the same."""


class Comparison:
    """What an absence compares of events and of matches, whose values stand in columns of lists, as `x.a`."""

    def __init__(self, absence: Absence, schema: Schema, values: pa.Schema) -> None:
        assert absence.compared is not None
        self._keys = absence.keys
        self._variables: dict[str, list[str]] = {}
        for variable, name in self._keys:
            if variable is not None:
                self._variables.setdefault(variable, []).append(name)
        self._types: dict[Key, Type] = {
            (variable, name): attribute_type(name, schema)
            if variable is None
            else from_arrow(values.field(f"{variable}.{name}").type.value_type)
            for variable, name in self._keys
        }
        names = {key: f"{number}" for number, key in enumerate(self._keys)}
        compared = replace_attributes(
            absence.compared, lambda node: ast.Attribute(None, names[node.variable, node.name])
        )
        self._names = names
        self._holds = predicate_mask(compared, {names[key]: kind for key, kind in self._types.items()})
        self._equal = self._equality(absence.compared)

    def _equality(self, compared: ast.Expression) -> tuple[Key, Key] | None:
        """An attribute of the event and one of the match that must be equal, if their values can be sorted by it."""
        todo = [compared]
        while todo:
            node = todo.pop()
            if isinstance(node, ast.Binary) and node.operator == "AND":
                todo += [node.right, node.left]
            elif isinstance(node, ast.Binary) and node.operator == "=":
                sides = [
                    (each.variable, each.name) for each in (node.left, node.right) if isinstance(each, ast.Attribute)
                ]
                sides.sort(key=lambda key: key[0] is not None)
                if len(sides) == 2 and sides[0][0] is None and sides[1][0] is not None:
                    kinds = [self._types[key] for key in sides]
                    if kinds[0] == kinds[1] and kinds[0].kind in _CODED:
                        return sides[0], sides[1]
        return None

    def rules_out(
        self, happening: Happening, matched: Ints, partition: Ints, begin: Ints, end: Ints, values: Any
    ) -> Ints:
        """Which of some matches are ruled out by events that a guard has matched.

        Of each match: its partition, the events from `begin` to before `end` of the batch, and what it holds.
        """
        ruled_out = np.zeros(len(partition), np.bool_)
        events = np.flatnonzero(matched)
        if not len(events) or not len(partition):
            return ruled_out
        match, columns = self._choices(values)
        of_events = {key: happening.frame[key[1]].take(pa.array(events)) for key in self._keys if key[0] is None}
        groups, of_choices = self._groups(happening.partitions[events], partition[match], of_events, columns)
        for event, choice in _pairs(events, groups, of_choices, begin[match], end[match]):
            at = np.searchsorted(events, event)
            pairs = {self._names[key]: column.take(pa.array(at)) for key, column in of_events.items()}
            pairs |= {self._names[key]: column.take(pa.array(choice)) for key, column in columns.items()}
            ruled_out[match[choice[self._holds(pairs, len(choice))]]] = True
        return ruled_out

    def _choices(self, values: pa.RecordBatch) -> tuple[Ints, Mapping[Key, Any]]:
        """All choices of one event of each variable: the match of each, and the columns of what was chosen."""
        match, chosen = np.arange(values.num_rows), dict[str, Ints]()
        for variable, names in self._variables.items():
            offsets = np.asarray(values.column(f"{variable}.{names[0]}").offsets)
            sizes = np.diff(offsets)[match]
            repeated = np.repeat(np.arange(len(match)), sizes)
            within = np.arange(len(repeated)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            chosen = {name: places[repeated] for name, places in chosen.items()}
            match = match[repeated]
            chosen[variable] = offsets[match] + within
        columns: dict[Key, Any] = {
            (variable, name): values.column(f"{variable}.{name}").values.take(pa.array(chosen[variable]))
            for variable, names in self._variables.items()
            for name in names
        }
        return match, columns

    def _groups(
        self, of_events: Ints, of_choices: Ints, events: Mapping[Key, Any], choices: Mapping[Key, Any]
    ) -> tuple[Ints, Ints]:
        """Numbers for events and for choices: only those with the same are compared; -1 is none's."""
        if self._equal is None:
            return of_events, of_choices
        left, right = _plain(events[self._equal[0]]), _plain(choices[self._equal[1]])
        both = pa.concat_arrays([left, right.cast(left.type)])
        codes = pc.dictionary_encode(both).indices
        known = pc.is_valid(codes).to_numpy(zero_copy_only=False)
        numbers = codes.fill_null(0).to_numpy().astype(np.int64)
        partitions = np.concatenate((of_events, of_choices))
        groups = np.where(known, partitions * (int(numbers.max(initial=0)) + 1) + numbers, -1)
        found = groups[: len(of_events)]
        return np.where(found < 0, -2, found), groups[len(of_events) :]


def _plain(column: Any) -> Any:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _pairs(events: Ints, groups: Ints, of_choices: Ints, begin: Ints, end: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Events and choices of one group, where the event lies between two places; some at a time.

    A choice that has been paired comes no more than once with each event.
    """
    order = np.argsort(groups, kind="stable")
    width = int(events[-1]) + 2
    places = groups[order] * width + events[order]
    first = np.searchsorted(places, of_choices * width + np.minimum(begin, width - 1))
    last = np.searchsorted(places, of_choices * width + np.minimum(end, width - 1))
    sizes = np.maximum(last - first, 0)
    upto = np.cumsum(sizes)
    at = 0
    while at < len(sizes):
        before = int(upto[at - 1]) if at else 0
        stop = max(int(np.searchsorted(upto, before + MOST_PAIRS, side="right")), at + 1)
        some = sizes[at:stop]
        choice = np.repeat(np.arange(at, stop), some)
        within = np.arange(len(choice)) - np.repeat(np.cumsum(some) - some, some)
        if len(choice):
            yield events[order[first[choice] + within]], choice
        at = stop

"""Where the states and arrows of a picture go: from left to right in layers, as few crossings as is cheap to reach.

States stand in even layers and labels of arrows in the odd ones between them, so every label has room of its own. An
arrow that goes further than to the next layer passes through a place in each layer on its way; one that goes back is
laid out as if it went forward.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

GAP = 30.0
"""Between two columns: room for the arrow heads."""
SWEEPS = 12


@dataclass(frozen=True)
class Size:
    """The room that something takes: its width, and how far it reaches above and below its line."""

    width: float
    above: float
    below: float


PASSING = Size(0, 7, 7)


@dataclass
class Place:
    """Something in a layer, with its neighbours in the layers before and after."""

    size: Size
    layer: int
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    x: float = 0
    y: float = 0


@dataclass(frozen=True)
class Layout:
    """A finished layout: `states` and the places of each edge, from its source to its target, without both.

    `labels` tells which of the places of an edge is that of its label.
    """

    width: float
    height: float
    states: list[Place]
    routes: list[list[Place]]
    labels: list[int]
    backward: list[bool]


def laid_out(
    states: Sequence[Size],
    initial: int,
    edges: Sequence[tuple[int, int]],
    labels: Sequence[Size],
    bands: Sequence[int] | None = None,
) -> Layout:
    """Lay out states and the edges between them; no edge leads from a state to itself.

    States of a higher band stand further to the right than all of a lower one; no edge leads to a lower band.
    """
    layers, backward = _layers(len(states), initial, edges, bands or [0] * len(states))
    places = [Place(size, 2 * layer) for size, layer in zip(states, layers, strict=True)]
    routes, label_at = [], []
    for (source, target), label, back in zip(edges, labels, backward, strict=True):
        left, right = (target, source) if back else (source, target)
        first, last = places[left].layer + 1, places[right].layer - 1
        middle = (first + last) // 4 * 2 + 1  # labels stand in odd layers
        route = list(range(len(places), len(places) + last - first + 1))
        places += [Place(label if layer == middle else PASSING, layer) for layer in range(first, last + 1)]
        chain = [left, *route, right]
        for one, two in itertools.pairwise(chain):
            places[one].after.append(two)
            places[two].before.append(one)
        label_at.append(middle - first if not back else last - middle)
        routes.append([places[number] for number in (reversed(route) if back else route)])
    rows = _ordered(places)
    width = _put_columns(rows, places)
    height = _put_rows(rows, places)
    return Layout(width, height, places[: len(states)], routes, label_at, backward)


def _layers(
    states: int, initial: int, edges: Sequence[tuple[int, int]], bands: Sequence[int]
) -> tuple[list[int], list[bool]]:
    """The layer of each state, and which edges go back: those that lead to a state on the path that found them."""
    following: list[list[int]] = [[] for _ in range(states)]
    for number, (source, _) in enumerate(edges):
        following[source].append(number)
    backward, done, finished = [False] * len(edges), [0] * states, list[int]()
    for root in (initial, *range(states)):
        path = [] if done[root] else [(root, iter(following[root]))]
        done[root] = done[root] or 1
        while path:
            state, rest = path[-1]
            edge = next(rest, None)
            if edge is None:
                done[state] = 2
                finished.append(state)
                path.pop()
                continue
            target = edges[edge][1]
            if done[target] == 1:
                backward[edge] = True
            elif not done[target]:
                done[target] = 1
                path.append((target, iter(following[target])))
    finished.reverse()
    layers, least, ordered = [0] * states, 0, sorted(finished, key=lambda state: bands[state])
    for _, band in itertools.groupby(ordered, key=lambda state: bands[state]):
        inside = list(band)
        for state in inside:  # no forward edge leads to a state that comes earlier
            layers[state] = max(layers[state], least)
            for number in following[state]:
                if not backward[number]:
                    layers[edges[number][1]] = max(layers[edges[number][1]], layers[state] + 1)
        least = max(layers[state] for state in inside) + 1
    return layers, backward


def _ordered(places: list[Place]) -> list[list[int]]:
    """The places of each layer from top to bottom: each near the mean of its neighbours."""
    rows: list[list[int]] = [[] for _ in range(max(place.layer for place in places) + 1)]
    for number, place in enumerate(places):
        rows[place.layer].append(number)
    rank = {number: float(index) for row in rows for index, number in enumerate(row)}
    best, fewest = [list(row) for row in rows], _crossings(rows, places)
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        for row in rows if forward else reversed(rows):

            def wish(number: int, forward: bool = forward) -> float:
                near = places[number].before if forward else places[number].after
                return sum(rank[each] for each in near) / len(near) if near else rank[number]

            row.sort(key=wish)
            rank.update((number, float(index)) for index, number in enumerate(row))
        found = _crossings(rows, places)
        if found < fewest:
            best, fewest = [list(row) for row in rows], found
    return best


def _crossings(rows: list[list[int]], places: list[Place]) -> int:
    """How often two lines between neighbouring layers cross."""
    found = 0
    for row, following in itertools.pairwise(rows):
        rank = {number: index for index, number in enumerate(following)}
        ends: list[int] = []
        for number in row:
            new = [rank[each] for each in places[number].after]
            found += sum(end > each for each in new for end in ends)
            ends += new
    return found


def _put_columns(rows: list[list[int]], places: list[Place]) -> float:
    """The x of all places; returns the width of the whole."""
    x = 0.0
    for row in rows:
        widest = max((places[number].size.width for number in row), default=0.0)
        for number in row:
            places[number].x = x + widest / 2
        x += widest + GAP
    return x - GAP


def _put_rows(rows: list[list[int]], places: list[Place]) -> float:
    """The y of all places: as straight as the order and the room allow; returns the height of the whole."""
    for row in rows:
        y = 0.0
        for number in row:
            places[number].y = y + places[number].size.above
            y += places[number].size.above + places[number].size.below + _SPACE
    for sweep in range(2 * SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wishes = []
            for number in row:
                place = places[number]
                near = [places[each].y for each in (*place.before, *place.after)]
                wishes.append(sum(near) / len(near) if near else place.y)
            sizes = [places[number].size for number in row]
            for number, y in zip(row, _spread(wishes, sizes), strict=True):
                places[number].y = y
    top = min(place.y - place.size.above for place in places)
    for place in places:
        place.y -= top
    return max(place.y + place.size.below for place in places)


_SPACE = 10.0


def _spread(wishes: list[float], sizes: list[Size]) -> list[float]:
    """The values nearest to the wishes (by squares) that keep the order and the room between neighbours."""
    offsets = [0.0]
    for left, right in itertools.pairwise(sizes):
        offsets.append(offsets[-1] + left.below + right.above + _SPACE)
    blocks: list[tuple[float, int]] = []  # neighbours that touch: the sum of their wishes, and how many they are
    for wish, offset in zip(wishes, offsets, strict=True):
        total, count = wish - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / count:
            before = blocks.pop()
            total, count = total + before[0], count + before[1]
        blocks.append((total, count))
    means = [total / count for total, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]

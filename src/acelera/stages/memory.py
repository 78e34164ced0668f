"""The memory of a machine: named stretches of one array, any of which can be made longer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.stages import layout as at

Ints = npt.NDArray[Any]


class Memory:
    """Stretches by the number of the header's place that says where they begin."""

    def __init__(self) -> None:
        self._begin: dict[int, int] = {}
        self._size: dict[int, int] = {}
        self.array = np.zeros(at.HEADER, np.int64)
        self._end = at.HEADER

    @property
    def address(self) -> int:
        """Where the array is, as long as it is held and not made longer."""
        return int(self.array.ctypes.data)

    def __getitem__(self, place: int) -> int:
        """A number of the header."""
        return int(self.array[place])

    def __setitem__(self, place: int, number: int) -> None:
        self.array[place] = number

    def stretch(self, place: int) -> Ints:
        """A stretch, as long as memory is not made longer."""
        begin = self._begin[place]
        return self.array[begin : begin + self._size[place]]

    def hold(self, place: int, size: int, fill: int = 0) -> Ints:
        """Let a stretch have a size at least; what is new in it is filled."""
        old = self._size.get(place, 0)
        if max(size, 1) > old:
            self._move(place, max(size, 1))
            self.stretch(place)[old:] = fill
        return self.stretch(place)

    def put(self, place: int, numbers: Ints) -> None:
        """Let a stretch begin with these numbers."""
        self.hold(place, numbers.size)[: numbers.size] = numbers.reshape(-1)

    def _move(self, place: int, size: int) -> None:
        """Put a stretch to the end, where there is room for it; if much is wasted, everything is put together again."""
        before = self.stretch(place).copy() if place in self._begin else np.zeros(0, np.int64)
        self._begin[place], self._size[place] = self._end, size
        self._end += size
        if self._end > len(self.array):
            self._again(place)
        self.array[place] = self._begin[place]
        self.array[self._begin[place] : self._begin[place] + len(before)] = before

    def _again(self, last: int) -> None:
        total = at.HEADER + sum(self._size.values())
        array = np.zeros(total + total // 2, np.int64)
        array[: at.HEADER] = self.array[: at.HEADER]
        end = at.HEADER
        for place, begin in list(self._begin.items()):
            size = self._size[place]
            if place != last:
                array[end : end + size] = self.array[begin : begin + size]
            self._begin[place] = end
            array[place] = end
            end += size
        self.array, self._end = array, end

"""Checks of what a snapshot holds, before a kernel sees it: numbers that refer to something refer to what is there.

Kernels are compiled and look up nothing twice, so a wrong number there would be a crash or a wrong match. The checks
guard against accidents. They make nothing safe that was altered with intent: a snapshot is trusted as the program is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.errors import AceleraError, SnapshotError

Ints = npt.NDArray[Any]


def damaged(name: str, reason: str) -> SnapshotError:
    """The error that says which part of a snapshot is wrong."""
    return SnapshotError(
        f"the snapshot is damaged: {name} {reason}; read the stream again, or resume an earlier snapshot"
    )


@contextmanager
def fitting() -> Iterator[None]:
    """Whatever goes wrong in here does so since the parts of a snapshot do not fit together."""
    try:
        yield
    except (SnapshotError, MemoryError):
        raise
    except AceleraError as error:
        raise SnapshotError(f"the snapshot is damaged: it does not fit the query: {error}") from None
    except Exception:
        raise SnapshotError("the snapshot is damaged: its parts do not fit together") from None


def array(sections: Mapping[str, Any], name: str, dtype: type, columns: int | None = None) -> Ints:
    """A section that is an array of this type: a list of numbers, or with `columns` a table that is so wide."""
    found = sections.get(name)
    if not isinstance(found, np.ndarray) or found.dtype != dtype:
        raise damaged(name, f"is no array of {np.dtype(dtype).name}")
    if found.ndim != (1 if columns is None else 2) or (columns is not None and found.shape[1] != columns):
        raise damaged(name, "has another shape than it should")
    return found


def table(sections: Mapping[str, Any], name: str, dtype: type) -> Ints:
    """A section that is a table of this type, as wide as it is."""
    found = sections.get(name)
    if not isinstance(found, np.ndarray) or found.ndim != 2 or not found.shape[1]:
        raise damaged(name, "is no table of numbers")
    return array(sections, name, dtype, found.shape[1])


def in_range(name: str, values: Ints, low: int | Ints, high: int | Ints) -> None:
    """Every value is at least `low` and less than `high`."""
    if len(values) and bool(((values < low) | (values >= high)).any()):
        raise damaged(name, "refers to something that is not there")


def ascending(name: str, values: Ints) -> None:
    """No value is less than the one before it."""
    if bool((values[1:] < values[:-1]).any()):
        raise damaged(name, "is not in order")


def offsets(name: str, values: Ints, end: int) -> None:
    """Where each of several lists begins in one that holds them all, and where the last one ends."""
    if len(values) < 1 or values[0] != 0 or values[-1] != end:
        raise damaged(name, "does not cover what it divides")
    ascending(name, values)


def same_length(**arrays: Any) -> None:
    """All of these have one length."""
    if len({len(each) for each in arrays.values()}) > 1:
        raise damaged(", ".join(arrays), "have different lengths")


def at_least(name: str, values: Sequence[Any] | Ints, length: int) -> None:
    """There are so many."""
    if len(values) < length:
        raise damaged(name, "is shorter than it should be")


def different(name: str, values: Sequence[Any]) -> None:
    """No two are equal."""
    if len(set(values)) < len(values):
        raise damaged(name, "has something twice")


def whole(name: str, *numbers: object) -> None:
    """All are integers of 64 bits."""
    if not all(type(number) is int and -(2**63) <= number < 2**63 for number in numbers):
        raise damaged(name, "is no integer")


def holds(name: str, fact: bool, reason: str) -> None:
    """Something else that is to be true of a part."""
    if not fact:
        raise damaged(name, reason)

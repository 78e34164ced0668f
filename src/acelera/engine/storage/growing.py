"""What grows: arrays, how large they may get, and the waste in what is kept."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from acelera.errors import TooManyMatchesError

SLACK = 1 << 14
"""So much may be kept that nobody needs before it is looked at what is needed."""


def wasteful(size: int, needed: int, times: int = 2) -> bool:
    """Whether it is time to see what is needed of so much, of which so much was when that was done last."""
    return size > times * needed + SLACK


@cache
def memory() -> int:
    """How much memory this process may use, in bytes, as far as the system tells; what is left of it is not asked."""
    sizes = [1 << 63]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    container = Path("/sys/fs/cgroup/memory.max")
    if container.is_file():
        told = container.read_text(encoding="ascii").strip()
        sizes += [int(told)] if told.isdigit() else []
    return min(sizes)


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The array with room for more along its first axis; what is new is zero."""
    _refuse_too_much(size * array.nbytes // max(len(array), 1))
    larger = np.zeros((size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def widened(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The same along the second axis."""
    _refuse_too_much(size * len(array) * array.itemsize)
    wider = np.zeros((len(array), size), array.dtype)
    wider[:, : array.shape[1]] = array
    return wider


def _refuse_too_much(size: int) -> None:
    """There are several arrays, and while one grows, it is there twice."""
    most = memory() // 4
    if size > most:
        raise TooManyMatchesError(
            "there are too many partial matches, or too many different values that they remember: to keep more of them "
            f"needs an array of more than {most >> 20:,} MiB, a quarter of memory. WITHIN bounds how long they are "
            "kept; PARTITION BY, FILTER, and `:` and `:+` for events next to each other make them fewer; explain() "
            "says what is remembered"
        )


Group = TypeVar("Group", bound="tuple[npt.NDArray[Any], ...]")


def grown_group(group: Group, size: int) -> Group:
    """A NamedTuple of arrays with room for more in each; those of one number, which count, stay as they are."""
    return type(group)(*(each if len(each) == 1 else grown(each, size) for each in group))

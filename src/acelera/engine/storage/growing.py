"""What grows: arrays, and the waste in what is kept."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

SLACK = 1 << 14
"""So much may be kept that nobody needs before it is looked at what is needed."""


def wasteful(size: int, needed: int) -> bool:
    """Whether it is time to see what is needed of so much, of which so much was when that was done last."""
    return size > 2 * needed + SLACK


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The array with room for more along its first axis; what is new is zero."""
    larger = np.zeros((size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def widened(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The same along the second axis."""
    wider = np.zeros((len(array), size), array.dtype)
    wider[:, : array.shape[1]] = array
    return wider


Group = TypeVar("Group", bound="tuple[npt.NDArray[Any], ...]")


def grown_group(group: Group, size: int) -> Group:
    """A NamedTuple of arrays with room for more in each; those of one number, which count, stay as they are."""
    return type(group)(*(each if len(each) == 1 else grown(each, size) for each in group))

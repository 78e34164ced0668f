"""Arrays that grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The array with room for more along its first axis; what is new is zero."""
    larger = np.zeros((size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger

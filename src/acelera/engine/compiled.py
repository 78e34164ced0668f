"""Kernels are compiled by numba once per installation, and read from its cache afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """The function as machine code; compiled when first called, unless the cache has it."""
    try:
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[return-value]  # it is called alike
    except RuntimeError:  # there is no place where a cache could be written
        return numba.njit(nogil=True)(function)  # type: ignore[return-value]


_announced: set[str] = set()


def announce(kernel: Callable[..., object]) -> None:
    """Say so if a kernel is about to be compiled for the first time, and others with it; once for each."""
    if kernel.__name__ not in _announced and not _is_cached(kernel):
        print("acelera: compiling its kernels, once per installation; this takes some seconds …", file=sys.stderr)
    _announced.add(kernel.__name__)


def _is_cached(kernel: object) -> bool:
    """Whether the cache holds a compiled version."""
    folder = kernel.stats.cache_path  # type: ignore[attr-defined]
    name = kernel.py_func.__name__  # type: ignore[attr-defined]
    return folder is not None and any(Path(folder).glob(f"*.{name}-*.nbi"))

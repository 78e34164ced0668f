"""Kernels are compiled by numba once per installation, and read from its cache afterwards."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.options import DefaultOptions

Function = TypeVar("Function", bound=Callable[..., object])
Array = Any
"""What kernels are given; numba finds its type."""


def _sources() -> tuple[str]:
    """A text that is another whenever a module of the engine is."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return (digest.hexdigest(),)


SOURCES = _sources()


AS_PYTHON = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]  # numba's settings have no types
"""Whether nothing is compiled, for those who want to look into a kernel (NUMBA_DISABLE_JIT=1)."""


def compiled(function: Function) -> Function:
    """The function as machine code; compiled when first called, unless the cache has it.

    numba looks only at the file of a function to see whether what is in its cache is old; a kernel also holds what it
    calls, and the constants it uses, from other files.
    """
    return _compiled(function)


def inner(function: Function) -> Function:
    """What kernels call in their loops. It makes no arrays, so its references to those given to it are not counted;
    that would take longer than most of what such a function does.
    """
    return _compiled(function, **({"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}))


def _compiled(function: Function, **options: bool) -> Function:
    if AS_PYTHON:
        return function
    try:
        kernel: Any = numba.njit(cache=True, nogil=True, **options)(function)  # type: ignore[call-overload]
    except RuntimeError:  # there is no place where a cache could be written
        return cast(Function, numba.njit(nogil=True, **options)(function))  # type: ignore[call-overload]
    kernel._cache._cache_file._source_stamp = SOURCES  # numba has no other way to say it
    kernel._cache.save_overload = _if_possible(kernel._cache.save_overload)
    return cast(Function, kernel)


def _if_possible(save: Callable[..., None]) -> Callable[..., None]:
    """A kernel that the cache has no room for is compiled again next time."""

    def saving(*given: object) -> None:
        with suppress(OSError):
            save(*given)

    return saving


_announced: set[str] = set()


def announce(kernel: Callable[..., object]) -> None:
    """Say so if a kernel is about to be compiled for the first time, and others with it; once for each."""
    if kernel.__name__ not in _announced and not AS_PYTHON and not _is_cached(kernel):
        print("acelera: compiling its kernels, once per installation; this takes some seconds …", file=sys.stderr)
    _announced.add(kernel.__name__)


def _is_cached(kernel: object) -> bool:
    """Whether the cache holds a compiled version."""
    folder = kernel.stats.cache_path  # type: ignore[attr-defined]
    name = kernel.py_func.__name__  # type: ignore[attr-defined]
    return folder is not None and any(Path(folder).glob(f"*.{name}-*.nbi"))

"""Numbers at an address: what kernels call each other with is then one number, and reading needs no checks.

Whoever calls a kernel with the address of an array must hold the array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

from acelera.engine.jit import AS_PYTHON, Array, by_address, by_address_inlined

_SIZE = 8


def _place(builder: Any, address: Any, index: Any, kind: Any) -> Any:
    pointer = builder.inttoptr(address, kind.as_pointer())
    return builder.gep(pointer, [index])


@intrinsic
def _get(_: Any, address: Any, index: Any) -> Any:
    def generated(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load(_place(builder, given[0], given[1], ir.IntType(64)))

    return types.int64(types.int64, types.int64), generated


@intrinsic
def _fixed(_: Any, address: Any, index: Any) -> Any:
    def generated(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        loaded = builder.load(_place(builder, given[0], given[1], ir.IntType(64)))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    return types.int64(types.int64, types.int64), generated


@intrinsic
def _put(_: Any, address: Any, index: Any, value: Any) -> Any:
    def generated(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.store(given[2], _place(builder, given[0], given[1], ir.IntType(64)))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generated


@intrinsic
def _get_float(_: Any, address: Any, index: Any) -> Any:
    def generated(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load(_place(builder, given[0], given[1], ir.DoubleType()))

    return types.float64(types.int64, types.int64), generated


@intrinsic
def _put_float(_: Any, address: Any, index: Any, value: Any) -> Any:
    def generated(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.store(given[2], _place(builder, given[0], given[1], ir.DoubleType()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64), generated


@intrinsic
def _pointer(_: Any, address: Any) -> Any:
    def generated(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.inttoptr(given[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generated


def _get_plainly(address: int, index: int) -> int:
    return int(ctypes.c_int64.from_address(address + _SIZE * int(index)).value)


def _put_plainly(address: int, index: int, value: int) -> None:
    ctypes.c_int64.from_address(address + _SIZE * int(index)).value = int(value)


def _get_float_plainly(address: int, index: int) -> float:
    return float(ctypes.c_double.from_address(address + _SIZE * int(index)).value)


def _put_float_plainly(address: int, index: int, value: float) -> None:
    ctypes.c_double.from_address(address + _SIZE * int(index)).value = value


def _numbers_plainly(address: int, begin: int, size: int) -> Array:
    buffer = (ctypes.c_int64 * int(size)).from_address(address + _SIZE * int(begin))
    return np.ctypeslib.as_array(buffer)


def _floats_plainly(address: int, begin: int, size: int) -> Array:
    return _numbers_plainly(address, begin, size).view(np.float64)


@by_address
def _numbers(address: int, begin: int, size: int) -> Array:
    return carray(_pointer(address + _SIZE * begin), size, np.int64)  # type: ignore[call-arg]  # the first is numba's


@by_address
def _floats(address: int, begin: int, size: int) -> Array:
    return carray(_pointer(address + _SIZE * begin), size, np.float64)  # type: ignore[call-arg]


get: Callable[[int, int], Any] = _get_plainly if AS_PYTHON else cast(Any, _get)
"""The number at an address, so many numbers on."""

fixed: Callable[[int, int], Any] = _get_plainly if AS_PYTHON else cast(Any, _fixed)
"""The same, if it does not change while a kernel runs: then it need not be read again."""

put: Callable[[int, int, int], None] = _put_plainly if AS_PYTHON else cast(Any, _put)
"""Write a number there."""

get_float: Callable[[int, int], Any] = _get_float_plainly if AS_PYTHON else cast(Any, _get_float)
"""The same, of a float."""

put_float: Callable[[int, int, float], None] = _put_float_plainly if AS_PYTHON else cast(Any, _put_float)
"""The same, of a float."""

numbers_at: Callable[[int, int, int], Array] = _numbers_plainly if AS_PYTHON else _numbers
"""So many numbers as an array, for functions that may make arrays."""

floats_at: Callable[[int, int, int], Array] = _floats_plainly if AS_PYTHON else _floats
"""The same, of floats."""


@by_address_inlined
def copy(address: int, source: int, target: int, count: int) -> None:
    """Copy so many numbers from one place to another."""
    for index in range(count):
        put(address, target + index, get(address, source + index))

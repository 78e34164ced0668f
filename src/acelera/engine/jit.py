"""Kernels are compiled by numba once per installation, and read from its cache afterwards."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import caching, cgutils, types
from numba.core.options import DefaultOptions
from numba.core.types import int64, signed_domain, unliteral
from numba.extending import intrinsic, overload

Array = Any
"""An array, or a number that one holds: numba finds out which."""

Function = TypeVar("Function", bound=Callable[..., object])


PACKAGE = Path(__file__).parents[1]


def _sources() -> tuple[str]:
    """A text that is another whenever a module with kernels is, or one that they use."""
    digest = hashlib.sha256()
    for folder in (PACKAGE / "engine", PACKAGE / "stages"):
        for path in sorted(folder.rglob("*.py")):
            if "native" not in path.parts:  # which is no kernel, and is used by none
                digest.update(path.read_bytes())
    return (digest.hexdigest(),)


SOURCES = _sources()


AS_PYTHON = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]  # numba's settings have no types
"""Whether nothing is compiled, for those who want to look into a kernel (NUMBA_DISABLE_JIT=1)."""


_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
_WITHOUT_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_WITHIN_KERNELS = {**_UNCOUNTED, **_WITHOUT_WRAPPERS}


def compiled(function: Function) -> Function:
    """The function as machine code; compiled when first called, unless the cache has it.

    numba looks only at the file of a function to see whether what is in its cache is old; a kernel also holds what it
    calls, and the constants it uses, from other files.
    """
    return _compiled(function)


def kernel(function: Function) -> Function:
    """The same for a function that makes no arrays. Its references to those given to it are not counted: in a loop that
    takes longer than most of what it does, in particular for arrays that stand in groups.
    """
    return _compiled(function, **_UNCOUNTED)


def inner(function: Function) -> Function:
    """The same for what kernels call, and nobody else."""
    return _compiled(function, **_WITHIN_KERNELS)


def inlined(function: Function) -> Function:
    """The same for what is written into its callers: small functions, and those with one caller and many arrays."""
    return _compiled(function, **_WITHIN_KERNELS, forceinline=True)


def by_address(function: Function) -> Function:
    """What kernels call that work on memory by its address: they are given no arrays, and may make some."""
    return _compiled(function, **_WITHOUT_WRAPPERS)


def by_address_inlined(function: Function) -> Function:
    """The same for what is written into its callers."""
    return _compiled(function, **_WITHOUT_WRAPPERS, forceinline=True)


def dispatched(function: Function) -> Function:
    """A function that does what the first argument's kind says; see `implements`. What it says itself never runs."""
    known: dict[type, Callable[..., Any]] = {}

    @functools.wraps(function)
    def calling(*given: Any) -> Any:
        return known[type(given[0])](*given)

    def chosen(*kinds: Any) -> Callable[..., Any] | None:
        return known.get(getattr(kinds[0], "instance_class", object))

    _IMPLEMENTATIONS[calling] = known
    overload(calling, jit_options=cast(Any, {**_WITHIN_KERNELS, "forceinline": True}), strict=False)(chosen)
    return cast(Function, calling)


def implements(function: Callable[..., Any], kind: type) -> Callable[[Function], Function]:
    """What a dispatched function does where its first argument is of this kind, a NamedTuple of arrays.

    A kernel is compiled for the kinds that it is given, so the choice costs nothing while it runs.
    """

    def registered(implementation: Function) -> Function:
        _IMPLEMENTATIONS[function][kind] = implementation
        return implementation

    return registered


def _prefetch(typing: Any, array: Any, index: Any) -> tuple[Any, Callable[..., Any]]:
    """Say that an element of an array will be read or written soon, so that memory sends it meanwhile."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind = signature.args[0]
        made = context.make_array(kind)(context, builder, given[0])
        tools: Any = cgutils  # which have no types
        element = tools.get_item_pointer(context, builder, kind, made, [given[1]], wraparound=False)
        number, address = ir.IntType(32), ir.IntType(8).as_pointer()
        asked = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        hint = tools.get_or_insert_function(builder.module, asked, "llvm.prefetch.p0")
        builder.call(hint, [builder.bitcast(element, address), number(0), number(3), number(1)])  # read, keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _nothing(array: Array, index: int) -> None:
    """Python has no such hint."""


prefetch: Callable[[Array, int], None] = _nothing if AS_PYTHON else cast(Any, intrinsic(_prefetch))


AHEAD = 24
"""How many turns of a loop before an element is needed it is asked for."""


_IMPLEMENTATIONS: dict[Callable[..., Any], dict[type, Callable[..., Any]]] = {}


def _compiled(function: Function, **options: bool) -> Function:
    if AS_PYTHON:
        return function
    try:
        made: Any = numba.njit(cache=True, nogil=True, **options)(function)  # type: ignore[call-overload]
    except RuntimeError:  # there is no place where a cache could be written
        return cast(Function, numba.njit(nogil=True, **options)(function))  # type: ignore[call-overload]
    made._cache._cache_file._source_stamp = SOURCES  # numba has no other way to say it
    made.get_call_template = _for_all_numbers(made.get_call_template)
    made._cache.save_overload = _if_possible(made._cache.save_overload)
    return cast(Function, made)


def _read_what_nobody_may_write() -> None:
    """Kernels that were compiled beside the sources are read where that folder may not be written, too, as in an image:
    numba would compile them again for each user, and for one without a home in each process.
    """
    classes: Any = getattr(caching, "CacheImpl", None) or getattr(caching, "_CacheImpl", None)
    beside: Any = getattr(caching, "InTreeCacheLocator", None) or getattr(caching, "_InTreeCacheLocator", None)
    known: list[Any] = getattr(classes, "_locator_classes", [])
    if beside not in known:  # numba has no other way to say it; if this one is gone, kernels are compiled more often
        return

    class Beside(beside):  # type: ignore[misc]  # which has no types
        """The folder beside our sources, if it holds the kernel."""

        def ensure_cache_path(self) -> None:
            source = Path(self._py_file)
            compiled = Path(self.get_cache_path()).glob(f"{source.stem}.*-{self._lineno}.*.nbi")
            if not source.is_relative_to(PACKAGE) or not any(compiled):
                raise OSError("there is no such kernel beside its source")

    known.insert(known.index(beside) + 1, Beside)


def _if_possible(save: Callable[..., None]) -> Callable[..., None]:
    """A kernel that the cache has no room for is compiled again next time."""

    def saving(*given: object) -> None:
        with suppress(OSError):
            save(*given)

    return saving


def _for_all_numbers(found: Callable[..., Any]) -> Callable[..., Any]:
    """How a function is found that a kernel calls. numba would compile it anew for each constant that it is given, and
    for whole numbers of each width.
    """

    def finding(kinds: Sequence[Any], named: Mapping[str, Any]) -> Any:
        return found(tuple(map(_widest, kinds)), {name: _widest(kind) for name, kind in named.items()})

    return finding


def _widest(kind: Any) -> Any:
    """A constant is as any other number."""
    plain: Any = unliteral(kind)  # type: ignore[no-untyped-call]
    return int64 if plain in signed_domain else plain


_read_what_nobody_may_write()


_announced: set[tuple[object, ...]] = set()


def announce(kernel: Callable[..., object], *kinds: type) -> None:
    """Say so if a kernel is about to be compiled for the first time for arguments of some kinds; once for each."""
    if (kernel, *kinds) not in _announced and not AS_PYTHON and not _is_cached(kernel, kinds):
        print("acelera: compiling its kernels, once per installation; this takes some seconds …", file=sys.stderr)
    _announced.add((kernel, *kinds))


def _is_cached(kernel: Any, kinds: Sequence[type]) -> bool:
    """Whether the cache holds a version for arguments of some kinds."""
    if kernel.stats.cache_path is None:
        return False
    with suppress(Exception):  # numba has no other way to ask; if this one is gone, it is said once too often
        signatures = [str(key[0]) for key in kernel._cache._cache_file._load_index()]
        return any(all(f"{kind.__name__}(" in signature for kind in kinds) for signature in signatures)
    return False

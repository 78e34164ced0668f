"""Kernels are compiled once, and again when something that they are made of has changed."""

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numba.core import caching

import acelera as ac
from acelera.engine.jit import AS_PYTHON, SOURCES, compiled, inner, kernel
from acelera.engine.machines.advance import advance
from acelera.engine.nodes.listing import list_matches


def test_a_cache_is_as_old_as_the_whole_engine() -> None:
    for each in (advance, list_matches):
        assert each._cache._cache_file._source_stamp == SOURCES
        assert each.stats.cache_path is not None


def test_a_cache_that_is_full_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def refuse(self: object, *_: object) -> None:
        asked.append(self)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", refuse)
    assert compiled(_one_more)(1) == 2
    assert len(asked) == 1


needs_numba = pytest.mark.skipif(AS_PYTHON, reason="nothing is compiled")


@needs_numba
def test_what_kernels_call_is_compiled_once_for_all_whole_numbers() -> None:
    called: Any = inner(_one_more)

    def calling(numbers: Any) -> int:
        total = called(1) + called(2) + called(numbers[0]) + called(len(numbers))
        return int(total)

    assert kernel(calling)(np.array([7], np.int32)) == 2 + 3 + 8 + 2
    assert len(called.signatures) == 1


@needs_numba
def test_kernels_beside_their_sources_are_read_where_nobody_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an image that another user runs; numba alone would look elsewhere."""
    beside = getattr(caching, "InTreeCacheLocator", None) or caching._InTreeCacheLocator

    def refuse(self: object) -> None:
        raise PermissionError("read-only")

    kernels: list[Any] = [advance, list_matches]
    folders = {each: each._cache._cache_path for each in kernels}
    assert ac.query("MATCH A").run([{"type": "A"}]).num_rows == 1  # so they are there
    monkeypatch.setattr(beside, "ensure_cache_path", refuse)
    for each, folder in folders.items():
        assert caching.FunctionCache(each.py_func)._cache_path == folder
    assert caching.FunctionCache(_one_more)._cache_path != str(Path(__file__).parent / "__pycache__")


QUERIES = ["MATCH A ; B", "MATCH A AS a ; B AS b FILTER a.v < b.v", "SUMMARIZE count(*) MATCH A ; B"]


@needs_numba
@pytest.mark.parametrize("text", QUERIES)
def test_the_loop_is_compiled_once_for_all_streams(text: str) -> None:
    """Whatever keys and windows there are, and wherever the arrays come from."""
    times = pa.array([1, 2, 3], pa.timestamp("us"))
    table = pa.table({"type": ["A", "B", "B"], "v": [1, 2, 3], "k": [1, 1, 1], "s": ["x"] * 3, "ts": times})
    compiled_for: Any = advance
    for clauses in ("", "WITHIN 5 EVENTS"):
        ac.query(f"{text} {clauses}").run(table)
    before = compiled_for.signatures
    for clauses in ("WITHIN 5 SECONDS", "PARTITION BY k", "PARTITION BY s, k WITHIN 5 SECONDS", ""):
        ac.query(f"{text} {clauses}").run(table, order_by="ts")
    assert compiled_for.signatures == before


def _one_more(number: int) -> int:
    return number + 1

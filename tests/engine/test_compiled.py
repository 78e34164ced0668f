"""Kernels are compiled once, and again when something that they are made of has changed."""

import errno

import pytest

from acelera.engine.jit import SOURCES, compiled
from acelera.engine.machines.advance import advance
from acelera.engine.nodes.listing import list_matches


def test_a_cache_is_as_old_as_the_whole_engine() -> None:
    for kernel in (advance, list_matches):
        assert kernel._cache._cache_file._source_stamp == SOURCES
        assert kernel.stats.cache_path is not None


def test_a_cache_that_is_full_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def refuse(self: object, *_: object) -> None:
        asked.append(self)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", refuse)
    assert compiled(_one_more)(1) == 2
    assert len(asked) == 1


def _one_more(number: int) -> int:
    return number + 1

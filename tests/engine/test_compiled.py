"""Kernels are compiled once, and again when something that they are made of has changed."""

from acelera.engine import kernels, register_kernels
from acelera.engine.compiled import SOURCES


def test_a_cache_is_as_old_as_the_whole_engine() -> None:
    for kernel in (kernels.advance, register_kernels.advance_registers):
        assert kernel._cache._cache_file._source_stamp == SOURCES
        assert kernel.stats.cache_path is not None

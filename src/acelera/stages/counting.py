"""Stages that are numbered elsewhere: how many of them a key is silent at."""

from __future__ import annotations

from acelera.engine.jit import Array, kernel


@kernel
def count_silent(keys: Array, numbers: Array, counts: Array, silent: Array) -> None:
    """How many numbers lie between that of each stage and the one before of its key, which `counts` has."""
    for stage in range(len(keys)):
        silent[stage] = numbers[stage] - counts[keys[stage]] - 1
        counts[keys[stage]] = numbers[stage]

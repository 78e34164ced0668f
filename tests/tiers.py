"""What `make test` runs, and what only `make test-all` does: tests marked `slow`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """One case of several, which takes long and whose likes run anyway."""
    return pytest.param(*values, marks=pytest.mark.slow)


def thinned(cases: Iterable[Any], every: int) -> list[Any]:
    """All cases, of which each so-and-so-many-th is quick enough to run always."""
    return [_slow(case) if number % every else case for number, case in enumerate(cases)]


def _slow(case: Any) -> Any:
    return slow(*case) if isinstance(case, tuple) else slow(case)

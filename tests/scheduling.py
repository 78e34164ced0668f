"""Which tests one of several processes runs one after the other: those that share something that takes long to start.

pytest-xdist has a mark for it, which has no effect with the newest pytest; it sees to it that the largest group is begun
first.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

IN_PROCESS = ("tests/spark/test_buckets.py", "tests/spark/test_idle_keys.py")
"""Tests of what runs on Spark that do without one."""

SHARING = ("tests/report/test_browser.py", "tests/trepl/actions/test_postgresql.py")
"""Tests that share a browser, or a server."""


def group_of(test: str) -> str:
    """The group of a test; most are one of their own."""
    file = test.partition("::")[0]
    if file.startswith("tests/spark/") and file not in IN_PROCESS:
        return "spark"
    return file if file in SHARING else test


class Grouped(LoadScopeScheduling):
    """Whoever is free runs the next group."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

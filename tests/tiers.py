"""The tiers of the tests: what runs always, what runs now and then, and what runs for as long as one likes.

- `make test`, within minutes: all that is not marked `slow`. Every property is tried with a fixed number of cases, every
  conformance case with every way to run a query in process, some of each file on Spark, and one as a stream.
- `make test-all`, before something is given away: also what is marked `slow`, since it takes long and its likes run
  anyway: more conformance cases on Spark, streams that are stopped and taken up again, the commands of the documents on
  Spark, each odd name of a column in a query of its own; with more random cases, and the site of the documents.
- `make long EXAMPLES=100000`: the properties alone, each time with other cases. ACELERA_SPARK_EXAMPLES=500 does so on
  Spark, with all conformance cases, in batches and as streams.

One process of several runs all that needs a Spark (tests/scheduling.py), while the others run all else; kernels are
compiled before they start (acelera/warming.py). A case on Spark that has a twin in process belongs to `slow`, unless it is
the only one of its kind.
"""

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

"""What all tests share: kernels that are compiled once, how many random cases are tried, and aggregate functions that
leave no trace.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from acelera.language import aggregates
from acelera.warming import warm

# A fixed number of cases in CI, always the same ones; as many as asked for by `make long`, each time others.
settings.register_profile(
    "acelera",
    max_examples=int(os.environ.get("ACELERA_EXAMPLES", "100")),
    derandomize="ACELERA_EXAMPLES" not in os.environ,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),  # the judges are slow, and many random queries are refused
)
settings.load_profile("acelera")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before several processes run tests, kernels are compiled; each of them would compile them all."""
    if session.config.getoption("numprocesses", None):  # which their own processes do not have
        warm()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One process runs all tests that need a Spark, the others all else."""
    from scheduling import Grouped

    return Grouped(config, log)


@pytest.fixture(autouse=True)
def own_aggregates() -> Iterator[None]:
    """Functions that a test defines are gone after it."""
    before = dict(aggregates._registry)
    yield
    aggregates._registry.clear()
    aggregates._registry.update(before)

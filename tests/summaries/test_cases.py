"""Every conformance case of SUMMARIZE under every way to run a query."""

import pyarrow as pa
import pytest

import acelera as ac
from cases import Case, actual_rows, expected_rows, load_summaries

METHODS = ("semantics", "automaton", "engine")
"""The ways to run a query that know summaries."""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", load_summaries(), ids=str)
def test_case(case: Case, method: str) -> None:
    if "error" in case.data:
        with pytest.raises(ac.AceleraError, match=case.data["error"]):
            run(case, method)
        return
    result = run(case, method)
    assert actual_rows(result) == expected_rows(case)
    assert [(field.name, str(field.type)) for field in result.schema] == list(case.data["columns"].items())


def run(case: Case, method: str) -> pa.Table:
    query = ac.query(case.data["query"], bag_union=case.bag_union)  # type: ignore[arg-type]
    return query.run(case.table, method=method, **case.options)  # type: ignore[arg-type]


def test_names_are_unique() -> None:
    names = [str(case) for case in load_summaries()]
    assert len(names) == len(set(names))

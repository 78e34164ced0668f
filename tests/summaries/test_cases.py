"""Every conformance case of SUMMARIZE under every way to run a query."""

import pytest

import acelera as ac
from cases import Case, actual_rows, expected_rows, load_summaries

METHODS = ("semantics", "automaton", "engine")
"""The ways to run a query that know summaries."""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", load_summaries(), ids=str)
def test_case(case: Case, method: str) -> None:
    query = ac.query(case.data["query"], bag_union=case.bag_union)  # type: ignore[arg-type]
    if "error" in case.data:
        with pytest.raises(ac.AceleraError, match=case.data["error"]):
            query.run(case.table, method=method, **case.options)
        return
    result = query.run(case.table, method=method, **case.options)
    assert actual_rows(result) == expected_rows(case)
    assert [(field.name, str(field.type)) for field in result.schema] == list(case.data["columns"].items())


def test_names_are_unique() -> None:
    names = [str(case) for case in load_summaries()]
    assert len(names) == len(set(names))

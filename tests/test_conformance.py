"""Every conformance case under every way to run a query."""

import pyarrow as pa
import pytest

import acelera as ac
from cases import Case, actual, expected, load_cases

METHODS = ("semantics", "automaton", "engine")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", load_cases(), ids=str)
def test_case(case: Case, method: str) -> None:
    if "error" in case.data:
        with pytest.raises(ac.AceleraError, match=case.data["error"]):
            run(case, method)
        return
    result = run(case, method)
    assert actual(case, result) == expected(case)
    if "columns" in case.data:
        assert [(field.name, str(field.type)) for field in result.schema] == list(case.data["columns"].items())


def run(case: Case, method: str) -> pa.Table:
    query = ac.query(case.data["query"], bag_union=case.bag_union)
    return query.run(case.table, method=method, **case.options)


def test_names_are_unique() -> None:
    names = [str(case) for case in load_cases()]
    assert len(names) == len(set(names))

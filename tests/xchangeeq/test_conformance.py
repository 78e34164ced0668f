"""Every conformance case of XChangeEQ under every way to run a program."""

import pytest

from acelera.errors import AceleraError
from xchangeeq.cases import Case, checked, derived_by, load_cases

METHODS = ("semantics", "engine")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", load_cases(), ids=str)
def test_case(case: Case, method: str) -> None:
    if case.error is not None:
        with pytest.raises(AceleraError, match=case.error):
            derived_by(method, case)
        return
    found = derived_by(method, case)
    assert {str(event) for event in found - case.expected} == set()
    assert {str(event) for event in case.expected - found} == set()


@pytest.mark.parametrize("case", [case for case in load_cases() if "columns" in case.data], ids=str)
def test_columns(case: Case) -> None:
    schemas = checked(case).schemas
    for label, columns in case.data["columns"].items():
        assert {field.name: str(field.type) for field in schemas[label]} == columns


def test_names_are_unique() -> None:
    names = [str(case) for case in load_cases()]
    assert len(names) == len(set(names))


def test_every_case_says_where_it_comes_from() -> None:
    assert [str(case) for case in load_cases() if not case.data.get("source")] == []

"""Every conformance case of TREPL under every way to run a program."""

import warnings

import pytest

from acelera.errors import AceleraError, AceleraWarning
from tiers import thinned
from trepl.cases import Case, load_cases

METHODS = ("semantics", "engine")
RUNS = [(case, method) for case in load_cases() for method in case.data.get("methods", METHODS)]


@pytest.mark.parametrize(("case", "method"), RUNS, ids=str)
def test_case(case: Case, method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AceleraWarning)
        if case.error is not None:
            with pytest.raises(AceleraError, match=case.error):
                case.program.run(case.sources, method=method, **case.data.get("options", {}))
            return
        assert case.found(method) == case.expected


@pytest.mark.parametrize("case", thinned([case for case in load_cases() if case.has_steps], 4), ids=str)
def test_in_steps(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AceleraWarning)
        assert case.found_in_steps() == case.expected


def test_names_are_unique() -> None:
    names = [str(case) for case in load_cases()]
    assert len(names) == len(set(names))


def test_every_case_says_where_it_comes_from() -> None:
    assert [str(case) for case in load_cases() if not case.data.get("source")] == []

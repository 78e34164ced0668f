"""What is said of times and labels, and what makes no sense."""

from typing import Any

import pytest

from acelera.errors import UsageError
from acelera.programs.options import How, how


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, How("begin", "end")),
        ({"time": "t"}, How("t", "t")),
        ({"begin": "b", "end": "e", "type_column": "kind"}, How("b", "e", "kind")),
        ({"begin": "b", "end": "e", "longest": {"a": "5 sec"}}, How("b", "e", longest={"a": "5 sec"})),
        ({"time": None, "begin": None, "end": None, "longest": None, "time_unit": None}, How("begin", "end")),
        ({"time": "t", "time_unit": "min"}, How("t", "t", time_unit="min")),
    ],
)
def test_options(options: dict[str, Any], expected: How) -> None:
    assert how(options) == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tiem": "t"}, "there is no option `tiem`; did you mean `time`?"),
        (
            {"order_by": "t"},
            "there is no option `order_by`; there are time, begin, end, type_column, time_unit, longest",
        ),
        ({"time": "t", "begin": "b"}, "time=… is for events that happen at a moment"),
        ({"time": "t", "end": "b"}, "time=… is for events that happen at a moment"),
        ({"end": "t"}, "begin=… is missing; if events happen at a moment, say time='t'"),
        ({"begin": "t"}, "end=… is missing; if events happen at a moment, say time='t'"),
        ({"time": 5}, "time=5 is no name of a column"),
        ({"time_unit": "sec"}, "time_unit='sec' is not known; it is one of 'us', 'ms', 's', 'min', 'h', 'd'"),
        ({"longest": "5 sec"}, "longest='5 sec' is no mapping of labels to durations, such as {'temp': '5 sec'}"),
        ({"longest": {"a": 5}}, "is no mapping of labels to durations"),
        ({"time": "t", "longest": {"a": "5 sec"}}, "longest=… is for events that last"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        how(options)
    assert says in str(caught.value)

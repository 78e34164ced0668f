"""What is said of an aggregate function that is not there."""

from __future__ import annotations

from acelera.errors import did_you_mean
from acelera.language.aggregates import NTH, aggregate_names
from acelera.language.expressions import FUNCTIONS


def why_no_aggregate(function: str) -> tuple[str, str]:
    """The message, and how to say what was meant."""
    hint = _OTHERWISE.get(function)
    if hint is not None:
        return f"there is no aggregate function `{function}`", hint
    known = sorted([*aggregate_names(), NTH])
    near = did_you_mean(function, [*known, *FUNCTIONS])
    if function in _SYNONYMS:
        near = f"; did you mean `{_SYNONYMS[function]}`?" if _SYNONYMS[function] else ""
    hint = f"aggregate functions: {', '.join(known)}; acelera.aggregate adds one of your own"
    return f"there is no aggregate function `{function}`{near}", hint


_SOME = "some events are told in brackets: count(x[price > 5]), sum(x[price > 5].price IGNORE NULLS)"
_DIFFERENT = "different values are counted by count(DISTINCT x.price)"
_OTHERWISE = {
    **dict.fromkeys(("count_if", "countif", "sum_if", "sumif", "avg_if", "avgif"), _SOME),
    **dict.fromkeys(("count_distinct", "countdistinct", "nunique", "uniq", "approx_count_distinct"), _DIFFERENT),
}
"""Functions of other languages that are none here, but can be said."""

_SYNONYMS = {
    "average": "avg",
    "mean": "avg",
    "median": None,
    "total": "sum",
    "std": "stddev",
    "var": "variance",
    "any": "bool_or",
    "round": None,
    "lag": None,
    "nth_value": "nth",
    "first_value": "first",
    "last_value": "last",
}
"""What functions are called elsewhere; None for what looks like another one, and is not."""

"""Machine code against the kernel, over streams that are long enough for both: many keys, stages of several events,
missing values, sums that are too large, and more configurations than are compared one by one.
"""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera import cdc
from acelera.errors import AggregateError
from acelera.language.types import from_arrow
from acelera.stages import quick_machine
from acelera.stages.coding import coded
from acelera.stages.native.compiling import native
from acelera.trepl.checker import check
from acelera.trepl.parser import parse
from acelera.trepl.resolved import Relation
from acelera.trepl.translation.machines import translate

NEVER = 10**12

MOVING = "Moving: (any, * reading(X, Count(X) <= 5), Count(X) = 5) -> told(X.k, Avg(X.v));"
RULES = {
    "a moving average": f"monitor reading partition by k; derived told(k, a); {MOVING}",
    "a long one": f"monitor reading partition by k; derived told(k, a); {MOVING.replace('5', '40')}",
    "the same of all keys at once": f"monitor reading; derived told(k, a); {MOVING}",
    "phases": """monitor reading partition by k; derived told(k, a, b);
        Phase: (* reading(X, X.v > Last(X.v)), Count(X) >= 2, !reading(U, U.v > X.v)) -> told(X.k, First(X.v), X.v);""",
    "a star after an event": """monitor reading partition by k; derived told(a, b, c);
        R: (reading(A, A.n > 5), * reading(X, X.n < A.n), reading(E, E.n >= A.n)) -> told(A.n, Count(X), E.n);""",
    "sums of integers": """monitor reading partition by k; derived told(a, b, c, d);
        R: (any, * reading(X, Count(X) <= 4), Count(X) >= 2)
          -> told(Sum(X.n), Min(X.n), Max(X.n), Avg(X.n));""",
    "arithmetic": """monitor reading partition by k; derived told(a, b);
        R: (reading(X), reading(Y, Y.n * 2 > X.n + 1 and Y.v - X.v < 3.5)) -> told(X.n, Y.n);""",
    "a window in time": """monitor reading partition by k; derived told(a, b, c);
        R: (any, * reading(X, X.Timestamp - First(X.Timestamp) <= INTERVAL 3 SECONDS), Count(X) >= 2)
          -> told(Min(X.v), Max(X.v), Count(X));""",
    "logic": """monitor reading partition by k; derived told(a, b);
        R: (reading(X, X.n % 3 = 1 or X.v is null), reading(Y, not (Y.n / 2 > X.n or Y.v < X.v) and Y.n is not null))
          -> told(X.n, Y.n);""",
    "signs": """monitor reading partition by k; derived told(a, b);
        R: (reading(X), reading(Y, -Y.v > X.v or (-Y.n) % 4 = -1 and Y.n / X.n > 0.5)) -> told(X.n, Y.n);""",
    "texts": """monitor reading partition by k; derived told(a, b);
        R: (reading(X), !reading(Y, Y.s = X.s), reading(Z, Z.s = X.s)) -> told(X.s, Z.n);""",
    "a key that rules keep to": """monitor reading; derived told(k, a, b);
        R: (reading(X, X.n > 3), any, !reading(Y, Y.k = X.k and Y.n > 8), reading(Z, Z.k = X.k)) -> told(X.k, X.n, Z.n);""",
}


def readings(rows: int, keys: int, crowd: int, largest: int = 10) -> pa.Table:
    """So many keys in any order; `crowd` rows have one time each."""
    rng = np.random.default_rng(rows + keys + crowd)
    values = rng.integers(-4, 5, rows) / 2
    values[rng.random(rows) < 0.02] = np.nan
    return pa.table(
        {
            "t": pa.array(np.arange(rows) // crowd * 10**6, pa.timestamp("us")),
            "k": pa.array(rng.integers(0, keys, rows)),
            "v": pa.array(values, mask=rng.random(rows) < 0.05),
            "n": pa.array(rng.integers(0, largest, rows), mask=rng.random(rows) < 0.05),
            "s": pa.array(rng.choice(["a", "b", "c"], rows)),
        }
    )


def told(text: str, table: pa.Table, enough: int) -> list[str]:
    with patch.object(quick_machine, "ENOUGH", enough), patch.object(quick_machine, "known", lambda code: None):
        found = ac.trepl(text).run({"reading": cdc.inserts(table, time="t")})["told"]
    return sorted(map(repr, found.to_pylist()))


def is_written(text: str, table: pa.Table) -> bool:
    attributes = {name: from_arrow(table.schema.field(name).type) for name in table.column_names if name != "t"}
    program = check(parse(text).program, {"reading": Relation(attributes)}, from_arrow(pa.timestamp("us"))).program
    return native(coded(translate(program.modules[0], program).machine)) is not None


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("rows", "keys", "crowd"), [(3_000, 1, 1), (3_000, 7, 3), (5_000, 90, 1)])
def test_machine_code_and_the_kernel(name: str, rows: int, keys: int, crowd: int) -> None:
    table = readings(rows, keys, crowd)
    if name == "a long one" and crowd > 1:
        table = table.slice(0, 300)
    assert is_written(RULES[name], table)
    by_kernel = told(RULES[name], table, NEVER)
    assert told(RULES[name], table, -1) == by_kernel
    assert by_kernel


def test_sums_that_are_too_large_are_errors_in_both() -> None:
    table = readings(3_000, 7, 1, 2**62)
    for enough in (-1, NEVER):
        with pytest.raises(AggregateError):
            told(RULES["sums of integers"], table, enough)


def test_few_stages_are_left_to_the_kernel() -> None:
    with patch.object(quick_machine, "native") as write:
        told(RULES["phases"], readings(1_000, 7, 1), quick_machine.ENOUGH)
        assert not write.called

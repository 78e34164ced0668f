"""Random streams whose rows tie, and come twice."""

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

NESTED = pa.struct([("b", pa.list_(pa.float64())), ("a", pa.int64())])


def tied(table: pa.Table, seed: int, coarse: int = 3_000, repeated: float = 0.3) -> pa.Table:
    """The rows of a stream with times as coarse as that, in milliseconds, of which some come several times, in the
    order of their times and otherwise in none; with a column of bytes and one of structs.
    """
    rng = np.random.default_rng(seed)
    size = table.num_rows
    ticks = table["ts"].cast(pa.int64()).to_numpy() // coarse * coarse
    lists = [None, [], [0.5], [float("nan")], [None, 1.0]]
    structs = [{"b": lists[each % 5], "a": int(each % 2)} for each in rng.integers(0, 10, size)]
    table = table.set_column(table.column_names.index("ts"), "ts", pa.array(ticks, pa.timestamp("ms")))
    table = table.append_column("raw", pa.array([[b"", b"a", None][each] for each in rng.integers(0, 3, size)]))
    table = table.append_column("nested", pa.array(structs, NESTED))
    table = table.take(pa.array(np.repeat(np.arange(size), 1 + (rng.random(size) < repeated)), pa.int64()))
    order = np.lexsort((rng.random(table.num_rows), table["ts"].cast(pa.int64()).to_numpy()))
    return table.take(pa.array(order))


@st.composite
def rearranged(draw: st.DrawFn, table: pa.Table, within: bool = True) -> pa.Table:
    """The same rows as another source gives them: those of a time, or all, in another order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ticks = table["ts"].cast(pa.int64()).to_numpy() if within else np.zeros(table.num_rows)
    order = np.lexsort((rng.random(table.num_rows), ticks))
    return table.take(pa.array(order))

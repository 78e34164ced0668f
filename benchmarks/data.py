"""Stock ticks at random, the same for the same seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

SCHEMA = pa.schema({"type": pa.string(), "name": pa.string(), "price": pa.float64(), "volume": pa.int64()})
TYPES = ("BUY", "SELL")


def tickers(count: int) -> list[str]:
    """The names of stocks: T00, T01, … ."""
    width = len(str(count - 1))
    return [f"T{number:0{width}}" for number in range(count)]


def ticks(rows: int, stocks: int = 20, seed: int = 1) -> pa.Table:
    """Sales and purchases of stocks, which interleave; prices are uniform between 100 and 200."""
    random = np.random.default_rng(seed)
    columns = [
        texts(TYPES, random.integers(0, len(TYPES), rows)),
        texts(tickers(stocks), random.integers(0, stocks, rows)),
        pa.array(random.uniform(100, 200, rows)),
        pa.array(random.integers(1, 1000, rows)),
    ]
    return pa.table(columns, schema=SCHEMA)


def texts(values: Sequence[str], numbers: npt.NDArray[np.int64]) -> pa.Array:
    """A column of plain strings, each given by its number."""
    return pa.array(values).take(pa.array(numbers))

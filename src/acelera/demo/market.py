"""A market day, made up: prices that wander, drift for a while and sometimes break, always the same for a seed."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

NAMES = ("ACME", "AMZN", "CSCO", "INTL", "MSFT", "NVDA", "ORCL", "TSLA")
OPENING = datetime.datetime(2024, 3, 4, 9, 30, tzinfo=datetime.timezone.utc)
HOURS = 6.5


def ticks(count: int = 100_000, seed: int = 7) -> pa.Table:
    """So many sales and purchases of eight stocks, in order of time.

    >>> ticks(3).select(["type", "name", "price", "volume"]).to_pylist()[0]
    {'type': 'SELL', 'name': 'MSFT', 'price': 273.27, 'volume': 400}
    """
    rng = np.random.default_rng(seed)
    names = rng.choice(len(NAMES), count, p=np.array([5, 3, 2, 3, 4, 4, 2, 3]) / 26)
    prices, moods = np.empty(count), np.empty(count)
    for number, first in enumerate(rng.uniform(60, 320, len(NAMES))):
        mine = np.flatnonzero(names == number)
        drift = _drift(len(mine), rng)
        steps = drift + rng.normal(0, 0.0006, len(mine))
        prices[mine], moods[mine] = first * np.exp(np.cumsum(steps)), drift
    buys = rng.random(count) < 0.5 + np.clip(moods * 400, -0.35, 0.35)
    return pa.table(
        {
            "ts": pa.array(_times(count, rng), pa.timestamp("us", "UTC")),
            "type": pa.array(["SELL", "BUY"]).take(pa.array(buys.astype(np.int8))),
            "name": pa.array(NAMES).take(pa.array(names)),
            "price": np.round(prices, 2),
            "volume": 100 * (1 + rng.geometric(0.25, count)),
        }
    )


def _drift(size: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What a price tends to do: mostly nothing, now and then up or down for a while."""
    drift = np.zeros(size)
    for begin in rng.integers(0, max(size, 1), max(1, size // 800)):
        drift[begin : begin + int(rng.integers(20, 200))] = rng.normal(0, 0.0003)
    return drift


def _times(count: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Moments between opening and close in microseconds, no two of them equal; most near both ends of the day."""
    parts = np.sort(rng.beta(0.7, 0.8, count))
    since = (parts * (HOURS * 3_600_000_000 - count)).astype(np.int64) + np.arange(count)
    return since + int(OPENING.timestamp()) * 1_000_000

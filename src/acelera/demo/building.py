"""Seven minutes in a building, made up: sensors that tell temperatures while its kitchen burns; the same for a seed."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

AREAS = ("attic", "hall", "kitchen", "office")
SENSORS = 2
"""How many there are in each area."""
START = datetime.datetime(2024, 3, 4, 2, 0, tzinfo=datetime.timezone.utc)
SECONDS = 420
SMOKE = {"kitchen": (236, 262, 301), "hall": (318,)}
"""When smoke is seen, in seconds since the start."""
HEAT = {"kitchen": (240, 0.5), "hall": (310, 0.05)}
"""Where it becomes hot: since when, and by how many degrees a second."""
MELTS = 75.0
"""A sensor bears so many degrees."""

Row = tuple[int, int, str, str, str | None, float | None]
"""Begin and end in seconds, type, area, sensor and value."""


def readings(seed: int = 7) -> pa.Table:
    """Temperatures and smoke, which last from `begin` to `end`, in order of end.

    >>> readings().select(["type", "area", "sensor", "value"]).to_pylist()[0]
    {'type': 'temp', 'area': 'hall', 'sensor': 't3', 'value': 21.3}
    """
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for number in range(len(AREAS) * SENSORS):
        rows += _temperatures(AREAS[number // SENSORS], f"t{number + 1}", rng)
    for area, times in SMOKE.items():
        rows += [(at, at + int(rng.integers(2, 7)), "smoke", area, None, None) for at in times]
    begins, ends, types, areas, sensors, values = zip(*sorted(rows, key=lambda row: row[1]), strict=True)
    return pa.table(
        {
            "begin": _moments(begins),
            "end": _moments(ends),
            "type": pa.array(types),
            "area": pa.array(areas),
            "sensor": pa.array(sensors, pa.string()),
            "value": pa.array(values, pa.float64()),
        }
    )


def _temperatures(area: str, sensor: str, rng: np.random.Generator) -> list[Row]:
    """What a sensor tells, every six seconds or so, until it melts."""
    since, rise = HEAT.get(area, (SECONDS, 0.0))
    at, usual = float(rng.uniform(0, 6)), float(rng.normal(21, 1))
    rows: list[Row] = []
    while at < SECONDS:
        value = usual + float(rng.normal(0, 0.2)) + max(0.0, at - since) * rise
        if value > MELTS:
            break
        rows.append((int(at), int(at) + int(rng.integers(1, 3)), "temp", area, sensor, round(value, 1)))
        at += float(rng.uniform(5, 7))
    return rows


def _moments(seconds: tuple[int, ...]) -> pa.Array:
    return pa.array([START + datetime.timedelta(seconds=each) for each in seconds], pa.timestamp("us", "UTC"))

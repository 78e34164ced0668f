"""Values as they stand in tables for people."""

from __future__ import annotations

import datetime
from collections.abc import Mapping


def cell(value: object) -> str:
    """A value in short.

    >>> cell([1.0, None]), cell({"price": 2}), cell(0.00012)
    ('1.00, ', '{price: 2}', '0.00012')
    """
    if isinstance(value, list):
        return ", ".join(cell(item) for item in value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {cell(item)}" for name, item in value.items()) + "}"
    if isinstance(value, float):
        return f"{value:.2f}" if value == 0 or 0.01 <= abs(value) < 1e12 else f"{value:.4g}"
    if isinstance(value, datetime.datetime):
        return str(value.replace(tzinfo=None))  # as it stands in the table, whose zone is UTC
    return "" if value is None else str(value)

"""Errors of machines over stages."""

from __future__ import annotations

from acelera.errors import TooManyMatchesError


def too_many(most: int, key: object = None) -> TooManyMatchesError:
    """A key has more configurations than are allowed."""
    where = "" if key is None else f" for the key {key!r}"
    return TooManyMatchesError(
        f"more than {most:,} instances are open at a stage{where}; let a condition tie the events of a star to each "
        "other with `=`, or allow more with `max_tuples`"
    )

"""How a user says what a stage is, where parts of time are computed, and what computes the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TypedDict

from acelera.cdc.layout import GRANULARITIES
from acelera.errors import UsageError, did_you_mean

METHODS = ("engine", "semantics")
MAX_TUPLES = 100_000


class Options(TypedDict, total=False):
    """The options of `check`, `explain`, `open` and `run`, as they are given.

    granularity
        What changes of one stage have in common: `"timestamp"`, their time; `"transaction"`, what names and orders
        transactions (`order_by` of the sources); `"operation"`, nothing: `order_by` tells all of them apart.
    zone
        Where `X.Day` and the like are computed, such as `"Europe/Berlin"`; in UTC, if nothing is said.
    method
        How to compute the result: `"engine"` is quick; `"semantics"` follows the definitions, and is slow.
    max_tuples
        How many unfinished instances of patterns a key may have; more of them are an error, never a cut.
    """

    granularity: str
    zone: str
    method: str
    max_tuples: int


@dataclass(frozen=True)
class How:
    """Options that make sense; whether the zone does is for the checker."""

    granularity: str = "timestamp"
    zone: str = "UTC"
    method: str = "engine"
    max_tuples: int = MAX_TUPLES


@dataclass(frozen=True)
class Coming:
    """What is said of changes that still come: how late, and where the checkpoint of their stream will be."""

    delay: str | None = None
    checkpoint: str | PathLike[str] | None = None

    def refuse_of(self, whole: str) -> None:
        """Nothing of it is said of changes that are all there."""
        if self.delay is not None:
            raise UsageError(f"delay=… is for streams: in {whole} no change comes late; leave it out")
        if self.checkpoint is not None:
            raise UsageError(f"checkpoint=… is for streams: {whole} has none; leave it out")


def how(options: Mapping[str, object], others: Sequence[str] = ()) -> How:
    """Options, once it is clear that they make sense; `others` may be given, too, where these are, and are told of.

    >>> how({"granularity": "transaction"})
    How(granularity='transaction', zone='UTC', method='engine', max_tuples=100000)
    """
    for name in options:
        if name not in _KNOWN:
            known = (*others, *_KNOWN)
            near = did_you_mean(name, known)
            raise UsageError(f"there is no option `{name}`{near or '; there are ' + ', '.join(known)}")
    found = How(**options)  # type: ignore[arg-type]  # which is what is looked at now
    for name, value, known in (("granularity", found.granularity, GRANULARITIES), ("method", found.method, METHODS)):
        if value not in known:
            raise UsageError(f"{name}={value!r} is not known; it is one of {', '.join(map(repr, known))}")
    if not isinstance(found.zone, str):
        raise UsageError(f"zone={found.zone!r} is no name of a time zone, such as 'UTC' or 'Europe/Berlin'")
    if not isinstance(found.max_tuples, int) or isinstance(found.max_tuples, bool) or found.max_tuples < 1:
        raise UsageError(f"max_tuples={found.max_tuples!r} is no number from 1 on")
    return found


_KNOWN = tuple(Options.__annotations__)

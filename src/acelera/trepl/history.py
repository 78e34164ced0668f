"""What happened: changes of rows, as the meaning reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acelera.language.events import Value


@dataclass(frozen=True)
class Change:
    """A change of a row of a relation: `kind` is insert, update or delete.

    An insert has no old values, a delete no new ones; `instant` is what orders changes (equal instants are one stage),
    `timestamp` what `X.Timestamp` says: a Moment, or an int where times are integers.
    """

    relation: str
    kind: str
    old: Mapping[str, Value] | None
    new: Mapping[str, Value] | None
    instant: Any
    timestamp: Value


@dataclass(frozen=True)
class Fired:
    """What an action of a rule does at a stage: `action` is its number in the rule, `key` the values of `partition by`.

    `instant` is that of the stage, `timestamp` the largest of its events.
    """

    module: str
    key: tuple[Value, ...]
    rule: str
    action: int
    stage: int
    instant: Any
    timestamp: Value
    arguments: tuple[Value, ...]

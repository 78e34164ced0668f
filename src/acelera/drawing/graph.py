"""What is drawn: nodes and labelled arrows, and further graphs beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Graph:
    """Nodes by number, one of them the first, some of them final; between two of them one arrow with several labels.

    `described` says in words what it is; `inner` are graphs that are drawn below it.
    """

    names: tuple[str, ...]
    initial: int
    finals: frozenset[int]
    edges: Mapping[tuple[int, int], Sequence[str]]
    described: str
    inner: tuple[Graph, ...] = ()

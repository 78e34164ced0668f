"""Which keeper does what KEEP says."""

from __future__ import annotations

from acelera.engine.keeping.at_once import AnyPerEnd, Apart, LongestPerEnd, ShortestPerEnd, ShortestPerStart
from acelera.engine.keeping.ground import Ground
from acelera.engine.keeping.keeper import Keeper
from acelera.engine.keeping.waiting import AnyPerStart, LongestApart, LongestPerStart
from acelera.language import ast


def keeper_of(keep: ast.Keep, ground: Ground) -> Keeper:
    """The keeper of a query over a stream."""
    match keep.kind, keep.scope:
        case "shortest", "end":
            return ShortestPerEnd(ground)
        case "longest", "end":
            return LongestPerEnd(ground)
        case "shortest", "start":
            return ShortestPerStart(ground)
        case "longest", "start":
            return LongestPerStart(ground)
        case "longest", "apart":
            return LongestApart(ground)
        case "shortest" | "all", "apart":
            return Apart(ground, keep.kind == "all")
    assert keep.count is not None, "ANY has a number"
    return AnyPerEnd(ground, keep.count) if keep.scope == "end" else AnyPerStart(ground, keep.count)

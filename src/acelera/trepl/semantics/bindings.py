"""b of sat_E(b, J): what has been bound, as far as a rule looks at it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from acelera.language.events import Value

UNSET = object()
"""The value of what is not bound."""


class Bindings:
    """Values by slot; a slot stands for a term of a rule, such as `X.Price` or `Max(X.Price)`. They never change.

    An event is held by those of its terms alone that the rule looks at, and the rounds of a star by the columns of its
    aggregates ([P], section 5.4): what no condition and no head can tell apart is one.
    """

    __slots__ = ("_hash", "held")

    def __init__(self, held: Mapping[str, Value]) -> None:
        self.held = held
        self._hash = hash(frozenset(held.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bindings) and self._hash == other._hash and self.held == other.held

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Bindings({self.held})"

    def get(self, slot: str) -> Value:
        """The value of a slot, or UNSET."""
        return self.held.get(slot, UNSET)

    def having(self, more: Mapping[str, Value]) -> Bindings:
        """These with other values for some slots."""
        return Bindings({**self.held, **more}) if more else self

    def without(self, slots: Iterable[str]) -> Bindings:
        """These without some slots."""
        gone = [slot for slot in slots if slot in self.held]
        return Bindings({slot: value for slot, value in self.held.items() if slot not in gone}) if gone else self

    def joined(self, other: Bindings, common: Bindings) -> Bindings:
        """What two have that both come from the same, and have bound different variables since."""
        more = {slot: value for slot, value in other.held.items() if common.get(slot) is not value}
        return self.having(more)


NOTHING = Bindings({})
"""∅."""

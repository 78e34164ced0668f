"""Which label is made from which: what a picture shows of a program, whatever its language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Use:
    """A rule asks for a label to make another; `through` says why all of that must be there before, if it must."""

    needs: str
    makes: str
    rule: int
    through: str | None = None


@dataclass(frozen=True)
class LabelGraph:
    """The labels that rules make, by the number of each rule, and what they are made from.

    `strata` has the stratum of each rule, from 0; there are none where rules wait for each other. `names` are those of
    rules, where they have any, and `band` is what people call a stratum.
    """

    made: tuple[str, ...]
    uses: tuple[Use, ...]
    strata: tuple[int, ...] | None = None
    names: tuple[str, ...] = ()
    band: str = "stratum"

    def __post_init__(self) -> None:
        assert self.strata is None or len(self.strata) == len(self.made)
        assert all(self.made[use.rule] == use.makes for use in self.uses)
        assert not self.names or len(self.names) == len(self.made)

    @cached_property
    def bands(self) -> Mapping[str, int]:
        """For each label where it stands: 0 if no rule makes it, otherwise from 1 on, by the highest of its rules."""
        found = {use.needs: 0 for use in self.uses}
        strata = self.strata or (0,) * len(self.made)
        for label, stratum in zip(self.made, strata, strict=True):
            found[label] = max(found.get(label, 0), stratum + 1)
        return found

    def called(self, rule: int) -> str:
        """What people call a rule."""
        return self.names[rule] if self.names else str(rule + 1)

    def rules_of(self, label: str) -> tuple[int, ...]:
        """The rules that make a label."""
        return tuple(number for number, made in enumerate(self.made) if made == label)

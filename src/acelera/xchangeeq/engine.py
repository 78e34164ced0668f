"""Programs on the engine: compiled to a plan, and opened as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from acelera.algebra.bounds import Bound
from acelera.algebra.description import described, length_of
from acelera.algebra.duckdb_program import DuckProgram
from acelera.algebra.duckdb_session import DuckSession
from acelera.algebra.plan import Plan, planned
from acelera.algebra.rules import Rule
from acelera.errors import UsageError
from acelera.xchangeeq import ast
from acelera.xchangeeq.checker import Checked
from acelera.xchangeeq.schemas import arrow_type
from acelera.xchangeeq.translation import Translation


@dataclass(frozen=True)
class Compiled:
    """The rules of a program, and the types of the children of each label."""

    checked: Checked
    rules: tuple[Rule, ...]

    @property
    def rows(self) -> dict[str, pa.StructType]:
        """The types of the children of each label that rules ask for or make."""
        labels = {label for rule in self.rules for label in rule.asks_for} | set(self.checked.outputs)
        return {label: arrow_type(shape) for label, shape in self.checked.labels.items() if label in labels}

    @property
    def plan(self) -> Plan:
        """What a session computes."""
        return planned(self.rules, self.rows)

    @property
    def on_duckdb(self) -> DuckProgram:
        """Its statements."""
        return DuckProgram(self.plan, self.rows, self.checked.base)


def compiled(
    checked: Checked, tick: Fraction | int = 1, longest: Mapping[str, Bound] | None = None, aggregates: str = "nodes"
) -> Compiled:
    """A program in terms of the algebra. `tick` is how many microseconds a unit of time is; `longest` is in ticks."""

    def ticks(duration: ast.Duration) -> int:
        number = duration.microseconds / Fraction(tick)
        if number.denominator != 1:
            raise UsageError("a duration is no whole number of the units of time")
        return int(number)

    translation = Translation(checked, ticks, Fraction(tick), longest or {}, aggregates == "set")
    return Compiled(checked, tuple(translation.rules()))


def opened(
    checked: Checked, tick: Fraction | int = 1, longest: Mapping[str, Bound] | None = None, aggregates: str = "nodes"
) -> DuckSession:
    """A stream that a program is computed over."""
    return DuckSession(compiled(checked, tick, longest, aggregates).on_duckdb)


def resumed(
    checked: Checked, tick: Fraction | int, longest: Mapping[str, Bound], aggregates: str, snapshot: bytes
) -> DuckSession:
    """A stream that goes on from a snapshot."""
    session = opened(checked, tick, longest, aggregates)
    session.restore(snapshot)
    return session


def explained(checked: Checked, tick: Fraction | int = 1, longest: Mapping[str, Bound] | None = None) -> list[str]:
    """The plan of a program, and what is kept for how long."""
    program = compiled(checked, tick, longest)
    return described(program.plan, lambda ticks: length_of(ticks, Fraction(tick)))


def kept_for_ever(checked: Checked, tick: Fraction | int, longest: Mapping[str, Bound]) -> list[str]:
    """What of a stream is never forgotten, and what to do about it."""
    found = []
    for match in compiled(checked, tick, longest).plan.matches.values():
        if any(use.for_ever for use in match.uses):
            label = " or ".join(sorted(match.labels)) or "the clock"
            found.append(
                f"{label} is kept for ever: nothing bounds how long after it others of its rule may end; say how long "
                "events last with longest={…}, or add within (explain shows which)"
            )
    return list(dict.fromkeys(found))

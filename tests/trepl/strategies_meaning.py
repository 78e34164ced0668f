"""Random rules that make sense, as text, and random histories of a, b and c."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from acelera.language.types import INT
from acelera.trepl.history import Change
from acelera.trepl.resolved import Relation
from trepl.judging import ins

RELATIONS = {name: Relation({"k": INT, "v": INT}) for name in "abc"}


@dataclass
class _Writer:
    """Writes goals; `known` are the variables that a goal sees, and whether a star binds them."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    stars: tuple[str, ...]
    count: int = 0
    known: dict[str, bool] = field(default_factory=dict)

    def among(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def goal(self, depth: int, starred: bool = False, leading: bool = False) -> str:
        kinds = ["event", "event", "point"]
        if depth:
            kinds += ["sequence", "sequence", "star", "star", "relaxed", "either", "not"]
        if depth and leading:
            kinds += ["both", "prior", "first"]
        kind = self.among(*kinds)
        match kind:
            case "event":
                return self.event(starred)
            case "point":
                return self.point(starred)
            case "sequence" | "relaxed":
                return self.sequence(depth, starred, leading, relaxed=kind == "relaxed")
            case "star":
                return f"{self.among(*self.stars)} {self.body(depth - 1)}"
            case "either":
                return "{" + ", ".join(self.hidden(lambda: self.goal(depth - 1)) for _ in range(2)) + "}"
            case "not":
                return f"!{self.alone(lambda: self.goal(depth - 1, leading=True))}"
            case "both":
                return f"{self.goal(depth - 1, leading=True)} & {self.goal(depth - 1, leading=True)}"
            case "prior":
                return f"prior({self.goal(depth - 1, leading=True)}, {self.goal(depth - 1, leading=True)})"
        return f"first({self.goal(depth - 1, leading=True)})"

    def body(self, depth: int) -> str:
        """The body of a star; a star itself would be one star too many."""
        before = set(self.known)
        written = self.sequence(depth, starred=True) if depth and self.among(True, False) else self.event(starred=True)
        self.known = {name: True if name not in before else star for name, star in self.known.items()}
        return written

    def sequence(self, depth: int, starred: bool, leading: bool = False, relaxed: bool = False) -> str:
        goals = []
        for number in range(self.among(2, 2, 3)):
            goals.append(self.goal(depth - 1, starred, leading and number == 0))
            if self.known and self.among(True, False, False):
                goals.append(self.test(self.among(*self.known)))
        return f"[{', '.join(goals)}]" if relaxed else f"({', '.join(goals)})"

    def point(self, starred: bool) -> str:
        match self.among("any", "not", "both", "first"):
            case "any":
                return "any"
            case "not":
                return "!" + self.hidden(lambda: self.event(starred=False))
            case "both":
                return f"{self.event(starred)} & {self.event(starred)}"
        return "first(" + self.alone(lambda: self.event(starred=False)) + ")"

    def event(self, starred: bool) -> str:
        self.count += 1
        name = f"X{self.count}"
        conditions = [self.condition(name, starred) for _ in range(self.among(0, 0, 1, 1, 2))]
        self.known[name] = starred
        return f"{self.among(*'aaaabc')}({', '.join([name, *conditions])})"

    def condition(self, name: str, starred: bool) -> str:
        simple = [f"{name}.v > 1", f"{name}.v <= 2", f"{name}.k = 1", f"{name}.v IS NOT NULL"]
        others = [each for name_2 in self.known for each in (f"{name}.k = {name_2}.k", f"{name}.v >= {name_2}.v")]
        own = [
            f"{name}.k = First({name}.k)",
            f"{name}.v >= Last({name}.v)",
            f"Count({name}) <= 2",
            f"Sum({name}.v) < 5",
        ]
        return str(self.among(*simple, *others, *others, *(own * 2 if starred else [])))

    def test(self, name: str) -> str:
        aggregates = [
            f"Count({name}) >= 2",
            f"{name}.v = Max({name}.v)",
            f"{name}.v > First({name}.v)",
            f"Avg({name}.v) > 1",
        ]
        return str(self.among(f"{name}.v > 0", f"{name}.k <> 1", *(aggregates if self.known[name] else [])))

    def hidden(self, write: Callable[[], str]) -> str:
        """What sees, and is not seen."""
        before = dict(self.known)
        written = write()
        self.known = before
        return written

    def alone(self, write: Callable[[], str]) -> str:
        """What neither sees nor is seen."""
        before, self.known = self.known, {}
        written = write()
        self.known = before
        return written

    def beginnings(self) -> str:
        """Something after which stars begin again and again, and perhaps something after them."""
        match self.among("any", "event", "event", "star"):
            case "any":
                opening = "any"
            case "event":
                opening = self.event(starred=False)
            case _:
                opening = f"*{self.body(0)}"
        stars = [f"{self.among(*self.stars)} {self.body(self.among(0, 0, 1, 2))}" for _ in range(self.among(1, 1, 2))]
        tests = [self.test(self.among(*self.known))] if self.known and self.among(True, False) else []
        closing = [self.goal(1)] if self.among(True, False) else []
        goals = ", ".join([opening, *stars, *tests, *closing])
        return f"[{goals}]" if self.among(True, False, False) else f"({goals})"


@st.composite
def rules(draw: Any, stars: tuple[str, ...] = ("*", "*", "*:"), depth: int = 3) -> tuple[str, list[str]]:
    """A program of one rule without a head, up to `->`, and what its head may show."""
    writer = _Writer(draw, stars)
    goal = writer.beginnings() if draw(st.booleans()) else writer.goal(depth, leading=True)
    shown = [f"{name}.{attribute}" for name in writer.known for attribute in "kv"]
    aggregates = ("Count({})", "Sum({}.v)", "First({}.v)")
    shown += [each.format(name) for name, star in writer.known.items() if star for each in aggregates]
    return f"monitor a, b, c; R: {goal} -> ", shown


EVENTS = st.tuples(st.sampled_from("aaaabc"), st.integers(0, 1), st.none() | st.integers(0, 3))


def histories(most: int = 5) -> st.SearchStrategy[list[Change]]:
    """Three or more stages of one or two events."""
    stage = st.lists(EVENTS, min_size=1, max_size=2)
    return st.lists(stage, min_size=min(3, most), max_size=most).map(
        lambda those: [ins(name, at, k=k, v=v) for at, events in enumerate(those, 1) for name, k, v in events]
    )

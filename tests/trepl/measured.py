"""What random programs and histories come to: `PYTHONPATH=src:tests python tests/trepl/measured.py 500`.

Says how many are accepted, how many fire, and in how many what is hard happens: stars that go on, beginnings that are
refused, conditions on what came before, events that are fed back.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator

from hypothesis import HealthCheck, Phase, given, seed, settings

from acelera.errors import AceleraError
from acelera.programs.problems import ProgramCheckError
from acelera.trepl import ast
from acelera.trepl.chained_keys import chained_key
from acelera.trepl.checker import check
from acelera.trepl.engine import carried_out
from acelera.trepl.history import Change
from acelera.trepl.parser import parse
from acelera.trepl.resolved import Derive, Module, Program, Simple
from acelera.trepl.semantics import fired
from acelera.trepl.semantics.bindings import Bindings
from acelera.trepl.semantics.predecessors import Path
from acelera.trepl.semantics.satisfaction import _AtStage
from acelera.trepl.translation.machines import translate
from trepl.machine_runs import run_plainly
from trepl.strategies import programs
from trepl.streams import RELATIONS, TIMESTAMP, histories, in_order

_satisfied = _AtStage._begun_or_gone_on
_seen: set[str] = set()


def _watched(stage: _AtStage, point: Path) -> Iterator[Bindings]:
    """The same, and a note of what stars do."""
    found = list(_satisfied(stage, point))
    taken = {
        before: [each for b in those for each in stage.taken[point][b]]
        for before, those in stage.entries[point].items()
    }
    if any(those and before.kind == "loop" for before, those in taken.items()):
        _seen.add("a star goes on")
    if sum(map(len, taken.values())) > len(found):
        _seen.add("a beginning is refused")
    return iter(found)


def constructs(program: Program) -> Iterator[str]:
    """What a program is made of."""
    for module in program.modules:
        yield from ["partition by"] if module.partition else []
        yield from _feeding(module)
        for rule in module.rules:
            for goal in ast.walk(rule.goal):
                if isinstance(goal, ast.Star):
                    inner = any(isinstance(each, ast.Star) and each is not goal for each in ast.walk(goal))
                    yield "a star in a star" if inner else "a star"
                elif not isinstance(goal, Simple):
                    yield type(goal).__name__
    if len(program.modules) > 1:
        yield "two modules"


def _feeding(module: Module) -> Iterator[str]:
    made = {act.event for rule in module.rules for act in rule.actions if isinstance(act, Derive)}
    goals = [goal for rule in module.rules for goal in ast.walk(rule.goal) if isinstance(goal, Simple)]
    if any(event.module == module.name and event.name in made for goal in goals for event in goal.types):
        yield "events are fed back"
    if any(event.module not in (None, module.name) for goal in goals for event in goal.types):
        yield "events of another module"


def measure(program: Program, history: list[Change]) -> Iterator[str]:
    """What a case comes to."""
    _seen.clear()
    rows = fired(program, history)
    yield from ["it fires"] if rows else []
    yield from sorted(_seen)
    yield from ["both modules fire"] if len({row.module for row in rows}) > 1 else []
    ways = [carried_out(translate(module, program)) for module in program.modules]
    if any(way == "compiled to machine code" for way in ways):
        yield "machine code"
    if all(way.startswith("compiled") for way in ways):
        yield "by the kernel"
    if any(chained_key(module, program).key for module in program.modules if not module.partition):
        yield "rules keep to one key"
    yield from sorted(set(constructs(program)))


def main(cases: int) -> None:
    counts: Counter[str] = Counter()
    _AtStage._begun_or_gone_on = _watched  # type: ignore[method-assign]  # it is only looked at

    @seed(random.randrange(2**32))
    @settings(max_examples=cases, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(programs(), histories())
    def count(text: str, history: list[Change]) -> None:
        counts["all"] += 1
        try:
            program = check(parse(text).program, RELATIONS, TIMESTAMP).program
            run_plainly(program, history, 300, in_order(history))
        except ProgramCheckError:
            counts["refused by the check"] += 1
        except AceleraError:
            counts["too large"] += 1
        else:
            counts.update(measure(program, history))

    count()
    for what, number in counts.most_common():
        print(f"{number:6} {100 * number // counts['all']:3}%  {what}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

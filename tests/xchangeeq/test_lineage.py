"""What derived events were made from: each has a way, and each way is one by the definitions."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from acelera.errors import AceleraError, QueryCheckError
from acelera.xchangeeq import ast
from acelera.xchangeeq.heads import is_grouping
from acelera.xchangeeq.lineage import Way, alike, lineage
from acelera.xchangeeq.normal import normal_rules
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.semantics.construction import Construction, columns_of, outside, split
from acelera.xchangeeq.semantics.entailment import Interpretation, entailed, interval, satisfies
from acelera.xchangeeq.semantics.timers import Clock, Timer
from acelera.xchangeeq.simulation import Substitution, joined, simulations
from acelera.xchangeeq.terms import Event
from xchangeeq import trees
from xchangeeq.building import SECOND, ev
from xchangeeq.building import term as made_term
from xchangeeq.programs import P
from xchangeeq.strategies import programs
from xchangeeq.test_programs import PAGE_22, PAYMENTS


def parsed(text: str) -> ast.Program:
    return parse_program(text)


def check_way(goal: Event, way: Way, model: frozenset[Event], clock: Clock, construction: Construction) -> None:
    """The definitions, one by one, over this trace: every literal, every condition, and what the head makes of Στ."""
    rule = way.rule
    assert set(way.trace) == set(rule.identifiers)
    assert interval(way.trace) == (goal.begin, goal.end)
    literals = [*rule.events, *rule.absolute, *rule.periodic, *rule.relative, *rule.collects, *rule.nots]
    those: list[Substitution] = [{}]
    given_all = Interpretation(model, clock)
    for literal in literals:
        steps = entailed(literal, way.trace, those, given_all)
        those = next(left for trace, left in steps if trace == way.trace)
    those = [one for one in those if satisfies(rule.conditions, way.trace, one, clock)]
    parts = [
        part
        for part in split(those, outside(rule.head))
        if construction.term(rule.head, part, (rule.head.label,)) == goal.term
    ]
    assert parts
    for literal, events in zip(rule.collects, way.collected, strict=True):
        window = way.trace[literal.window]
        inside = {each for each in model if window.begin <= each.begin and each.end <= window.end}
        fitting = [
            {each for each in inside if any(_fits(one, part) for one in simulations(literal.query, each.term))}
            for part in parts
        ]
        if is_grouping(rule.head):
            assert set(events) in fitting
        assert events and any(set(events) <= each for each in fitting)  # what is recursive uses what came before


def _fits(one: Substitution, part: Iterable[Substitution]) -> bool:
    return any(joined(one, each) is not None for each in part)


def checked(program: ast.Program, events: list[Event], tick: int = SECOND) -> dict[Event, Way]:
    """The lineage of all that is derived, after a look at each way of it."""
    base = frozenset(events)
    derived = derive(program, events, tick=tick)
    ways = lineage(program, events, derived, tick=tick)
    assert ways.keys() == derived
    ends = [each.end for each in base]
    clock = Clock(tick, min(ends), max(ends)) if ends else Clock(tick)
    construction = Construction(
        "nodes", columns_of((rule.head, [query for _, query in rule.queries]) for rule in normal_rules(program))
    )
    known = set(base)
    for goal, way in ways.items():  # each after all it was made from
        check_way(goal, way, base | derived, clock, construction)
        used = (*way.trace.values(), *(each for group in way.collected for each in group))
        assert {each for each in used if isinstance(each, Event)} <= known
        known.add(goal)
    return ways


def by_label(ways: dict[Event, Way], label: str) -> list[Way]:
    return [way for event, way in ways.items() if event.label == label]


def test_p_on_the_stream_of_page_22() -> None:
    ways = checked(trees.P.tree, PAGE_22)
    first, smoke, second = PAGE_22
    [fire], [burnt], [average] = (by_label(ways, label) for label in ("fire", "burnt_down", "avg_temp"))
    assert fire.trace == {"s": smoke, "t": second} and fire.rule.number == 0
    assert burnt.trace == {"n": second, "i": Timer(80, 92)} and burnt.collected == ()
    assert average.trace == {"m": second, "i": Timer(10, 70)} and average.collected == ((first,),)


STREAMS = {
    "recovered": (trees.RECOVERED, [ev("heartbeat", at, host=h) for h, at in [("h1", 0), ("h1", 60), ("h1", 300), ("h2", 100)]]),
    "velocity": (trees.VELOCITY, PAYMENTS),
    "minutes": (trees.MINUTES, [ev("temp", at, sensor=s, value=at % 7) for at in range(0, 200, 9) for s in "st"]),
    "uninsured": (trees.UNINSURED, [ev("order", 5, id=1, item=[{"sku": "a", "price": 2000}, {"sku": "b", "price": 1500, "insurance": "full"}, {"sku": "c", "price": 1700}])]),
    "unsafe": (trees.UNSAFE, [ev("run", 10, 20, machine=1), ev("door_open", 12, 15, machine=1), ev("door_open", 12, 25, machine=1)]),
}  # fmt: skip


@pytest.mark.parametrize(("written", "events"), STREAMS.values(), ids=STREAMS)
def test_programs_of_the_contract(written: trees.Written, events: list[Event]) -> None:
    assert checked(written.tree, events)


def test_recursion_leads_down_to_base_events() -> None:
    text = """
    DETECT d { v { var X } } ON event i: e {{ v {{ var X }} }} END
    DETECT e { v { var X } } ON event i: d {{ v {{ var X }} }} END
    DETECT d { v { var X } } ON event i: a {{ v {{ var X }} }} END
    """
    [first, second] = checked(parsed(text), [ev("a", 1, 2, v=1)]).items()
    assert first[0].label == "d" and first[1].rule.number == 2  # and not from e, which is made from d
    assert second[1].trace == {"i": first[0]}


def test_a_chain_through_a_recursive_rule() -> None:
    text = """
    DETECT bad { lot { var L } } ON event t: test {{ lot {{ var L }} }} END
    DETECT bad { lot { var B } } ON and { event c: bad {{ lot {{ var A }} }}, event m: mix {{ from {{ var A }}, into {{ var B }} }} }
    where { c before m } END
    """
    events = [ev("test", 0, lot=0), *(ev("mix", n, **{"from": n - 1}, into=n) for n in range(1, 9))]
    ways = checked(parsed(text), events)
    assert len(ways) == 9
    last = next(way for event, way in ways.items() if event == ev("bad", 0, 8, lot=8))
    assert last.trace == {"c": ev("bad", 0, 7, lot=7), "m": events[8]}


def test_an_optional_variable_is_not_taken_from_what_was_made() -> None:
    text = "DETECT d { u { var U } } ON and { event i: a {{ optional u {{ var U }} }} } END"
    events = [ev("a", 1, w=1), ev("a", 1, w=2, u=5)]
    ways = checked(parsed(text), events)
    assert {event: way.trace["i"] for event, way in ways.items()} == {
        ev("d", 1): events[0],
        ev("d", 1, u=5): events[1],
    }


def test_what_a_not_forbids_is_no_way() -> None:
    text = "DETECT d { } ON and { event i: a {{ k {{ var K }} }}, while i: not b {{ k {{ var K }} }} } END"
    events = [ev("a", 1, 5, k="x"), ev("b", 2, k="x"), ev("a", 1, 5, k="y"), ev("b", 2, k="z")]
    [way] = checked(parsed(text), events).values()
    assert way.trace == {"i": events[2]}


def test_only_what_was_made_of_them_is_collected() -> None:
    text = """
    DETECT d { k { var K }, n { count(all var V) } }
    ON and { event w: w {{ }}, while w: collect a {{ k {{ var K }}, v {{ var V }} }} } END
    """
    events = [ev("w", 0, 9), ev("a", 1, k="x", v=1), ev("a", 2, k="y", v=1), ev("a", 3, k="x", v=1)]
    ways = checked(parsed(text), events)
    assert ways[ev("d", 0, 9, k="x", n=2)].collected == ((events[1], events[3]),)
    assert ways[ev("d", 0, 9, k="y", n=1)].collected == ((events[2],),)


def test_what_no_rule_makes_is_left_out() -> None:
    wrong = [
        ev("fire", 65, 79, area="a"),
        ev("fire", 65, 80, area="b"),
        ev("other", 1),
        ev("avg_temp", 10, 80, sensor="s", value=41),
    ]
    assert lineage(trees.P.tree, PAGE_22, wrong, tick=SECOND) == {}


def test_floats_may_differ_in_their_last_digits() -> None:
    near = ev("avg_temp", 10, 80, sensor="s", value=40.00000000001)
    assert lineage(trees.P.tree, PAGE_22, [near], tick=SECOND).keys() == {near}
    assert alike(0.1 + 0.2, 0.3) and alike(3, 3.0000000000001)
    assert not alike(1, 2) and not alike("1", 1.0) and not alike(True, 1.0) and not alike(0.1, 0.2)
    assert alike(made_term("d", v=[0.1 + 0.2, 1]), made_term("d", v=[0.3, 1.0]))
    assert not alike(made_term("d", v=[0.3, 1]), made_term("d", v=[1, 0.3])) and not alike(
        made_term("d", v=1), made_term("e", v=1)
    )


def test_what_cannot_be_stratified_is_refused() -> None:
    with pytest.raises(QueryCheckError, match="not stratifiable"):
        lineage(parsed("DETECT d { } ON and { event i: a {{ }}, while i: not d {{ }} } END"), [], [])


def test_aggregates_by_the_letter() -> None:
    derived = derive(trees.VELOCITY.tree, PAYMENTS, aggregates="set", tick=SECOND)
    assert lineage(trees.VELOCITY.tree, PAYMENTS, derived, aggregates="set", tick=SECOND).keys() == derived
    assert lineage(trees.VELOCITY.tree, PAYMENTS, derived, tick=SECOND).keys() < derived


# --- random programs

KS, NUMBERS = st.sampled_from(["r", "s"]), st.integers(0, 2)
ITEMS = st.lists(st.fixed_dictionaries({"sku": KS}, optional={"n": NUMBERS}), max_size=2)
COLUMNS = {
    "a": st.fixed_dictionaries({"k": KS, "v": NUMBERS}, optional={"x": st.sampled_from([0.5, 1.0])}),
    "b": st.fixed_dictionaries({"k": KS, "v": NUMBERS, "nest": st.fixed_dictionaries({"p": NUMBERS, "q": KS})}),
    "c": st.fixed_dictionaries({"k": KS, "item": ITEMS, "tag": st.lists(KS, max_size=2)}),
}


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    found = []
    for _ in range(draw(st.integers(1, 7))):
        label, begin = draw(st.sampled_from("abc")), draw(st.integers(0, 9))
        found.append(ev(label, begin, begin + draw(st.integers(0, 3)), **draw(COLUMNS[label])))
    return found


@pytest.mark.property
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "60")))
@given(programs(), streams())
def test_random_programs(program: ast.Program, events: list[Event]) -> None:
    try:
        derived = derive(program, events, tick=SECOND // 2)
    except AceleraError:
        assume(False)
        return
    assume(0 < len(derived) < 60)
    checked(program, events, SECOND // 2)


# --- many events


def test_two_thousand_events_take_seconds() -> None:
    """How often events are compared is what counts: far less than each with each."""
    drawn, events = random.Random(1), []
    for at in range(2_000):
        kind, area, sensor = (
            drawn.choice(["smoke", "temp", "temp"]),
            f"a{drawn.randrange(5)}",
            f"s{drawn.randrange(10)}",
        )
        columns = (
            {"area": area} if kind == "smoke" else {"area": area, "sensor": sensor, "value": drawn.randrange(20, 60)}
        )
        events.append(ev(kind, at, at + 1, **columns))
    derived = fires_and_averages(events)
    assert len(derived) > 2_000
    assert lineage(parsed(P), events, derived, tick=SECOND).keys() == derived


def fires_and_averages(events: list[Event]) -> set[Event]:
    """What rules 1 and 3 of P derive of events in order of their begins, which last for 1."""
    found, rows = set(), [(each, {child.label: child.children[0] for child in each.term.children}) for each in events]  # type: ignore[union-attr]
    for number, (event, row) in enumerate(rows):
        if event.label == "smoke":
            continue
        before = rows[max(0, number - 61) : number]
        if row["value"] > 40:  # type: ignore[operator]
            near = [each.begin for each, other in before if each.label == "smoke" and other["area"] == row["area"]]
            found |= {
                ev("fire", at, event.end, area=row["area"])
                for at in near
                if at + 1 < event.begin and event.end - at <= 60
            }
        values = [
            other["value"]
            for each, other in before
            if each.label == "temp" and other["sensor"] == row["sensor"] and event.begin - 60 <= each.begin
        ]
        if values:
            mean = sum(values) / len(values)  # type: ignore[arg-type]
            found.add(ev("avg_temp", event.begin - 60, event.end, sensor=row["sensor"], value=mean))
    return found

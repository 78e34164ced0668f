"""Components of rules, and their keys: to run each bucket on its own, and all together, is the same."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from acelera.algebra.bounds import NetworkBuilder
from acelera.algebra.construction import Child, Children, Computed, Head
from acelera.algebra.expressions import Attribute
from acelera.algebra.operators import Choice, Events
from acelera.algebra.patterns import VALUE, Content, Part, Pattern
from acelera.algebra.rules import Rule
from acelera.errors import AceleraError
from acelera.programs.components import Component, components_of, lines
from acelera.xchangeeq import ast
from acelera.xchangeeq.checker import check
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.terms import Event, Term, events_of, identity
from programs.translated import rules_of, rules_of_text
from xchangeeq.programs import SCHEMAS as KNOWN
from xchangeeq.programs import TWELVE, P
from xchangeeq.strategies import SCHEMAS, programs

SECOND = 1_000_000
STRING = pa.string()


def components(text: str, **columns: pa.Schema) -> tuple[Component, ...]:
    schemas = columns or KNOWN
    return components_of(rules_of_text(text, schemas), schemas)


def test_program_p_has_three() -> None:
    fire, burnt_down, avg_temp = components(P)
    assert fire.key == {"smoke": "area", "temp": "area", "fire": "area"}
    assert burnt_down.key == {"temp": "sensor", "burnt_down": "sensor"}
    assert avg_temp.key == {"temp": "sensor", "avg_temp": "sensor"}
    assert [each.rules for each in (fire, burnt_down, avg_temp)] == [(0,), (1,), (2,)]
    assert lines([fire, burnt_down, avg_temp]) == [
        "rows wait for the watermark, in 3 parts that need nothing of one another",
        "fire: split by smoke.area, temp.area, in 16 buckets with a state each",
        "burnt_down: split by temp.sensor, in 16 buckets with a state each",
        "avg_temp: split by temp.sensor, in 16 buckets with a state each",
    ]


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("fraud: one card", [{"payment": "card", "two_places": "card"}]),
        ("fraud: count and sum", [{"payment": "card", "burst": "card", "velocity": "card"}]),
        ("IoT: tumbling", [{"temp": "sensor", "minute": "sensor"}]),
        ("logistics: nested", [{"order": "id", "uninsured": "order"}]),
        ("commerce", [{"web_order": "id", "payment": "order", "cancellation": "order", "stuck": "order", "shop_order": "id"}]),
        ("food safety", [{}]),
        ("retail", [{"sale": "shop", "daily": "shop"}]),
        ("security", [{"alarm": "host", "restart": "host", "page": "host"}]),
    ],
)  # fmt: skip
def test_keys_of_the_contract(title: str, keys: list[dict[str, str]]) -> None:
    (text,) = (text for name, text in TWELVE.items() if name.startswith(title))
    assert [each.key for each in components(text)] == keys


def test_rules_are_connected_through_what_they_derive() -> None:
    text = "".join(TWELVE[name] for name in list(TWELVE)[:2])
    (both,) = components(text)
    assert both.rules == (0, 1)
    assert both.labels == ("heartbeat", "silent", "recovered")
    assert both.key == {"heartbeat": "host", "silent": "host", "recovered": "host"}


# --- why there is no key ------------------------------------------------------------------------------------------

AB = {"a": pa.schema({"k": STRING, "l": STRING}), "b": pa.schema({"k": STRING, "n": pa.list_(STRING)})}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "DETECT r { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event j: b {{ }} } END",
            "in the rule of r, var K stands in no column of b, or in one of several values",
        ),
        (
            "DETECT r { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event j: b {{ n {{ var K }} }} } END",
            "in the rule of r, var K stands in no column of b, or in one of several values",
        ),
        (
            "DETECT r { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event j: a {{ l {{ var K }} }} } END",
            "in the rule of r, var K stands in different columns of one label",
        ),
        (
            "DETECT r { n { count(all var K) } } ON event i: a {{ k {{ var K }} }} END",
            "the rule of r makes no child that is a variable and nothing else",
        ),
        (
            "DETECT r { k { var K } } ON event i: a {{ k {{ var K }} }} END "
            "DETECT r { k { var K } } ON event i: a {{ l {{ var K }} }} END",
            "rule 2 of r would have to be split by other columns than the rules before it",
        ),
        (
            "DETECT r { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event c: timer:periodic [ 1 min ] } "
            "where { c before i } END",
            "the rule of r may look at what the clock c showed before the first of its rows",
        ),
        ("DETECT r { k { var K } } ON event i: b {{ k {{ var K }}, optional n {{ var N }} }} END", None),
        ("DETECT r { k { var K } } ON event i: a {{ optional k {{ var K }} }} END", "var K stands in no column of a"),
    ],
)
def test_why_there_is_no_key(text: str, reason: str | None) -> None:
    (found,) = components(text, **AB)
    assert bool(found.key) == (reason is None)
    assert (reason or "split by b.k") in found.line()


def test_values_of_different_types_are_hashed_differently() -> None:
    text = "DETECT r { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event j: b {{ k {{ var K }} }} } END"
    schemas = {"a": pa.schema({"k": pa.int64()}), "b": pa.schema({"k": pa.float64()})}
    (found,) = components(text, **schemas)
    assert found.reason == "its key has no single type of plain values: a.k is of type int64, b.k is of type double"


def test_another_variable_may_have_one_type() -> None:
    kids = "k {{ var K }}, s {{ var S }}"
    text = f"DETECT r {{ k {{ var K }}, s {{ var S }} }} ON and {{ event i: a {{{{ {kids} }}}}, event j: b {{{{ {kids} }}}} }} END"
    schemas = {"a": pa.schema({"k": pa.int64(), "s": STRING}), "b": pa.schema({"k": pa.float64(), "s": STRING})}
    (found,) = components(text, **schemas)
    assert found.key == {"a": "s", "b": "s", "r": "s"}


@pytest.mark.parametrize(("window", "reads_all"), [("c", False), ("i", True)])
def test_a_clock_that_holds_an_event_begins_with_it(window: str, reads_all: bool) -> None:
    body = (
        "event c: timer:periodic [ 1 min ], event i: timer:shift-forward [ event c, 1 min ], "
        f"while {window}: collect a {{{{ k {{{{ var K }}}} }}}}"
    )
    (found,) = components(f"DETECT r {{ k {{ var K }} }} ON and {{ {body} }} END", **AB)
    assert bool(found.key) != reads_all
    assert found.reads_all == reads_all


def test_what_only_clocks_make_reads_all() -> None:
    (found,) = components("DETECT tick { } ON event c: timer:periodic [ 1 min ] END", **AB)
    assert found.reads_all
    assert found.buckets == 1


def test_many_choices_end_soon() -> None:
    """Twenty labels with ten columns each, and a rule that needs them all: no key, and no long search for one."""
    names = [f"v{number}" for number in range(10)]

    def made(label: str, *asked: str, turned: int = 0) -> Rule:
        def part(name: str, number: int, place: int) -> Part:
            value = Part(VALUE, Content(binds=(names[(number + turned * place) % 10],)))
            return Part(name, Content(inner=Pattern((value,))))

        types = tuple((name, STRING) for name in names)
        contents = [Pattern(tuple(part(name, n, i) for n, name in enumerate(names))) for i, _ in enumerate(asked)]
        events = tuple(
            Events((Choice(each, Content(inner=contents[n])),), f"e{n}", types) for n, each in enumerate(asked)
        )
        head = Head(label, Children(tuple(Child(name, (Computed(Attribute(name), STRING),), STRING) for name in names)))
        return Rule(head, events, (), NetworkBuilder().network())

    rules = [made(f"d{number}", f"b{number}") for number in range(20)]
    rules.append(
        made("last", *(f"d{number}" for number in range(20)), *(f"b{number}" for number in range(20)), turned=1)
    )
    columns = {f"b{number}": pa.schema(dict.fromkeys(names, STRING)) for number in range(20)}
    (found,) = components_of(rules, columns)
    assert found.reason.startswith("the rule of last would have to be split")


# --- each bucket on its own ---------------------------------------------------------------------------------------

BUCKETS = 3
NOW = "#now"
"""The label of an event that nobody asks for, which says how far the stream is."""


def with_keys(program: ast.Program) -> ast.Program:
    """The same rules with one more variable, in a column of all events that they ask for, and of those they make."""

    def query(node: ast.Query) -> ast.Query:
        if not isinstance(node, ast.Labelled) or node.label in ast.ABSOLUTE:
            return node
        return replace(node, children=(ast.Labelled("key", (ast.Binds("Key"),)), *node.children))

    def body(node: ast.Body) -> ast.Body:
        match node:
            case ast.Event() | ast.While():
                return replace(node, query=query(node.query))
            case ast.AllOf(bodies) | ast.OneOf(bodies):
                return type(node)(tuple(map(body, bodies)))
            case ast.Where(inner, _):
                return replace(node, body=body(inner))
        return node

    def rule(one: ast.Rule) -> ast.Rule:
        head = replace(one.head, children=(ast.Construct("key", (ast.Variable("Key"),)), *one.head.children))
        return ast.Rule(head, body(one.body))

    return ast.Program(tuple(map(rule, program.rules)))


KEYED = {label: schema.append(pa.field("key", STRING)) for label, schema in SCHEMAS.items()}
TEXTS, NUMBERS = st.sampled_from(["r", "s", "t", None]), st.sampled_from([1, 0, 2, None])
ROWS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "a": st.fixed_dictionaries({"k": TEXTS, "v": NUMBERS, "x": st.sampled_from([None, 0.5, 1.0])}),
    "b": st.fixed_dictionaries({"k": TEXTS, "v": NUMBERS, "nest": st.none() | st.fixed_dictionaries({"p": NUMBERS, "q": TEXTS})}),
    "c": st.fixed_dictionaries(
        {
            "k": TEXTS,
            "item": st.lists(st.fixed_dictionaries({"sku": TEXTS, "n": NUMBERS}), max_size=2),
            "tag": st.lists(TEXTS, max_size=2),
        }
    ),
}  # fmt: skip


@st.composite
def events(draw: st.DrawFn) -> list[Event]:
    """Base events of random programs, in a quarter of a minute."""
    found: list[Event] = []
    for label, schema in KEYED.items():
        for row in draw(st.lists(ROWS[label], min_size=1, max_size=5)):
            begin = draw(st.integers(0, 9)) * SECOND
            times = {"begin": [begin], "end": [begin + draw(st.sampled_from([0, 0, 1, 4])) * SECOND]}
            table = pa.Table.from_pylist([{**row, "key": draw(TEXTS)}], schema)
            for name, values in times.items():
                table = table.append_column(name, pa.array(values, pa.int64()))
            found += events_of(table, label, begin="begin", end="end")
    return found


def bucket_of(given: Event, component: Component) -> int | None:
    """Where an event goes, if anywhere."""
    if component.reads_all or (given.label in component.labels and not component.key):
        return 0
    wanted = component.key.get(given.label)
    for child in given.term.children:
        if isinstance(child, Term) and child.label == wanted:
            return zlib.crc32(repr(identity(child.children[0])).encode()) % BUCKETS
    return None


def apart(
    program: ast.Program, component: Component, numbers: list[int], given: list[Event]
) -> Iterator[frozenset[Event]]:
    """What each bucket of a component derives; its clock begins with its first row, and goes on as all of them do."""
    part = ast.Program(tuple(program.rules[number] for number in sorted({numbers[each] for each in component.rules})))
    end = max(each.end for each in given)
    for number in range(BUCKETS):
        own = [each for each in given if bucket_of(each, component) == number]
        if own:
            yield derive(part, [*own, Event(Term(NOW), end, end)])


KEYED_PROGRAMS = programs(recursion=False).map(with_keys)
PROGRAMS = st.one_of(KEYED_PROGRAMS, KEYED_PROGRAMS, KEYED_PROGRAMS, programs())


@pytest.mark.property
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "100")))
@given(program=PROGRAMS, given=events())
def test_buckets_together_are_the_whole(program: ast.Program, given: list[Event]) -> None:
    try:
        checked = check(program, KEYED)
        expected = derive(program, given)
    except AceleraError:
        assume(False)
    rules = rules_of(checked)
    found = components_of(rules, KEYED)
    event(f"keys: {sum(bool(each.key) for each in found)}, events: {min(len(expected), 1)}")
    numbers = [each.number for each in rules]
    assert sorted(number for each in found for number in each.rules) == list(range(len(numbers)))
    united = [each for component in found for bucket in apart(program, component, numbers, given) for each in bucket]
    assert frozenset(united) == expected
    assert len(united) == len(expected)

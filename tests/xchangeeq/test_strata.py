"""Which rule needs which, and in what order."""

import pytest

from acelera.programs.problems import Notes
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.strata import graph_of, stratify
from xchangeeq.programs import P

COPY = "DETECT {} {{ }} ON {} {{{{ }}}} END "
NEGATION = "DETECT {} {{ }} ON and {{ event i: a {{{{ }}}}, while i: not {} {{{{ }}}} }} END "
GROUPING = "DETECT {} {{ n {{ count(all var V) }} }} ON {} {{{{ v {{{{ var V }}}} }}}} END "
TIMER = (
    "DETECT {} {{ }} ON and {{ event i: {} {{{{ }}}}, event w: timer:extend [ event i, 1 s ], "
    "event x: timer:extend [ event w, 1 s ] }} END "
)


def strata(*rules: str) -> tuple[int, ...] | list[str]:
    """The strata, or what is said against them."""
    notes = Notes()
    found = stratify(graph_of(parse_program("".join(rules))), notes)
    return [problem.message for problem in notes.problems] if found is None else found.numbers


def test_rules_over_base_events_stand_in_one_stratum() -> None:
    assert strata(P) == (0, 0, 0)


@pytest.mark.parametrize("kind", [NEGATION, GROUPING, TIMER])
def test_strict_edges_lift_a_rule(kind: str) -> None:
    assert strata(kind.format("e", "d"), COPY.format("d", "b")) == (1, 0)
    assert strata(kind.format("f", "e"), kind.format("e", "d"), COPY.format("d", "b")) == (2, 1, 0)


def test_plain_edges_do_not() -> None:
    assert strata(COPY.format("e", "d"), COPY.format("d", "b")) == (0, 0)
    assert strata(COPY.format("f", "e"), NEGATION.format("e", "d"), COPY.format("d", "b")) == (1, 1, 0)


def test_positive_recursion_stands_in_one_stratum() -> None:
    assert strata(COPY.format("d", "e"), COPY.format("e", "d"), COPY.format("d", "b")) == (0, 0, 0)


def test_an_event_that_no_timer_hangs_on_is_not_strict() -> None:
    text = "DETECT e { } ON and { event i: a {{ }}, event j: d {{ }}, event w: timer:extend [ event i, 1 s ] } END "
    assert strata(text, COPY.format("d", "b")) == (0, 0)


@pytest.mark.parametrize("root", ["* {{ }}", "desc x {{ }}", "var X -> * {{ }}", "var X"])
def test_a_query_of_any_label_needs_every_rule(root: str) -> None:
    text = f"DETECT e {{ }} ON and {{ event i: a {{{{ }}}}, while i: not {root} }} END "
    assert strata(text) == ["not stratifiable: e depends on itself through negation"]
    assert strata(f"DETECT e {{ }} ON {root} END ", GROUPING.format("d", "b")) == (0, 0)


def test_labels_below_variables_count() -> None:
    text = "DETECT e { } ON and { event i: a {{ }}, while i: not var X -> d {{ }} } END "
    assert strata(text, COPY.format("d", "b")) == (1, 0)


@pytest.mark.parametrize(("kind", "through"), [(NEGATION, "negation"), (GROUPING, "grouping"), (TIMER, "the timer w")])
def test_cycles_with_a_strict_edge_are_refused(kind: str, through: str) -> None:
    assert strata(kind.format("d", "d")) == [f"not stratifiable: d depends on itself through {through}"]
    assert strata(kind.format("d", "e"), COPY.format("e", "f"), COPY.format("f", "d")) == [
        f"not stratifiable: d depends on itself through {through}"
    ]


def test_the_way_is_named() -> None:
    notes = Notes()
    text = NEGATION.format("d", "e") + COPY.format("e", "f") + COPY.format("f", "d")
    assert stratify(graph_of(parse_program(text)), notes) is None
    assert (notes.problems[0].hint or "").startswith("the way is d → e → f → d, where")
    span = notes.problems[0].span
    assert span is not None and text[span.start : span.end] == "e {{ }}"


def test_one_alternative_is_enough() -> None:
    text = "DETECT d { } ON and { event i: a {{ }}, or { b {{ }}, while i: not d {{ }} } } END "
    assert strata(text) == ["not stratifiable: d depends on itself through negation"]


def test_levels_list_the_rules() -> None:
    notes = Notes()
    found = stratify(graph_of(parse_program(NEGATION.format("e", "d") + COPY.format("d", "b"))), notes)
    assert found is not None and found.levels == ((1,), (0,))


def test_recursion_is_seen() -> None:
    graph = graph_of(parse_program(COPY.format("d", "e") + COPY.format("e", "d") + COPY.format("f", "d")))
    assert [graph.is_recursive(rule) for rule in range(3)] == [True, True, False]


def test_needed_rules_come_first() -> None:
    text = COPY.format("f", "e") + COPY.format("e", "d") + COPY.format("d", "b") + COPY.format("e", "e")
    assert graph_of(parse_program(text)).needed_first() == [2, 1, 3, 0]

"""Pictures of automata."""

import itertools
import re
from xml.etree import ElementTree

import pytest

import acelera as ac
from acelera import Acea, Move
from acelera.automata.labels import label_text
from acelera.drawing.layout import Size, laid_out
from acelera.drawing.svg import _Picture

QUERY = ac.query("MATCH SELL AS msft ; BUY+ FILTER msft[price > 100] AGG m[hi <- max(BUY.price)]")


def test_labels_read_like_the_query() -> None:
    labels = [label_text(t.label) for t in QUERY.automaton.transitions]
    assert labels[0] == "SELL, price > 100 → msft [hi_1 ← max()]"
    assert "any" in labels
    assert "BUY → BUY [hi_1 ← max(hi_1, price)]" in labels
    assert label_text(ac.query("MATCH A AS x PROJECT x").automaton.transitions[0].label) == "A → x without A"
    assert label_text(ac.query("MATCH A AGG m[n <- count(A)]").automaton.transitions[0].label).startswith("A → m(n) [")
    assert label_text(ac.query("MATCH START(A)").automaton.transitions[0].label) == "A, first position → A"


def test_dot() -> None:
    dot = QUERY.automaton.draw().dot
    assert dot.startswith("digraph acea {") and dot.endswith("}")
    assert len(re.findall(r"^  s\d+ \[", dot, re.MULTILINE)) == QUERY.automaton.states
    assert dot.count("doublecircle") == len(QUERY.automaton.finals)
    assert str(QUERY.automaton.draw()) == dot


def test_odd_names_are_escaped() -> None:
    odd = ac.query("""MATCH `a"b\\` AS `<x>` FILTER `<x>`[s = '"|#;']""").automaton.draw()
    assert r"\"" in odd.dot and r"\\" in odd.dot
    assert "<x>" not in odd.mermaid and '"|#' not in odd.mermaid


def test_mermaid() -> None:
    mermaid = QUERY.automaton.draw().mermaid
    assert mermaid.startswith("flowchart LR")
    assert mermaid.count("-->") == len({(t.source, t.target) for t in QUERY.automaton.transitions}) + 1


def test_guards_are_drawn() -> None:
    drawing = ac.query("MATCH (A ; B) UNLESS C").automaton.draw()
    assert 'subgraph "guard 1"' in drawing.mermaid and "C → C" in drawing.mermaid
    assert "subgraph cluster_1" in drawing.dot and "C → C" in drawing.dot


# --- SVG ----------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
HANDMADE = Acea.of(
    initial="<begin> & wait a while",
    finals=["go"],
    moves=[
        Move("<begin> & wait a while", "go", when="type = 'R'", assign={"t": "a"}, marks={"out": {"total": "t"}}),
        Move("go", "go", when="type = 'R'", assign={"t": "t + a"}, marks={"out": {"total": "t"}}),
        Move("go", "<begin> & wait a while", when="s = '</text><script>' AND a > 1"),
    ],
)
AUTOMATA = {
    "sequence": QUERY.automaton,
    "guard": ac.query("MATCH (A ; B) UNLESS (C ; D)").automaton,
    "all": ac.query("MATCH (A ALL B) ALL C").automaton,
    "back": ac.query("MATCH (A ; B : C)+ OR (C : D:+) FILTER A.v > 3 OR D.v < 2").automaton,
    "handmade": HANDMADE,
    "long": ac.query(f"MATCH A FILTER A.v IN ({', '.join(map(str, range(200)))})").automaton,
    "nothing": ac.query("MATCH A AND (B ; B)").automaton,
}


def drawn(automaton: Acea) -> ElementTree.Element:
    return ElementTree.fromstring(automaton.draw().svg())


def of_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in root.iter() if name in each.get("class", "").split()]


@pytest.mark.parametrize("automaton", AUTOMATA.values(), ids=AUTOMATA)
def test_svg_has_all_states_and_transitions(automaton: Acea) -> None:
    root, parts = drawn(automaton), [automaton, *automaton.guards]
    names = [part.name(state) for part in parts for state in range(part.states)]
    titles = [each.findtext(f"{SVG}title", "") for each in of_class(root, "node")]
    assert sorted(title.split(", ")[0] for title in titles) == sorted(names)
    assert sum(title.endswith("final") for title in titles) == sum(len(part.finals) for part in parts)
    assert sum(", initial" in title for title in titles) == len(parts)
    arrows = sorted(
        {(part.name(t.source), part.name(t.target), i) for i, part in enumerate(parts) for t in part.transitions}
    )
    shown = of_class(root, "arrow")
    assert sorted((e.get("data-from"), e.get("data-to")) for e in shown) == sorted((a, b) for a, b, _ in arrows)
    told = [title.text for each in shown for title in each.iter(f"{SVG}title")]
    assert sorted(told) == sorted(label_text(t.label) for part in parts for t in part.transitions)


@pytest.mark.parametrize("automaton", AUTOMATA.values(), ids=AUTOMATA)
def test_labels_and_states_have_room(automaton: Acea) -> None:
    """No label lies on another one or on a state, and all lie inside the picture."""
    for part in (automaton, *automaton.guards):
        picture = _Picture(part.draw().graph)
        boxes = [
            (p.x - p.size.width / 2, p.y - p.size.above, p.x + p.size.width / 2, p.y + p.size.below)
            for p in picture.layout.states
        ]
        for route, at in zip(picture.layout.routes, picture.layout.labels, strict=True):
            p = route[at]
            boxes.append((p.x - p.size.width / 2, p.y - p.size.above, p.x + p.size.width / 2, p.y + p.size.below))
        for one, two in itertools.combinations(boxes, 2):
            assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] + 1e-6 or two[3] <= one[1] + 1e-6
        assert all(
            x0 >= 0 and y0 >= -1e-6 and x1 <= picture.width and y1 <= picture.height + 1e-6 for x0, y0, x1, y1 in boxes
        )


def test_layers_go_from_left_to_right() -> None:
    layout = laid_out([Size(40, 20, 20)] * 4, 0, [(0, 1), (1, 2), (2, 1), (0, 3), (2, 3)], [Size(60, 14, 4)] * 5)
    assert [place.layer for place in layout.states] == [0, 2, 4, 6]
    assert layout.backward == [False, False, True, False, False]
    assert len({place.x for place in layout.states}) == 4
    assert [len(route) for route in layout.routes] == [1, 1, 1, 5, 1]


def test_long_labels_are_cut_and_told_in_full() -> None:
    text = label_text(AUTOMATA["long"].transitions[0].label)
    label = of_class(drawn(AUTOMATA["long"]), "label")[0]
    assert len(text) > 200 and label.findtext(f"{SVG}title") == text
    lines = [each.text or "" for each in label.iter(f"{SVG}tspan")]
    assert len(lines) == 3 and lines[-1].endswith("…") and all(len(line) <= 30 for line in lines)


def test_what_xml_cannot_hold_is_replaced() -> None:
    odd = Acea.of("p\x00\ud800", "q", [Move("p\x00\ud800", "q", when="s = '\x07\uffff<'")])
    assert "<rect" not in (drawn(odd).findtext(f"{SVG}title") or "") and len(of_class(drawn(odd), "node")) == 2


def test_notebooks_get_the_svg() -> None:
    drawing = QUERY.automaton.draw()
    bundle = drawing._repr_mimebundle_()
    assert bundle == {"text/plain": drawing.dot, "text/vnd.mermaid": drawing.mermaid, "image/svg+xml": drawing.svg()}
    assert QUERY.automaton._repr_mimebundle_() == bundle

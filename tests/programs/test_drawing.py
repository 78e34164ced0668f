"""Pictures of programs: every label and every use is there, in its band, with room."""

import itertools
from xml.etree import ElementTree

import pytest

from acelera.drawing.layout import Size, laid_out
from acelera.programs.drawing import _Picture, drawn
from acelera.programs.label_graph import LabelGraph, Use
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.rule_graph import label_graph
from xchangeeq.programs import TWELVE, P

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<script>alert(1)</script>"&\x07'


def chain(size: int) -> LabelGraph:
    """Rules of which each needs the two before it, every third through a negation; labels of 40 letters."""
    names = [f"n{number:02}".ljust(40, "x") for number in range(-2, size)]
    uses, strata = [], [0] * size
    for number in range(size):
        for back in (1, 2):
            through = "negation" if number % 3 == 0 else None
            uses.append(Use(names[number + 2 - back], names[number + 2], number, through))
            below = number - back
            if below >= 0:
                strata[number] = max(strata[number], strata[below] + (through is not None))
    return LabelGraph(tuple(names[2:]), tuple(uses), tuple(strata))


GRAPHS = {
    "p": label_graph(parse_program(P)),
    "twelve": label_graph(parse_program("".join(TWELVE.values()))),
    "one": LabelGraph(("d",), (Use("a", "d", 0),), (0,)),
    "nothing asked for": LabelGraph(("d",), (), (0,)),
    "recursion": LabelGraph(
        ("d", "e", "d"),
        (Use("a", "d", 0), Use("d", "e", 1), Use("e", "d", 2), Use("d", "d", 2)),
        (0, 0, 0),
    ),
    "no strata": LabelGraph(("d", "e"), (Use("e", "d", 0, "negation"), Use("d", "e", 1)), None),
    "thirty": chain(30),
    "nasty": LabelGraph((NASTY,), (Use("in" + NASTY, NASTY, 0, "the timer " + NASTY),), (0,)),
}


def of_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in root.iter() if name in each.get("class", "").split()]


def known(text: str) -> str:
    return text.replace("\x07", "�")


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_svg_has_all_labels_and_uses(graph: LabelGraph) -> None:
    root = ElementTree.fromstring(drawn(graph).svg())
    made, needed = set(graph.made), {use.needs for use in graph.uses}
    assert sorted(each.get("data-label", "") for each in of_class(root, "made")) == sorted(map(known, made))
    assert sorted(each.get("data-label", "") for each in of_class(root, "comes")) == sorted(map(known, needed - made))
    ends = sorted({(known(use.needs), known(use.makes)) for use in graph.uses})
    assert sorted((e.get("data-from"), e.get("data-to")) for e in of_class(root, "arrow")) == ends
    strict = sorted({(known(use.needs), known(use.makes)) for use in graph.uses if use.through})
    assert sorted((e.get("data-from"), e.get("data-to")) for e in of_class(root, "complete")) == strict
    assert not list(root.iter(f"{SVG}script"))


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_boxes_and_labels_have_room_in_their_bands(graph: LabelGraph) -> None:
    drawing = drawn(graph)
    picture = _Picture(drawing)
    places = [picture._at(place) for place in picture.layout.states]
    boxes = [(p.x - p.size.width / 2, p.y - p.size.above, p.x + p.size.width / 2, p.y + p.size.below) for p in places]
    for number, text in enumerate(picture.texts):
        if text is not None:
            p = picture._at(picture.layout.routes[number][picture.layout.labels[number]])
            boxes.append((p.x - text.width / 2, p.y - p.size.above, p.x + text.width / 2, p.y + p.size.below))
    for one, two in itertools.combinations(boxes, 2):
        assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] + 1e-6 or two[3] <= one[1] + 1e-6
    assert all(x0 >= 0 and y0 >= 0 and x1 <= picture.width and y1 <= picture.height for x0, y0, x1, y1 in boxes)
    root = ElementTree.fromstring(drawing.svg())
    ranges = [
        (float(b.get("x", "")), float(b.get("x", "")) + float(b.get("width", ""))) for b in of_class(root, "band")
    ]
    assert all(left[1] < right[0] for left, right in itertools.pairwise(ranges))
    for (_, inside), (low, high) in zip(drawing.levels, ranges, strict=True):
        assert all(
            low <= places[each].x - picture.half(each) and places[each].x + picture.half(each) <= high
            for each in inside
        )


def test_bands_are_strata() -> None:
    graph = LabelGraph(
        ("e", "d", "f", "d"),
        (Use("d", "e", 0, "negation"), Use("a", "d", 1), Use("a", "f", 2), Use("e", "f", 2), Use("b", "d", 3)),
        (1, 0, 1, 0),
    )
    drawing = drawn(graph)
    named = [(title, [drawing.labels[each] for each in inside]) for title, inside in drawing.levels]
    assert named == [("comes in", ["a", "b"]), ("stratum 1", ["d"]), ("stratum 2", ["e", "f"])]
    assert graph.rules_of("d") == (1, 3)
    root = ElementTree.fromstring(drawing.svg())
    assert [each.text for each in of_class(root, "title")] == ["comes in", "stratum 1", "stratum 2"]


def test_a_label_stands_where_the_last_of_its_rules_does() -> None:
    graph = LabelGraph(("d", "e", "d"), (Use("a", "d", 0), Use("a", "e", 1), Use("e", "d", 2, "grouping")), (0, 0, 1))
    assert graph.bands == {"a": 0, "e": 1, "d": 2}


def test_without_strata_there_are_two_bands() -> None:
    assert [title for title, _ in drawn(GRAPHS["no strata"]).levels] == ["is made"]
    graph = LabelGraph(("d",), (Use("a", "d", 0), Use("d", "d", 0, "negation")))
    assert [title for title, _ in drawn(graph).levels] == ["comes in", "is made"]


def test_arrows_tell_their_rules_and_reasons() -> None:
    graph = LabelGraph(
        ("d", "e", "e"), (Use("d", "e", 1), Use("d", "e", 1, "negation"), Use("d", "e", 2, "grouping")), (0, 1, 1)
    )
    [arrow] = drawn(graph).arrows
    assert arrow.reasons == ("negation", "grouping")
    assert arrow.told.splitlines() == [
        "rule 2 makes e from d",
        "rule 2 makes e from d; d must be complete before, because of negation",
        "rule 3 makes e from d; d must be complete before, because of grouping",
    ]


def test_long_labels_are_cut_and_told_in_full() -> None:
    long = "a" * 41
    root = ElementTree.fromstring(drawn(LabelGraph((long, "b" * 40), (Use(long, "b" * 40, 1),), (0, 0))).svg())
    shown = [each.text for each in of_class(root, "name")]
    assert sorted(map(str, shown)) == ["a" * 39 + "…", "b" * 40]
    assert f"{long}: made by rule 1" in [title.text for title in root.iter(f"{SVG}title")]


def test_dot_and_mermaid() -> None:
    drawing = drawn(GRAPHS["recursion"])
    assert drawing.dot.startswith("digraph rules {") and str(drawing) == drawing.dot
    assert drawing.dot.count("->") == drawing.mermaid.count("-->") == 4
    nasty = drawn(GRAPHS["nasty"])
    assert "<script>" not in nasty.mermaid and r"\"" in nasty.dot and "style=dashed" in nasty.dot
    bundle = nasty._repr_mimebundle_()
    assert bundle == {"text/plain": nasty.dot, "text/vnd.mermaid": nasty.mermaid, "image/svg+xml": nasty.svg()}


def test_layers_of_bands_follow_each_other() -> None:
    edges = [(0, 1), (1, 2), (2, 1), (0, 3), (3, 4)]
    layout = laid_out([Size(40, 20, 20)] * 5, 0, edges, [Size(0, 7, 7)] * 5, [0, 1, 1, 2, 2])
    assert [place.layer for place in layout.states] == [0, 2, 4, 6, 8]
    assert layout.backward == [False, False, True, False, False]


# --- what a program of XChangeEQ fills in


def test_p_as_a_graph() -> None:
    assert GRAPHS["p"] == LabelGraph(
        ("fire", "burnt_down", "avg_temp"),
        (
            Use("smoke", "fire", 0),
            Use("temp", "fire", 0),
            Use("temp", "burnt_down", 1, "the timer i"),
            Use("temp", "burnt_down", 1, "negation"),
            Use("temp", "avg_temp", 2, "the timer i"),
            Use("temp", "avg_temp", 2, "grouping"),
        ),
        (0, 0, 0),
    )


def test_queries_of_any_label_and_clocks() -> None:
    text = (
        "DETECT d { } ON and { event i: * {{ }}, event w: timer:periodic [ 1 min ] } END "
        'DETECT e { } ON and { event i: timer:date {{ weekday {{ "Mon" }} }}, while i: collect a {{ }} } END'
    )
    graph = label_graph(parse_program(text))
    assert {(use.needs, use.makes) for use in graph.uses} == {
        ("*", "d"), ("d", "d"), ("e", "d"), ("timer:periodic", "d"), ("timer:date", "e"), ("a", "e")
    }  # fmt: skip


def test_what_cannot_be_stratified_is_drawn_without_strata() -> None:
    graph = label_graph(parse_program("DETECT d { } ON and { event i: a {{ }}, while i: not d {{ }} } END"))
    assert graph.strata is None and drawn(graph).svg()

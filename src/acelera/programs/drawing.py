"""Pictures of programs: labels as boxes, a band for each stratum, arrows from what is asked for to what is made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from acelera.drawing.layout import Layout, Place, Size, laid_out
from acelera.drawing.pictures import dot_text, mermaid_text
from acelera.drawing.shapes import LOOP, Label, Point, arrow_head, looped, rounded, routed, shortened, xml_text
from acelera.programs.label_graph import LabelGraph

TALL = 15.0  # half the height of a box
LETTER = 7.3  # the width of a letter in it, at 12 pixels
LONGEST = 40  # letters of a label that are shown
NARROWEST = 40.0  # half the width of a box, so that the title of a band has room
MARGIN, TITLE = 14.0, 26.0
PLAIN = Size(0, 7, 7)  # the room of an arrow without a label

_STYLE = """
.rules { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: inherit; }
.rules rect, .rules path { fill: none; stroke: currentColor; stroke-width: 1.4; }
.rules .band { fill: currentColor; fill-opacity: .045; stroke: none; }
.rules .box { fill: var(--rules-box, none); }
.rules .comes .box { stroke-opacity: .5; }
.rules .made .box { stroke-width: 2; }
.rules .edge { stroke-opacity: .55; }
.rules .complete .edge { stroke-dasharray: 5 4; stroke-opacity: .8; }
.rules .head { fill: currentColor; stroke: none; fill-opacity: .75; }
.rules text { fill: currentColor; text-anchor: middle; }
.rules .name { font-size: 12px; dominant-baseline: central; }
.rules .made .name { font-weight: 600; }
.rules .title { fill-opacity: .8; }
""".strip()


def drawn(graph: LabelGraph) -> RuleDrawing:
    """The picture of a program.

    >>> from acelera.programs.label_graph import Use
    >>> graph = LabelGraph(("fire", "calm"), (Use("smoke", "fire", 0), Use("fire", "calm", 1, "negation")), (0, 1))
    >>> print(drawn(graph).mermaid)
    flowchart LR
      subgraph comes in
        n0("smoke")
      end
      subgraph stratum 1
        n1["fire"]
      end
      subgraph stratum 2
        n2["calm"]
      end
      n0 --> n1
      n1 -.->|"negation"| n2
    """
    return RuleDrawing(graph)


@dataclass(frozen=True)
class _Arrow:
    """All uses of one label for another: why they must wait, and what is told of each."""

    source: int
    target: int
    reasons: tuple[str, ...]
    told: str


@dataclass(frozen=True)
class RuleDrawing:
    """A picture of the rules of a program. In a notebook it shows itself.

    `dot` and `mermaid` are its text in these two languages; `svg()` is laid out by acelera itself.
    """

    graph: LabelGraph

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels by band; within one, those first that rules ask for or make first."""
        bands = self.graph.bands
        return tuple(sorted(bands, key=lambda label: bands[label]))

    @cached_property
    def levels(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The bands from left to right: a title, and the numbers of the labels."""
        found: dict[int, list[int]] = {}
        for number, label in enumerate(self.labels):
            found.setdefault(self.graph.bands[label], []).append(number)
        return tuple((self._title(band), tuple(inside)) for band, inside in sorted(found.items()))

    def _title(self, band: int) -> str:
        if not band:
            return "comes in"
        return f"{self.graph.band} {band}" if self.graph.strata is not None else "is made"

    @cached_property
    def arrows(self) -> tuple[_Arrow, ...]:
        """One arrow between two labels, however many rules ask."""
        number = {label: each for each, label in enumerate(self.labels)}
        found: dict[tuple[str, str], list[tuple[int, str | None]]] = {}
        for use in self.graph.uses:
            found.setdefault((use.needs, use.makes), []).append((use.rule, use.through))
        return tuple(
            _Arrow(
                number[needs],
                number[makes],
                tuple(dict.fromkeys(through for _, through in uses if through is not None)),
                "\n".join(dict.fromkeys(self._told(needs, makes, rule, through) for rule, through in uses)),
            )
            for (needs, makes), uses in found.items()
        )

    def _told(self, needs: str, makes: str, rule: int, through: str | None) -> str:
        """One use in words."""
        why = f"; {needs} must be complete before, because of {through}" if through is not None else ""
        return f"rule {self.graph.called(rule)} makes {makes} from {needs}{why}"

    @property
    def dot(self) -> str:
        """The picture in Graphviz's language."""
        lines = ["digraph rules {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];',
                 '  edge [fontname="sans-serif", fontsize=11];']  # fmt: skip
        for band, (title, inside) in enumerate(self.levels):
            lines.append(f"  subgraph cluster_{band} {{ label={dot_text(title)}; style=dotted;")
            for each in inside:
                shape = "" if self.graph.bands[self.labels[each]] else ", style=rounded"
                lines.append(f"    n{each} [label={dot_text(self.labels[each])}{shape}];")
            lines.append("  }")
        for arrow in self.arrows:
            label = dot_text("\n".join(arrow.reasons))
            style = f" [style=dashed, label={label}]" if arrow.reasons else ""
            lines.append(f"  n{arrow.source} -> n{arrow.target}{style};")
        return "\n".join([*lines, "}"])

    @property
    def mermaid(self) -> str:
        """The picture in Mermaid's language."""
        lines = ["flowchart LR"]
        for title, inside in self.levels:
            lines.append(f"  subgraph {title}")
            for each in inside:
                name, made = mermaid_text(self.labels[each]), self.graph.bands[self.labels[each]]
                lines.append(f'    n{each}["{name}"]' if made else f'    n{each}("{name}")')
            lines.append("  end")
        for arrow in self.arrows:
            reasons = "<br>".join(map(mermaid_text, arrow.reasons))
            line = f'-.->|"{reasons}"|' if arrow.reasons else "-->"
            lines.append(f"  n{arrow.source} {line} n{arrow.target}")
        return "\n".join(lines)

    def svg(self) -> str:
        """The picture as SVG. It is laid out here, and the same everywhere; Graphviz is not needed and not used."""
        return _Picture(self).svg()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": self.dot, "text/vnd.mermaid": self.mermaid, "image/svg+xml": self.svg()}

    def __str__(self) -> str:
        return self.dot


class _Picture:
    """The boxes, arrows and bands of a drawing, with their places."""

    def __init__(self, drawing: RuleDrawing) -> None:
        self.drawing = drawing
        self.names = [shortened(label, LONGEST) for label in drawing.labels]
        self.loops = {arrow.source: arrow for arrow in drawing.arrows if arrow.source == arrow.target}
        self.edges = [arrow for arrow in drawing.arrows if arrow.source != arrow.target]
        self.texts = [Label(arrow.reasons) if arrow.reasons else None for arrow in self.edges]
        ends = [(arrow.source, arrow.target) for arrow in self.edges]
        rooms = [PLAIN if text is None else Size(text.width, text.height + 4, 6) for text in self.texts]
        sizes = [self._size(number) for number in range(len(self.names))]
        bands = [drawing.graph.bands[label] for label in drawing.labels]
        self.layout: Layout = laid_out(sizes, 0, ends, rooms, bands)
        self.width, self.height = self.layout.width + 2 * MARGIN, self.layout.height + TITLE + 2 * MARGIN

    def half(self, number: int) -> float:
        """Half the width of a box."""
        return max(NARROWEST, len(self.names[number]) * LETTER / 2 + 10)

    def _size(self, number: int) -> Size:
        loop = self.loops.get(number)
        if loop is None:
            return Size(2 * self.half(number), TALL + 4, TALL + 4)
        text = Label(loop.reasons) if loop.reasons else None
        above, wide = (text.height, text.width) if text else (0, 0)
        return Size(max(2 * self.half(number), wide), TALL + LOOP + above + 4, TALL + 4)

    def svg(self) -> str:
        """All of it."""
        parts = [*self._bands(), *self._edges(), *self._loops(), *map(self._box, range(len(self.names)))]
        rules = len(self.drawing.graph.made)
        described = f"{rules} rule{'' if rules == 1 else 's'}: what is made from what"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="rules" role="img" width="{self.width:.0f}" '
            f'height="{self.height:.0f}" viewBox="0 0 {self.width:.1f} {self.height:.1f}">'
            f"<title>{xml_text(described)}</title><style>{_STYLE}</style>{''.join(parts)}</svg>"
        )

    def _at(self, place: Place) -> Place:
        """A place of the layout in the picture, whose margins and titles need room."""
        return Place(place.size, place.layer, x=place.x + MARGIN, y=place.y + MARGIN + TITLE)

    def _bands(self) -> Iterator[str]:
        for title, inside in self.drawing.levels:
            boxes = [(self._at(self.layout.states[number]), self.half(number)) for number in inside]
            left = min(place.x - half for place, half in boxes) - MARGIN + 2
            right = max(place.x + half for place, half in boxes) + MARGIN - 2
            yield (
                f'<rect class="band" x="{left:.1f}" y="2" width="{right - left:.1f}" height="{self.height - 4:.1f}" '
                f'rx="8"/><text class="title" x="{(left + right) / 2:.1f}" y="20">{xml_text(title)}</text>'
            )

    def _box(self, number: int) -> str:
        place, label = self._at(self.layout.states[number]), self.drawing.labels[number]
        rules = self.drawing.graph.rules_of(label)
        kind, corner = ("made", 4.0) if rules else ("comes", TALL)
        by = f"made by {_listed('rule', list(map(self.drawing.graph.called, rules)))}" if rules else "comes in"
        return (
            f'<g class="node {kind}" data-label="{xml_text(label)}"><title>{xml_text(f"{label}: {by}")}</title>'
            f"{rounded('box', place, self.half(number), TALL, corner)}"
            f'<text class="name" x="{place.x:.1f}" y="{place.y:.1f}">{xml_text(self.names[number])}</text></g>'
        )

    def _edges(self) -> Iterator[str]:
        for number, arrow in enumerate(self.edges):
            text, at = self.texts[number], self.layout.labels[number]
            route = [self._at(place) for place in self.layout.routes[number]]
            side = -1 if self.layout.backward[number] else 1
            x, y = self._port(arrow.target, -side, route[-1])
            half = text.width / 2 if text else 0
            path = routed(self._port(arrow.source, side, route[0]), route, at, half, (x - side * 6, y))
            head = arrow_head(x - side, y, 0 if side == 1 else math.pi)
            label = text.drawn(route[at].x, route[at].y - 5) if text else ""
            yield self._group(arrow, f'<path class="edge" d="{path}"/>{head}{label}')

    def _port(self, number: int, side: int, towards: Place) -> Point:
        """Where an arrow meets a box: a little nearer to where it comes from."""
        place = self._at(self.layout.states[number])
        return place.x + side * self.half(number), place.y + max(-9.0, min(9.0, (towards.y - place.y) * 0.3))

    def _loops(self) -> Iterator[str]:
        for number, arrow in self.loops.items():
            place = self._at(self.layout.states[number])
            top = place.y - TALL
            label = Label(arrow.reasons).drawn(place.x, top - LOOP) if arrow.reasons else ""
            yield self._group(arrow, looped(place.x, top) + label)

    def _group(self, arrow: _Arrow, inside: str) -> str:
        labels = self.drawing.labels
        ends = f'data-from="{xml_text(labels[arrow.source])}" data-to="{xml_text(labels[arrow.target])}"'
        kind = "arrow complete" if arrow.reasons else "arrow"
        return f'<g class="{kind}" {ends}><title>{xml_text(arrow.told)}</title>{inside}</g>'


def _listed(what: str, names: Sequence[str]) -> str:
    """`rule 1`, `rules 1, 3`."""
    return f"{what}{'s' if len(names) > 1 else ''} {', '.join(names)}"

"""Pictures of automata as SVG, laid out here: nothing needs to be installed for them."""

from __future__ import annotations

import math

from acelera.drawing.graph import Graph
from acelera.drawing.layout import GAP, Layout, Place, Size, laid_out
from acelera.drawing.shapes import LOOP, Label, Point, arrow_head, looped, rounded, routed, shortened, xml_text

RADIUS = 19.0
MARGIN = 8.0

_STYLE = """
.acea { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: inherit; }
.acea circle, .acea rect, .acea path { fill: none; stroke: currentColor; stroke-width: 1.4; }
.acea .state, .acea .ring { fill: var(--acea-state, none); }
.acea .edge { stroke-opacity: .55; }
.acea .head { fill: currentColor; stroke: none; fill-opacity: .75; }
.acea text { fill: currentColor; text-anchor: middle; }
.acea .name { font-size: 13px; font-weight: 600; dominant-baseline: central; }
.acea .title { font-size: 12px; font-weight: 600; text-anchor: start; }
""".strip()


def to_svg(graph: Graph) -> str:
    """The picture of a graph and of those beside it."""
    parts, y, width = [], MARGIN, 0.0
    for number, each in enumerate((graph, *graph.inner)):
        if number:
            title = f"{each.described}: must not match"
            parts.append(f'<text class="title" x="{MARGIN}" y="{y + 12:.1f}">{xml_text(title)}</text>')
            y += 24
        picture = _Picture(each)
        parts.append(f'<g transform="translate({MARGIN} {y:.1f})">{picture.drawn()}</g>')
        y, width = y + picture.height + 2 * MARGIN, max(width, picture.width, 180.0 if number else 0.0)
    width, height = width + 2 * MARGIN, y - MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="acea" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}"><title>{xml_text(graph.described)}</title><style>{_STYLE}</style>'
        f"{''.join(parts)}</svg>"
    )


class _Picture:
    def __init__(self, graph: Graph) -> None:
        self.graph, labels = graph, graph.edges
        self.loops = {source: Label(texts) for (source, target), texts in labels.items() if source == target}
        self.edges = {ends: Label(texts) for ends, texts in labels.items() if ends[0] != ends[1]}
        self.names = [shortened(name, 16) for name in graph.names]
        sizes = [self._size(state) for state in range(len(graph.names))]
        labelled = [Size(label.width, label.height + 4, 6) for label in self.edges.values()]
        self.layout: Layout = laid_out(sizes, graph.initial, list(self.edges), labelled)
        self.width, self.height = self.layout.width + GAP + 10, self.layout.height

    def half(self, state: int) -> float:
        """Half the width of a state: a circle, or longer if its name is."""
        return max(RADIUS, len(self.names[state]) * 4.2 + 8)

    def _size(self, state: int) -> Size:
        loop = self.loops.get(state)
        above = RADIUS + 4 if loop is None else RADIUS + LOOP + loop.height + 4
        width = 2 * self.half(state) if loop is None else max(2 * self.half(state), loop.width)
        return Size(width, above, RADIUS + 4)

    def drawn(self) -> str:
        shift = GAP + 10  # room for the arrow that leads to the initial state
        parts = [self._edge(ends, number) for number, ends in enumerate(self.edges)]
        parts += [self._loop(state, label) for state, label in self.loops.items()]
        parts += [self._state(state) for state in range(len(self.graph.names))]
        return f'<g transform="translate({shift:.1f} 0)">{"".join(parts)}</g>'

    def _state(self, state: int) -> str:
        place, half, name = self.layout.states[state], self.half(state), self.graph.names[state]
        final, initial = state in self.graph.finals, state == self.graph.initial
        kind = " ".join(["node", *(["initial"] if initial else []), *(["final"] if final else [])])
        parts = [rounded("state", place, half, RADIUS, RADIUS)]
        if final:
            parts.append(rounded("ring", place, half - 4, RADIUS - 4, RADIUS - 4))
        shown = xml_text(self.names[state])
        parts.append(f'<text class="name" x="{place.x:.1f}" y="{place.y:.1f}">{shown}</text>')
        if initial:
            end = place.x - half
            parts.append(f'<path class="edge" d="M{end - 26:.1f} {place.y:.1f}H{end - 4:.1f}"/>')
            parts.append(arrow_head(end - 1, place.y, 0))
        told = ", ".join([name, *(["initial"] if initial else []), *(["final"] if final else [])])
        return f'<g class="{kind}"><title>{xml_text(told)}</title>{"".join(parts)}</g>'

    def _edge(self, ends: tuple[int, int], number: int) -> str:
        """A curve through the places of the edge; it runs straight under its label, which stands above it."""
        source, target = ends
        route, at, label = self.layout.routes[number], self.layout.labels[number], self.edges[ends]
        side = -1 if self.layout.backward[number] else 1
        x, y = self._port(target, -side, route[-1])
        path = routed(self._port(source, side, route[0]), route, at, label.width / 2, (x - side * 6, y))
        head = arrow_head(x - side, y, 0 if side == 1 else math.pi)
        drawn = label.drawn(route[at].x, route[at].y - 5)
        return self._group(source, target, f'<path class="edge" d="{path}"/>{head}{drawn}')

    def _port(self, state: int, side: int, towards: Place) -> Point:
        """Where an arrow meets the border of a state: a little nearer to where it comes from."""
        place = self.layout.states[state]
        up = max(-11.0, min(11.0, (towards.y - place.y) * 0.4))
        reach = self.half(state) - RADIUS + math.sqrt(RADIUS**2 - up**2)
        return place.x + side * reach, place.y + up

    def _loop(self, state: int, label: Label) -> str:
        place = self.layout.states[state]
        top = place.y - RADIUS
        return self._group(state, state, looped(place.x, top) + label.drawn(place.x, top - LOOP))

    def _group(self, source: int, target: int, drawn: str) -> str:
        names = self.graph.names
        return f'<g class="arrow" data-from="{xml_text(names[source])}" data-to="{xml_text(names[target])}">{drawn}</g>'

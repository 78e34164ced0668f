"""Pictures of automata as SVG, laid out here: nothing needs to be installed for them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from html import escape

from acelera.drawing.graph import Graph
from acelera.drawing.layout import GAP, Layout, Place, Size, laid_out

RADIUS = 19.0
LINE = 14.0  # the height of a line of a label
LETTER = 6.7  # the width of a letter of a label, at 11 pixels
LOOP = 24.0  # how high an arrow from a state to itself rises above it
MARGIN = 8.0
LONGEST, LINES, ARROW = 30, 3, 6  # letters of a line, lines of a label, labels of an arrow

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
            parts.append(f'<text class="title" x="{MARGIN}" y="{y + 12:.1f}">{_text(title)}</text>')
            y += 24
        picture = _Picture(each)
        parts.append(f'<g transform="translate({MARGIN} {y:.1f})">{picture.drawn()}</g>')
        y, width = y + picture.height + 2 * MARGIN, max(width, picture.width, 180.0 if number else 0.0)
    width, height = width + 2 * MARGIN, y - MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="acea" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}"><title>{_text(graph.described)}</title><style>{_STYLE}</style>'
        f"{''.join(parts)}</svg>"
    )


class _Picture:
    def __init__(self, graph: Graph) -> None:
        self.graph, labels = graph, graph.edges
        self.loops = {source: _Label(texts) for (source, target), texts in labels.items() if source == target}
        self.edges = {ends: _Label(texts) for ends, texts in labels.items() if ends[0] != ends[1]}
        self.names = [_shortened(name, 16) for name in graph.names]
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
        parts = [_rounded("state", place, half, RADIUS)]
        if final:
            parts.append(_rounded("ring", place, half - 4, RADIUS - 4))
        shown = _text(self.names[state])
        parts.append(f'<text class="name" x="{place.x:.1f}" y="{place.y:.1f}">{shown}</text>')
        if initial:
            end = place.x - half
            parts.append(f'<path class="edge" d="M{end - 26:.1f} {place.y:.1f}H{end - 4:.1f}"/>')
            parts.append(_head(end - 1, place.y, 0))
        told = ", ".join([name, *(["initial"] if initial else []), *(["final"] if final else [])])
        return f'<g class="{kind}"><title>{_text(told)}</title>{"".join(parts)}</g>'

    def _edge(self, ends: tuple[int, int], number: int) -> str:
        """A curve through the places of the edge; it runs straight under its label, which stands above it."""
        source, target = ends
        route, back = self.layout.routes[number], self.layout.backward[number]
        side = -1 if back else 1
        x, y = self._port(source, side, route[0])
        path = f"M{x:.1f} {y:.1f}"
        for index, place in enumerate(route):
            half = self.edges[ends].width / 2 if index == self.layout.labels[number] else 0
            path += _curve(x, y, place.x - side * half, place.y)
            x, y = place.x + side * half, place.y
            path += f"H{x:.1f}"
        tip, at = self._port(target, -side, route[-1])
        path += _curve(x, y, tip - side * 6, at)
        label = self.edges[ends].drawn(route[self.layout.labels[number]].x, route[self.layout.labels[number]].y - 5)
        head = _head(tip - side, at, 0 if side == 1 else math.pi)
        return self._group(source, target, f'<path class="edge" d="{path}"/>{head}{label}')

    def _port(self, state: int, side: int, towards: Place) -> tuple[float, float]:
        """Where an arrow meets the border of a state: a little nearer to where it comes from."""
        place = self.layout.states[state]
        up = max(-11.0, min(11.0, (towards.y - place.y) * 0.4))
        reach = self.half(state) - RADIUS + math.sqrt(RADIUS**2 - up**2)
        return place.x + side * reach, place.y + up

    def _loop(self, state: int, label: _Label) -> str:
        place = self.layout.states[state]
        top, spread = place.y - RADIUS, 9.0
        rise = top - LOOP * 1.25
        path = f"M{place.x - spread:.1f} {top + 2:.1f}"
        path += f"C{place.x - 24:.1f} {rise:.1f} {place.x + 24:.1f} {rise:.1f} {place.x + spread + 1:.1f} {top - 3:.1f}"
        head = _head(place.x + spread - 1, top + 2, math.pi * 0.6)
        return self._group(state, state, f'<path class="edge" d="{path}"/>{head}{label.drawn(place.x, top - LOOP)}')

    def _group(self, source: int, target: int, drawn: str) -> str:
        names = self.graph.names
        return f'<g class="arrow" data-from="{_text(names[source])}" data-to="{_text(names[target])}">{drawn}</g>'


class _Label:
    """The texts of an arrow in lines that are not too long; what is cut off is told by a title."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [(text, _wrapped(text)) for text in texts[:ARROW]]
        if len(texts) > ARROW:
            self.texts.append(("\n".join(texts[ARROW:]), [f"and {len(texts) - ARROW} more"]))
        self.width = max(len(line) for _, lines in self.texts for line in lines) * LETTER + 8
        self.height = sum(len(lines) for _, lines in self.texts) * LINE

    def drawn(self, x: float, bottom: float) -> str:
        y, parts = bottom - self.height + LINE - 4, []
        for text, lines in self.texts:
            spans = []
            for line in lines:
                spans.append(f'<tspan x="{x:.1f}" y="{y:.1f}">{_text(line)}</tspan>')
                y += LINE
            parts.append(f'<text class="label"><title>{_text(text)}</title>{"".join(spans)}</text>')
        return "".join(parts)


def _wrapped(text: str) -> list[str]:
    lines = textwrap.wrap(text, LONGEST) or [""]
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], _shortened(lines[LINES - 1] + " …", LONGEST)]


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _rounded(kind: str, place: Place, half: float, radius: float) -> str:
    return (
        f'<rect class="{kind}" x="{place.x - half:.1f}" y="{place.y - radius:.1f}" width="{2 * half:.1f}" '
        f'height="{2 * radius:.1f}" rx="{radius:.1f}"/>'
    )


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (x + to_x) / 2
    return f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def _head(x: float, y: float, angle: float) -> str:
    points = []
    for turn, length in ((0.0, 0.0), (2.75, 9.0), (-2.75, 9.0)):
        points.append(f"{x + length * math.cos(angle + turn):.1f} {y + length * math.sin(angle + turn):.1f}")
    return f'<path class="head" d="M{"L".join(points)}Z"/>'


def _text(text: str) -> str:
    """A text inside an element or a quoted attribute; characters that XML does not know are replaced."""
    known = "".join(char if char >= " " or char in "\t\n" else "�" for char in text)
    return escape(known.encode("utf-8", "replace").decode("utf-8")).replace("\ufffe", "�").replace("\uffff", "�")

"""What pictures are drawn with: labels of arrows, curves, arrow heads, and texts that XML can hold."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from html import escape
from typing import TypeAlias

from acelera.drawing.layout import Place

LINE = 14.0  # the height of a line of a label
LETTER = 6.7  # the width of a letter of a label, at 11 pixels
LOOP = 24.0  # how high an arrow from something to itself rises above it
LONGEST, LINES, ARROW = 30, 3, 6  # letters of a line, lines of a label, labels of an arrow

Point: TypeAlias = tuple[float, float]


class Label:
    """The texts of an arrow in lines that are not too long; what is cut off is told by a title."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [(text, _wrapped(text)) for text in texts[:ARROW]]
        if len(texts) > ARROW:
            self.texts.append(("\n".join(texts[ARROW:]), [f"and {len(texts) - ARROW} more"]))
        self.width = max(len(line) for _, lines in self.texts for line in lines) * LETTER + 8
        self.height = sum(len(lines) for _, lines in self.texts) * LINE

    def drawn(self, x: float, bottom: float) -> str:
        """The texts in the middle above a point."""
        y, parts = bottom - self.height + LINE - 4, []
        for text, lines in self.texts:
            spans = []
            for line in lines:
                spans.append(f'<tspan x="{x:.1f}" y="{y:.1f}">{xml_text(line)}</tspan>')
                y += LINE
            parts.append(f'<text class="label"><title>{xml_text(text)}</title>{"".join(spans)}</text>')
        return "".join(parts)


def _wrapped(text: str) -> list[str]:
    lines = textwrap.wrap(text, LONGEST) or [""]
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], shortened(lines[LINES - 1] + " …", LONGEST)]


def shortened(text: str, longest: int) -> str:
    """A text that is cut if it has more letters than that."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def rounded(kind: str, place: Place, half: float, tall: float, corner: float) -> str:
    """A box around a place, which reaches so far to the sides, above and below."""
    return (
        f'<rect class="{kind}" x="{place.x - half:.1f}" y="{place.y - tall:.1f}" width="{2 * half:.1f}" '
        f'height="{2 * tall:.1f}" rx="{corner:.1f}"/>'
    )


def routed(start: Point, route: Sequence[Place], label: int, half: float, tip: Point) -> str:
    """A curve through the places of an edge; under its label, which is so wide to both sides, it runs straight."""
    (x, y), side = start, 1 if tip[0] > start[0] else -1
    path = f"M{x:.1f} {y:.1f}"
    for index, place in enumerate(route):
        reach = side * half if index == label else 0
        path += curve(x, y, place.x - reach, place.y)
        x, y = place.x + reach, place.y
        path += f"H{x:.1f}"
    return path + curve(x, y, *tip)


def looped(x: float, top: float) -> str:
    """An arrow from something to itself, above its upper edge."""
    rise = top - LOOP * 1.25
    path = f"M{x - 9:.1f} {top + 2:.1f}C{x - 24:.1f} {rise:.1f} {x + 24:.1f} {rise:.1f} {x + 10:.1f} {top - 3:.1f}"
    return f'<path class="edge" d="{path}"/>{arrow_head(x + 8, top + 2, math.pi * 0.6)}'


def curve(x: float, y: float, to_x: float, to_y: float) -> str:
    """A piece of a path that leaves and arrives level."""
    middle = (x + to_x) / 2
    return f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def arrow_head(x: float, y: float, angle: float) -> str:
    """The head of an arrow: its tip, and where it points."""
    points = []
    for turn, length in ((0.0, 0.0), (2.75, 9.0), (-2.75, 9.0)):
        points.append(f"{x + length * math.cos(angle + turn):.1f} {y + length * math.sin(angle + turn):.1f}")
    return f'<path class="head" d="M{"L".join(points)}Z"/>'


def xml_text(text: str) -> str:
    """A text inside an element or a quoted attribute; characters that XML does not know are replaced."""
    known = "".join(char if char >= " " or char in "\t\n" else "�" for char in text)
    return escape(known.encode("utf-8", "replace").decode("utf-8")).replace("\ufffe", "�").replace("\uffff", "�")

"""A chart of a summary, as SVG: its items over time, or side by side for each group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise

from acelera.language.types import Type
from acelera.report.buckets import NANOSECONDS, width_of
from acelera.report.values import timestamp_text

WIDE, LEFT, RIGHT, TALL, GAP = 1180, 96, 12, 120, 34
"""How wide the chart is, how much of it stands beside the plots, how tall a plot is, and what is between two."""
BAR = 22
"""How tall the bar of a group is."""
MOST_TICKS = 9


@dataclass(frozen=True)
class Axis:
    """Where rows stand along the stream: from the first to the last, in ticks of time or in positions.

    `step` is how far it is from a window to the next, None if there are no windows, and `wide` how much of it is in a
    window. `beside` is the room that bars have around the first and the last place where there are no windows.
    """

    name: str
    first: int
    last: int
    time: Type | None = None
    step: int | None = None
    wide: int | None = None
    beside: float = 0

    def text(self, tick: int) -> str:
        """A place on the axis in words."""
        return f"{tick:,}" if self.time is None else timestamp_text(tick * self.unit)

    @property
    def unit(self) -> int:
        """How many nanoseconds a tick has."""
        return 1 if self.time is None else NANOSECONDS[self.time.arrow.unit]

    def across(self, tick: float) -> float:
        """Where a tick stands in the chart."""
        return LEFT + self.long(tick - self.first + self.beside)

    def long(self, ticks: float) -> float:
        """How long so many ticks are in the chart."""
        reach = self.last - self.first + (self.step or 2 * self.beside) or 1
        return ticks / reach * (WIDE - LEFT - RIGHT)


@dataclass(frozen=True)
class Panel:
    """An item: for each group its values, by where they stand on the axis."""

    name: str
    groups: Sequence[Mapping[int, float]]

    @property
    def range(self) -> tuple[float, float]:
        """From the smallest to the largest value, with 0 among them; never empty."""
        known = [0.0, *(value for group in self.groups for value in group.values())]
        low, high = min(known), max(known)
        return (low, high) if low < high else (low, low + 1)


def over_time(axis: Axis, panels: Sequence[Panel], groups: Sequence[str]) -> str:
    """Panels one below the other: bars if there is one group, otherwise a line for each."""
    if axis.step is None and len(groups) == 1:
        places = sorted({tick for panel in panels for tick in panel.groups[0]})
        axis = replace(axis, beside=min((right - left for left, right in pairwise(places)), default=1) / 2)
    height = len(panels) * (TALL + GAP) + 18
    parts = [_begin(height, f"{', '.join(panel.name for panel in panels)} over {axis.name}")]
    for number, panel in enumerate(panels):
        plot = _Plot(axis, panel, (number + 1) * (TALL + GAP) - 10)
        parts += plot.frame()
        for colour, (name, group) in enumerate(zip(groups, panel.groups, strict=True)):
            parts += plot.bars(group, name) if len(groups) == 1 else plot.line(group, name, colour)
    return "".join([*parts, *_ticks(axis, height - 4), "</svg>"])


def side_by_side(panels: Sequence[Panel], groups: Sequence[str]) -> str:
    """Panels one below the other, each with a bar for each group."""
    tall, left = len(groups) * BAR + 30, min(320, 16 + 7 * max(map(len, groups)))
    room = WIDE - left - 100
    parts = [_begin(len(panels) * tall, f"{', '.join(panel.name for panel in panels)} for each group")]
    for number, panel in enumerate(panels):
        top, (low, high) = number * tall + 20, panel.range
        parts.append(_text(0, top - 4, panel.name, "name"))
        for row, (name, group) in enumerate(zip(groups, panel.groups, strict=True)):
            y = top + row * BAR + 4
            parts.append(_text(left - 10, y + 13, name if len(name) <= 42 else f"{name[:41]}…", anchor="end"))
            for value in group.values():
                begin, end = sorted(left + (at - low) / (high - low) * room for at in (0, value))
                parts.append(_box(0, begin, y, max(1, end - begin), BAR - 6, f"{name}: {panel.name} {short(value)}"))
                parts.append(_text(end + 6, y + 13, short(value)))
    return "".join([*parts, "</svg>"])


def short(value: float) -> str:
    """A number with no more digits than are read.

    >>> short(12000.0), short(0.123456789), short(1234567.89), short(2.5e30)
    ('12,000', '0.123457', '1,234,568', '2.5e+30')
    """
    if abs(value) < 1e15 and (value == int(value) or abs(value) >= 1e6):
        return f"{value:,.0f}"
    return f"{value:,.6g}" if 1e-4 <= abs(value) < 1e6 else f"{value:.4g}"


@dataclass(frozen=True)
class _Plot:
    """Where a panel is drawn: above its bottom."""

    axis: Axis
    panel: Panel
    bottom: float

    def up(self, value: float) -> float:
        low, high = self.panel.range
        return self.bottom - (value - low) / (high - low) * TALL

    def frame(self) -> Iterator[str]:
        yield _text(0, self.bottom - TALL - 6, self.panel.name, "name")
        for value, down in zip(self.panel.range, (2, 8), strict=True):
            text = short(value)
            yield _text(LEFT - 8, self.up(value) + down, text if len(text) <= 11 else f"{value:.4g}", anchor="end")
        yield f'<path class="axis" d="M{LEFT} {self.up(0):.1f}H{WIDE - RIGHT}"/>'

    def told(self, name: str, tick: int, value: float) -> str:
        of = f"{name}, " if name else ""
        return f"{of}{self.axis.text(tick)}: {self.panel.name} {short(value)}"

    def bars(self, group: Mapping[int, float], name: str) -> Iterator[str]:
        if self.axis.wide is not None:
            wide = max(1.5, self.axis.long(self.axis.wide) * 0.94)
        else:
            wide = max(1.5, min(60, self.axis.long(2 * self.axis.beside) * 0.86))
        for tick, value in group.items():
            begin = self.axis.across(tick) - (0 if self.axis.wide is not None else wide / 2)
            top, bottom = sorted((self.up(value), self.up(0)))
            yield _box(0, begin, top, wide, max(1, bottom - top), self.told(name, tick, value))

    def line(self, group: Mapping[int, float], name: str, colour: int) -> Iterator[str]:
        points, path, before = sorted(group.items()), "", None
        for tick, value in points:
            apart = self.axis.step is not None and before is not None and tick - before > self.axis.step
            path += f"{'M' if before is None or apart else 'L'}{self.axis.across(tick):.1f} {self.up(value):.1f}"
            before = tick
        yield f'<path class="line v{colour}" d="{path}"/>'
        for tick, value in points:
            at = f'cx="{self.axis.across(tick):.1f}" cy="{self.up(value):.1f}" r="3"'
            yield f'<circle class="point v{colour}" {at}><title>{_safe(self.told(name, tick, value))}</title></circle>'


def _ticks(axis: Axis, y: float) -> Iterator[str]:
    """What stands below the lowest panel."""
    width = width_of(axis.first, axis.last + (axis.step or 0), axis.time, MOST_TICKS)
    day = None
    for tick in _multiples(axis.first, axis.last + (axis.step or 0), width):
        text = axis.text(tick)
        if axis.time is not None and " " in text:
            date, clock = text.split(" ", 1)
            known, day = day == date, date
            whole = width * axis.unit % 86_400_000_000_000 == 0
            clock = clock[:5] if width * axis.unit % 60_000_000_000 == 0 else clock
            text = date if whole else clock if known else f"{date[5:]} {clock}"
        if axis.across(tick) < WIDE - 50:
            yield _text(axis.across(tick), y, text, anchor="middle")


def _multiples(first: int, last: int, width: int) -> Iterable[int]:
    return range(-(-first // width) * width, last + 1, width)


def _begin(height: float, about: str) -> str:
    return f'<svg viewBox="0 0 {WIDE} {height}" role="img" aria-label="{_safe(about)}">'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_safe(text)}</text>'


def _box(colour: int, x: float, y: float, wide: float, tall: float, told: str) -> str:
    size = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" rx="1.5"'
    return f'<rect class="bar v{colour}" {size}><title>{_safe(told)}</title></rect>'


def _safe(text: str) -> str:
    return escape(text, quote=True)

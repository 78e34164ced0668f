"""The page of a summary: its rows, a chart of them, and nothing that could do harm."""

from __future__ import annotations

import datetime
import re
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from report.test_page import NASTY, Elements

START = datetime.datetime(2024, 1, 1, 9)
ROWS: list[dict[str, Any]] = [
    {"ts": START + datetime.timedelta(minutes=minute), "type": kind, "k": k, "v": v}
    for minute, kind, k, v in [
        (0, "A", "x", 1),
        (1, "B", "x", 5),
        (2, "B", "x", 7),
        (11, "A", "y", 2),
        (12, "B", "y", 4),
        (25, "A", "x", 3),
        (26, "B", "x", 9),
    ]
]


def shown(text: str, folder: Path, rows: object = ROWS, **options: Any) -> str:
    return ac.query(text).report(rows, folder / "page.html", **options).read_text(encoding="utf-8")


def table(page: str) -> list[list[str]]:
    """The names of the columns, and the cells of each row."""
    listed = page.split('<table id="rows">')[1].split("</table>")[0]
    return [
        [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in listed.split("<tr>")[1:]
    ]


def chart(page: str) -> str:
    return page.split('id="chart"')[1].split(">", 1)[1].split("</div>")[0]


def test_rows_are_a_table_and_a_bar_for_each_window(tmp_path: Path) -> None:
    page = shown("SUMMARIZE count(*) AS n, avg(b.v) AS mean MATCH A ; B AS b OVER 10 MINUTES", tmp_path, order_by="ts")
    assert table(page) == [
        ["window_start", "window_end", "n", "mean"],
        ["2024-01-01 09:00:00", "2024-01-01 09:10:00", "2", "6"],
        ["2024-01-01 09:10:00", "2024-01-01 09:20:00", "1", "4"],
        ["2024-01-01 09:20:00", "2024-01-01 09:30:00", "1", "9"],
    ]
    drawn = chart(page)
    assert re.findall(r"<title>(.*?)</title>", drawn) == [
        *(f"2024-01-01 09:{at}:00: n {n}" for at, n in (("00", 2), ("10", 1), ("20", 1))),
        *(f"2024-01-01 09:{at}:00: mean {n}" for at, n in (("00", 6), ("10", 4), ("20", 9))),
    ]
    heights = [float(height) for height in re.findall(r'<rect .*?height="([\d.]+)"', drawn)]
    assert heights == [120, 60, 60, 80, 53.3, 120] and '<path class="line' not in drawn
    assert ">01-01 09:00<" in drawn and ">09:20<" in drawn
    assert '<h1 id="headline">3 rows over 7 events</h1>' in page and "None of them is listed" in page


def test_a_line_for_each_group(tmp_path: Path) -> None:
    text = "SUMMARIZE count(*) MATCH A ; B PARTITION BY k BY k OVER 10 MINUTES"
    page = shown(text, tmp_path, order_by="ts")
    assert [row[2:] for row in table(page)[1:]] == [["x", "2"], ["y", "1"], ["x", "1"]]
    drawn = chart(page)
    lines = re.findall(r'<path class="line v(\d)" d="([^"]*)"', drawn)
    assert [(colour, path.count("M"), path.count("L")) for colour, path in lines] == [("0", 2, 0), ("1", 1, 0)]
    assert drawn.count("<circle") == 3 and '<span class="key v1"></span>y' in page


def test_many_groups_are_cut_with_a_word(tmp_path: Path) -> None:
    rows = [{"type": "A", "k": k % 12, "v": 1} for k in range(50)]
    page = shown("SUMMARIZE count(*), sum(A.v) MATCH A PARTITION BY k BY k, end", tmp_path, rows)
    assert "over end, the 8 of 12 groups with most rows" in page
    assert len(re.findall(r'<path class="line', chart(page))) == 2 * 8 and len(table(page)) == 51


def test_without_time_groups_stand_side_by_side(tmp_path: Path) -> None:
    page = shown("SUMMARIZE count(*), min(B.v) - 6 AS low MATCH A ; B PARTITION BY k BY k", tmp_path)
    drawn = chart(page)
    assert drawn.count("<rect") == 4 and "x: low -1" in drawn and "y: low -2" in drawn
    assert "x: count 4" in drawn


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SUMMARIZE count(*) MATCH A ; B", ROWS),
        ("SUMMARIZE count(*) MATCH C BY end", ROWS),
        ("SUMMARIZE min(A.k) MATCH A BY end", ROWS),
        (
            "SUMMARIZE avg(A.v) AS a MATCH A BY end",
            pa.table({"type": ["A", "B"], "v": pa.array([None, 1], pa.int64())}),
        ),
        ("SUMMARIZE count(*) MATCH A BY end", pa.table({"type": pa.array([], pa.string())})),
        ("SUMMARIZE sum(A.v) MATCH A BY A.v", [{"type": "A", "v": float("nan")}, {"type": "A", "v": float("inf")}]),
    ],
    ids=["one row", "no row", "a text", "NULL", "no event", "no number"],
)
def test_no_page_fails(text: str, rows: object, tmp_path: Path) -> None:
    page = shown(text, tmp_path, rows)
    assert "</html>" in page and "Result" in page and "$" not in page.split("<table")[0].split("</style>")[1]


def test_only_so_many_rows_are_shown(tmp_path: Path) -> None:
    page = shown("SUMMARIZE count(*) MATCH A BY end", tmp_path, [{"type": "A"}] * 9, matches=4)
    assert "the first 4 rows of 9" in page and len(table(page)) == 5 and "9 rows over 9 events" in page
    assert "over end, the first 4 rows<" in page


def test_large_numbers_are_told(tmp_path: Path) -> None:
    page = shown("SUMMARIZE count(*), log2_count(*) AS bits MATCH A+ BY end", tmp_path, [{"type": "A"}] * 60)
    assert table(page)[-1] == ["60", str(2**59), "59"] and "5.765e+17" in chart(page)


def test_long_numbers_fit_beside_a_plot(tmp_path: Path) -> None:
    rows = [{"type": "A", "v": v} for v in (936_592_707_448_115, 123_456)]
    page = shown("SUMMARIZE sum(A.v) AS total, avg(A.v) + 0.5 AS mean MATCH A BY end", tmp_path, rows)
    beside = re.findall(r'<text x="88.0"[^>]*>(.*?)</text>', chart(page))
    assert beside == ["0", "9.366e+14"] * 2
    assert table(page)[1:] == [["1", "936,592,707,448,115", "936,592,707,448,116"], ["2", "123,456", "123,456"]]
    assert "1: total 936,592,707,448,115" in chart(page)


def boxes(page: str) -> list[tuple[float, float]]:
    """Where bars begin and end, from left to right."""
    found = re.findall(r'<rect class="bar [^>]*?x="([\d.]+)"[^>]*?width="([\d.]+)"', chart(page))
    return [(float(x), float(x) + float(wide)) for x, wide in found]


def test_bars_do_not_overlap(tmp_path: Path) -> None:
    page = shown("SUMMARIZE count(*) MATCH A BY end", tmp_path, [{"type": "A"}] * 30)
    bars = boxes(page)
    assert len(bars) == 30 and all(left[1] < right[0] for left, right in pairwise(bars))
    assert bars[0][0] >= 96 and bars[-1][1] <= 1180 - 12


def test_a_bar_is_as_wide_as_its_window(tmp_path: Path) -> None:
    """There are 1072 units of room: three windows of ten minutes, or two of five with gaps (25 minutes are in none)."""
    text = "SUMMARIZE count(*) MATCH A OVER 10 MINUTES"
    full = boxes(shown(text, tmp_path, order_by="ts"))
    assert [round(end - begin) for begin, end in full] == [round(1072 / 3 * 0.94)] * 3
    half = boxes(shown(text.replace("10", "5") + " EVERY 10 MINUTES", tmp_path, order_by="ts"))
    assert [round(end - begin) for begin, end in half] == [round(1072 / 2 / 2 * 0.94)] * 2
    assert [begin for begin, _ in half] == [96.0, 96.0 + 536]


def test_one_row_says_how_to_get_a_chart(tmp_path: Path) -> None:
    assert "One row is no chart. A query with OVER has" in shown("SUMMARIZE count(*) MATCH A ; B", tmp_path)
    assert "no item of the summary is a number" in shown("SUMMARIZE min(A.k) MATCH A BY end", tmp_path)


def test_nothing_in_it_can_do_harm(tmp_path: Path) -> None:
    name = NASTY.replace("`", "").replace("\u2028", "").replace("\u2029", "")
    text = f"SUMMARIZE count(*) AS `{name}`, max(x.v) MATCH `<A&B>` AS x PARTITION BY `{name} k` BY `{name} k`, end"
    rows = [{"type": "<A&B>", "v": number, f"{name} k": NASTY * (number % 2)} for number in range(4)]
    page = shown(text, tmp_path, rows)
    elements = Elements(page)
    tags = {tag for tag, _ in elements.found}
    assert not tags & {"script", "img", "b", "iframe", "object", "embed"}
    assert not [key for _, attributes in elements.found for key in attributes if key.startswith("on")]
    policy = next(a["content"] for tag, a in elements.found if tag == "meta" and a.get("http-equiv")) or ""
    assert "default-src 'none'" in policy and "script-src" not in policy
    assert "@import" not in page and "url(" not in page


def test_the_files_of_the_page_are_part_of_the_package() -> None:
    folder = Path(ac.__file__).parent / "report"
    assert {each.suffix for each in folder.glob("summary.*")} == {".html", ".css"}

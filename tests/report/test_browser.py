"""The script of the page, in a browser without a window; skipped where no Chromium is found."""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest

import acelera as ac
from acelera import Acea, Move
from report.reading import data

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is on the PATH")

ROWS = [{"type": kind, "v": v, "k": k} for kind, v, k in zip("ABXABB", range(6), "xyxyxy", strict=True)]
QUERY = ac.query("SELECT a.v, b.v AS second MATCH A AS a ; (B AS b) AGG m[n <- count(b)]")


def opened(path: Path, fragment: str, folder: Path) -> tuple[dict[str, str], str]:
    """The attributes of the root element after the script has run, and the page as it is then."""
    assert CHROMIUM is not None
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr"]
    where = [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=3000", "--dump-dom"]
    done = subprocess.run(
        [CHROMIUM, *options, *where, f"{path.as_uri()}{fragment}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "HOME": str(folder)},
    )
    root = re.search(r"<html([^>]*)>", done.stdout)
    assert root is not None, done.stderr
    told = [line for line in done.stderr.splitlines() if ":CONSOLE" in line and "willReadFrequently" not in line]
    assert not told, told
    return dict(re.findall(r'data-([\w-]+)="([^"]*)"', root.group(1))), done.stdout


def texts(shown: str, name: str) -> list[str]:
    """The texts of all elements of a class, or of the one with an id."""
    found = re.findall(rf'<(\w+)[^>]* (?:class|id)="{name}"[^>]*>(.*?)</\1>', shown, re.DOTALL)
    return [unescape(re.sub(r"<[^>]*>", "", inner)) for _, inner in found]


def test_a_match_is_chosen(tmp_path: Path) -> None:
    path = QUERY.report(ROWS, tmp_path / "page.html")
    state, shown = opened(path, "#match=3", tmp_path)
    assert state == {"errors": "0", "match": "3", "ready": "true"}
    assert texts(shown, "headline") == ["5 matches in 6 events"] and texts(shown, "which") == ["Match 3 of 5"]
    spans = ["#1 – #2", "#1 – #5", "#4 – #5", "#1 – #6", "#4 – #6"]
    assert texts(shown, "option") == [f"{number}{span}2 events" for number, span in enumerate(spans, 1)]
    assert re.findall(r'id="match-(\d+)" aria-selected="true"', shown) == ["3"]
    assert texts(shown, "shown") == ["Shown here: all 5 matches, and all 6 events."]
    assert ">n = 1</td>" in shown
    assert re.findall(r'data-letter="(\w)"', shown) == ["A", "B", "M"]
    assert opened(path, "", tmp_path)[0]["match"] == "1"
    assert opened(path, "#match=99", tmp_path)[0]["match"] == "5"


def driven(path: Path, script: str, folder: Path, fragment: str = "") -> dict[str, str]:
    """What a further script of the page says, which is run after its own."""
    text = re.sub(r"<meta http-equiv[^>]*>", "", path.read_text(encoding="utf-8"))  # which lets no other script run
    other = path.with_name("driven.html")
    other.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    return opened(other, fragment, folder)[0]


DRIVER = """
const root = document.documentElement, states = [];
const say = () => states.push(root.dataset.match);
const press = (key, target = document.body) => { target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); say(); };
const click = (target) => { target.click(); say(); };
const get = (id) => document.getElementById(id);
press("ArrowRight"); press("ArrowRight"); press("ArrowLeft");
click(get("next")); click(get("previous")); press("End", get("list")); press("ArrowUp", get("list"));
click(get("match-1")); press("ArrowLeft"); click(get("result").rows[4]);
for (const id of ["in", "in", "out", "fit", "whole", "by-key", "by-type"]) get(id).click();
const plot = get("plot"), box = plot.getBoundingClientRect();
const point = (kind, x, y) => plot.dispatchEvent(new PointerEvent(kind, { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
plot.dispatchEvent(new WheelEvent("wheel", { deltaY: -50, ctrlKey: true, clientX: box.left + 300, cancelable: true }));
for (let x = 0; x < box.width && get("tip").hidden; x += 4) point("pointermove", x, 20);
root.dataset.tip = get("tip").textContent;
location.hash = "#match=2";
setTimeout(() => { say(); root.dataset.states = states.join(" "); }, 100);
"""


def test_keys_buttons_and_pointer(tmp_path: Path) -> None:
    query = ac.query("SELECT a.v, b.v AS second MATCH A AS a ; (B AS b) PARTITION BY k")
    path = query.report([{**row, "k": "x"} for row in ROWS], tmp_path / "page.html")
    state = driven(path, DRIVER, tmp_path)
    assert state["states"] == "2 3 2 3 2 5 4 1 1 4 2" and state["errors"] == "0"
    assert re.fullmatch(r"A #\d+k: xv: \d|A #\dv: \dk: x", state["tip"])


@pytest.mark.parametrize(
    ("query", "table", "options"),
    [
        (ac.query("MATCH A ; D"), ROWS, {}),
        (ac.query("MATCH A"), pa.table({"type": pa.array([], pa.string())}), {}),
        (ac.query("MATCH A ; B"), ROWS, {"events": 0}),
        (ac.query("MATCH (A ; B) PROJECT A WITHIN 3 EVENTS"), ROWS, {"matches": 0}),
        (ac.query("MATCH A : B PARTITION BY k"), pa.table({"type": ["A", "B"], "k": [None, None]}), {}),
        (ac.query("MATCH A"), pa.table({"type": ["A"], "ts": pa.array([5], pa.timestamp("ns"))}), {"order_by": "ts"}),
        (ac.query(Acea.of("p", "q", [Move("p", "q", marks={"x": {"w": "v + 1"}})])), ROWS, {}),
    ],
    ids=["no match", "no event", "no event shown", "no match shown", "key of NULL", "one moment", "handmade"],
)
def test_no_page_fails(query: ac.Query, table: object, options: dict[str, object], tmp_path: Path) -> None:
    state, shown = opened(query.report(table, tmp_path / "page.html", **options), "", tmp_path)  # type: ignore[arg-type]
    assert state["errors"] == "0" and state["ready"] == "true"
    assert texts(shown, "headline")[0].endswith(("event", "events"))


LANES = "document.documentElement.dataset.lanes = document.querySelector('#lanes [aria-pressed=true]').textContent;"


@pytest.mark.parametrize(
    ("keys", "matching", "lanes"),
    [(3, 3, "By k"), (14, 14, "By k"), (40, 5, "By k"), (40, 40, "By type"), (40, 0, "By type")],
)
def test_lanes_are_keys_where_they_tell_matches_apart(keys: int, matching: int, lanes: str, tmp_path: Path) -> None:
    rows = [{"type": kind, "k": n} for kind in "AB" for n in range(keys)]
    path = ac.query(f"MATCH (A FILTER A.k < {matching}) ; B PARTITION BY k").report(rows, tmp_path / "page.html")
    assert driven(path, LANES, tmp_path)["lanes"] == lanes


def test_the_list_tells_the_key_and_all_of_the_span(tmp_path: Path) -> None:
    long = "4f0c2c1e-7a52-4a8f-9d0a-2b1c88aa000"
    days = [datetime.datetime(2024, 10, 26, 19, 28), datetime.datetime(2024, 10, 27, 5, 3, 1)]
    rows = [{"type": t, "ts": d, "k": long + k, "n": 1} for t, d in zip("AB", days, strict=True) for k in "12"]
    path = ac.query("MATCH A ; B PARTITION BY k, n").report(rows, tmp_path / "page.html", order_by=["ts", "k"])
    fits = "[...document.querySelectorAll('.option > *')].every((each) => each.scrollWidth <= each.clientWidth + 1)"
    state = driven(path, f"document.documentElement.dataset.fits = {fits}", tmp_path)
    _, shown = opened(path, "", tmp_path)
    keys, span = [f"4f0c2c1e-7a52-…b1c88aa000{key} · 1" for key in "12"], "10-26 19:28:00 – 10-27 05:03:01"
    assert texts(shown, "option") == [f"{number}{span}{key}2 events" for number, key in enumerate(keys, 1)]
    assert f'title="k: {long}2\nn: 1"' in shown and state["fits"] == "true"


SPAN = """
const bucket = document.querySelector("#counts .hit").getAttribute("width");
document.documentElement.dataset.span = (document.querySelector("#counts .view").getAttribute("width") / bucket) * 30;
"""


def test_a_chosen_match_takes_a_good_third(tmp_path: Path) -> None:
    """The window in the chart of counts tells what the timeline shows; a match without length shows its neighbours."""
    lengths, rows = [(0, 200), (400, 430), (600, 600)], []
    for number, (start, end) in enumerate(lengths):
        rows += [{"type": "A", "n": number, "at": start}, {"type": "B", "n": number, "at": end}]
    rows += [{"type": "X", "n": 9, "at": at} for at in range(0, 1000, 5)]
    for order, row in enumerate(rows):
        row |= {"ts": datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=row["at"]), "order": order}
    query = ac.query("MATCH (A AS a ; B AS b) FILTER a.n = b.n")
    path = query.report(rows, tmp_path / "page.html", order_by=["ts", "order"])
    assert data(path)["buckets"]["width"] == 30_000
    first, second, third = (float(driven(path, SPAN, tmp_path, f"#match={n}")["span"]) for n in (1, 2, 3))
    assert 0.33 < 200 / first < 0.5 and 0.33 < 30 / second < 0.5
    assert 20 < third < 120  # six events are 30 seconds


PIXELS = """
const canvas = document.getElementById("overlay"), style = getComputedStyle(document.documentElement);
const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
document.documentElement.dataset.areas = ["--v0", "--v1", "--v2"].map((name) => {
  const wanted = [1, 3, 5].map((at) => parseInt(style.getPropertyValue(name).trim().slice(at, at + 2), 16));
  const is = (at) => wanted.every((value, part) => Math.abs(data[at + part] - value) < 3) && data[at + 3] > 250;
  return Array.from({ length: data.length / 4 }, (_, pixel) => is(4 * pixel)).filter(Boolean).length;
}).join(" ");
"""


@pytest.mark.parametrize("keys", [1, 12])
def test_many_markers_find_room(keys: int, tmp_path: Path) -> None:
    """Seven events at nearly the same time are more than fit one above the other: each is seen all the same."""
    start = datetime.datetime(2024, 1, 1)
    rows = [{"type": "T", "k": 0, "ts": start + datetime.timedelta(milliseconds=at)} for at in (*range(7), 999)]
    rows += [{"type": "X", "k": k, "ts": start + datetime.timedelta(seconds=1 + k)} for k in range(1, keys)]
    query = ac.query("MATCH T AS a : (T AS b):+ : T AS c PARTITION BY k")
    path = query.report(rows, tmp_path / "page.html", order_by="ts")
    longest = max(range(len(data(path)["matches"])), key=lambda n: len(str(data(path)["matches"][n]["held"])))
    first, others, _ = map(int, driven(path, PIXELS, tmp_path, f"#match={longest + 1}")["areas"].split(" "))
    assert first > 60 and 0.7 < others / first / 6 < 1.3


@pytest.mark.parametrize("keys", [1, 12])
def test_markers_do_not_hide_each_other(keys: int, tmp_path: Path) -> None:
    """Two events at nearly the same time, in the same lane: what is seen of each is what is seen of the other."""
    start = datetime.datetime(2024, 1, 1)
    rows = [{"type": "T", "k": 0, "ts": start + datetime.timedelta(milliseconds=at)} for at in (0, 2, 999)]
    rows += [{"type": "X", "k": k, "ts": start + datetime.timedelta(seconds=1 + k)} for k in range(1, keys)]
    path = ac.query("MATCH T AS a : T AS b : T AS c PARTITION BY k").report(rows, tmp_path / "page.html", order_by="ts")
    one, two, alone = map(int, driven(path, PIXELS, tmp_path)["areas"].split(" "))
    assert 60 < one < 1.3 * two and two < 1.3 * one and alone >= 0.9 * one


def test_nasty_texts_do_nothing(tmp_path: Path) -> None:
    nasty = "</script><script>document.documentElement.dataset.harm=1</script><img src=x onerror=alert(1)>"
    query = ac.query(f"SELECT `{nasty}`.v AS `<b>{nasty}` MATCH A AS `{nasty}` PARTITION BY `{nasty}`")
    rows = [{"type": "A", "v": nasty, nasty: nasty}, {"type": nasty, "v": "<i>", nasty: "<i>"}]
    state, shown = opened(query.report(rows, tmp_path / "page.html"), "#match=1", tmp_path)
    assert state == {"errors": "0", "match": "1", "ready": "true"}
    assert "<img" not in shown.replace("&lt;img", "") and nasty in texts(shown, "result")[0]


def test_a_large_page_does_not_lag(tmp_path: Path) -> None:
    """10,000 events and 1,000 matches: a step and a new view take a few milliseconds; the bounds here are generous."""
    rows = [{"type": "AB"[n % 2], "v": n, "k": n // 2 % 40} for n in range(10_000)]
    path = ac.query("SELECT A.v, B.v MATCH A ; B PARTITION BY k WITHIN 4 EVENTS").report(rows, tmp_path / "page.html")
    state, shown = opened(path, "#measure", tmp_path)
    assert state["errors"] == "0" and shown.count('role="option"') == 1000
    for kind in ("step", "view"):
        assert float(state[kind].split(" ")[0]) < 150, state

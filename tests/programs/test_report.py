"""The page of a run: its data are exact, nothing in it can do harm, and its script does what it says."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import acelera
from acelera.errors import UsageError
from acelera.programs.label_graph import LabelGraph, Use
from acelera.programs.report.page import colours_of, data_of, json_value, page, write
from acelera.programs.report.program_text import program_html
from acelera.programs.report.run import Count, Looked, Made, Part, RuleText, Run, Shown, Timer
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.shown_run import WORDS, fields_of, shown_run
from acelera.xchangeeq.terms import Event
from report.reading import data as written_data
from report.test_browser import CHROMIUM, opened
from report.test_page import Elements
from xchangeeq.building import SECOND, ev
from xchangeeq.programs import P
from xchangeeq.test_programs import PAGE_22, PAYMENTS

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028 & ' \""
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no Node is on the PATH")


def run_of(text: str, events: list[Event], **options: Any) -> Run:
    program = parse_program(text)
    derived = derive(program, events, tick=SECOND)
    return shown_run(program, text, events, derived, tick=SECOND, **{"timestamps": False, **options})


def of_p(**options: Any) -> Run:
    return run_of(P, PAGE_22, **options)


# --- data


def test_p_on_the_stream_of_page_22() -> None:
    run = of_p()
    assert [(each.label, each.begin, each.end) for each in run.events] == [
        ("temp", 60, 63), ("smoke", 65, 68), ("temp", 70, 80), ("avg_temp", 10, 80), ("fire", 65, 80), ("burnt_down", 70, 92)
    ]  # fmt: skip
    by_label = {each.label: each for each in run.events if each.derived}
    assert by_label["fire"].made_from == (Made(0, (Part("s", 1), Part("t", 2))),)
    assert by_label["burnt_down"].made_from == (
        Made(
            1,
            (Part("n", 2),),
            (Timer("i", "timer:from-end [ event n, 12 s ]", 80, 92),),
            (Looked("i", "temp {{ sensor {{ var S }} }}", None),),
        ),
    )
    [made] = by_label["avg_temp"].made_from
    assert made.looked == (Looked("i", "temp {{ sensor {{ var S }}, value {{ var T }} }}", (0,)),)
    assert made.timers[0].begin == 10 and by_label["avg_temp"].fields == {"sensor": "s", "value": 40}
    assert run.counts == {
        "temp": Count(2, 0), "smoke": Count(1, 0), "fire": Count(0, 1), "avg_temp": Count(0, 1), "burnt_down": Count(0, 1)
    }  # fmt: skip


def test_the_data_of_the_page() -> None:
    data = data_of(of_p())
    assert [label["name"] for label in data["labels"]] == ["smoke", "temp", "fire", "burnt_down", "avg_temp"]
    assert [label["colour"] for label in data["labels"]] == [None, None, 0, 1, 2]
    assert data["events"]["derived"] == [0, 0, 0, 1, 1, 1]
    assert data["events"]["from"][:2] == ["60", "65"] and data["events"]["begin"][0] == 60 and data["origin"] == 0
    ways = {
        data["labels"][label]["name"]: ways
        for label, ways in zip(data["events"]["label"], data["events"]["ways"], strict=True)
    }
    assert ways["temp"] == [] and ways["fire"][0]["parts"] == [["s", 1], ["t", 2]]
    assert ways["burnt_down"][0]["timers"][0]["from"] == "80"


def test_timestamps_are_shown_as_such() -> None:
    start = 1_700_000_000_000_000
    events = [Event(each.term, start + each.begin * SECOND, start + each.end * SECOND) for each in PAGE_22]
    program = parse_program(P)
    for zoned, suffix in ((False, ""), (True, "Z")):
        data = data_of(shown_run(program, P, events, derive(program, events), zoned=zoned))
        assert data["events"]["from"][0] == f"2023-11-14 22:14:20{suffix}" and data["events"]["to"][0].endswith(
            f"23{suffix}"
        )
        assert data["origin"] == start // 1000 + 10_000  # where the window of avg_temp begins
        assert data["events"]["begin"][0] == 50_000


def test_beyond_the_limit_the_first_are_shown_with_all_they_were_made_from() -> None:
    text = "DETECT d { v { var V } } ON and { event i: payment {{ amount {{ var V }} }}, event j: payment {{ }} } END"
    whole = run_of(text, PAYMENTS)
    for most in range(len(whole.events) + 1):
        run = run_of(text, PAYMENTS, most=most)
        assert len(run.events) == most and run.counts == whole.counts  # references are checked when a run is made
        assert all(each.made_from for each in run.events if each.derived)
        assert [each.end for each in run.events] == [each.end for each in whole.events][:most]


def test_timers_beyond_the_last_event_that_is_shown() -> None:
    text = "DETECT d { } ON and { event i: a {{ }}, event w: timer:periodic [ 10 s ] } where { i before w } END"
    run = run_of(text, [ev("a", 5), ev("b", 29)], most=3)
    assert [(each.label, each.end) for each in run.events] == [("a", 5), ("d", 19), ("b", 29)]
    assert run.events[1].made_from[0].timers == (Timer("w", "timer:periodic [ 10 s ]", 10, 19),)


def test_an_event_without_a_name_has_none() -> None:
    run = run_of("DETECT d { } ON and { a {{ }}, event i: b {{ }} } END", [ev("a", 1), ev("b", 2)])
    assert {part.name for part in run.events[-1].made_from[0].parts} == {"", "i"}


def test_values_as_json() -> None:
    assert json_value({"a": [1, {"b": 2**60}], "c": float("nan"), "d": b"x", "e": (True, None)}) == {
        "a": [1, {"b": str(2**60)}], "c": "nan", "d": "0x78", "e": [True, None]
    }  # fmt: skip


def test_nine_labels_share_eight_colours() -> None:
    run = Run("", (), (), LabelGraph(tuple("abcdefghia"), (), (0,) * 10), (), {})
    assert list(colours_of(run).values()) == [0, 1, 2, 3, 4, 5, 6, 7, 0]


def test_what_an_event_was_made_from_comes_before_it() -> None:
    later = Shown("d", 1, 1, {}, True, (Made(0, (Part("i", 1),)),))
    with pytest.raises(AssertionError):
        Run("", (), (), LabelGraph(("d",), (), (0,)), (later, Shown("a", 1, 1, {})), {"d": Count(0, 1), "a": Count(1)})


# --- the text of the program


def test_rules_are_blocks_and_all_is_escaped() -> None:
    text = f'  -- {NASTY}\n  DETECT d {{ }}\n    ON a {{{{ v {{{{ "<b>" }}}} }}}} END # end'
    rule = RuleText("d", text.index("DETECT"), text.index(" # end"))
    shown = program_html(text, [rule], WORDS, {"d": 3})
    assert "<script>" not in shown and "<b>" not in shown and "<img" not in shown
    assert 'data-rule="0" style="--rule: var(--v3)">' in shown
    assert '<span class="q-word">DETECT</span> d { }\n  <span class="q-word">ON</span>' in shown  # moved to the left
    assert (
        '<span class="q-comment"># end</span>' in shown
        and '<span class="q-string">&quot;&lt;b&gt;&quot;</span>' in shown
    )


def test_the_words_of_p() -> None:
    run = of_p()
    shown = re.sub(r"<[^>]*>", "", program_html(run.text, run.rules, run.words, colours_of(run)))
    assert shown.replace("\n", "") == P.replace("\n", "").replace("&", "&amp;").replace(">", "&gt;")
    assert len(run.rules) == 3 and all(P[rule.start : rule.end].endswith("END") for rule in run.rules)


# --- the page


def nasty_run() -> Run:
    """A label, a value, a name, a query and a program that would like to be HTML."""
    made = Made(
        0, (Part(NASTY, 0),), (Timer(NASTY, NASTY, 1, 3),), (Looked(NASTY, NASTY, None), Looked("w", NASTY, (0,)))
    )
    shown = (Shown(NASTY, 1, 1, {NASTY: NASTY, "n": [NASTY]}), Shown("<b>d</b>", 1, 3, {"v": NASTY}, True, (made,)))
    graph = LabelGraph(("<b>d</b>",), (Use(NASTY, "<b>d</b>", 0, NASTY),), (0,))
    text = f"DETECT `{NASTY}` END"
    counts = {NASTY: Count(1), "<b>d</b>": Count(0, 1)}
    return Run(text, (RuleText("<b>d</b>", 0, len(text)),), WORDS, graph, shown, counts, timestamps=False)


def test_nothing_is_markup_and_nothing_comes_from_elsewhere() -> None:
    text = page(nasty_run())
    elements = Elements(text)
    assert len(elements.scripts) == 2 and not set("<>&") & set(elements.scripts[0])
    assert not {tag for tag, _ in elements.found} & {"img", "b", "iframe", "object", "embed"}
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    for tag, attributes in elements.found:
        for name in ("src", "href", "action", "data", "poster", "srcset", "xlink:href"):
            target = attributes.get(name)
            assert target is None or target == "data:," or target.startswith("#"), (tag, name, target)
    assert "@import" not in text and "url(" not in text
    assert set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text)) == {"http://www.w3.org"}
    policy = next(a["content"] for tag, a in elements.found if tag == "meta" and a.get("http-equiv")) or ""
    digest = base64.b64encode(hashlib.sha256(elements.scripts[1].encode()).digest()).decode()
    assert "default-src 'none'" in policy and f"script-src 'sha256-{digest}'" in policy
    assert json.loads(elements.scripts[0])["labels"][0]["name"] == NASTY


def test_scripts_put_texts_into_the_page_as_texts() -> None:
    folder = Path(acelera.__file__).parent
    for script in ("report/parts.js", "programs/report/program.js"):
        text = (folder / script).read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
            assert way not in text


def test_the_page_can_be_used_without_a_mouse() -> None:
    elements = Elements(page(of_p()))
    buttons = [attributes for tag, attributes in elements.found if tag == "button"]
    assert len(buttons) >= 6 and all(button.get("type") == "button" for button in buttons)
    described = {attributes.get("id"): attributes for _, attributes in elements.found}
    assert described["list"]["role"] == "listbox" and described["list"]["tabindex"] == "0"
    assert described["status"]["aria-live"] == "polite" and described["previous"]["aria-keyshortcuts"] == "ArrowLeft"
    names = {attributes.get("id") for _, attributes in elements.found}
    assert {
        attributes["aria-labelledby"] for _, attributes in elements.found if "aria-labelledby" in attributes
    } <= names


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    assert write(of_p(), tmp_path / "new" / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(UsageError, match="is a folder"):
        write(of_p(), tmp_path)


def test_large_graphs_are_not_drawn() -> None:
    made = tuple(f"d{number}" for number in range(200))
    run = Run("", (), (), LabelGraph(made, (), (0,) * 200), (), {})
    assert "200 rules: too large for a picture" in page(run)


# --- its script


def in_node(run: Run, folder: Path, fragment: str = "", driver: str = "") -> Any:
    """What the script does, in Node, with as much of a browser as it needs; then what another script does there."""
    path = write(run, folder / "page.html")
    arguments = [str(path), fragment]
    if driver:
        (folder / "driver.js").write_text(driver, encoding="utf-8")
        arguments.append(str(folder / "driver.js"))
    assert NODE is not None
    script = Path(__file__).with_name("page_in_node.js")
    done = subprocess.run([NODE, str(script), *arguments], capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert found["errors"] == [] and found["state"]["errors"] == "0" and found["state"]["ready"] == "true"
    return found


@needs_node
def test_what_an_event_was_made_from_is_told_and_drawn(tmp_path: Path) -> None:
    run = of_p()
    number = next(number for number, each in enumerate(run.events) if each.label == "burnt_down")
    found = in_node(run, tmp_path, f"#event={number + 1}")
    assert found["texts"]["headline"] == "3 derived events from 3 events" and found["texts"]["which"] == "Event 3 of 3"
    for said in (
        "burnt_down  70 – 92",
        "Made by rule 2",
        "70 – 80",
        "timer:from-end [ event n, 12 s ]",
        "80 – 92",
        "no temp {{ sensor",
    ):
        assert said in found["texts"]["detail"]
    assert found["on"] == [False, True, False] and found["colours"] == ["var(--v0)", "var(--v1)", "var(--v2)"]
    hollow = [call for call in found["drawn"]["overlay"] if call[0] == "setLineDash"]
    curves = [call for call in found["drawn"]["overlay"] if call[0] == "bezierCurveTo"]
    boxes = [call for call in found["drawn"]["overlay"] if call[0] == "strokeRect"]
    assert len(hollow) == 2 and len(curves) == 1  # one timer, and a link to the one event
    assert len(boxes) == 2  # the timer, and a frame around the event
    assert found["texts"]["shown"] == "Shown here: all 6 events." and "avg_temp011" in found["texts"]["counts"]


DRIVER = """
const say = () => { flush(); return root.dataset.event; };
const states = [];
const press = (key, target = root) => { target.dispatch("keydown", { key }); states.push(say()); };
press("ArrowRight"); press("ArrowLeft"); press("ArrowLeft");
get("next").click(); states.push(say());
get("previous").click(); states.push(say());
press("End", get("list")); press("Home", get("list")); press("ArrowDown", get("list"));
said.states = states.join(" ");
for (const id of ["in", "in", "out", "fit", "whole"]) get(id).click();
get("only").value = get("only").all[2].attributes.value;
get("only").dispatch("change");
said.only = get("which").textContent;
said.listed = get("list").all.filter((each) => each.classes.has("option")).length;
get("tabs").all.filter((each) => each.tag === "button")[2].click();
said.table = get("result-aside").textContent;
get("result").all.find((each) => each.tag === "tbody").all.find((each) => each.tag === "tr").click();
said.row = say();
const plot = get("plot");
plot.dispatch("wheel", { deltaY: -50, ctrlKey: true, clientX: 600 });
get("whole").click(); flush();
for (let y = 0; y < 400 && get("tip").hidden; y += 3) for (let x = 120; x < 1200 && get("tip").hidden; x += 4) plot.dispatch("pointermove", { clientX: x, clientY: y });
said.tip = get("tip").textContent;
flush();
"""


@needs_node
def test_keys_buttons_and_pointer(tmp_path: Path) -> None:
    said = in_node(of_p(), tmp_path, driver=DRIVER)["said"]
    assert said["states"] == "5 4 4 5 4 6 4 5"
    assert said["only"] == "Event 1 of 1" and said["listed"] == 1
    assert said["table"] == "avg_temp: 1 event" and said["row"] == "4"
    assert said["tip"] == "smoke 65 – 68area: a"


CLICKS = """
const button = get("detail").all.find((each) => each.tag === "button");
said.button = button.textContent;
button.click(); flush();
said.then = get("detail").textContent;
"""

CHAIN = """
DETECT bad { lot { var L } } ON event t: test {{ lot {{ var L }} }} END
DETECT bad { lot { var B } } ON and { event c: bad {{ lot {{ var A }} }}, event m: mix {{ from {{ var A }}, into {{ var B }} }} }
where { c before m } END
"""


@needs_node
def test_the_tree_leads_down_to_base_events(tmp_path: Path) -> None:
    events = [ev("test", 0, lot=0), *(ev("mix", n, **{"from": n - 1}, into=n) for n in range(1, 5))]
    run = run_of(CHAIN, events)
    found = in_node(run, tmp_path, f"#event={len(run.events)}", CLICKS)
    assert found["said"]["button"] == "bad" and found["said"]["then"].startswith("bad  0 – 3")
    whole = in_node(run, tmp_path, f"#event={len(run.events)}")
    assert all(f"mixm{n}" in whole["texts"]["detail"] for n in range(1, 5)) and "testt0" in whole["texts"]["detail"]
    assert len([call for call in whole["drawn"]["overlay"] if call[0] == "bezierCurveTo"]) == 9


@needs_node
def test_beyond_the_limit_the_page_says_so(tmp_path: Path) -> None:
    found = in_node(of_p(most=4), tmp_path)
    assert (
        "This page shows the first 4 of 6 events, by where they end: 3 that came in and 1 that were derived"
        in found["texts"]["lead"]
    )


@needs_node
@pytest.mark.parametrize(
    "events", [[], [ev("temp", 1)], [ev("smoke", 5, area="a")] * 2], ids=["none", "one", "nothing derived"]
)
def test_no_page_fails(events: list[Event], tmp_path: Path) -> None:
    found = in_node(run_of(P, events), tmp_path, "#event=7")
    assert found["texts"]["which"] == "Nothing derived" and "0 derived events" in found["title"]


@needs_node
def test_nasty_texts_stand_there_as_texts(tmp_path: Path) -> None:
    found = in_node(nasty_run(), tmp_path)
    assert NASTY in found["texts"]["detail"] and "<b>d</b>" in found["texts"]["detail"]
    assert NASTY in found["texts"]["counts"] and found["colours"] == ["var(--v0)"]


@needs_node
def test_several_ways_can_be_chosen(tmp_path: Path) -> None:
    base = (Shown("a", 1, 1, {"v": 1}), Shown("a", 1, 2, {"v": 2}))
    both = Shown("d", 1, 2, {}, True, (Made(0, (Part("i", 0),)), Made(1, (Part("i", 1),))))
    graph = LabelGraph(("d", "d"), (Use("a", "d", 0), Use("a", "d", 1)), (0, 0))
    run = Run(
        "xy", (RuleText("d", 0, 1), RuleText("d", 1, 2)), (), graph, (*base, both), {"a": Count(2), "d": Count(0, 1)}
    )
    driver = (
        'get("detail").all.find((each) => each.textContent === "Way 2").click(); said.then = get("detail").textContent;'
    )
    found = in_node(run, tmp_path, driver=driver)
    assert "Made by rule 2" in found["said"]["then"] and "v 2" in found["said"]["then"] and found["on"] == [False, True]


@needs_node
def test_five_thousand_events_are_drawn(tmp_path: Path) -> None:
    base = [Shown("a", n, n + n % 7, {"v": n}) for n in range(2_500)]
    made = [Shown("d", n, n + n % 7, {"v": n}, True, (Made(0, (Part("i", n),)),)) for n in range(2_500)]
    graph = LabelGraph(("d",), (Use("a", "d", 0),), (0,))
    run = Run("DETECT", (RuleText("d", 0, 6),), WORDS, graph, (*base, *made), {"a": Count(2_500), "d": Count(0, 2_500)})
    found = in_node(run, tmp_path)
    assert found["texts"]["which"] == "Event 1 of 2,500"
    assert len([call for call in found["drawn"]["base"] if call[0] == "fillRect"]) > 2_500


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is on the PATH")
def test_in_a_browser(tmp_path: Path) -> None:
    state, shown = opened(write(of_p(), tmp_path / "page.html"), "#event=5", tmp_path)
    assert state == {"errors": "0", "event": "5", "ready": "true"}
    assert "Event 2 of 3" in re.sub(r"<[^>]*>", "", shown)


# --- of tables


def test_a_program_writes_its_page(tmp_path: Path) -> None:
    rows = [{"type": each.label, "begin": each.begin, "end": each.end, **fields_of(each.term)} for each in PAGE_22]
    program = acelera.xchangeeq(P)
    assert program.findings(rows, {"time_unit": "s"}) == of_p()
    path = program.report(rows, tmp_path / "new" / "page.html", time_unit="s")
    assert written_data(path) == json.loads(json.dumps(data_of(of_p())))
    assert len(program.findings(rows, {"time_unit": "s"}, events=2).events) == 2


def test_times_of_tables_are_shown_as_they_are() -> None:
    program = acelera.xchangeeq("DETECT b { } ON a {{ }} END")
    for zone in (None, timezone.utc):
        run = program.findings([{"type": "a", "t": datetime(2024, 1, 1, tzinfo=zone)}], {"time": "t"})
        assert (run.timestamps, run.zoned) == (True, zone is not None)


def test_the_clock_sees_events_that_no_rule_asks_for() -> None:
    text = "DETECT d { } ON and { event i: a {{ }}, event w: timer:periodic [ 10 s ] } where { i before w } END"
    tables = {"a": [{"t": 5}], "other": [{"t": 29}]}
    run = acelera.xchangeeq(text).findings(tables, {"time": "t", "time_unit": "s"})
    assert [(each.label, each.end, len(each.made_from)) for each in run.events] == [
        ("a", 5, 0),
        ("d", 19, 1),
        ("d", 29, 1),
    ]


def test_what_a_report_of_a_program_refuses(tmp_path: Path) -> None:
    program = acelera.xchangeeq("DETECT b { } ON a {{ }} END")
    with pytest.raises(UsageError, match="is a folder; name the file of the report"):
        program.report({"a": [{"t": 1}]}, tmp_path, time="t")
    for events in (-1, 1.5, True):
        with pytest.raises(UsageError, match="is not a number of events to show"):
            program.report({"a": [{"t": 1}]}, tmp_path / "x.html", time="t", events=events)
    assert not list(tmp_path.iterdir())

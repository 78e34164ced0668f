"""The page itself: nothing in it can do harm, and it needs nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import acelera as ac
from acelera import Acea, Move
from acelera.language.aggregates import aggregate_names
from acelera.language.expressions import FUNCTIONS, MULTISET_PREDICATES
from acelera.report.highlight import highlighted
from report.reading import data

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028\u2029 & ' \""


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, text: str) -> None:
        self.texts.append(text)
        if self.inside == "script":
            self.scripts[-1] += text

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""


def nasty_page(folder: Path) -> str:
    quoted = NASTY.replace("`", "").replace("\u2028", "").replace("\u2029", "")
    query = ac.query(
        f"SELECT `{quoted}`.`{quoted}` AS `{quoted} x`, max(`{quoted}`.v) AS `</script><b>` -- {quoted}\n"
        f"MATCH `<A&B>` AS `{quoted}` FILTER `{quoted}`[`{quoted}` <> '</pre><script>alert(3)</script>'] PARTITION BY `{quoted}`"
    )
    rows = [{"type": "<A&B>", "v": 1, quoted: NASTY}, {"type": NASTY, "v": 2, quoted: "]]>"}]
    return query.report(rows, folder / "nasty.html").read_text(encoding="utf-8")


def test_what_comes_from_data_or_query_is_never_markup(tmp_path: Path) -> None:
    text = nasty_page(tmp_path)
    elements = Elements(text)
    assert len(elements.scripts) == 2
    tags = {tag for tag, _ in elements.found}
    assert not tags & {"img", "b", "iframe", "object", "embed"}
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    assert "\u2028" not in text and "\u2029" not in text
    embedded = elements.scripts[0]
    assert not set("<>&") & set(embedded)
    page = data(tmp_path / "nasty.html")
    assert page["types"] == [NASTY, "<A&B>"] and page["matches"][0]["row"] == [NASTY, 1]
    assert page["columns"][1] == "</script><b>" and "alert(3)" in "".join(elements.texts)


def test_nothing_comes_from_elsewhere(tmp_path: Path) -> None:
    text = nasty_page(tmp_path)
    for tag, attributes in Elements(text).found:
        for name in ("src", "href", "action", "data", "poster", "srcset", "xlink:href"):
            target = attributes.get(name)
            assert target is None or target == "data:," or target.startswith("#"), (tag, name, target)
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text))
    assert addresses == {"http://www.w3.org"}  # the name of SVG, which no one loads
    assert "@import" not in text and "url(" not in text
    assert not re.findall(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import)\s*\(", text)


def test_only_the_script_of_the_page_may_run(tmp_path: Path) -> None:
    text = nasty_page(tmp_path)
    elements = Elements(text)
    policy = next(a["content"] for tag, a in elements.found if tag == "meta" and a.get("http-equiv")) or ""
    digest = base64.b64encode(hashlib.sha256(elements.scripts[1].encode()).digest()).decode()
    assert "default-src 'none'" in policy and f"script-src 'sha256-{digest}'" in policy


def test_the_script_puts_texts_into_the_page_as_texts() -> None:
    script = Path(ac.__file__).parent.joinpath("report", "page.js").read_text(encoding="utf-8")
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert way not in script


def test_the_page_shows_query_and_automaton(tmp_path: Path) -> None:
    query = ac.query("SELECT a.v -- the first\nMATCH A AS a ; B AGG m[n <- count(a)]")
    text = query.report([{"type": "A", "v": 1}], str(tmp_path / "page.html")).read_text(encoding="utf-8")
    assert '<span class="q-comment">-- the first</span>' in text and query.automaton.draw().svg() in text
    assert "acelera 0." in text and re.search(r"\$\w", text.split("<script")[0]) is None


def test_large_automata_are_not_drawn(tmp_path: Path) -> None:
    large = Acea.of("p0", "p200", [Move(f"p{n}", f"p{n + 1}", when=f"v = {n}") for n in range(200)])
    text = ac.query(large).report([{"type": "A", "v": 1}], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "too large for a picture" in text and 'class="acea"' not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("match A", '<span class="q-word">match</span> A'),
        ("'it''s' <", '<span class="q-string">&#x27;it&#x27;&#x27;s&#x27;</span> &lt;'),
        ("`match` max(a) max", '`match` <span class="q-function">max</span>(a) max'),
        ("\n    A\n      ;\n", 'A\n  <span class="q-sign">;</span>'),
        ("'open\x00\ud800", "&#x27;open�?"),
    ],
)
def test_highlighting(text: str, shown: str) -> None:
    assert highlighted(text) == shown


def test_every_word_of_the_grammar_is_highlighted() -> None:
    grammar = (Path(ac.__file__).parent / "language" / "grammar.lark").read_text(encoding="utf-8")
    words = re.findall(r"^([A-Z]+)(?:\.\d+)?: /[a-z]+(?:\\b|\(\?=)", grammar, flags=re.MULTILINE)
    assert {"MATCH", "UNLESS", "STRICT", "NULLS", "INTERVAL"} <= set(words)
    assert [word for word in words if highlighted(word) != f'<span class="q-word">{word}</span>'] == []


def test_every_function_is_highlighted() -> None:
    names = ["prev", *FUNCTIONS, *MULTISET_PREDICATES, *aggregate_names()]
    assert [name for name in names if highlighted(f"{name}(") != f'<span class="q-function">{name}</span>('] == []


def test_highlighting_changes_no_letter() -> None:
    text = "SELECT a.v, max(b.w) AS hi -- <i>\nMATCH A AS a ; (B AS b):+ FILTER a.v >= 1.5 AND b.s LIKE '%<&>%' WITHIN 5 MINUTES"
    assert "".join(Elements(highlighted(text)).texts) == text


def test_a_notebook_shows_a_query() -> None:
    query = ac.query("MATCH `<b>` AS x FILTER x.s = '<script>'")
    shown = query._repr_html_()
    tags = {tag for tag, _ in Elements(shown).found}
    assert query.automaton.draw().svg() in shown and not tags & {"b", "script"}
    automaton = ac.query(Acea.of("p", "q", [Move("p", "q", marks={"x": "event"})]), within="3 events")
    assert "WITHIN" in automaton._repr_html_()


def test_the_files_of_the_page_are_part_of_the_package() -> None:
    folder = Path(ac.__file__).parent / "report"
    assert {each.name for each in folder.glob("page.*")} == {"page.html", "page.css", "page.js", "page.py"}


def test_a_page_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    query, rows = ac.query("MATCH A"), [{"type": "A"}]
    assert query.report(rows, tmp_path / "new" / "folders" / "page.html").exists()
    for place, says in [
        (tmp_path, "is a folder"),
        (tmp_path / "new" / "folders" / "page.html" / "x.html", "not a folder"),
    ]:
        with pytest.raises(ac.UsageError, match=says):
            query.report(rows, place)
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ac.UsageError, match=r"cannot be written to .*page\.html`: No space left"):
        query.report(rows, tmp_path / "page.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_contrast(scheme: str) -> None:
    style = Path(ac.__file__).parent.joinpath("report", "page.css").read_text(encoding="utf-8")
    parts = style.split("@media (prefers-color-scheme: dark)")
    colours: dict[str, Any] = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", parts[0]))
    if scheme == "dark":
        colours |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", parts[1].split("\n}")[0]))
    on = [("ink", "card"), ("soft", "card"), ("soft", "page"), ("soft", "wash"), ("soft", "lane"), ("accent", "card")]
    on += [("accent", "accent-wash"), *((name, "card") for name in ("word", "string", "number", "function"))]
    on += [("on-v", f"v{number}") for number in range(8)]
    for one, two in on:
        assert contrast(colours[one], colours[two]) >= 4.5, (one, two)


def contrast(one: str, two: str) -> float:
    """The contrast of two colours, as WCAG measures it."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(two)))
    return (high + 0.05) / (low + 0.05)

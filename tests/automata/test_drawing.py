"""Pictures of automata."""

import re
import shutil
import subprocess

import pytest

import acelera as ac
from acelera.automata.drawing import label_text

QUERY = ac.query("MATCH SELL AS msft ; BUY+ FILTER msft[price > 100] AGG m[hi <- max(BUY.price)]")


def test_labels_read_like_the_query() -> None:
    labels = [label_text(t.label) for t in QUERY.automaton.transitions]
    assert labels[0] == "SELL, price > 100 → msft [hi_1 ← max()]"
    assert "any" in labels
    assert "BUY → BUY [hi_1 ← max(hi_1, price)]" in labels
    assert label_text(ac.query("MATCH A AS x PROJECT x").automaton.transitions[0].label) == "A → x without A"
    assert label_text(ac.query("MATCH A AGG m[n <- count(A)]").automaton.transitions[0].label).startswith("A → m(n) [")
    assert label_text(ac.query("MATCH START(A)").automaton.transitions[0].label) == "A, first position → A"


def test_dot() -> None:
    dot = QUERY.automaton.draw().dot
    assert dot.startswith("digraph acea {") and dot.endswith("}")
    assert len(re.findall(r"^  s\d+ \[", dot, re.MULTILINE)) == QUERY.automaton.states
    assert dot.count("doublecircle") == len(QUERY.automaton.finals)
    assert str(QUERY.automaton.draw()) == dot


def test_odd_names_are_escaped() -> None:
    odd = ac.query("""MATCH `a"b\\` AS `<x>` FILTER `<x>`[s = '"|#;']""").automaton.draw()
    assert r"\"" in odd.dot and r"\\" in odd.dot
    assert "<x>" not in odd.mermaid and '"|#' not in odd.mermaid


def test_mermaid() -> None:
    mermaid = QUERY.automaton.draw().mermaid
    assert mermaid.startswith("flowchart LR")
    assert mermaid.count("-->") == len({(t.source, t.target) for t in QUERY.automaton.transitions}) + 1


def test_guards_are_drawn() -> None:
    drawing = ac.query("MATCH (A ; B) UNLESS C").automaton.draw()
    assert "subgraph guard 1" in drawing.mermaid and "C → C" in drawing.mermaid
    assert "subgraph cluster_1" in drawing.dot and "C → C" in drawing.dot


def test_svg(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = QUERY.automaton.draw()
    if shutil.which("dot"):
        assert "<svg" in drawing.svg()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ac.UsageError, match="Graphviz"):
        drawing.svg()
    assert set(drawing._repr_mimebundle_()) == {"text/plain", "text/vnd.mermaid"}
    assert QUERY.automaton._repr_mimebundle_() == drawing._repr_mimebundle_()


def test_svg_is_what_graphviz_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        assert command == ["/bin/dot", "-Tsvg"] and options["input"] == QUERY.automaton.draw().dot
        return subprocess.CompletedProcess(command, 0, "<svg/>", "")

    monkeypatch.setattr(shutil, "which", lambda _: "/bin/dot")
    monkeypatch.setattr(subprocess, "run", run)
    assert QUERY.automaton.draw()._repr_mimebundle_()["image/svg+xml"] == "<svg/>"

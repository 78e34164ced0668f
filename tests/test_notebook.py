"""In a notebook: what IPython is told, and what it would show."""

import sys
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from acelera.notebook import show_tables, table_html


class Formatter:
    """As much of IPython's formatter as is asked for."""

    def __init__(self) -> None:
        self.known: dict[type, Any] = {}

    def lookup_by_type(self, kind: type) -> Any:
        return self.known[kind]

    def for_type(self, kind: type, function: Any) -> None:
        self.known[kind] = function


@pytest.fixture
def formatter(monkeypatch: pytest.MonkeyPatch) -> Formatter:
    html = Formatter()
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": html}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return html


def test_ipython_is_told_how_to_show_tables(formatter: Formatter) -> None:
    show_tables()
    assert formatter.known == {pa.Table: table_html}


def test_what_others_have_told_it_stays(formatter: Formatter) -> None:
    formatter.for_type(pa.Table, repr)
    show_tables()
    assert formatter.known == {pa.Table: repr}


def test_outside_of_a_notebook_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[None] = []
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: asked.append(None)))
    show_tables()
    assert asked == [None]  # and there is no shell
    monkeypatch.delitem(sys.modules, "IPython")
    show_tables()
    assert "IPython" not in sys.modules  # it is not imported for that


def test_what_comes_from_data_is_escaped() -> None:
    shown = table_html(pa.table({"<b>": ["<script>"] * 21}))
    assert "<b>" not in shown and "<script>" not in shown
    assert shown.count("&lt;script&gt;") == 20
    assert shown.endswith("<p>the first 20 of 21 rows</p>")

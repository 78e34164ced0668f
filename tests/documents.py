"""The code blocks of the documents, and how each kind of them is run.

A block of ```python with `>>>` is a doctest, which pytest finds by itself in README.md, CONTRIBUTING.md and docs. One
without is a script, run after all blocks above it on the same page; if it speaks of `spark`, by tests/spark. A block of
```text that follows a script at once is what the script prints.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

ROOT = Path(__file__).parent.parent

GIVEN = ("spark", "schema", "df", "sells", "buys")
"""What a block on Spark may speak of without making it; `schema` is that of the folders `ticks` and `incoming`."""

NOT_RUN = {
    "console": "a session at the command line has its own test",
    "sh": "installs packages, or sets the environment of a shell",
    "sql": "a query for another system, shown beside one of ours",
    "yaml": "a form to be filled in; that of the template for bugs has its own test",
}
"""Why blocks of a language are not run."""

NOT_CODE = {
    ("README.md", "make demo"): "make targets; CI runs them",
    ("README.md", "pip install '.[spark]'"): "installs packages",
    ("CONTRIBUTING.md", "make lint"): "make targets; CI runs them",
    ("CONTRIBUTING.md", "src/acelera/"): "a picture of the folders",
    ("docs/language.md", "SELECT   item, ..."): "the shape of a query, with dots in it",
    ("docs/language.md", "SUMMARIZE item [AS name], ..."): "the shape of a summary, with dots in it",
    ("docs/language.md", "SUMMARIZE count(*) AS rises"): "the text of a query; a test parses it",
    ("docs/programs.md", "timer "): "a picture of windows",
    ("docs/programs.md", "program   = rule"): "a grammar",
    ("docs/programs-inside.md", "text ─ parser"): "a picture of what is made of what",
    ("docs/changes.md", "program   = { module }"): "a grammar",
    ("docs/changes-inside.md", "text ─ parser"): "a picture of what is made of what",
}
"""Why blocks without a language are not run: the page, how the block begins, the reason."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `output` is what the page says that it prints, if it says so."""

    page: str
    line: int
    language: str
    text: str
    output: str | None = None

    @property
    def is_doctest(self) -> bool:
        return self.language == "python" and ">>>" in self.text

    @property
    def is_script(self) -> bool:
        return self.language == "python" and ">>>" not in self.text

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """All documents whose blocks are run, by their path in the repository."""
    folders = sorted((ROOT / "docs").rglob("*.md"))
    return ["README.md", "CONTRIBUTING.md", *(str(path.relative_to(ROOT)) for path in folders)]


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    tokens = MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8"))
    found: list[Block] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type != "fence":
            continue
        language, line = token.info.split()[0] if token.info else "", token.map[0] + 1
        if language == "text" and before is not None and before.type == "fence" and found[-1].is_script:
            script = found.pop()
            found.append(Block(page, script.line, script.language, script.text, token.content))
        else:
            found.append(Block(page, line, language, token.content))
    return found


def on_spark(page: str) -> list[Block]:
    """The scripts of a page that need Spark: they speak of it, or of what such a script has made."""
    names, found = set(GIVEN), []
    for block in blocks(page):
        if block.language != "python":
            continue
        used, made = names_of(block)
        if block.is_script and used & names:
            found.append(block)
            names |= made
        else:
            names -= made
    return found


def names_of(block: Block) -> tuple[set[str], set[str]]:
    """The names that a block uses, and those that it binds."""
    source = block.text
    if block.is_doctest:
        source = "".join(example.source for example in doctest.DocTestParser().get_examples(source))
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    made = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    return {node.id for node in nodes if isinstance(node.ctx, ast.Load)} - (made - set(GIVEN)), made


def run(block: Block, names: dict[str, Any]) -> None:
    """Run a block of Python; what a script prints is compared with what the page says, if it does."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for code, fails in _pieces(block):
            try:
                exec(code, names)
            except Exception:
                if not fails:
                    raise
    if block.output is not None:
        assert _lines(printed.getvalue()) == _lines(block.output), (
            f"{block} prints something else:\n{printed.getvalue()}"
        )


def _pieces(block: Block) -> Iterator[tuple[Any, bool]]:
    """What is to be compiled and run, and whether the page shows that it fails."""
    if block.is_script:
        yield compile(block.text, str(block), "exec"), False
        return
    for example in doctest.DocTestParser().get_examples(block.text):
        yield compile(example.source, str(block), "single"), example.exc_msg is not None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def run_page(page: str, names: dict[str, Any], scripts: list[Block], before: Callable[[Block], None]) -> None:
    """Run these scripts of a page, and all doctests that stand above them, in the order of the page."""
    below = max(script.line for script in scripts)
    for block in blocks(page):
        if block in scripts or (block.is_doctest and block.line < below):
            before(block)
            run(block, names)

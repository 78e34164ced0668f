"""Every block of code in the documents runs, every link leads somewhere, and the reference is complete."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import acelera as ac
import acelera.testing
from cases import Case, actual, expected
from documents import NOT_CODE, NOT_RUN, ROOT, Block, blocks, on_spark, pages, run, run_page

PAGES = pages()
TEMPLATE = ".github/ISSUE_TEMPLATE/wrong-matches.md"


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_or_has_a_reason(page: str) -> None:
    for block in blocks(page):
        known = block.language in ("python", *NOT_RUN) or any(
            page == where and block.text.startswith(begin) for where, begin in NOT_CODE
        )
        assert known, f"{block}: say its language, or list it with a reason in tests/documents.py"


def test_reasons_are_for_blocks_that_are_there() -> None:
    there = [(page, block.text) for page in PAGES for block in blocks(page) if not block.language]
    for where, begin in NOT_CODE:
        assert any(page == where and text.startswith(begin) for page, text in there), f"{where}: no block {begin!r}"


def scripts(page: str) -> list[Block]:
    """The scripts of a page that need no Spark."""
    return [block for block in blocks(page) if block.is_script and block not in on_spark(page)]


@pytest.mark.parametrize("page", [page for page in PAGES if scripts(page)])
def test_scripts(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page, {"__name__": "__main__"}, scripts(page), before=lambda block: None)


def test_a_script_that_prints_something_else_is_found() -> None:
    script = Block("page", 1, "python", "print(1 + 1)", output="3\n")
    with pytest.raises(AssertionError, match="page:1 prints something else"):
        run(script, {})
    run(replace(script, output="2\n"), {})


# --- links and the site -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md", TEMPLATE])
def test_links_lead_somewhere(page: str) -> None:
    prose = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose):
        if not target.startswith(("http://", "https://")):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page}: no {target}"
            assert not (page.startswith("docs/") and target.startswith("..")), f"{page}: {target} is not on the site"


MODULES = [path for folder in ("src", "tests", "benchmarks", "tools") for path in (ROOT / folder).rglob("*.py")]


@pytest.mark.parametrize("page", PAGES)
def test_modules_that_are_named_are_there(page: str) -> None:
    for name in re.findall(r"`([\w/.-]+\.py)`", (ROOT / page).read_text(encoding="utf-8")):
        meant = [str(path.relative_to(ROOT)) for path in MODULES if path.as_posix().endswith(f"/{name}")]
        assert len(meant) == 1, f"{page}: `{name}` may be any of {meant}"


def test_the_site_shows_the_pages_that_there_are() -> None:
    shown = set(re.findall(r"[\w-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    there = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert shown == there


# --- the reference ------------------------------------------------------------------------------------------------

PUBLIC = [f"acelera.{name}" for name in ac.__all__] + [f"acelera.testing.{name}" for name in acelera.testing.__all__]


NAMED_AS_MODULES = {
    "acelera.query": "acelera.query.query",
    "acelera.trepl": "acelera.trepl.program.trepl",
    "acelera.xchangeeq": "acelera.xchangeeq.program.xchangeeq",
}
"""Names of which there is a module, too, and where what they stand for is made."""


def found(name: str) -> object:
    """What a public name stands for."""
    module = acelera.testing if name.startswith("acelera.testing.") else ac
    return getattr(module, name.rpartition(".")[2])


@pytest.mark.parametrize("name", PUBLIC)
def test_reference(name: str) -> None:
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = NAMED_AS_MODULES.get(name, name)
    assert re.search(rf"^::: {re.escape(listed)}$", reference, flags=re.MULTILINE), f"{name} is not in docs/api.md"
    assert ">>>" in (inspect.getdoc(found(name)) or ""), f"{name} has no example in its docstring"


# --- the template for bugs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["semantics", "automaton", "engine"])
def test_template_holds_a_case_that_passes(method: str) -> None:
    (block,) = [block for block in blocks(TEMPLATE) if block.language == "yaml"]
    (data,) = yaml.safe_load(block.text)
    case = Case("template", data["name"], data, data.get("bag_union", "once"))
    result = ac.query(data["query"]).run(case.table, method=method, **case.options)
    assert actual(case, result) == expected(case)

"""What comes from data, names and queries cannot command the terminal."""

import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from acelera.cli import main
from acelera.cli import progress as showing
from acelera.cli.printing import visible
from acelera.cli.terminal_tables import table_of

EVIL = "\x1b[31m\x07\r\x7f\x9b2J\u202eabc\u2066[red]\u2028\udc80"
SHOWN = "␛[31m␇␍␡�2J�abc�[red]��"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def acelera(*arguments: str) -> Result:
    result = CliRunner().invoke(main, arguments)
    assert visible(result.output) == result.output, repr(result.output)
    return result


def test_what_would_be_obeyed_is_shown() -> None:
    assert visible(EVIL) == SHOWN and len(SHOWN) == len(EVIL)
    kept = "a\tb\nÄ漢🦊 שלום é\u200d"
    assert visible(kept) == kept
    left = {code for code in range(0x110000) if visible(chr(code)) == chr(code)}
    assert {chr(code) for code in left if unicodedata.category(chr(code)) in ("Cc", "Cs", "Zl", "Zp")} == {"\t", "\n"}
    assert not {code for code in left if unicodedata.bidirectional(chr(code)) in ("RLO", "LRO", "RLE", "LRE", "PDF")}
    assert not {code for code in left if unicodedata.bidirectional(chr(code)) in ("RLI", "LRI", "FSI", "PDI")}


def test_tables() -> None:
    screen = Console(width=200, force_terminal=True, color_system=None)
    with screen.capture() as capture:
        screen.print(table_of([{EVIL: EVIL, "list": [EVIL], "events": {EVIL: EVIL}}]))
    assert visible(capture.get()) == capture.get() and capture.get().count("␛[31m␇␍␡�2J�abc�[red]") == 5


def test_data_and_names_of_columns() -> None:
    Path("q.acel").write_text("MATCH A AS x FILTER x.v > 0")
    evil = EVIL.replace("\r", "").replace("\udc80", "").replace("\u2028", "")
    Path("d.csv").write_text(f'type,v,"{evil}"\nA,1,"{evil}"\n', encoding="utf-8")
    result = acelera("run", "q.acel", "d.csv", "--in-process")
    assert result.exit_code == 0 and result.stdout.count("␛[31m") == 4  # in A and in x
    misspelt = acelera("run", "q.acel", "d.csv", "--in-process", "--order-by", evil[:-1])
    assert misspelt.exit_code == 1 and "␛[31m" in misspelt.stderr and "did you mean" in misspelt.stderr


def test_errors_warnings_and_paths() -> None:
    Path("q.acel").write_text(f"MATCH A FILTER A.v = '{EVIL[:6]}' AND A.w == 1")
    wrong = acelera("check", "q.acel")
    assert wrong.exit_code == 1
    _, source, caret = wrong.stderr.splitlines()[:3]
    assert "␛[31m␇" in source and caret.index("^") == source.index("== 1") + 1
    Path("ok.acel").write_text(f"MATCH A FILTER A.v = '{EVIL[:5]}'")
    for command in ("check", "explain", "draw"):
        shown = acelera(command, "ok.acel")
        assert shown.exit_code == 0 and "␛[31m" in shown.stdout
    evil = "\x1b[31m.csv"
    Path(evil).write_text("type,v\nB,x\n")
    assert "there is no file or folder `no␛[31m.csv`" in acelera("run", "ok.acel", f"no{evil}", "--in-process").stderr
    for arguments in (["run", f"{evil}.acel", evil], [f"--{evil}"], [evil], ["run", "ok.acel", evil, f"--{evil}"]):
        assert acelera(*arguments).exit_code == 2
    Path("types.csv").write_text("type,v\n\x1b[31mB,x\n")
    Path("b.acel").write_text("MATCH `[31mB`")
    warned = acelera("run", "b.acel", "types.csv", "--in-process")
    assert "warning: " in warned.stderr and "␛[31mB" in warned.stderr
    page = acelera("report", "ok.acel", evil, "--in-process", "-o", "\x1b[31m.html")
    assert page.exit_code == 0 and "see ␛[31m.html" in page.stderr


def test_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(showing, "EVERY", 0.0)
    with showing.progress(quiet=False) as shown:
        shown.begin(f"writing {EVIL}")
        shown.say(EVIL)
    told = capsys.readouterr().err
    assert visible(told) == told and told.count(SHOWN) == 2
    live = showing._Live(Console(width=200))
    live.begin(f"writing {EVIL}")
    screen = Console(width=200)
    with screen.capture() as capture:
        screen.print(live._drawn())
    assert visible(capture.get()) == capture.get() and "writing ␛[31m" in capture.get()


def test_markup_in_data_means_nothing(tmp_path: Path) -> None:
    result = acelera("demo", "--in-process", "--events", "100", "-o", str(tmp_path / "[red]x[/red]"))
    assert result.exit_code == 0, result.output
    assert "[red]x[/red]" in "".join(result.stdout.split()) and "%5Bred%5Dx" in result.stdout

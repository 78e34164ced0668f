"""Kernels are compiled when that is asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from acelera.cli import main
from acelera.cli import warm as command


def test_it_says_how_many_were_compiled_and_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "compiled_kernels", lambda since=0.0: (tmp_path, 7 if since else 9))
    asked: list[bool] = []
    monkeypatch.setattr(command, "warm", lambda: asked.append(True))
    result = CliRunner().invoke(main, ["warm"])
    assert result.exit_code == 0 and asked == [True]
    assert result.output == f"7 compiled, 9 kernels in {tmp_path}, 0 s\n"


def test_without_a_place_for_them_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "compiled_kernels", lambda: None)
    result = CliRunner().invoke(main, ["warm"])
    assert result.exit_code == 3
    assert "name a folder with NUMBA_CACHE_DIR" in result.output


SELDOM = {"multiply_rows", "fold_rows", "count_silent", "find_again"}
"""Stretches of summaries that Spark joins, rules that split keys, and those whose memory is put in order."""

LEFT_OUT = """
import importlib, pkgutil, sys
from pathlib import Path
from numba.core.dispatcher import Dispatcher

written = {path.name.rsplit("-", 1)[0] for path in Path(sys.argv[1]).rglob("*.nbi")}
for name in ("acelera.engine", "acelera.stages"):
    for each in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
        for kernel in vars(importlib.import_module(each.name)).values():
            if isinstance(kernel, Dispatcher) and kernel.__module__ == each.name:
                if f"{each.name.rpartition('.')[2]}.{kernel.py_func.__name__}" not in written:
                    print(kernel.py_func.__name__)
"""


@pytest.mark.slow
def test_all_kernels_are_compiled_that_queries_often_need(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", "from acelera.warming import warm; warm()"], env=environment, check=True)
    asked = [sys.executable, "-c", LEFT_OUT, str(tmp_path)]
    found = subprocess.run(asked, env=environment, check=True, capture_output=True, text=True)
    assert set(found.stdout.split()) <= SELDOM

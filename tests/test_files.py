"""Files and folders that are complete or not there, whatever happens meanwhile."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from acelera import files
from acelera.files import beside, undo_unfinished


def write(target: Path, text: str, replace: bool = True) -> None:
    with beside(target, replace) as partial:
        partial.write_text(text)


def write_folder(target: Path, text: str, replace: bool = True) -> None:
    with beside(target, replace) as partial:
        partial.mkdir()
        (partial / "part-0").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def refuse_links(*_: object) -> None:
    raise OSError(errno.EPERM, "no links here")


@pytest.fixture(params=["links", "no links"])
def _links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "no links":
        monkeypatch.setattr(files.os, "link", refuse_links)


@pytest.mark.usefixtures("_links")
def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "x"
    write(target, "first", replace=False)
    with pytest.raises(FileExistsError):
        write(target, "second", replace=False)
    with pytest.raises(FileExistsError):
        write_folder(target, "second", replace=False)
    assert target.read_text() == "first" and names(tmp_path) == ["x"]


def test_a_folder_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "x"
    write_folder(target, "first", replace=False)
    with pytest.raises(FileExistsError):
        write_folder(target, "second", replace=False)
    with pytest.raises(FileExistsError):
        write(target, "second", replace=False)
    assert (target / "part-0").read_text() == "first" and names(tmp_path) == ["x"]


@pytest.mark.usefixtures("_links")
@pytest.mark.parametrize("writing", [write, write_folder])
def test_of_several_at_once_one_succeeds(writing: object, tmp_path: Path) -> None:
    together, lost = threading.Barrier(4), list[str]()

    def run(name: str) -> None:
        try:
            with beside(tmp_path / "x", replace=False) as partial:
                if writing is write_folder:
                    partial.mkdir()
                (partial / "part-0" if writing is write_folder else partial).write_text(name)
                together.wait(30)
        except FileExistsError:
            lost.append(name)

    threads = [threading.Thread(target=run, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    written = (tmp_path / "x" / "part-0" if writing is write_folder else tmp_path / "x").read_text()
    assert sorted([*lost, written]) == list("abcd") and names(tmp_path) == ["x"]


def test_replacing_folders_at_once_leaves_one_of_them(tmp_path: Path) -> None:
    write_folder(tmp_path / "x", "before")
    threads = [threading.Thread(target=write_folder, args=(tmp_path / "x", name)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (tmp_path / "x" / "part-0").read_text() in list("abcdefgh") and names(tmp_path) == ["x"]


def test_what_somebody_else_moves_away_does_not_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "x", "before")
    clean = files._Work.clean

    def just_after_another_took_it(work: files._Work) -> None:
        (tmp_path / "x").rename(tmp_path / "elsewhere")
        clean(work)

    monkeypatch.setattr(files._Work, "clean", just_after_another_took_it)
    write_folder(tmp_path / "x", "after")
    assert (tmp_path / "elsewhere" / "part-0").read_text() == "after" and names(tmp_path) == ["elsewhere"]


def test_failure_leaves_what_somebody_else_has_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder comes to be there just when the old one should be put back."""
    write_folder(tmp_path / "x", "before")
    rename = Path.rename

    def renaming(path: Path, target: Path) -> Path:
        if path.name.endswith(".partial"):
            raise OSError(errno.EIO, "no disk")
        if path.name.endswith(".old"):
            (tmp_path / "x").mkdir()
            (tmp_path / "x" / "part-0").write_text("other")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renaming)
    with pytest.raises(OSError, match="no disk"):
        write_folder(tmp_path / "x", "after")
    assert (tmp_path / "x" / "part-0").read_text() == "other" and names(tmp_path) == ["x"]


def test_files_and_folders_replace_each_other(tmp_path: Path) -> None:
    target = tmp_path / "x"
    write(target, "file")
    write_folder(target, "folder")
    assert (target / "part-0").read_text() == "folder"
    write(target, "again")
    assert target.read_text() == "again" and names(tmp_path) == ["x"]


@pytest.mark.parametrize("writing", [write, write_folder])
def test_failure_keeps_what_was_there(writing: object, tmp_path: Path) -> None:
    write_folder(tmp_path / "x", "before")
    with pytest.raises(KeyboardInterrupt), beside(tmp_path / "x") as partial:
        partial.mkdir() if writing is write_folder else partial.touch()
        raise KeyboardInterrupt
    assert (tmp_path / "x" / "part-0").read_text() == "before" and names(tmp_path) == ["x"]


def test_failure_of_the_exchange_brings_back_what_was_there(tmp_path: Path) -> None:
    write_folder(tmp_path / "x", "before")
    with pytest.raises(FileNotFoundError), beside(tmp_path / "x"):
        pass  # nothing is written, so that there is nothing to put in its place
    write_folder(tmp_path / "y", "before")
    with pytest.raises(FileNotFoundError), beside(tmp_path / "y") as partial:
        partial.mkdir()
        partial.rename(tmp_path / "gone")
    assert (tmp_path / "x" / "part-0").read_text() == "before" == (tmp_path / "y" / "part-0").read_text()
    assert names(tmp_path) == ["gone", "x", "y"]


def test_a_process_that_ends_undoes_what_it_began(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), beside(tmp_path / "x") as partial:
        partial.write_text("half")
        undo_unfinished()
        assert names(tmp_path) == []
    assert names(tmp_path) == []


def test_links_and_modes_stay(tmp_path: Path) -> None:
    write(tmp_path / "real", "first")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", "second")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "second"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    write(tmp_path / "pipe", "text")
    reader.join(30)
    assert read == ["text"] and names(tmp_path) == ["pipe"]


def test_long_names(tmp_path: Path) -> None:
    name = "ä" * 120 + ".parquet"
    write(tmp_path / name, "text", replace=False)
    assert names(tmp_path) == [name]

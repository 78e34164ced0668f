"""Files and folders that are complete or not there."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""How file systems say that a file has one name only."""
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)
"""How they say that a name is in use."""


@dataclass
class _Work:
    """What is being written: its target, a name beside it to write to, and one for what it replaces."""

    target: Path
    partial: Path
    old: Path
    claimed: bool = False
    finished: bool = False

    def clean(self) -> None:
        """Leave nothing half-done: the new is there, or else what was there before is there again."""
        if not self.finished and self.old.exists() and not self.target.exists():
            self._put_back()
        if self.claimed:
            self.target.unlink(missing_ok=True)
        _remove(self.partial)
        _remove(self.old)

    def finish(self, replace: bool) -> None:
        """What was written becomes the target."""
        if not replace:
            self._claim()
        elif self.partial.is_dir() or self.target.is_dir():
            self._exchange()
        else:
            if self.target.exists():
                shutil.copymode(self.target, self.partial)
            self.partial.replace(self.target)
        self.finished = True

    def _put_back(self) -> None:
        try:
            self.old.rename(self.target)
        except OSError as error:
            if error.errno not in _TAKEN:  # by what somebody else has just written there
                raise

    def _claim(self) -> None:
        """Take a name that nobody has; of several who try at once, one succeeds."""
        if self.partial.is_dir():
            try:
                self.partial.rename(self.target)  # which replaces nothing but an empty folder
            except OSError as error:
                if error.errno in _TAKEN and self.target.exists():
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self.target)) from None
                raise
            return
        try:
            os.link(self.partial, self.target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.close(os.open(self.target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            self.claimed = True
            self.partial.replace(self.target)
            self.claimed = False

    def _exchange(self) -> None:
        """Take the place of a folder, or of a file with a folder; again, if somebody else has just done so."""
        while True:
            with suppress(FileNotFoundError):
                self.target.rename(self.old)
            try:
                self.partial.rename(self.target)
                return
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
            _remove(self.old)


_unfinished: list[_Work] = []


@contextmanager
def beside(target: Path, replace: bool = True) -> Iterator[Path]:
    """A name beside the target to write to; it becomes the target if all goes well, and is removed if not.

    Where it may not `replace` anything, what is there, or comes to be there meanwhile, is a FileExistsError. What is
    neither file nor folder, such as a device or a pipe, is written to as it is.
    """
    if is_special(target):
        yield target
        return
    target = target.resolve() if target.is_symlink() else target.absolute()
    hidden = f".{target.name[:40]}.{uuid.uuid4().hex[:8]}"
    work = _Work(target, target.with_name(f"{hidden}.partial"), target.with_name(f"{hidden}.old"))
    _unfinished.append(work)
    try:
        yield work.partial
        work.finish(replace)
    finally:
        work.clean()
        _unfinished.remove(work)


def is_special(path: Path) -> bool:
    """Whether this is there, but neither a file nor a folder: a device, a pipe."""
    try:
        mode = path.stat().st_mode  # asked once: meanwhile somebody else may replace it
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def undo_unfinished() -> None:
    """Remove all that was begun and not finished: for a process that ends without further ado."""
    for work in list(_unfinished):
        with suppress(OSError):
            work.clean()


def reason(error: OSError) -> str:
    """What the machine says, in a few words."""
    return os.strerror(error.errno) if error.errno else " ".join(str(error).split())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)

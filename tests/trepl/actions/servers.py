"""A PostgreSQL of one's own, if it is installed: in a temporary folder, reached by a socket there."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

LONGEST_START = 60


@contextmanager
def postgresql() -> Iterator[str]:
    """Its connection string; the test is skipped if there is none."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'psycopg[binary]'")
    binaries = programs()
    user = None if os.getuid() else ordinary_user()
    folder = Path(tempfile.mkdtemp(prefix="acelera-pg-"))  # short, since names of sockets are
    try:
        if user is not None:
            shutil.chown(folder, user)
        data = folder / "data"
        settings: dict[str, Any] = {
            "user": user,
            "cwd": folder,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.STDOUT,
        }
        initialize = [binaries / "initdb", "-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(initialize, check=True, **settings)
        command = [binaries / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        server = subprocess.Popen(command, **settings)
        try:
            found = f"host={folder} user=test dbname=postgres"
            await_answer(psycopg, found, server)
            yield found
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(LONGEST_START)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def programs() -> Path:
    """The folder of the newest version."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        pytest.skip("PostgreSQL is not installed: no initdb under /usr/lib/postgresql or on the PATH")
    return max(found, key=lambda path: int(path.parent.name)) if found else Path(str(on_path)).parent


def ordinary_user() -> str:
    """PostgreSQL does not run as root."""
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user `postgres`")


def await_answer(psycopg: Any, where: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LONGEST_START
    while True:
        try:
            psycopg.connect(where).close()
            return
        except psycopg.OperationalError:
            assert server.poll() is None and time.monotonic() < end, "PostgreSQL does not start"
            time.sleep(0.05)

"""A cluster of processes on this machine, where it is asked for: it makes an archive, which takes minutes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "standalone_cluster.py"


@pytest.mark.skipif("ACELERA_CLUSTER" not in os.environ, reason="ACELERA_CLUSTER is not set, to an archive or to `new`")
def test_a_cluster_gives_what_this_process_gives() -> None:
    """ACELERA_CLUSTER=new makes the archive, ACELERA_CLUSTER=PATH takes one, and makes it if it is not there."""
    archive = os.environ["ACELERA_CLUSTER"]
    options = [] if archive == "new" else ["--archive", archive]
    ran = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr

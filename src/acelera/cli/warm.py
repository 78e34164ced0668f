"""`acelera warm`: the kernels are compiled now, for all who use this installation."""

from __future__ import annotations

import os
from time import time

from acelera.cli.group import LackingError, main
from acelera.cli.printing import tell
from acelera.warming import compiled_kernels, warm


@main.command("warm", short_help="Compile the kernels now, for an image or an archive.")
def warm_up() -> None:
    """Compile what queries and programs need to run, which otherwise happens when they are first run.

    The kernels are written beside the package, or into the folder that NUMBA_CACHE_DIR names. In an image or an archive
    they go with it, and no worker compiles them again if its processor is of the same kind.

    \b
    Examples:
      acelera warm
      NUMBA_CPU_NAME=generic acelera warm     for processors of all kinds, if workers have that setting, too
    """
    there = compiled_kernels()
    if there is None or not os.access(there[0], os.W_OK):
        raise LackingError(
            "there is no place where compiled kernels can be written: run it as who may write where acelera is "
            "installed, or name a folder with NUMBA_CACHE_DIR"
        )
    begin = time()
    warm()
    all_of_them, new = compiled_kernels(), compiled_kernels(begin)
    assert all_of_them is not None and new is not None
    folder, kernels = all_of_them
    tell(f"{new[1]} compiled, {kernels} kernels in {folder}, {time() - begin:.0f} s")

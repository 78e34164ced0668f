"""TREPL: active rules over patterns of changes of tables.

The package is called to make a program of a text; `acelera.trepl.program.trepl` says more.

>>> import acelera as ac
>>> print(ac.trepl("monitor owns;Sale:owns(X)->write(X.id)"))
monitor owns;
Sale: owns(X) -> write(X.id);
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acelera.trepl.doing import Functions
    from acelera.trepl.program import Program


class _Called(ModuleType):
    """This package, which has the name of the function: to call it is to call that."""

    def __call__(self, text: str, functions: Functions | None = None, name: str | None = None) -> Program:
        from acelera.trepl.program import trepl

        return trepl(text, functions, name)


sys.modules[__name__].__class__ = _Called

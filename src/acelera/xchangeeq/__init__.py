"""XChangeEQ: rules over events that last, with timers, absence and collection.

The package is called to make a program of a text; `acelera.xchangeeq.program.xchangeeq` says more.

>>> import acelera as ac
>>> print(ac.xchangeeq("detect b{v{var V}}on a{{v{{var V}}}}end"))
DETECT b { v { var V } } ON a {{ v {{ var V }} }} END
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acelera.xchangeeq.program import Program


class _Called(ModuleType):
    """This package, which has the name of the function: to call it is to call that."""

    def __call__(self, text: str, aggregates: str = "nodes") -> Program:
        from acelera.xchangeeq.program import xchangeeq

        return xchangeeq(text, aggregates)


sys.modules[__name__].__class__ = _Called

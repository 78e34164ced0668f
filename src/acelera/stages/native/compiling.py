"""Machine code that is ready to run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir

from acelera.engine.jit import AS_PYTHON
from acelera.language.lowering import UnsupportedError
from acelera.stages.coding import Coded
from acelera.stages.native.stage_code import NAME, written

TakeStages = Callable[[int, int, int], int]
_KEPT = 64


class Native:
    """The function of a machine; the code lives as long as this does."""

    def __init__(self, module: ir.Module) -> None:
        target = _target()
        parsed: Any = llvm.parse_assembly(str(module))
        parsed.triple, parsed.data_layout = target.triple, str(target.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(parsed, builder)
        self._engine = llvm.create_mcjit_compiler(parsed, target)
        self._engine.finalize_object()
        address = self._engine.get_function_address(NAME)
        self.take_stages: TakeStages = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(address)


@lru_cache(maxsize=1)
def _host() -> tuple[Any, str]:
    """The processor at hand."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple(), llvm.get_host_cpu_features().flatten()


def _target() -> Any:
    """What code is made for; one for each engine, which takes it along when it goes."""
    target, features = _host()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)


def known(code: Coded) -> Native | None:
    """The machine code of a machine, if it has been written for one that is like it."""
    return _made.get(_alike(code))


def _alike(code: Coded) -> tuple[object, ...]:
    """What is the same for machines that are alike."""
    sizes = (code.width, code.slots, code.deepest, code.key_width, code.head_width)
    return (*sizes, code.code.tobytes(), *((table.shape, table.tobytes()) for table in code.plan))


def native(code: Coded) -> Native | None:
    """The machine code of a machine, if it has a form in it."""
    if AS_PYTHON:
        return None
    alike = _alike(code)
    if alike not in _made:
        if len(_made) >= _KEPT:
            _made.pop(next(iter(_made)))
        try:
            _made[alike] = Native(written(code))
        except UnsupportedError:
            _made[alike] = None
    return _made[alike]


_made: dict[tuple[object, ...], Native | None] = {}

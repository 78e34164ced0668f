"""Which machine runs a plan, and why."""

from __future__ import annotations

from acelera.engine.machines.guards import Guard
from acelera.engine.machines.machine import Algebra, Machine
from acelera.engine.machines.register_machine import RegisterMachine
from acelera.engine.machines.table_machine import TableMachine
from acelera.engine.machines.value_machine import ValueMachine
from acelera.engine.nodes.arena import Arena
from acelera.engine.nodes.starts import NewestStarts
from acelera.engine.plan import Action, Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.registers.instructions import compile_plan
from acelera.language.lowering import UnsupportedError
from acelera.language.schema import Schema


def machine_of(plan: Plan, alphabet: Alphabet, schema: Schema, unseen: frozenset[Action] = frozenset()) -> Machine:
    """The quickest machine that can run a plan. Nobody looks at what `unseen` actions leave in a match."""
    try:
        return _quick_machine(plan, alphabet, schema, Arena(), unseen)
    except UnsupportedError:
        return ValueMachine(plan, alphabet, unseen)


def _quick_machine(
    plan: Plan, alphabet: Alphabet, schema: Schema, algebra: Algebra, unseen: frozenset[Action] = frozenset()
) -> TableMachine | RegisterMachine:
    """Tables, or registers with instructions."""
    if plan.is_table:
        return TableMachine(plan, alphabet, algebra, unseen)
    guards = [_guard(guard, alphabet, schema) for guard in plan.guards]
    return RegisterMachine(plan, alphabet, compile_plan(plan, schema), algebra, guards, unseen)


def _guard(plan: Plan, alphabet: Alphabet, schema: Schema) -> Guard:
    starts = NewestStarts()
    return Guard(_quick_machine(plan, alphabet, schema, starts), starts)


def how_it_runs(plan: Plan, schema: Schema) -> list[str]:
    """Which machine it will be and what that means, in words."""
    lines = []
    if plan.is_table:
        lines.append("by tables: constant work for each event, whatever the window")
    else:
        try:
            for each in (plan, *plan.guards):
                if not each.is_table:
                    compile_plan(each, schema)
            lines.append("by registers: work for each event grows with the number of different registers' values")
        except UnsupportedError as error:
            lines.append(f"value by value in Python, which is slow: {error}")
    if plan.guards:
        lines.append("what UNLESS forbids runs beside")
    if plan.split_by:
        lines.append(f"split by {', '.join(plan.split_by)}, which all events of a match have in common")
    if plan.folds:
        functions = ", ".join(dict.fromkeys(fold.function for fold in plan.folds))
        lines.append(f"aggregates that are only shown are computed from the matches: {functions}")
    return lines

"""Which machine runs a plan, and why: decided once for a compiled query, and told by `explain`."""

from __future__ import annotations

from dataclasses import dataclass, field

from acelera.engine.machines.guards import Guard, Guards, QuickGuards
from acelera.engine.machines.machine import Algebra, Machine
from acelera.engine.machines.register_machine import RegisterMachine
from acelera.engine.machines.table_machine import TableMachine
from acelera.engine.machines.value_machine import ValueGuards, ValueMachine
from acelera.engine.nodes.arena import Arena
from acelera.engine.nodes.starts import NewestStarts
from acelera.engine.plan import Action, Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.registers.code import Code
from acelera.engine.registers.instructions import compile_plan
from acelera.language.lowering import UnsupportedError
from acelera.language.schema import Schema


@dataclass(frozen=True)
class Strategy:
    """How a plan and its guards run: with instructions, or by tables where `code` is None.

    If something has no instruction, `refused` says what, and it runs value by value.
    """

    plan: Plan
    code: Code | None = field(default=None, compare=False)
    guards: tuple[Strategy, ...] = field(default=(), compare=False)
    refused: str | None = field(default=None, compare=False)

    def machine(self, alphabet: Alphabet, unseen: frozenset[Action] = frozenset()) -> Machine:
        """A machine that runs it. Nobody looks at what `unseen` actions leave in a match."""
        if self.refused is not None:
            return ValueMachine(self.plan, alphabet, unseen)
        return self.machine_with(alphabet, Arena(), unseen)

    def machine_with(
        self, alphabet: Alphabet, algebra: Algebra, unseen: frozenset[Action] = frozenset()
    ) -> TableMachine | RegisterMachine:
        """A machine whose partial matches carry values of an algebra; it does not run value by value."""
        if self.code is None:
            return TableMachine(self.plan, alphabet, algebra, unseen)
        guards = [guard._guard(alphabet) for guard in self.guards] if self.plan.asks_guards else []
        return RegisterMachine(self.plan, alphabet, self.code, algebra, guards, unseen)

    def watch(self, alphabet: Alphabet) -> Guards:
        """The guards alone, for those who ask them once matches have ended."""
        if self.refused is not None:
            return ValueGuards(self.plan.guards, alphabet)
        return QuickGuards([guard._guard(alphabet) for guard in self.guards])

    def _guard(self, alphabet: Alphabet) -> Guard:
        starts = NewestStarts()
        return Guard(self.machine_with(alphabet, starts), starts)

    def lines(self) -> list[str]:
        """What was decided, and what that means, in words."""
        plan = self.plan
        if self.refused is not None:
            lines = [f"value by value in Python, which is slow: {self.refused}"]
        elif self.code is None:
            lines = ["by tables: constant work for each event, whatever the window"]
        else:
            lines = ["by registers: work for each event grows with the number of different registers' values"]
        if plan.asks_guards:
            lines.append("what UNLESS forbids runs beside")
        if plan.absences:
            lines.append("what UNLESS … FOR forbids runs beside; matches wait until its time has passed")
        if any(absence.compared is not None for absence in plan.absences):
            lines.append("matches that wait are told apart, to be compared with what comes later")
        if plan.split_by:
            lines.append(f"split by {', '.join(plan.split_by)}, which all events of a match have in common")
        if plan.folds:
            functions = ", ".join(dict.fromkeys(fold.function for fold in plan.folds))
            lines.append(f"aggregates that are only shown are computed from the matches: {functions}")
        return lines


def strategy_of(plan: Plan, schema: Schema) -> Strategy:
    """The quickest way to run a plan."""
    try:
        return _quick(plan, schema)
    except UnsupportedError as error:
        return Strategy(plan, refused=str(error))


def _quick(plan: Plan, schema: Schema) -> Strategy:
    """Tables, or registers with instructions."""
    guards = tuple(_quick(guard, schema) for guard in plan.guards)
    return Strategy(plan, None if plan.is_table else compile_plan(plan, schema), guards)

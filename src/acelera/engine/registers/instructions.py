"""A plan as instructions of a small stack machine, which the register kernel carries out.

Terms that the machine has no instruction for are not run here: `compile_plan` says so, and another machine takes over.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from acelera.automata.terms import UNSET, Collected, Const, ForAll, Identity, Position, Reg, Step, Summary, Term
from acelera.engine.plan import Action, Edge, Plan, stored_fields
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.code import NO_INSTRUCTION, UNITS, Cell, Code, Universal, flavour
from acelera.engine.registers.dependencies import chain, finest_unit, starts
from acelera.engine.registers.register_layout import Layout
from acelera.engine.registers.term_instructions import Bound, Terms, aggregate_code
from acelera.engine.registers.writer import Writer
from acelera.language.lowering import UnsupportedError
from acelera.language.schema import Schema
from acelera.language.types import Kind

_SUMMARIES = {"max": op.LARGEST, "min": op.SMALLEST, "common": op.COMMON}


def compile_plan(plan: Plan, schema: Schema) -> Code:
    """The instructions of a plan; an UnsupportedError says which of its terms has none."""
    if plan.by_value:
        raise UnsupportedError("events that different parts of the query make may be equal")
    terms = Terms(schema, Writer(finest_unit(plan, schema)))
    layout = Layout(terms)
    compiler = _Compiler(plan, terms, layout)
    try:
        layout.lay_out(plan)
        return compiler.compiled()
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}, for {compiler.at or layout.at}") from None


@dataclass
class _Compiler:
    plan: Plan
    terms: Terms
    layout: Layout
    member_kinds: dict[tuple[Kind, ...], int] = field(default_factory=dict)  # what the members of sets are, numbered
    at: str = ""  # what is being compiled, in words

    def __post_init__(self) -> None:
        self.writer, self.cells = self.terms.writer, self.terms.cells
        self.starts = starts(self.plan)

    def compiled(self) -> Code:
        assign, marked, universal = [], [], []
        stored: dict[Action, tuple[Kind, ...]] = {}
        for edge in self.plan.edges:
            begin = len(self.writer)
            self._assign(edge)
            middle = len(self.writer)
            fields = stored_fields(edge.action, self.plan)
            kinds = tuple(self._push_stored(dict(mark.fields or ())[name]) for mark, name in fields)
            if stored.setdefault(edge.action, kinds) != kinds:
                raise UnsupportedError(NO_INSTRUCTION)
            assign.append((begin, middle))
            marked.append((middle, len(self.writer)))
            universal.append([self._universal(each) for each in edge.conditions if isinstance(each, ForAll)])
        return self._finished(assign, marked, universal, stored)

    def _finished(
        self,
        assign: list[tuple[int, int]],
        marked: list[tuple[int, int]],
        universal: list[list[Universal]],
        stored: dict[Action, tuple[Kind, ...]],
    ) -> Code:
        writer, members = self.writer, self.layout.members
        return Code(
            code=np.array(writer.code or [(0, 0, 0, 0)], np.int64),
            assign=assign,
            marked=marked,
            universal=universal,
            constants=np.array([value for value, _ in writer.constants] or [0], np.int64),
            constant_tags=np.array([tag for _, tag in writer.constants] or [0], np.int64),
            texts=list(writer.texts),
            inputs=list(writer.inputs),
            unit=writer.unit,
            width=self.layout.width,
            stored=stored,
            stored_width=1 + 2 * max((len(kinds) for kinds in stored.values()), default=0),
            stack_size=writer.stack_size(),
            cells=self.cells,
            set_cells=[self.cells[name].at + 1 for name in members],
            members=members,
            member_kinds=list(self.member_kinds),
            scale=self.terms.scale or 0,
        )

    # --- what an edge does ----------------------------------------------------------------------------------------

    def _assign(self, edge: Edge) -> None:
        self.terms.after = False
        for name, term in edge.assign:
            self.at = f"the register {name}"
            self._set(self.cells[name], name, term)
        self.terms.after = True
        for condition in edge.conditions:
            if isinstance(condition, ForAll):
                continue
            self.at = f"the condition {condition}"
            self.terms.push(condition)
            self.writer.emit(op.REQUIRE)

    def _universal(self, condition: ForAll) -> Universal:
        """The instructions that test a predicate for one combination."""
        self.at = f"the condition {condition}"
        bound: dict[tuple[str | None, str], Term] = {}
        sets, at = [], 0
        for keys, held in zip(condition.attributes, condition.sets, strict=True):
            if not isinstance(held, Reg) or held.name not in self.layout.members:
                raise UnsupportedError(NO_INSTRUCTION)
            sets.append((self.cells[held.name].at, len(keys), at))
            for key, kind in zip(keys, self.layout.members[held.name], strict=True):
                bound[key] = Bound(at, kind)
                at += 2
        begin = len(self.writer)
        self.terms.push_predicate(condition.predicate, bound)
        self.writer.emit(op.REQUIRE)
        return Universal((begin, len(self.writer)), tuple(sets))

    def _push_stored(self, term: Term) -> Kind:
        """A value that is shown in the end, for which there is one number."""
        value = self.terms.push(term)
        if value.wide and not self.writer.one_unit:
            raise UnsupportedError("a time that was computed from times of different units")
        if value.wide:
            self.writer.emit(op.NARROW, UNITS[self.writer.unit])
        return value.kind

    # --- registers ------------------------------------------------------------------------------------------------

    def _set(self, cell: Cell, name: str, term: Term) -> None:
        """Compute a register as it is after the assignment."""
        if cell.function is not None:
            self._fold(cell, name, term)
        elif term == Reg(name):
            self.writer.emit(op.KEEP, cell.at, cell.width)
        elif isinstance(term, Collected):
            self._collect(cell, name, term)
        elif isinstance(term, Summary):
            self._begin_summary(cell, name, term.state)
            for given in term.given:
                self.terms.push_as(given, cell.kind, cell.wide)
                self.writer.emit(_SUMMARIES[term.kind], cell.at, op.WIDE if cell.wide else flavour(cell.kind))
        elif term == Position() and name in self.starts:
            self.writer.emit(op.MOMENT)
            self.writer.emit(op.STORE, cell.at)
        elif term == Const(UNSET):
            self.writer.emit(op.CLEAR, cell.at, cell.width)
        else:
            self.terms.push_as(term, cell.kind, cell.wide)
            self.writer.emit(op.STORE, cell.at, int(cell.wide))

    def _collect(self, cell: Cell, name: str, term: Collected) -> None:
        self._begin_summary(cell, name, term.state)
        kinds = self.layout.members[name]
        for index, given in enumerate(term.given):
            self.terms.push_as(given, kinds[index % term.width])
            if (index + 1) % term.width == 0:
                number = self.member_kinds.setdefault(kinds, len(self.member_kinds))
                self.writer.emit(op.COLLECT, cell.at, term.width, number)

    def _begin_summary(self, cell: Cell, name: str, state: Term) -> None:
        if state == Const(UNSET):
            self.writer.emit(op.CLEAR, cell.at, cell.width)
        elif state == Reg(name):
            self.writer.emit(op.KEEP, cell.at, cell.width)
        else:
            raise UnsupportedError(NO_INSTRUCTION)

    def _fold(self, cell: Cell, name: str, term: Term) -> None:
        steps: list[Term] = list(chain(term))
        match steps.pop():
            case Identity():
                self.writer.emit(op.IDENTITY, cell.at, aggregate_code(cell))
            case Reg(other) if other == name:
                self.writer.emit(op.KEEP, cell.at, cell.width)
            case _:
                raise UnsupportedError(NO_INSTRUCTION)
        for step in reversed(steps):
            assert isinstance(step, Step)
            self.terms.push_as(step.given, cell.given)
            self.writer.emit(op.FOLD, cell.at, aggregate_code(cell), int(step.ignore_nulls))

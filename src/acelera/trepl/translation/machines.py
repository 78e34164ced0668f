"""A module as a machine over stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from acelera.language import ast as language
from acelera.language.ast import Expression
from acelera.language.tree import fold, rebuilt, walk
from acelera.language.types import Type
from acelera.stages.model import (
    START,
    Condition,
    Edge,
    Fold,
    Guard,
    Head,
    Held,
    Machine,
    Outcome,
    Register,
    State,
    Step,
    Store,
    Table,
    Total,
)
from acelera.trepl.ast import Goal, Test
from acelera.trepl.conjuncts import conjuncts
from acelera.trepl.resolved import Aggregate, Derive, EventType, Module, Part, Program, Simple, Stamp
from acelera.trepl.translation.choices import Taken, Together
from acelera.trepl.translation.detectors import Detector, Term, Told, split, terms_of
from acelera.trepl.translation.event_slots import Events
from acelera.trepl.translation.goals_in_states import Arc, Skeleton, StarInfo
from acelera.trepl.translation.held_terms import Terms
from acelera.trepl.translation.liveness import live_registers, with_little_cleared
from acelera.trepl.translation.phases import phases
from acelera.trepl.translation.starting import begun_at_once
from acelera.trepl.translation.typing import typed


@dataclass(frozen=True)
class Shown:
    """An action: the head that tells its terms, and its arguments over these, `Attribute(None, "0")` the first."""

    rule: int
    action: int
    head: int
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Translation:
    """A machine, and what is to be computed for it: for each table the expressions of its slots, over `ANYONE`.

    `names` are the tables: relations, events of other modules as `(module, name)`; own events have none. `types` has
    the number of each event type.
    """

    machine: Machine
    sources: tuple[EventType | None, ...]
    slots: tuple[tuple[Expression, ...], ...]
    stage_slots: tuple[Expression, ...]
    types: Mapping[EventType, int]
    shown: tuple[Shown, ...]


def translate(module: Module, program: Program) -> Translation:
    """The machine of a module."""
    return _Assembly(module, program).assembled()


class _Assembly:
    def __init__(self, module: Module, program: Program) -> None:
        self.module, self.program = module, program
        self.events = Events(module, program)
        self.registers: list[Register] = []
        self.states = [State("start")]
        self.edges: list[Edge] = []
        self.guards: list[Guard] = []
        self.heads: list[Head] = []
        self.shown: list[Shown] = []
        self.firsts: list[int] = []
        self.edge_owner: list[int] = []
        self.head_owner: list[int] = []
        self._awaited: set[str] = set()

    def assembled(self) -> Translation:
        for each in self.module.universe:
            if not self.events.is_own(each):
                self.events.table(each)
        for name, attributes in self.module.derived.items():
            self.events.add_own(name, tuple(attributes.items()))
        detectors = [each for number in range(len(self.module.rules)) for each in self._detectors(number)]
        self._awaited = {
            event.name
            for detector in detectors
            for goal in walk(detector.goal)
            if isinstance(goal, Simple)
            for event in goal.types
            if self.events.is_own(event)
        }
        for number, detector in enumerate(detectors):
            _Detection(self, number, detector).assemble()
        return self._translation()

    def is_awaited(self, event: str) -> bool:
        """Whether a rule of the module looks for an event that the module makes."""
        return event in self._awaited

    def _detectors(self, number: int) -> list[Detector]:
        rule = self.module.rules[number]
        told = tuple(
            Told(
                tuple(map(with_computed_parts, action.arguments)),
                action.event if isinstance(action, Derive) else None,
                (number, which),
            )
            for which, action in enumerate(rule.actions)
        )
        return split(Detector(rule.name, _goal_with_computed_parts(rule.goal), told), self.module.name)

    def _translation(self) -> Translation:
        events = self.events
        stage = tuple(events.stage_slots.values())
        tables = tuple(
            Table(
                events.names[number],
                tuple(events.slots[number].values())
                if source is not None
                else (*(kind for _, kind in events.attributes[number]), *stage),
                derived=source is None,
            )
            for number, source in enumerate(events.tables)
        )
        machine = Machine(
            tables,
            tuple(events.table_of_type),
            tuple(self.registers),
            tuple(self.states),
            tuple(self.edges),
            tuple(self.guards),
            tuple(self.heads),
            (),
            stage,
            tuple(self.firsts),
        )
        machine, kept = begun_at_once(machine)
        owners = [self.edge_owner[number] for number in kept]
        machine = replace(machine, phases=phases(machine, owners, self.head_owner))
        machine = with_little_cleared(replace(machine, live=live_registers(machine)))
        slots = tuple(tuple(each) for each in events.slots)
        return Translation(
            machine, tuple(events.tables), slots, tuple(events.stage_slots), dict(events.types), tuple(self.shown)
        )


class _Detection:
    """One detector, put into the machine."""

    def __init__(self, assembly: _Assembly, owner: int, detector: Detector) -> None:
        self.assembly, self.owner, self.detector = assembly, owner, detector
        self.skeleton = Skeleton(detector.goal)
        self.tables: dict[str, int] = {}
        for event in walk(detector.goal):
            if isinstance(event, Simple) and event.variable is not None:
                self.tables[event.variable] = assembly.events.table(event.types[0])
        self.terms = Terms(owner, assembly.registers, self.skeleton.star_of, self._typed, self._slot, self._prepared)
        self.base = len(assembly.states) - 1
        self.guards: dict[int, int] = {}

    # --- what terms are ---------------------------------------------------------------------------------------

    def _typed(self, expression: Expression) -> Type:
        events = self.assembly.events
        return typed(
            expression, self.assembly.program, lambda term: events.field_type(self.tables[term.variable], term)
        )

    def _slot(self, variable: str, expression: Expression) -> Expression:
        return self.assembly.events.slot(self.tables[variable], expression, self._typed(expression))

    def _prepared(self, variable: str) -> bool:
        return self.assembly.events.tables[self.tables[variable]] is not None

    # --- assembling -------------------------------------------------------------------------------------------

    def assemble(self) -> None:
        heads = [head for told in self.detector.told for head in self._heads(told)]
        skeleton = self.skeleton
        for arc in skeleton.arcs:
            self._find_registers(arc)
        outcomes = [self._outcomes(number, heads) for number in range(len(skeleton.places))]
        for star in skeleton.stars:
            if skeleton.guarded(star.number):
                self.guards[star.number] = len(self.assembly.guards)
                self.assembly.guards.append(Guard(f"star {star.number}", self._key(star)))
        for place, found in zip(skeleton.places[1:], outcomes[1:], strict=True):
            name = f"{self.detector.name}: {place.name}"
            self.assembly.states.append(State(name, found, place.waits, place.initial))
        for arc in skeleton.arcs:
            self.assembly.edges.append(self._edge(arc))
            self.assembly.edge_owner.append(self.owner)
        self._let_waits_expire()

    def _state(self, number: int) -> int:
        return START if number == START else self.base + number

    # --- heads ------------------------------------------------------------------------------------------------

    def _heads(self, told: Told) -> list[int]:
        """A head for the event that others of the module wait for, and one for what is shown."""
        found = []
        if told.event is not None and self.assembly.is_awaited(told.event):
            found.append(self._event_head(told, told.event))
        if told.action is not None:
            found.append(self._shown_head(told, told.action))
        return found

    def _event_head(self, told: Told, name: str) -> int:
        events = self.assembly.events
        declared = self.assembly.module.derived.get(name)
        types = tuple(map(self._typed, told.arguments)) if declared is None else tuple(declared.values())
        kind = EventType("derived", name, self.assembly.module.name)
        if kind not in events.types:
            events.add_own(name, tuple((f"a{number}", each) for number, each in enumerate(types)))
        event = events.types[kind]
        arguments = tuple(self.terms.expression(each, None, ()) for each in told.arguments)
        return self._add(Head(name, arguments, types, events.table_of_type[event], event, shown=False))

    def _shown_head(self, told: Told, action: tuple[int, int]) -> int:
        """A head that tells each argument, or what it is computed from if the machine cannot."""
        given: dict[Expression, Type] = {}
        arguments: list[Expression] = []
        for each in told.arguments:
            made = self.terms.expression(each, None, ())
            if self.terms.has_instructions(each):
                given.setdefault(made, self._typed(each))
                arguments.append(language.Attribute(None, str(list(given).index(made))))
            else:
                arguments.append(self._over_leaves(made, given))
        number = self._add(Head(self.detector.name, tuple(given), tuple(given.values())))
        self.assembly.shown.append(Shown(*action, number, tuple(arguments)))
        return number

    def _over_leaves(self, expression: Expression, given: dict[Expression, Type]) -> Expression:
        def combine(node: Expression, inner: Sequence[Expression]) -> Expression:
            if isinstance(node, Held | Total):
                given.setdefault(node, self.assembly.registers[node.register].type)
                return language.Attribute(None, str(list(given).index(node)))
            return rebuilt(node, inner)

        return fold(expression, combine)

    def _add(self, head: Head) -> int:
        self.assembly.heads.append(head)
        self.assembly.head_owner.append(self.owner)
        return len(self.assembly.heads) - 1

    # --- conditions -------------------------------------------------------------------------------------------

    def _find_registers(self, arc: Arc) -> None:
        """Let registers be found for what an arc looks at."""
        for together in (arc.choice.taken, *arc.choice.absent):
            for taken in together.events:
                self.terms.conditions(taken.event.condition, taken.event.variable, arc.stars)
            for test in together.tests:
                self.terms.conditions(test, None, arc.stars)

    def _outcomes(self, number: int, heads: Sequence[int]) -> tuple[Outcome, ...]:
        """Everything that an arrival comes to, through tests, and at last where it rests."""
        skeleton = self.skeleton
        sources = {arc.entry.source for arc in skeleton.arcs}
        found: list[Outcome] = []
        todo: list[tuple[tuple[Condition, ...], int]] = [((), number)]
        while todo:
            conditions, at = todo.pop()
            if at in skeleton.exits and heads:
                found.append(Outcome(conditions, heads=tuple(heads)))
            if at in sources:
                found.append(Outcome(conditions, state=self._state(at)))
            for condition, stars, target in skeleton.places[at].leads_to:
                more = tuple(each for each, _ in self.terms.conditions(condition, None, stars))
                todo.append((conditions + more, target))
        return tuple(sorted(found, key=lambda each: each.state is not None))

    def _key(self, star: StarInfo) -> tuple[Expression, ...]:
        """What the conditions that are still to come look at, apart from what the star binds itself."""
        outermost = (*star.around, star.number)[0]
        found: dict[Expression, None] = {}
        for said in self.skeleton.said:
            if said.position < star.begins_at and outermost not in said.stars:
                continue
            for term in terms_of(said.condition):
                if term.variable not in star.binds and self._is_there(term, star):
                    found[self.terms.compared(term, (*star.around, star.number))] = None
        return tuple(found)

    def _is_there(self, term: Term, star: StarInfo) -> bool:
        if term.variable in star.imports:
            return True
        return isinstance(term, Aggregate) and self.skeleton.star_of.get(term.variable) in star.around

    # --- edges ------------------------------------------------------------------------------------------------

    def _edge(self, arc: Arc) -> Edge:
        entry, needs, loops = arc.entry, self.terms.needs, arc.entry.loops
        looking_back = ((needs.before, needs.current), (needs.first_before, needs.first))
        moves = tuple(
            (register, sources[key])
            for registers, sources in looking_back
            for key, register in registers.items()
            if self.skeleton.star_of[key[0]] in loops
        )
        stays = self._staying(arc)
        own = [number for number, each in enumerate(self.assembly.registers) if each.owner == self.owner]
        flags = tuple(needs.flags[star] for star in loops if star in needs.flags)
        moved = {register for register, _ in moves}
        clears = tuple(each for each in own if each not in stays and each not in moved and each not in flags)
        guarded = tuple(self.guards[star] for star in entry.begins if star in self.guards)
        return Edge(
            self._state(entry.source),
            self._state(arc.target),
            moves,
            clears if entry.source != START else (),
            flags,
            tuple(self._absence(each, arc) for each in arc.choice.absent),
            tuple(self._step(each, arc) for each in arc.choice.taken.events),
            self._tests(arc.choice.taken, arc),
            tuple(self.guards[star] for star in loops if star in self.guards),
            guarded,
        )

    def _staying(self, arc: Arc) -> set[int]:
        """The registers that an arc leaves as they are."""
        needs, star_of = self.terms.needs, self.skeleton.star_of
        going_on = set(arc.stars) - set(arc.entry.begins)
        stays = {register for (name, _), register in needs.current.items() if name in arc.imports}
        same_round = going_on - set(arc.entry.loops)
        for registers in (needs.before, needs.first_before):
            stays |= {register for (name, _), register in registers.items() if star_of[name] in same_round}
        for name, register in [
            *((name, register) for (name, _), register in needs.first.items()),
            *((name, register) for (_, name, _), register in needs.totals.items()),
        ]:
            if star_of[name] in going_on or (star_of[name] not in arc.stars and name in arc.imports):
                stays.add(register)
        return stays | {register for star, register in needs.flags.items() if star in going_on}

    def _absence(self, together: Together, arc: Arc) -> tuple[Step, ...]:
        steps = [self._step(each, arc) for each in together.events]
        tests = self._tests(together, arc)
        if not steps:
            return (Step(-1, (0, 0), before=tests),)
        return (*steps[:-1], replace(steps[-1], last=tests))

    def _tests(self, together: Together, arc: Arc) -> tuple[Condition, ...]:
        return tuple(each for test in together.tests for each, _ in self.terms.conditions(test, None, arc.stars))

    def _step(self, taken: Taken, arc: Arc) -> Step:
        event, needs = taken.event, self.terms.needs
        name = event.variable
        conditions = self.terms.conditions(event.condition, name, arc.stars)
        stores: list[Store] = []
        folds: list[Fold] = []
        if name is not None:
            stores += [Store(r, self._own(name, term)) for (v, term), r in needs.current.items() if v == name]
            stores += [Store(r, self._own(name, term), once=True) for (v, term), r in needs.first.items() if v == name]
            for (_, variable, argument), register in needs.totals.items():
                if variable == name:
                    folds.append(Fold(register, None if argument is None else self._own(name, argument)))
        span = self.assembly.events.span(event)
        return Step(
            self.assembly.events.table(event.types[0]),
            span,
            tuple(each for each, totals in conditions if not totals),
            tuple(folds),
            tuple(each for each, totals in conditions if totals),
            tuple(stores),
            first=self._first(span[0]) if taken.first else None,
            taken=taken.counts,
        )

    def _own(self, name: str, term: Expression) -> Expression:
        return self.terms.expression(term, name, ())

    def _first(self, event: int) -> int:
        firsts = self.assembly.firsts
        if event not in firsts:
            firsts.append(event)
        return firsts.index(event)

    # --- what can be forgotten --------------------------------------------------------------------------------

    def _let_waits_expire(self) -> None:
        """A condition `Y.Timestamp - X.Timestamp <= INTERVAL …` on all that may follow lets who waits expire."""
        for number, place in enumerate(self.skeleton.places):
            if not place.waits:
                continue
            limits = [self._limit(arc) for arc in self.skeleton.arcs if arc.entry.source == number]
            known = [each for each in limits if each is not None]
            registers = {register for register, _ in known}
            if len(known) == len(limits) and len(registers) == 1:
                longest = max(nanoseconds for _, nanoseconds in known)
                state = self._state(number)
                self.assembly.states[state] = replace(self.assembly.states[state], expires=(registers.pop(), longest))

    def _limit(self, arc: Arc) -> tuple[int, int] | None:
        for taken in arc.choice.taken.events:
            for each in conjuncts(taken.event.condition):
                match each:
                    case language.Binary(
                        "<" | "<=", language.Binary("-", Stamp(new), Stamp(old)), language.Interval(amount, unit)
                    ) if new == taken.event.variable and old != new:
                        register = self.terms.needs.current.get((old, Stamp(old)))
                        if register is not None:
                            return register, amount * language.UNITS[unit]
        return None


# --- expressions --------------------------------------------------------------------------------------------------


def with_computed_parts(expression: Expression) -> Expression:
    """Parts of time that are moved by what is computed, as functions: `#Month(X.Timestamp, n)`."""

    def combine(node: Expression, inner: Sequence[Expression]) -> Expression:
        made = rebuilt(node, inner)
        if isinstance(made, Part) and made.moved is not None and any(terms_of(made.moved)):
            return language.Call(f"#{made.part}", (Stamp(made.variable), made.moved))
        return made

    return fold(expression, combine)


def _goal_with_computed_parts(goal: Goal) -> Goal:
    def combine(node: Goal, inner: Sequence[Goal]) -> Goal:
        made = rebuilt(node, inner)
        if isinstance(made, Simple | Test) and made.condition is not None:
            return replace(made, condition=with_computed_parts(made.condition))
        return made

    return fold(goal, combine)

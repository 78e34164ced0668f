"""The terms of a rule: what its conditions and heads look at, and how events and rounds give them values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from acelera.language.ast import Attribute, Call, Expression, fold, walk
from acelera.language.evaluation import constant, evaluate
from acelera.language.events import Moment, Value, seen
from acelera.language.tree import children, rebuilt
from acelera.trepl.conjuncts import conjuncts
from acelera.trepl.resolved import TIME_FUNCTIONS, Aggregate, Field, Part, Stamp
from acelera.trepl.semantics.bindings import UNSET, Bindings
from acelera.trepl.semantics.histories import Event
from acelera.trepl.semantics.running_aggregates import WITHOUT_THE_CURRENT, finished, stepped
from acelera.trepl.times import asctime, part_of, unit_number


@dataclass(frozen=True, eq=False)
class Read:
    """An expression over slots, and the slots that it looks at."""

    expression: Expression
    slots: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Condition:
    """Conjuncts, of which those that look at First or Last are left out in the first round of their star."""

    conjuncts: tuple[Read, ...]


@dataclass(frozen=True)
class Column:
    """An aggregate over the rounds of a star; `current` holds what the round that goes on adds to First and Last."""

    slot: str
    function: str
    argument: Read | None

    @property
    def current(self) -> str:
        """A slot beside that of the aggregate."""
        return f"{self.slot} now"


class Terms:
    """The terms of one rule. Read all its expressions before anything is bound."""

    def __init__(self, zone: str) -> None:
        self._zone = zone
        self._slots: dict[Expression, str] = {}
        self._own: dict[str, dict[str, Expression]] = {}  # terms of each variable
        self._kept: dict[str, set[str]] = {}  # those that are looked at outside aggregates
        self._columns: dict[str, list[Column]] = {}
        self._column: dict[str, Column] = {}
        self._computed: dict[str, tuple[Expression, tuple[Read, ...]]] = {}  # terms that are made of others
        self.variable: dict[str, str] = {}
        """Whose term a slot stands for."""
        self._value = lru_cache(maxsize=4096)(self._evaluated)

    # --- reading expressions ------------------------------------------------------------------------------------------

    def condition(self, condition: Expression | None) -> Condition:
        """A condition, taken apart at its top-level ANDs."""
        return Condition(tuple(self.read(each) for each in conjuncts(condition)))

    def read(self, expression: Expression, aggregated: bool = False) -> Read:
        """An expression with its terms replaced by slots; those of an aggregate's argument need not be kept."""
        found: list[str] = []

        def combine(node: Expression, inner: Sequence[Expression]) -> Expression:
            if not _is_term(node):
                return rebuilt(node, inner)
            slot = self._slots.setdefault(node, f"#{len(self._slots)}")
            found.extend(self._looked_at(node, slot, aggregated))
            return Attribute(None, slot)

        replaced = fold(expression, combine, lambda node: () if _is_term(node) else children(node))
        return Read(replaced, tuple(dict.fromkeys(found)))

    def _looked_at(self, term: Expression, slot: str, aggregated: bool) -> tuple[str, ...]:
        """The slots that must have values for a term to have one."""
        match term:
            case Aggregate(function, variable, argument):
                if slot not in self._column:
                    read = None if argument is None else self.read(argument, aggregated=True)
                    self._column[slot] = Column(slot, function, read)
                    self._columns.setdefault(variable, []).append(self._column[slot])
                    self.variable[slot] = variable
                return (slot,)
            case Part(variable, _, Expression() as moved) if not _is_constant(moved):
                return self._made_of(slot, term, (Stamp(variable), moved), aggregated)
            case Field(variable) | Stamp(variable) | Part(variable):
                self._own.setdefault(variable, {})[slot] = term
                self.variable[slot] = variable
                if not aggregated:
                    self._kept.setdefault(variable, set()).add(slot)
                return (slot,)
            case Call(_, arguments):
                return self._made_of(slot, term, arguments, aggregated)
        raise AssertionError(f"unknown term {type(term).__name__}")

    def _made_of(self, slot: str, term: Expression, parts: Iterable[Expression], aggregated: bool) -> tuple[str, ...]:
        reads = tuple(self.read(each, aggregated) for each in parts)
        self._computed[slot] = term, reads
        return tuple(slot for each in reads for slot in each.slots)

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, read: Read, bindings: Bindings) -> Value:
        """The value of an expression."""
        return self._value(read, tuple([bindings.get(slot) for slot in read.slots]))

    def holds(self, condition: Condition, bindings: Bindings) -> bool:
        """Whether all conjuncts are TRUE, but those that look back where there is nothing to look back at."""
        return all(
            self._looks_before_the_first(each, bindings) or self.value(each, bindings) is True
            for each in condition.conjuncts
        )

    def _looks_before_the_first(self, conjunct: Read, bindings: Bindings) -> bool:
        return any(
            bindings.get(slot) is UNSET
            for slot in conjunct.slots
            if slot in self._column and self._column[slot].function in WITHOUT_THE_CURRENT
        )

    def shown(self, slot: str, bindings: Bindings) -> Value:
        """The value of a slot as it is compared with that of others: UNSET if there is none.

        Aggregates have a value even of nothing, as in SQL, but First and Last.
        """
        column = self._column.get(slot)
        if column is None or column.function in WITHOUT_THE_CURRENT:
            return bindings.get(slot)
        found = finished(column.function, bindings.get(slot))
        return (0 if column.function == "count" else None) if found is UNSET else found

    def _evaluated(self, read: Read, values: Sequence[Value]) -> Value:
        held = dict(zip(read.slots, values, strict=True))
        return evaluate(read.expression, lambda leaf: self._leaf(leaf.name, held))

    def _leaf(self, slot: str, held: dict[str, Value]) -> Value:
        if slot in self._column:
            return _or_null(seen(finished(self._column[slot].function, held[slot])))
        if slot not in self._computed:
            return _or_null(held[slot])
        term, reads = self._computed[slot]
        values = [evaluate(each.expression, lambda leaf: self._leaf(leaf.name, held)) for each in reads]
        if isinstance(term, Part):
            return self._part(values[0], term.part, values[1])
        assert isinstance(term, Call)
        return self._call(term.function, values[0])

    def _part(self, moment: Value, part: str, moved: Value) -> Value:
        if moment is None or moved is None:
            return None
        found = part_of(int(moment), part, int(moved), self._zone)
        return Moment(found) if part == "Time" and found is not None else found

    def _call(self, function: str, moment: Value) -> Value:
        if moment is None:
            return None
        if function == "asctime":
            return asctime(int(moment), self._zone)
        return unit_number(int(moment), function, self._zone)

    # --- binding ------------------------------------------------------------------------------------------------------

    def bind(self, bindings: Bindings, variable: str | None, event: Event) -> Bindings:
        """b ∪ {X: e}. All aggregates of X but First and Last see the event at once, these when the round is over."""
        if variable is None:
            return bindings
        own = {slot: self._of(event, term) for slot, term in self._own.get(variable, {}).items()}
        more = {slot: own[slot] for slot in self._kept.get(variable, ())}
        for column in self._columns.get(variable, ()):
            argument = column.argument
            given = 1 if argument is None else self._value(argument, tuple([own[slot] for slot in argument.slots]))
            if column.function in WITHOUT_THE_CURRENT:
                more[column.current] = given
            else:
                more[column.slot] = stepped(column.function, bindings.get(column.slot), given)
        return bindings.having(more)

    def _of(self, event: Event, term: Expression) -> Value:
        match term:
            case Field(_, side, attribute):
                return event.cells.get((side, attribute))
            case Stamp():
                return event.timestamp
            case Part(_, part, moved):
                return self._part(event.timestamp, part, 0 if moved is None else constant(moved))
        raise AssertionError(f"unknown term {type(term).__name__}")

    def round_over(self, bindings: Bindings, variables: Iterable[str]) -> Bindings:
        """b with the round appended to the sequence of the star that binds these variables."""
        columns = [each for variable in variables for each in self._columns.get(variable, ())]
        looking_back = [each for each in columns if bindings.get(each.current) is not UNSET]
        grown = {
            each.slot: stepped(each.function, bindings.get(each.slot), bindings.get(each.current))
            for each in looking_back
        }
        return bindings.having(grown).without(each.current for each in looking_back)

    def unbound(self, bindings: Bindings, variables: Iterable[str]) -> Bindings:
        """b without the variables; their aggregates stay."""
        return bindings.without(slot for variable in variables for slot in self._kept.get(variable, ()))

    def dropped(self, bindings: Bindings, variables: Iterable[str]) -> Bindings:
        """b without the variables and their aggregates."""
        gone = set(variables)
        columns = [each for variable in gone for each in self._columns.get(variable, ())]
        return self.unbound(bindings, gone).without(
            slot for column in columns for slot in (column.slot, column.current)
        )


def _is_term(node: Expression) -> bool:
    """Whether an expression has a value of its own here, which `evaluate` does not know."""
    return isinstance(node, Field | Stamp | Part | Aggregate) or (
        isinstance(node, Call) and node.function in TIME_FUNCTIONS
    )


def _is_constant(expression: Expression) -> bool:
    return not any(isinstance(each, Field | Stamp | Part | Aggregate) for each in walk(expression))


def _or_null(value: Value) -> Value:
    return None if value is UNSET else value

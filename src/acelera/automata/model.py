"""ACEA: aggregation complex event automata (paper 000, section 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from acelera.automata.handwritten import fields_of, term_of
from acelera.automata.labels import Label, Mark, label_text, marks
from acelera.automata.terms import Term, fresh_read
from acelera.drawing.graph import Graph
from acelera.drawing.pictures import Drawing
from acelera.errors import UsageError
from acelera.language import ast
from acelera.language.printer import duration, print_expression


@dataclass(frozen=True)
class Move:
    """A transition of an automaton that is written by hand.

    `when` is the predicate and `assign` maps registers to expressions, both SQL texts over attributes of the event
    and registers; the predicate and the marks see registers as they are after the assignment, and a register that is
    not assigned is forgotten. `marks` maps variables to `"event"`, the event as it was read, to a mapping of
    attributes to expressions, or to a list of these.

    >>> from acelera import Acea, Move, query
    >>> twice = Acea.of("begin", "end", [
    ...     Move("begin", "once", when="type = 'R'", assign={"v": "a"}, marks={"x": "event"}),
    ...     Move("once", "end", when="a = 2 * before", assign={"before": "v"}, marks={"x": "event"}),
    ... ])
    >>> result = query(twice).run([{"type": "R", "a": 1}, {"type": "R", "a": 2}, {"type": "R", "a": 3}])
    >>> result.select(["start", "end"]).to_pylist()
    [{'start': 1, 'end': 2}]
    """

    source: str
    target: str
    when: str | None = None
    assign: Mapping[str, object] = field(default_factory=dict)
    marks: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"move {self.source} → {self.target}"
        if not isinstance(self.source, str) or not isinstance(self.target, str):
            raise UsageError(f"{where}: states are named by strings")
        if self.when is not None and not isinstance(self.when, str | Term):
            raise UsageError(f"{where}: `when` is an SQL predicate, not {self.when!r}")
        for option, given in (("assign", self.assign), ("marks", self.marks)):
            if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
                raise UsageError(f"{where}: `{option}` maps names to what they get, not {given!r}")
        taken = {"position", "time", "type"} & set(self.assign)
        if taken:
            raise UsageError(f"{where}: a register cannot be called `{min(taken)}`, which every event has")

    def label(self, registers: frozenset[str]) -> Label:
        """What the transition does."""
        try:
            assign = tuple((name, term_of(value, registers)) for name, value in self.assign.items())
            predicate = () if self.when is None else (term_of(self.when, registers),)
            bags = {
                name: [self._mark(each, registers) for each in _listed(value)] for name, value in self.marks.items()
            }
        except UsageError as error:
            raise UsageError(f"move {self.source} → {self.target}: {error}") from None
        return Label(assign, predicate, marks(bags))

    @staticmethod
    def _mark(given: object, registers: frozenset[str]) -> Mark:
        if given == "event":
            return Mark()
        if isinstance(given, Mapping):
            taken = {"position", "time", "type"} & set(given)
            if taken:
                raise UsageError(f"an attribute cannot be called `{min(taken)}`, which every event has")
            return Mark(fields_of(given, registers), typed=False, origin=(1, 0))
        raise UsageError(f'a mark is "event" or a mapping of attributes to expressions, not {given!r}')


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


@dataclass(frozen=True)
class Transition:
    """(p, σ, P, λ, q)."""

    source: int
    label: Label
    target: int


@dataclass(frozen=True)
class Absence:
    """What must not follow a match: for so long after its end no match of a guard that starts no sooner than it.

    The length is in nanoseconds. If there is something that is compared, the guard is of one event, and only rules a
    match out where this holds of the event, whose attributes have no variable, and of one event of each variable.
    """

    guard: int
    length: int
    compared: ast.Expression | None = None

    def text(self) -> str:
        """How long nothing may match, and what is asked of it: `until 15 MINUTES after the end, where id = o.id`."""
        asked = "" if self.compared is None else f", where {print_expression(self.compared)}"
        return f"until {duration(self.length)} after the end{asked}"

    @property
    def keys(self) -> list[tuple[str | None, str]]:
        """The attributes that are compared, each with its variable."""
        nodes = [] if self.compared is None else ast.walk(self.compared)
        found = [(node.variable, node.name) for node in nodes if isinstance(node, ast.Attribute)]
        return list(dict.fromkeys(found))

    @property
    def of_event(self) -> list[str]:
        """Those of the event."""
        return [name for variable, name in self.keys if variable is None]


@dataclass(frozen=True)
class Acea:
    """An automaton (Q, Δ, q0, F). States are numbers; `names` are for people.

    `guards` are automata that run beside it over the same stream: a term `Latest(k)` is the newest start of a match
    of guard k, which may itself look at guards before it. They are what UNLESS compiles to. What `absences` say rules
    matches out once they have ended.

    >>> import acelera as ac
    >>> ac.query("MATCH A ; B").automaton.size()
    '3 states, 3 transitions, 0 registers'
    """

    states: int
    initial: int
    finals: frozenset[int]
    transitions: tuple[Transition, ...]
    guards: tuple[Acea, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)
    absences: tuple[Absence, ...] = ()

    def __post_init__(self) -> None:
        for state in (self.initial, *self.finals):
            if not 0 <= state < self.states:
                raise UsageError(f"state {state} is initial or final, but there are only {self.states} states")
        self._check_transitions()

    @classmethod
    def of(cls, initial: str, finals: str | Iterable[str], moves: Sequence[Move]) -> Acea:
        """An automaton written by hand; states are named by the moves.

        >>> from acelera import Acea, Move, query
        >>> doubling = Acea.of("begin", "end", [
        ...     Move("begin", "end", when="type = 'R'", assign={"n": 1}, marks={"out": {"b": "n"}}),
        ...     Move("begin", "go", when="type = 'R'", assign={"n": 1}),
        ...     Move("go", "go", when="type = 'R'", assign={"n": "n + n"}),
        ...     Move("go", "end", when="type = 'R'", assign={"n": "n + n"}, marks={"out": {"b": "n"}}),
        ... ])
        >>> result = query(doubling).run([{"type": "R"}] * 3)
        >>> [(row["start"], row["end"], row["out"][0]["b"]) for row in result.to_pylist()]
        [(1, 1, 1), (1, 2, 2), (2, 2, 1), (1, 3, 4), (2, 3, 2), (3, 3, 1)]
        """
        listed = isinstance(finals, Iterable) and isinstance(moves, list | tuple)
        if not listed or not finals or not all(isinstance(move, Move) for move in moves):
            raise UsageError("an automaton has final states and a list of moves: Acea.of('p', ['q'], [Move('p', 'q')])")
        ends = (finals,) if isinstance(finals, str) else tuple(finals)
        names = tuple(dict.fromkeys((initial, *(state for move in moves for state in (move.source, move.target)))))
        if initial not in {move.source for move in moves}:
            raise UsageError(f"no move leaves the initial state {initial!r}")
        for state in ends:
            if state not in names:
                raise UsageError(f"the final state {state!r} occurs in no move")
        registers = frozenset(name for move in moves for name in move.assign)
        number = {name: index for index, name in enumerate(names)}
        transitions = tuple(Transition(number[m.source], m.label(registers), number[m.target]) for m in moves)
        return cls(len(names), 0, frozenset(number[state] for state in ends), transitions, names=names)

    @classmethod
    def from_cea(
        cls,
        initial: str,
        finals: str | Iterable[str],
        transitions: Iterable[tuple[str, str | None, Iterable[str], str]],
    ) -> Acea:
        """Theorem 11: a complex event automaton, whose transitions (p, P, L, q) mark whole events with the variables L.

        >>> from acelera import Acea, query
        >>> moves = [("p", "type = 'H'", {"x"}, "w"), ("w", None, (), "w"), ("w", "type = 'T'", {"y"}, "q")]
        >>> cea = Acea.from_cea("p", "q", moves)
        >>> query(cea).run([{"type": "H"}, {"type": "H"}, {"type": "T"}]).select(["start", "end"]).to_pylist()
        [{'start': 1, 'end': 3}, {'start': 2, 'end': 3}]
        """
        transitions = list(transitions)
        for given in transitions:
            if not isinstance(given, tuple) or len(given) != 4 or isinstance(given[2], str):
                raise UsageError(f"a transition is written (p, predicate, {{variables}}, q), not {given!r}")
        moves = [
            Move(p, q, when=when, marks=dict.fromkeys(variables, "event")) for p, when, variables, q in transitions
        ]
        return cls.of(initial, finals, moves)

    def draw(self) -> Drawing:
        """A picture: `.dot` and `.mermaid` are texts, `.svg()` is an SVG; a notebook shows it."""
        return Drawing(self._graph(f"automaton of {self.size()}", self.guards))

    def _graph(self, described: str, inner: Sequence[Acea] = ()) -> Graph:
        """The automaton as something to draw; there is one arrow between two states, with all their labels."""
        edges: dict[tuple[int, int], list[str]] = {}
        for t in self.transitions:
            edges.setdefault((t.source, t.target), []).append(label_text(t.label))
        names = tuple(self.name(state) for state in range(self.states))
        graphs = tuple(each._graph(f"guard {number + 1}{self._until(number)}") for number, each in enumerate(inner))
        return Graph(names, self.initial, self.finals, edges, described, graphs)

    def _until(self, guard: int) -> str:
        """How long a guard must not match, and where, if that is not only until a match ends."""
        texts = [absence.text() for absence in self.absences if absence.guard == guard]
        return f", {' or '.join(texts)}" if texts else ""

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        return self.draw()._repr_mimebundle_(**options)

    def _check_transitions(self) -> None:
        for number, transition in enumerate(self.transitions, 1):
            for state in (transition.source, transition.target):
                if not 0 <= state < self.states:
                    raise UsageError(f"transition {number}: there is no state {state}")
        held = self.registers_held()
        for number, transition in enumerate(self.transitions, 1):
            label = transition.label
            missing = label.reads_before - held[transition.source]
            if missing:
                self._refuse(number, transition, f"reads the register `{min(missing)}`, which may not be set there")
            for index, (_, term) in enumerate(label.assign):
                missing = fresh_read(term) - {name for name, _ in label.assign[:index]}
                if missing:
                    self._refuse(number, transition, f"uses the register `{min(missing)}` before it is assigned")
            missing = label.reads_after - set(dict(label.assign))
            if missing:
                self._refuse(number, transition, f"looks at the register `{min(missing)}`, which it does not assign")

    def _refuse(self, number: int, transition: Transition, what: str) -> None:
        where = f"{self.name(transition.source)} → {self.name(transition.target)}"
        raise UsageError(f"transition {number} ({where}) {what}")

    def name(self, state: int) -> str:
        """What a state is called."""
        return self.names[state] if self.names else f"q{state}"

    def registers_held(self) -> list[frozenset[str]]:
        """For each state the registers that are set whenever it is reached; none in the initial state."""
        everything = frozenset(name for transition in self.transitions for name, _ in transition.label.assign)
        held = [everything] * self.states
        held[self.initial] = frozenset()
        for transition in self.transitions:
            if transition.target != self.initial:
                held[transition.target] &= {name for name, _ in transition.label.assign}
        return held

    @property
    def registers(self) -> list[str]:
        """All registers."""
        return sorted({name for transition in self.transitions for name, _ in transition.label.assign})

    @property
    def variables(self) -> list[str]:
        """All variables that are marked."""
        return sorted({name for transition in self.transitions for name, _ in transition.label.marks})

    def size(self) -> str:
        """How large it is, in words."""
        parts = {"state": self.states, "transition": len(self.transitions), "register": len(self.registers)}
        if self.guards:
            parts["guard"] = len(self.guards)
        return ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in parts.items())


def by_source(transitions: Iterable[Transition]) -> dict[int, list[Transition]]:
    """The transitions that leave each state."""
    outgoing: dict[int, list[Transition]] = {}
    for t in transitions:
        outgoing.setdefault(t.source, []).append(t)
    return outgoing


def reachable(begin: Iterable[int], edges: Iterable[tuple[int, int]]) -> set[int]:
    """All states that the edges lead to."""
    following: dict[int, list[int]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    reached = set(begin)
    todo = list(reached)
    while todo:
        for target in following.get(todo.pop(), ()):
            if target not in reached:
                reached.add(target)
                todo.append(target)
    return reached

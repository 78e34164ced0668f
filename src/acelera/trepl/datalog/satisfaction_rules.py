"""The rules of the satisfaction predicates of an event ([P], table 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from acelera.language.ast import Attribute, Call, Expression, walk
from acelera.language.tree import children
from acelera.trepl import ast
from acelera.trepl.conjuncts import conjuncts
from acelera.trepl.datalog.clauses import NEXT, NOW, atom, clause
from acelera.trepl.datalog.parse_trees import Edge, Tree, nodes, parse_tree
from acelera.trepl.datalog.points_taken import Taken, ways
from acelera.trepl.datalog.steps import Step, columns_of, goals_of, used
from acelera.trepl.datalog.told_terms import LOOKING_BACK, Column, Columns, plain, text, value_of
from acelera.trepl.resolved import Aggregate, EventType, Field, Part, Rule, Simple, Stamp

POINTS = ("simple", "any", "not", "point")


class Satisfaction:
    """The satisfaction predicates of one rule; `predicate` names that of an event of some types."""

    def __init__(self, rule: Rule, predicate: Callable[[tuple[EventType, ...]], str]) -> None:
        self._predicate = predicate
        self.functions: dict[str, None] = {}
        self.root = parse_tree(rule.goal)
        self._nodes = nodes(self.root)
        self._star_of = {name: node for node in self._nodes if node.is_round for name in node.single}
        self._written = list(ast.walk(rule.goal))
        goals = [each for each in self._written if isinstance(each, Simple | ast.Test)]
        bound = [each.variable for each in goals if isinstance(each, Simple) and each.variable is not None]
        conditions = [each.condition for each in goals if each.condition is not None]
        heads = [each for action in rule.actions for each in action.arguments]
        self.columns = Columns(bound, [*conditions, *heads])
        self._keep_earlier()
        self._waited = {
            edge.node
            for node in self._nodes
            if node.kind in POINTS
            for edge in node.before
            if edge.kind == "wait" and edge.node is not None
        }

    def _keep_earlier(self) -> None:
        """Keep what First and Last were before a round for those of its goals that look at them later."""
        for node in self._nodes:
            asked = [each for way in _ways_of(node) for each in way.conditions]
            for each in (term for condition in asked for term in walk(condition)):
                if isinstance(each, Aggregate) and each.function in LOOKING_BACK and self._is_later(node, each):
                    self.columns.keep_earlier(each)

    def _is_later(self, node: Tree, aggregate: Aggregate) -> bool:
        return self._star_of.get(aggregate.variable) in node.around and aggregate.variable not in node.single

    # --- all rules ----------------------------------------------------------------------------------------------------

    def rules(self) -> Iterator[str]:
        """The rules, node by node in postorder."""
        for node in self._nodes:
            yield from self._rules(node)
            if node.is_round and self._is_guarded(node):
                yield from self._extensions(node)
            if node in self._waited:
                yield clause(self._sat(node, NOW, "wait"), [self._sat(node, NOW)])
                yield clause(self._sat(node, NEXT, "wait"), [self._sat(node, NOW, "wait"), atom("any", (), NEXT)])

    def fires(self, head: str, arguments: Iterable[Expression]) -> str:
        """The rule of an action."""
        at_zero = self.root.kind == "seq" and self.root.parts[0].opens and self.root.parts[1].kind == "test"
        stage = NEXT if at_zero else NOW
        told = [text(plain(each, self._final)) for each in arguments]
        return clause(atom(head, told, stage), [self._sat(self.root, stage)])

    def _final(self, node: Aggregate) -> Expression:
        return value_of(node, lambda function: Attribute(None, self.columns.of(function, node).name))

    def _sat(self, node: Tree, stage: str, word: str = "sat", seen: Tree | None = None) -> str:
        """The predicate of a node; columns that another node does not have are not looked at."""
        names = [_name(each) for each in columns_of(node, self.columns)]
        wanted = names if seen is None else [_name(each) for each in columns_of(seen, self.columns)]
        return atom(f"{word}_{node.number}", [each if each in wanted else "_" for each in names], stage)

    def _rules(self, node: Tree) -> Iterator[str]:
        if node.kind in POINTS:
            yield from self._point(node)
        elif node.kind in ("test", "epsilon"):
            yield from self._no_stage(node)
        elif node.kind == "seq":
            yield clause(self._sat(node, NOW), [self._sat(node.parts[1], NOW, seen=node)])
        elif node.kind == "or":
            for part in node.parts:
                yield clause(self._sat(node, NOW), [self._sat(part, NOW, seen=node)])
        elif node.kind == "and":
            yield clause(self._sat(node, NOW), [self._sat(part, NOW) for part in node.parts])
        elif node.kind == "first":
            yield from self._first(node)
        else:
            yield from self._prior(node)

    def _no_stage(self, node: Tree) -> Iterator[str]:
        """A condition-only goal, or ε: where its predecessor is satisfied."""
        condition = node.goal.condition if isinstance(node.goal, ast.Test) else None
        for edge in node.before:
            step = self._step(node, edge)
            asked = step.asked(conjuncts(condition))
            told = [*step.head.values(), *asked]
            head = atom(f"sat_{node.number}", map(text, step.head.values()), NOW)
            yield clause(head, [*step.predecessor(told), *goals_of(asked)])

    def _first(self, node: Tree) -> Iterator[str]:
        part = node.parts[0]
        asked = node.firsts.get(id(node.goal), part)
        yield from self._past(asked)
        yield clause(self._sat(node, NEXT), [self._sat(part, NEXT), self._never(asked)])

    def _never(self, node: Tree) -> str:
        """That an event was not satisfied before this stage."""
        return "¬" + atom(f"past_{node.number}", ["_"] * len(columns_of(node, self.columns)), NOW)

    def _prior(self, node: Tree) -> Iterator[str]:
        earlier, later = node.parts
        yield from self._past(earlier)
        yield clause(self._sat(node, NEXT), [self._sat(earlier, NOW, "past"), self._sat(later, NEXT)])

    def _past(self, node: Tree) -> Iterator[str]:
        """That an event was satisfied at this stage or before, but not at stage 0."""
        yield clause(self._sat(node, NEXT, "past"), [self._sat(node, NEXT)])
        yield clause(self._sat(node, NEXT, "past"), [self._sat(node, NOW, "past"), atom("any", (), NEXT)])

    # --- points -------------------------------------------------------------------------------------------------------

    def _step(self, node: Tree, edge: Edge) -> Step:
        return Step(node, edge, self.columns, self._star_of)

    def _updates(self, step: Step, told: Iterable[Expression]) -> list[Call]:
        """What computes the columns that are used, and note which aggregates that needs."""
        found = step.updates(told)
        self.functions.update(dict.fromkeys(each.function for each in found))
        return found

    def _point(self, node: Tree) -> Iterator[str]:
        for asked in node.firsts.values():
            yield from self._past(asked)
        for way in _ways_of(node):
            for edge in node.before:
                yield from self._entered(node, edge, way)

    def _entered(self, node: Tree, edge: Edge, way: Taken) -> Iterator[str]:
        """A point after one of its predecessors: it takes its events at the next stage."""
        step = self._step(node, edge)
        guards = [] if node.negated else [star for star in edge.begun if self._is_guarded(star)]
        asked = step.asked(way.conditions)
        keys = [term for star in guards for term in self._key(star, step)]
        told = [*step.head.values(), *asked, *keys]
        told += self._updates(step, told)
        refused = [f"¬{self._extension(star, step, way)}" for star in guards]
        at_once = edge.kind == "start" and not guards and (node.opens or not way.needs_any) and not way.firsts
        stage = NOW if at_once else NEXT
        goals = [
            *self._events(way, [*used(told), *(way.variables if guards else ())], stage),
            *step.predecessor(told),
            *self._negations(node, way, step),
            *refused,
            *goals_of([*asked, *self._updates(step, told)]),
        ]
        columns = [text(each) for each in step.head.values()]
        yield clause(atom(f"sat_{node.number}", columns, stage), goals)
        if edge.kind == "start" and guards and node.opens:
            yield clause(atom(f"sat_{node.number}", columns, "0"), [atom("any", (), "0")])

    def _events(self, way: Taken, names: Iterable[str], stage: str = NEXT) -> list[str]:
        """The events that a way takes; those whose variables nobody looks at have none."""
        wanted = set(names)
        found = [
            atom(self._predicate(types), [name if name in wanted else "_"], stage)
            for (types, _), name in zip(way.events, way.variables, strict=True)
        ]
        return found or [atom("any", (), stage)]

    def _negations(self, node: Tree, way: Taken, step: Step) -> list[str]:
        absent = [f"¬{self._negated(node.negations[id(each)], step)}" for each in way.negated]
        return absent + [self._never(node.firsts[id(each)]) for each in way.firsts]

    def _negated(self, inner: Tree, step: Step) -> str:
        """What must not be satisfied after the same predecessor, or at all if it is composite."""
        given = [
            text(step.head[_name(each)]) if _name(each) in step.head and _is_import(each, inner) else "_"
            for each in columns_of(inner, self.columns)
        ]
        return atom(f"sat_{inner.number}", given, NEXT)

    # --- maximal stars ------------------------------------------------------------------------------------------------

    def _is_guarded(self, star: Tree) -> bool:
        """Whether what extends an instance of a star begins none: not with `*:`, nor directly after `any` alone."""
        before = [edge for edge in star.before if edge.kind != "loop"]
        exempt = all(edge.kind == "after" and edge.node is not None and edge.node.kind == "any" for edge in before)
        return star.maximal and not exempt

    def _extensions(self, star: Tree) -> Iterator[str]:
        """That events of a stage extend an active instance of a star."""
        for node in star.front:
            edge = next(each for each in node.before if each.kind == "loop" and each.node is star)
            tested = conjuncts(node.test.goal.condition) if node.test and isinstance(node.test.goal, ast.Test) else ()
            for way in _ways_of(node):
                step = self._step(node, edge)
                asked = step.asked([*way.conditions, *tested])
                told = [*asked, *self._key(star, step)]
                told += self._updates(step, told)
                goals = [
                    *self._events(way, [*used(told), *way.variables]),
                    *step.predecessor(told),
                    *self._negations(node, way, step),
                    *goals_of([*asked, *self._updates(step, told)]),
                ]
                yield clause(self._extension(star, step, way), goals)

    def _extension(self, star: Tree, step: Step, way: Taken) -> str:
        """`ext_i(key, events, s(J))`."""
        sizes = {len(each.events) for node in star.front for each in _ways_of(node)}
        events = list(way.variables) if sizes <= {0, 1} and len(sizes) == 1 else [f"{{{', '.join(way.variables)}}}"]
        return atom(f"ext_{star.number}", [*map(text, self._key(star, step)), *events], NEXT)

    def _key(self, star: Tree, step: Step) -> list[Expression]:
        """What all conditions that are still to come see of the imports of a star."""
        found: dict[Expression, None] = {}
        for condition in self._still_to_come(star):
            for term in _terms(condition):
                goes_on = isinstance(term, Aggregate) and term.variable in star.carried - star.single
                if goes_on or term.variable in star.imports:
                    found[plain(term, step.aggregate)] = None
        return list(found)

    def _still_to_come(self, star: Tree) -> Sequence[Expression]:
        """The conditions inside the outermost star around, and after its beginning in the text."""
        begin = next(number for number, goal in enumerate(self._written) if goal is star.around[0].star)
        goals = [each for each in self._written[begin:] if isinstance(each, Simple | ast.Test)]
        return [each.condition for each in goals if each.condition is not None]


def _ways_of(node: Tree) -> list[Taken]:
    """How a point or a condition is satisfied; other nodes are put together from these."""
    return [] if node.goal is None or node.kind not in (*POINTS, "test") else ways(node.goal)


def _name(column: str | Column) -> str:
    return column if isinstance(column, str) else column.name


def _is_import(column: str | Column, node: Tree) -> bool:
    name = column if isinstance(column, str) else column.variable
    return name in node.imports | node.carried


def _terms(condition: Expression) -> Iterator[Field | Stamp | Part | Aggregate]:
    """Terms `V.A` and `f(V.A)`; those in aggregates do not count on their own."""
    todo = [condition]
    while todo:
        node = todo.pop()
        if isinstance(node, Field | Stamp | Part | Aggregate):
            yield node
        else:
            todo += reversed(children(node))

"""Parse trees of events as in [P], section 5.5: sequences, conjunctions and disjunctions of two, stars as `*seq`.

From the top down each node gets its possible predecessors and what it imports ([P], table 3).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from acelera.trepl import ast
from acelera.trepl.resolved import Simple
from acelera.trepl.shape import exported, is_point


@dataclass(frozen=True)
class Edge:
    """A possible predecessor: the *start*, a node at the stage before (*after*, or *loop*), or one that waits.

    `begun` are the stars that begin on the way, outer ones first; a star is known by the event that it repeats.
    """

    kind: str
    node: Tree | None = None
    begun: tuple[Tree, ...] = ()


@dataclass(eq=False)
class Tree:
    """A node: `kind` is one of simple, any, test, epsilon, not, seq, or, and, first, prior, point.

    A *point* is a conjunction or disjunction within a star: its predicate is not put together from those of its parts,
    since these would not know of one another in which instance of the star they are. Its parts are what `!` and `first`
    in it ask about.
    """

    kind: str
    goal: ast.Goal | None = None
    parts: tuple[Tree, ...] = ()
    starred: bool = False  # a sequence whose first part is repeated
    relaxed: bool = False
    single: frozenset[str] = frozenset()  # variables that it binds, apart from those of stars in it
    repeated: frozenset[str] = frozenset()  # variables of its stars
    star: ast.Star | None = None  # the star that repeats it
    maximal: bool = False
    composite: bool = False  # an event of its own, wherever it begins
    negations: dict[int, Tree] = field(default_factory=dict)  # what is negated in it, by the negation
    firsts: dict[int, Tree] = field(default_factory=dict)  # what `first` in it asks about, by the goal
    number: int = 0
    before: tuple[Edge, ...] = ()
    imports: frozenset[str] = frozenset()
    carried: frozenset[str] = frozenset()  # variables of the stars around, whose aggregates go on
    around: tuple[Tree, ...] = ()  # the stars around, by what they repeat
    is_round: bool = False
    negated: bool = False  # within a point that is negated: no instance of a star begins there
    opens: bool = False  # an `any` that comes first in a sequence
    test: Tree | None = None  # the condition right after it

    @property
    def exports(self) -> frozenset[str]:
        """The variables that it leaves to those after it; a round of a star keeps those of stars inside it."""
        return self.single if self.is_round else self.single | self.repeated

    @property
    def front(self) -> tuple[Tree, ...]:
        """The nodes in which an instance of this event can begin."""
        found: list[Tree] = []
        todo = [self]
        while todo:
            each = todo.pop()
            if each.kind in ("seq", "first"):
                todo.append(each.parts[0])
            elif each.kind in ("or", "and", "prior"):
                todo += reversed(each.parts)
            else:
                found.append(each)
        return tuple(found)


def parse_tree(goal: ast.Goal) -> Tree:
    """The tree of the event of a rule."""
    root = _built(goal, _within_stars(goal))
    _tell(root)
    for number, node in enumerate(nodes(root), 1):
        node.number = number
    return root


def nodes(root: Tree) -> list[Tree]:
    """All nodes in postorder."""
    found: list[Tree] = []
    todo = [root]
    while todo:
        node = todo.pop()
        found.append(node)
        todo += node.parts
    return found[::-1]


# --- from the bottom up -----------------------------------------------------------------------------------------------


def _built(goal: ast.Goal, within: Collection[int]) -> Tree:
    """The tree of a goal; `within` are the goals that stand in stars."""

    def built(each: ast.Goal, made: Sequence[Tree]) -> Tree:
        is_joined = isinstance(each, ast.Both | ast.Either | ast.First) and id(each) in within
        return _with_exports(_point(each, made) if is_joined and is_point(each) else _tree(each, made))

    return _closed(ast.fold(goal, built))


def _alone(goal: ast.First) -> Tree:
    """What `first` asks about, as an event of its own: whatever comes before."""
    tree = _built(goal.goal, ())
    tree.composite = True
    return tree


def _within_stars(goal: ast.Goal) -> set[int]:
    found: set[int] = set()
    todo = [(goal, False)]
    while todo:
        each, inside = todo.pop()
        if inside:
            found.add(id(each))
        todo += [(part, inside or isinstance(each, ast.Star)) for part in ast.children(each)]
    return found


def _tree(goal: ast.Goal, made: Sequence[Tree]) -> Tree:
    match goal:
        case Simple():
            return Tree("simple", goal)
        case ast.Any():
            return Tree("any", goal)
        case ast.Test():
            return Tree("test", goal)
        case ast.Star():
            return Tree("star", goal, (_closed(made[0]),))
        case ast.Sequence(_, relaxed):
            return _sequence(list(made), relaxed)
        case ast.Not(inner):
            negated = _closed(made[0])
            negated.composite = not is_point(inner)
            return Tree("not", goal, (negated,), negations={id(goal): negated})
        case ast.First() | ast.Prior():
            return Tree(type(goal).__name__.lower(), goal, tuple(_closed(each) for each in made))
    kind = "and" if isinstance(goal, ast.Both) else "or"
    *rest, last = (_closed(each) for each in made)
    for each in reversed(rest):
        last = _with_exports(Tree(kind, goal, (each, last)))
    return last if len(made) > 1 else Tree(kind, goal, (last,))


def _point(goal: ast.Goal, made: Sequence[Tree]) -> Tree:
    negations = {key: tree for part in made for node in nodes(part) for key, tree in node.negations.items()}
    firsts = {key: tree for part in made for node in nodes(part) for key, tree in node.firsts.items()}
    if isinstance(goal, ast.First):
        firsts[id(goal)] = _alone(goal)
    return Tree("point", goal, (*negations.values(), *firsts.values()), negations=negations, firsts=firsts)


def _sequence(made: list[Tree], relaxed: bool) -> Tree:
    last = _closed(made.pop())
    for each in reversed(made):
        last = _pair(each, last, relaxed)
    return last


def _closed(tree: Tree) -> Tree:
    """A star that nothing follows: `*E` is *seq(E, ε)."""
    return _pair(tree, Tree("epsilon"), False) if tree.kind == "star" else tree


def _pair(left: Tree, right: Tree, relaxed: bool) -> Tree:
    if left.kind == "star":
        assert isinstance(left.goal, ast.Star)
        left.parts[0].star, left.parts[0].maximal = left.goal, not left.goal.every
        return _with_exports(Tree("seq", None, (left.parts[0], right), starred=True, relaxed=relaxed))
    return _with_exports(Tree("seq", None, (left, right), relaxed=relaxed))


def _with_exports(tree: Tree) -> Tree:
    if tree.kind in ("simple", "point") and tree.goal is not None:
        tree.single = exported(tree.goal).single
    elif tree.kind in ("seq", "and", "prior", "first"):
        left, right = tree.parts[0], tree.parts[-1]
        own = frozenset() if tree.starred else left.single
        tree.single = own | right.single
        tree.repeated = (left.single if tree.starred else left.repeated) | right.repeated
    return tree


# --- from the top down ------------------------------------------------------------------------------------------------


def _tell(root: Tree) -> None:
    """Tell each node what comes before it, and what it imports."""
    root.before = (Edge("start"),)
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node.goal, ast.First) and node.kind == "first" and node.before != (Edge("start"),):
            node.firsts = {id(node.goal): _alone(node.goal)}
            node.parts += tuple(node.firsts.values())
        for part in node.parts:
            part.before, part.around, part.negated = node.before, node.around, node.negated
            part.imports, part.carried = node.imports, node.carried
        if node.kind == "seq":
            _tell_pair(node)
        for part in node.parts:
            if node.kind in ("not", "point"):
                part.negated, part.carried = True, frozenset()
            if part.composite:
                part.before, part.around, part.negated = (Edge("start"),), (), False
                part.imports = part.carried = frozenset()
        todo += node.parts


def _tell_pair(node: Tree) -> None:
    left, right = node.parts
    right.before = (Edge("wait" if node.relaxed and right.kind != "epsilon" else "after", left),)
    if node.starred:
        left.before = (*(replace(edge, begun=(*edge.begun, left)) for edge in node.before), Edge("loop", left))
        left.carried, left.around, left.is_round = node.carried | left.single, (*node.around, left), True
        right.imports = node.imports | left.single
    else:
        following = right.parts[0] if right.kind == "seq" and not right.starred else right
        left.test = following if following.kind == "test" else None
        left.opens = left.kind == "any"
        right.imports = node.imports | left.exports

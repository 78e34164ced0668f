"""Programs over few names, half of which make sense: variables are bound once, and used after they are."""

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from acelera.language.ast import Attribute, Binary, Call, Expression, Literal
from acelera.trepl import ast
from trepl.strategies_syntax import tuples

HOLE = ast.Test(Literal(True))
EVENTS: st.SearchStrategy[ast.Goal] = st.one_of(
    st.builds(ast.Named, st.none(), st.none(), st.sampled_from("abcd"), st.sampled_from([None, "X", "X"])),
    st.builds(ast.Named, st.sampled_from(ast.KINDS[:2]), st.none(), st.sampled_from("ab"), st.just("X")),
    st.builds(ast.Any),
)


def _more(inner: st.SearchStrategy[ast.Goal]) -> st.SearchStrategy[ast.Goal]:
    sequences = st.builds(_sequence, inner, tuples(inner | st.just(HOLE), 1), st.booleans())
    return st.one_of(
        sequences,
        sequences,
        inner.map(ast.Not),
        inner.map(ast.First),
        st.builds(ast.Star, inner, st.booleans()),
        st.builds(ast.Prior, inner, inner),
        tuples(inner, 2).map(ast.Both),
        tuples(inner, 2).map(ast.Either),
    )


def _sequence(first: ast.Goal, others: tuple[ast.Goal, ...], relaxed: bool) -> ast.Goal:
    return ast.Sequence((first, *others), relaxed)


SKELETONS = st.recursive(EVENTS, _more, max_leaves=5)


def values(names: Sequence[str]) -> st.SearchStrategy[Expression]:
    """Terms and aggregates of variables, and constants."""
    one = st.just(Literal(1))
    if not names:
        return one
    terms = st.builds(Attribute, st.sampled_from(names), st.sampled_from(["v", "v", "v", "new_v", "Day"]))
    aggregates = st.builds(lambda name, term: Call(name, (term,)), st.sampled_from(["max", "first", "count"]), terms)
    return st.one_of(one, terms, terms, aggregates)


def conditions(names: Sequence[str]) -> st.SearchStrategy[Expression]:
    """Comparisons of such values."""
    return st.builds(Binary, st.sampled_from(["=", "<"]), values(names), values(names))


@st.composite
def rules(draw: Callable[..., Any], name: str) -> ast.Rule:
    """A rule: each of its events has a variable of its own, and looks at those before it."""
    names: list[str] = []

    def filled(node: ast.Goal, inner: Sequence[ast.Goal]) -> ast.Goal:
        if isinstance(node, ast.Test):
            return ast.Test(draw(conditions(names)))
        if not isinstance(node, ast.Named) or node.variable is None:
            return ast.rebuilt(node, inner)
        names.append(f"X{len(names)}")
        condition = draw(st.none() | conditions(names[-2:]))
        return ast.Named(node.kind, node.module, node.name, names[-1], condition)

    goal = ast.fold(draw(SKELETONS), filled)
    derived = st.builds(ast.Act, st.sampled_from("cd"), tuples(values(names), 1, 1))
    written = st.builds(ast.Act, st.just("write"), tuples(values(names), 1, 2))
    return ast.Rule(name, goal, (draw(derived | written),))


@st.composite
def programs(draw: Callable[..., Any]) -> ast.Program:
    """One module over the relations a and b, which derives c and d of one attribute each."""
    made = tuple(draw(rules(f"R{number}")) for number in range(draw(st.integers(1, 2))))
    sources = tuple(ast.Source(None, None, name) for name in "ab")
    derived = tuple(ast.Declared(name, ("v",)) for name in "cd")
    return ast.Program((ast.Module("Main", sources, (), derived, made),))

"""Any syntax tree of a program, whether it makes sense or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

from acelera.language.ast import Attribute, Call, Expression
from acelera.trepl import ast
from acelera.trepl.goals import is_condition
from strategies import expressions

T = TypeVar("T")

WORDS = "a B reading st_cl any First prior update ins END module Monitor by as write sql Cast date and null X".split()
NAMES = st.sampled_from(WORDS) | st.text(min_size=1, max_size=4)
VARIABLES = st.sampled_from(["X", "Y", "Z", "first", "end"]) | NAMES


def tuples(inner: st.SearchStrategy[T], smallest: int, largest: int = 3) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(inner, min_size=smallest, max_size=largest).map(tuple)


TERMS: st.SearchStrategy[Expression] = st.builds(Attribute, VARIABLES, NAMES)
AGGREGATES: st.SearchStrategy[Expression] = st.one_of(
    VARIABLES.map(lambda name: Call("count", (Attribute(None, name),))),
    st.tuples(st.sampled_from(["first", "max", "mine"]), TERMS).map(lambda pair: Call(pair[0], (pair[1],))),
)
VALUES = expressions(TERMS | AGGREGATES)
TESTS = VALUES.filter(is_condition).map(ast.Test)

EVENTS: st.SearchStrategy[ast.Goal] = st.one_of(
    st.builds(ast.Named, st.none(), st.none() | NAMES, NAMES),
    st.builds(ast.Named, st.none(), st.none() | NAMES, NAMES, VARIABLES, st.none() | VALUES),
    st.builds(ast.Named, st.sampled_from(ast.KINDS), st.none(), NAMES, st.none() | VARIABLES, st.none() | VALUES),
    st.builds(ast.Any),
)


def _has_event(goals: tuple[ast.Goal, ...]) -> bool:
    return not all(isinstance(each, ast.Test) for each in goals)


def _more_goals(inner: st.SearchStrategy[ast.Goal]) -> st.SearchStrategy[ast.Goal]:
    between = tuples(inner | TESTS, 2).filter(_has_event)
    return st.one_of(
        inner.map(ast.Not),
        inner.map(ast.First),
        st.builds(ast.Star, inner, st.booleans()),
        st.builds(ast.Prior, inner, inner),
        tuples(inner, 2).map(ast.Both),
        tuples(inner, 1).map(ast.Either),
        st.builds(ast.Sequence, between, st.booleans()),
    )


GOALS = st.recursive(EVENTS, _more_goals, max_leaves=6)

COMMANDS = [
    "insert into audit(giver, at) values ({0}, {1})",
    "UPDATE \"my table\" SET a = {0} || 'it''s; X.a?' /* X.b; ? */ WHERE lower({1}) = b.c",
    "delete from s.owns\n  where id = {0} and t :: int = {1}",
]


@st.composite
def command(draw: Callable[..., Any], bound: list[str]) -> ast.Command:
    """A command over terms and aggregates of variables that are bound."""
    terms = st.builds(Attribute, st.sampled_from(bound), st.sampled_from(["a", "Timestamp"]))
    text = draw(st.sampled_from(COMMANDS))
    arguments = draw(st.tuples(terms | terms.map(lambda each: Call("max", (each,))), terms))
    return ast.Command(text.replace("{0}", "?").replace("{1}", "?"), arguments)


@st.composite
def rules(draw: Callable[..., Any]) -> ast.Rule:
    """A rule; it may end in a command, if it binds a variable that can be told in one."""
    goal = draw(GOALS)
    actions = draw(tuples(st.builds(ast.Act, NAMES.filter(_keeps_case), tuples(VALUES, 0)), 1, 2))
    bound = [each.variable for each in ast.walk(goal) if isinstance(each, ast.Named) and each.variable in ("X", "Y")]
    if bound and draw(st.booleans()):
        actions = (*actions, draw(command(bound)))
    return ast.Rule(draw(NAMES), goal, actions)


def _keeps_case(name: str) -> bool:
    return name.lower() == name or name.lower() not in ("write", "sql")


SOURCES = st.one_of(
    st.builds(ast.Source, st.sampled_from(ast.KINDS), st.none(), NAMES, st.none() | NAMES),
    st.builds(ast.Source, st.none(), st.none() | NAMES, NAMES, st.none() | NAMES),
)


@st.composite
def modules(draw: Callable[..., Any]) -> ast.Module:
    """A module; what is split by attributes is monitored."""
    monitored = draw(tuples(SOURCES, 0))
    partition = draw(tuples(NAMES, 0, 2)) if monitored else ()
    declared = draw(tuples(st.builds(ast.Declared, NAMES, tuples(NAMES, 1)), 0, 2))
    name = draw(st.just("Main") | NAMES)
    return ast.Module(name, monitored, partition, declared, draw(tuples(rules(), 1, 2)))


PROGRAMS = tuples(modules(), 1, 2).map(ast.Program)

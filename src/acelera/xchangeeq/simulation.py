"""Simulation: all substitutions under which a query term matches a data term (contract, section 1, its table; [X])."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from acelera.xchangeeq import ast
from acelera.xchangeeq.terms import Term, Value, identity

Path: TypeAlias = tuple[int, ...]
"""A node of a term: which child of the root, which child of that, and so on."""


@dataclass(frozen=True)
class Binding:
    """What a variable stands for, and the nodes it was found at: several where it occurs in several places."""

    value: Value
    nodes: frozenset[Hashable]

    @property
    def identity(self) -> Hashable:
        """What equal bindings have in common: value and nodes (Choice A)."""
        return identity(self.value), self.nodes


Substitution: TypeAlias = Mapping[str, Binding]
"""σ. Optional variables that are not bound are not in it."""


def simulations(query: ast.Query, term: Term) -> list[Substitution]:
    """All σ with σ(q) ≼ d, each once; nodes are paths in d."""
    return distinct(way.substitution for way in _ways(query, term, ()) if _nothing_forbidden(way))


def joined(left: Substitution, right: Substitution) -> Substitution | None:
    """Both at once, if they agree: a variable in two places has equal values, and comes from the nodes of both."""
    both = dict(left)
    for name, binding in right.items():
        if name in both:
            if identity(both[name].value) != identity(binding.value):
                return None
            binding = Binding(both[name].value, both[name].nodes | binding.nodes)
        both[name] = binding
    return both


def distinct(substitutions: Iterable[Substitution]) -> list[Substitution]:
    """Each once: they are a set."""
    found = {frozenset((name, each.identity) for name, each in one.items()): one for one in substitutions}
    return list(found.values())


@dataclass(frozen=True)
class _Way:
    """One way to match: its substitution, and the children that `without` still has to look at, each with its query.

    They wait until all of the query term is matched, since the variables under `without` may be bound anywhere in it.
    """

    substitution: Substitution
    forbidden: tuple[tuple[ast.Query, Value, Path], ...] = ()


def _both(left: _Way, right: _Way) -> _Way | None:
    substitution = joined(left.substitution, right.substitution)
    return None if substitution is None else _Way(substitution, left.forbidden + right.forbidden)


def _nothing_forbidden(way: _Way) -> bool:
    """`without q`: none of the children that were left over matches q under this σ."""
    for query, child, path in way.forbidden:
        for found in _ways(query, child, path):
            both = joined(way.substitution, found.substitution)
            if both is not None and _nothing_forbidden(_Way(both, found.forbidden)):
                return False
    return True


def _ways(query: ast.Query, value: Value, path: Path) -> Iterator[_Way]:
    """The rows of the table: all ways in which a query term matches what stands at this path."""
    match query:
        case ast.IsValue(wanted):
            if identity(wanted) == identity(value):
                yield _Way({})
        case ast.Binds(name, inner):
            here = _Way({name: Binding(value, frozenset([path]))})
            for found in [_Way({})] if inner is None else _ways(inner, value, path):
                both = _both(here, found)
                if both is not None:
                    yield both
        case ast.Descendant(inner):
            yield from _ways(inner, value, path)
            for index, child in enumerate(value.children if isinstance(value, Term) else ()):
                yield from _ways(query, child, (*path, index))
        case ast.Labelled(label):
            if isinstance(value, Term) and label in (None, value.label):
                yield from _ways_of_children(query, value, path)
        case ast.Without() | ast.Optional():
            raise AssertionError("`without` and `optional` stand before children only")
        case _:
            raise AssertionError(f"unknown query {type(query).__name__}")


def _ways_of_children(query: ast.Labelled, term: Term, path: Path) -> Iterator[_Way]:
    """Partial, total and ordered: the children of the query take different children of the term.

    First those without a mark, then `optional` ones as far as they can be; what no one takes is left over.
    """
    for taken, way in _assignments(query, term, path):
        left_over = [index for index in range(len(term.children)) if index not in taken.values()]
        if query.total and left_over:
            continue
        if any(_could_be(number, query, taken, way, term, path) for number in _numbers(query, ast.Optional)):
            continue
        forbidden = tuple(
            (each.query, term.children[index], (*path, index))
            for each in query.children
            if isinstance(each, ast.Without)
            for index in left_over
        )
        yield _Way(way.substitution, way.forbidden + forbidden)


Taken: TypeAlias = dict[int, int]
"""For children of a query, by their numbers, the child of the term that each takes."""


def _numbers(query: ast.Labelled, *kinds: type[ast.Query]) -> list[int]:
    """The children of a query that are of these kinds."""
    return [number for number, each in enumerate(query.children) if isinstance(each, kinds)]


def _assignments(query: ast.Labelled, term: Term, path: Path) -> list[tuple[Taken, _Way]]:
    """All injective assignments, in order if that is asked for, with what they bind; optional children may be out."""
    marked = _numbers(query, ast.Optional, ast.Without)
    ways: list[tuple[Taken, _Way]] = [({}, _Way({}))]
    for number in [each for each in range(len(query.children)) if each not in marked]:
        ways = [more for taken, way in ways for more in _one_more(number, query, taken, way, term, path)]
    for number in _numbers(query, ast.Optional):
        ways += [more for taken, way in ways for more in _one_more(number, query, taken, way, term, path)]
    return ways


def _one_more(
    number: int, query: ast.Labelled, taken: Taken, way: _Way, term: Term, path: Path
) -> Iterator[tuple[Taken, _Way]]:
    """An assignment extended by those in which one more child of the query takes one of the term."""
    wanted = query.children[number]
    inner = wanted.query if isinstance(wanted, ast.Optional) else wanted
    for index, child in enumerate(term.children):
        if index in taken.values() or (query.ordered and not _in_order(number, index, taken)):
            continue
        if isinstance(child, Term) and _is_variable(inner):
            continue
        for found in _ways(inner, child, (*path, index)):
            both = _both(way, found)
            if both is None:
                continue
            if isinstance(wanted, ast.Optional) and not _nothing_forbidden(_Way(both.substitution, found.forbidden)):
                continue  # a `without` inside of it says that it does not match
            yield {**taken, number: index}, both


def _is_variable(query: ast.Query) -> bool:
    """Whether it is a variable alone, which as a child of a term stands for a value."""
    while isinstance(query, ast.Binds) and query.query is not None:
        query = query.query
    return isinstance(query, ast.Binds)


def _in_order(number: int, index: int, taken: Taken) -> bool:
    """Earlier children of the query take earlier children of the term."""
    return all((other < number) == (place < index) for other, place in taken.items())


def _could_be(number: int, query: ast.Labelled, taken: Taken, way: _Way, term: Term, path: Path) -> bool:
    """Whether an optional child that takes nothing could still take something, once the others have theirs."""
    return number not in taken and any(True for _ in _one_more(number, query, taken, way, term, path))

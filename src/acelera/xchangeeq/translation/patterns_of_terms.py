"""Query terms as patterns of columns: labels looked up, `desc` and `*` as one pattern for each place that is meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from acelera.algebra.operators import Choice
from acelera.algebra.patterns import VALUE, Content, Part, Pattern, variables_of
from acelera.errors import Problem
from acelera.language.types import Type
from acelera.programs.problems import ProgramCheckError
from acelera.xchangeeq import ast
from acelera.xchangeeq.query_terms import bound, type_of_value
from acelera.xchangeeq.schemas import Child, Shape, comparable
from acelera.xchangeeq.schemas import Content as Inside

MOST_PATTERNS = 256


def choices(query: ast.Query, labels: Mapping[str, Shape]) -> tuple[Choice, ...]:
    """The events that a query may match, and what is asked of them."""
    places = Counter(each.name for each in ast.walk(query) if isinstance(each, ast.Binds))
    term = _Term(frozenset(name for name, number in places.items() if number > 1))
    found: list[Choice] = []
    for label, shape in labels.items():
        found += [Choice(label, content) for content in term.on_child(query, Child(label, shape))]
        _check_number(len(found), query)
    return tuple(dict.fromkeys(found))


def _check_number(number: int, query: ast.Query) -> None:
    if number > MOST_PATTERNS:
        message = f"this term can be matched in {number:,} ways or more, by `desc`, `*` and `optional`"
        raise ProgramCheckError([Problem(message, query.span, "name the children that are meant")], "")


@dataclass(frozen=True)
class _Term:
    """The term of one literal; `shared` are its variables that stand in several places."""

    shared: frozenset[str]

    def on_child(self, query: ast.Query, child: Child) -> list[Content]:
        """The ways in which a query may match a child."""
        match query:
            case ast.Binds(name, None):
                return [Content(binds=(name,))]
            case ast.Binds(name, ast.Query() as inner):
                return [_also_bound(name, each) for each in self.on_child(inner, child)]
            case ast.Descendant(inner):
                return [*self.on_child(inner, child), *self.below(query, child)]
            case ast.Labelled(label) if label in (None, child.label):
                return [Content(inner=each) for each in self.on_children(query, child.content)]
        return []

    def on_value(self, query: ast.Query, kind: Type) -> list[Content]:
        """The ways in which a query may match a value."""
        match query:
            case ast.IsValue(value):
                return [Content(equal=(value,))] if comparable(type_of_value(value), kind) else []
            case ast.Binds(name, None):
                return [Content(binds=(name,))]
            case ast.Binds(name, ast.Query() as inner):
                return [_also_bound(name, each) for each in self.on_value(inner, kind)]
            case ast.Descendant(inner):
                return self.on_value(inner, kind)
        return []

    def below(self, query: ast.Descendant, child: Child) -> Iterator[Content]:
        """What `desc` may mean below a child."""
        for part in self.candidates(query, child.content, 0):
            yield Content(inner=Pattern((part,)))

    def candidates(self, query: ast.Query, content: Inside, place: int) -> list[Part]:
        """The children of a term that a query may match; a variable alone stands for a value, never for a struct."""
        if isinstance(content, Type):
            return [Part(VALUE, each, place=place) for each in self.on_value(query, content)]
        if isinstance(query, ast.Binds) and bound(query) is None:
            return []
        return [
            Part(child.label, each, child.repeated, place=place)
            for child in content.children
            for each in self.on_child(query, child)
        ]

    def on_children(self, query: ast.Labelled, content: Inside) -> list[Pattern]:
        """The ways in which the children of a query may match those of a term."""
        required, optional, forbidden = list[list[Part]](), list[list[Part]](), list[Part]()
        for place, kid in enumerate(query.children):
            match kid:
                case ast.Without(inner):
                    forbidden += self.candidates(inner, content, place)
                case ast.Optional(inner):
                    optional.append(self.candidates(inner, content, place))
                case _:
                    required.append(self.candidates(kid, content, place))
        columns = [VALUE] if isinstance(content, Type) else list(content.labels)
        found = []
        single, several = self.plain_options(optional, required, forbidden, query.ordered)
        for asked in _combinations([*required, *([None, *each] for each in several)]):
            taken = [part for part in asked if part is not None]
            left = [each for each, part in zip(several, asked[len(required) :], strict=True) if part is None]
            if _fit(taken, columns, query.ordered):
                impossible = tuple(part for each in left for part in each)
                whole = tuple(sorted([*taken, *single], key=lambda part: part.place))
                found.append(Pattern(whole, tuple(forbidden), impossible, query.total, query.ordered))
        _check_number(len(found), query)
        return found

    def plain_options(
        self, optional: Sequence[list[Part]], required: Sequence[list[Part]], forbidden: Sequence[Part], ordered: bool
    ) -> tuple[list[Part], list[list[Part]]]:
        """Optional parts that nothing else gets in the way of, and all others.

        The first are matched where they can be, so that there is no need of a pattern with and one without each.
        """
        columns = [part.column for parts in (*required, *optional) for part in parts] + [
            part.column for part in forbidden
        ]
        single, several = [], []
        for parts in optional:
            alone = len(parts) == 1 and columns.count(parts[0].column) == 1 and not parts[0].repeated and not ordered
            if alone and _is_plain(parts[0].content) and not self.shared & set(variables_of(parts[0].content)):
                part = parts[0]
                single.append(Part(part.column, part.content, optional=True, place=part.place))
            elif parts:
                several.append(parts)
        return single, several


def _also_bound(name: str, content: Content) -> Content:
    return Content(content.equal, (name, *content.binds), content.inner)


def _combinations(options: Sequence[Sequence[Part | None]]) -> Iterator[tuple[Part | None, ...]]:
    return product(*options)


def _is_plain(content: Content) -> bool:
    """Whether it is matched in one way or not at all."""
    inner = content.inner
    if inner is None:
        return True
    parts = [*inner.asked, *inner.forbidden, *inner.impossible]
    plain = all(not part.repeated and not part.optional and _is_plain(part.content) for part in parts)
    return plain and not inner.forbidden and not inner.impossible


def _fit(parts: Sequence[Part], columns: Sequence[str], ordered: bool) -> bool:
    """Whether parts can take different children, in order if that is asked for."""
    single = [part.column for part in parts if not part.repeated]
    if len(set(single)) < len(single):
        return False
    places = [columns.index(part.column) for part in sorted(parts, key=lambda part: part.place)]
    return not ordered or places == sorted(places)

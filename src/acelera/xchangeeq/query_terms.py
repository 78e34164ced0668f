"""Query terms against the schemas of labels: which children they name, and what their variables hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from acelera.errors import Span, did_you_mean, listing
from acelera.language.types import BOOL, FLOAT, INT, NUMBERS, STRING, UNKNOWN, Kind, Type, unify
from acelera.programs.problems import Notes
from acelera.xchangeeq import ast
from acelera.xchangeeq.schemas import (
    Child,
    Content,
    Held,
    Shape,
    below,
    comparable,
    is_unknown,
    joined_content,
    said,
)

Bindings = dict[str, Held]

_BOTH = "stands for both"
_EITHER = f"{_BOTH}; name the child that is meant"


def resolve(query: ast.Query, shapes: Mapping[str, Shape], notes: Notes) -> Bindings:
    """What the variables of the query of an event hold; a label that is not known may hold anything."""
    inner = bound(query)
    if isinstance(inner, ast.IsValue):
        notes.wrong("an event is never a value", inner.span, "name its label: temp {{ … }}")
        return {}
    label = inner.label if isinstance(inner, ast.Labelled) else None
    if label is None:
        candidates = [Child(each, shape) for each, shape in shapes.items()]
        return _any_of(query, candidates, "the events", notes) if candidates else _anything(query)
    return _term(query, Child(label, shapes.get(label, UNKNOWN)), notes)


def bound(query: ast.Query | None) -> ast.Query | None:
    """What a query is once the variables that it is bound to are taken away; None if it was a variable alone."""
    while isinstance(query, ast.Binds):
        query = query.query
    return query


def type_of_value(value: bool | int | float | str) -> Type:
    """The type of a constant."""
    if isinstance(value, bool):
        return BOOL
    return STRING if isinstance(value, str) else INT if isinstance(value, int) else FLOAT


def hold_both(name: str, left: Held, right: Held, span: Span | None, notes: Notes) -> Held:
    """What a variable holds that stands in two places."""
    if isinstance(left, Type) and isinstance(right, Type):
        if not comparable(left, right):
            notes.wrong(f"{said(left)} and {said(right)} are compared", span, f"var {name} {_BOTH}")
        return unify(left, right) or left
    if is_unknown(left) or is_unknown(right):
        return right if is_unknown(left) else left
    if isinstance(left, Child) and isinstance(right, Child):
        if left.label != right.label:
            hint = "name the label that is meant"
            notes.wrong(f"var {name} would be a term {left.label} or a term {right.label}", span, hint)
            return left

        def conflict(label: str, one: Content, other: Content) -> None:
            notes.wrong(f"{said(one)} and {said(other)} are compared", span, f"{label} of var {name} is both")

        return replace(left, content=joined_content(left.label, left.content, right.content, conflict))
    hint = f"l {{{{ var {name} }}}} binds the value of l, var {name} -> l {{{{ }}}} the whole term"
    notes.wrong(f"var {name} is a whole term in one place, a value in another", span, hint)
    return left


def merge(into: Bindings, more: Bindings, query: ast.Query, notes: Notes) -> None:
    """Add what more variables hold; those that stand there already must go together."""
    for name, held in more.items():
        if name in into:
            into[name] = hold_both(name, into[name], held, place_of(name, query), notes)
        else:
            into[name] = held


def _merge_alternatives(into: Bindings, more: Bindings, query: ast.Query, notes: Notes) -> None:
    """Add what variables hold in one more alternative of `*` or `desc`: it must be the same in all.

    That it is not makes no alternative impossible, so it is wrong wherever the query stands.
    """
    own = Notes()
    merge(into, more, query, own)
    for each in own.problems:
        notes.wrong(each.message, each.span, (each.hint or "").replace(_BOTH, _EITHER))


def place_of(name: str, query: ast.Query) -> Span | None:
    """Where a query binds a variable."""
    places = [each.span for each in ast.walk(query) if isinstance(each, ast.Binds) and each.name == name]
    return places[0] if places else query.span


def _anything(query: ast.Query) -> Bindings:
    return {each.name: UNKNOWN for each in ast.walk(query) if isinstance(each, ast.Binds)}


def _term(query: ast.Query, node: Held, notes: Notes) -> Bindings:
    """What the variables hold if the query matches a term or a value of this kind."""
    if is_unknown(node):
        return _anything(query)
    match query:
        case ast.IsValue(value):
            if isinstance(node, Child):
                notes.wrong(f"{node.label} is a child, not a value", query.span)
            elif not comparable(type_of_value(value), node):
                hint = _of_quotes(value, node)
                notes.wrong(f"{said(node)} and {said(type_of_value(value))} are compared", query.span, hint)
            return {}
        case ast.Binds(name, None):
            return {name: node}
        case ast.Binds(name, ast.Query() as inner):
            found = _term(inner, node, notes)
            merge(found, {name: node}, query, notes)
            return found
        case ast.Descendant(inner):
            candidates = list(below(node)) if isinstance(node, Child) else [node]
            where = node.label if isinstance(node, Child) else "a value"
            return _any_of(inner, [_one(each) for each in candidates], where, notes)
        case ast.Labelled():
            return _labelled(query, node, notes)
        case ast.Without(inner) | ast.Optional(inner):
            return _term(inner, node, notes)
    raise AssertionError(f"unknown query {type(query).__name__}")


def _of_quotes(value: bool | int | float | str, column: Type) -> str | None:
    """Whether a constant has quotes that it should not have, or none where it should."""
    if isinstance(value, str) and column.kind in NUMBERS:
        return "numbers are written without quotes"
    return "strings are written in quotes" if column.kind is Kind.STRING else None


def _one(held: Held) -> Held:
    """One of repeated children."""
    return replace(held, repeated=False) if isinstance(held, Child) else held


def _any_of(query: ast.Query, candidates: Sequence[Held], where: str, notes: Notes) -> Bindings:
    """The alternatives of `*` and `desc`: those that can match at all."""
    found: Bindings = {}
    matching, mixed, clashing = 0, Notes(), Notes()
    for each in candidates:
        own = Notes()
        bindings = _term(query, each, own)
        clashing.problems += [problem for problem in own.problems if (problem.hint or "").endswith(_EITHER)]
        if not own.problems:
            matching += 1
            _merge_alternatives(found, bindings, query, notes)
        mixed.problems += [problem for problem in own.problems if (problem.hint or "").endswith(_BOTH)]
    notes.add(clashing)
    if not matching and mixed.problems:
        notes.add(Notes(mixed.problems[:1]))
    elif not matching and not clashing.problems:
        _nothing_matches(query, candidates, where, notes)
    return found if matching else _anything(query)


def _nothing_matches(query: ast.Query, candidates: Sequence[Held], where: str, notes: Notes) -> None:
    inner, reached = bound(query), list(candidates)
    while isinstance(inner, ast.Descendant):
        inner = bound(inner.query)
        reached = [each for held in candidates if isinstance(held, Child) for each in below(held)]
    wanted = inner.label if isinstance(inner, ast.Labelled) else None
    labels = [each.label for each in reached if isinstance(each, Child)]
    if wanted is not None and wanted not in labels:
        hint = f"there are {listing(list(dict.fromkeys(labels)))}" if labels else None
        notes.wrong(f"no {wanted} in or below {where}{did_you_mean(wanted, labels)}", query.span, hint)
    else:
        notes.wrong(f"nothing in {where} can match this", query.span)


def _labelled(query: ast.Labelled, node: Held, notes: Notes) -> Bindings:
    if isinstance(node, Type) or query.label not in (None, node.label):
        where = node.label if isinstance(node, Child) else "a value"
        notes.wrong(f"no {query.label or 'child'} in {where}", query.span)
        return _anything(query)
    found: Bindings = {}
    for kid in query.children:
        inner = kid.query if isinstance(kid, ast.Without | ast.Optional) else kid
        if isinstance(node.content, Shape):
            merge(found, _child(inner, node.label, node.content, notes), inner, notes)
        elif isinstance(bound(inner), ast.Labelled):
            notes.wrong(
                f"{_called(inner)} in {node.label}, which is {said(node.content)}",
                inner.span,
                f"its value is {node.label} {{{{ var X }}}}",
            )
            merge(found, _anything(inner), inner, notes)
        else:
            merge(found, _term(inner, node.content, notes), inner, notes)
    return found


def _called(query: ast.Query) -> str:
    inner = bound(query)
    label = inner.label if isinstance(inner, ast.Labelled) else None
    return f"no child {label}" if label is not None else "no child"


def _child(query: ast.Query, parent: str, shape: Shape, notes: Notes) -> Bindings:
    """A query of one of the children of a struct."""
    inner = bound(query)
    if inner is None or isinstance(inner, ast.IsValue):
        example = shape.labels[0] if shape.labels else "child"
        hint = f"name a child: {parent} {{{{ {example} {{{{ … }}}} }}}}; the whole of it is var X -> {parent} {{{{ }}}}"
        notes.wrong(f"{parent} is a struct", query.span, hint)
        return _anything(query)
    if isinstance(inner, ast.Labelled) and inner.label is not None:
        child = shape.child(inner.label)
        if child is None:
            hint = f"{parent} has {listing(shape.labels)}" if shape.labels else f"{parent} has no children"
            near = did_you_mean(inner.label, shape.labels)
            notes.wrong(f"no child {inner.label} in {parent}{near}", inner.span, hint)
            return _anything(query)
        return _term(query, _one(child), notes)
    return _any_of(query, [_one(each) for each in shape.children], parent, notes)


def variables_of(queries: Iterable[ast.Query]) -> dict[str, Span | None]:
    """All variables, each with its first place."""
    found: dict[str, Span | None] = {}
    for query in queries:
        for each in ast.walk(query):
            if isinstance(each, ast.Binds):
                found.setdefault(each.name, each.span)
    return found


def children_named(term: ast.Labelled) -> dict[str | None, list[ast.Labelled]]:
    """The terms among the children of a term, by their labels; under None what can match children of any label."""
    found: dict[str | None, list[ast.Labelled]] = {}
    for each in term.children:
        kid = bound(each.query if isinstance(each, ast.Without | ast.Optional) else each)
        label = kid.label if isinstance(kid, ast.Labelled) else None
        found.setdefault(label, []).extend([kid] if isinstance(kid, ast.Labelled) else [])
    return found


def columns_read(query: ast.Query, shapes: Mapping[str, Shape]) -> dict[str, tuple[str, ...]]:
    """For each label that a query may match, the columns that it looks at."""
    inner = bound(query)
    if not isinstance(inner, ast.Labelled) or inner.label is None:
        return {label: shape.labels for label, shape in shapes.items()}
    shape = shapes.get(inner.label, Shape())
    named = children_named(inner)
    if inner is not query or inner.total or None in named:
        return {inner.label: shape.labels}
    return {inner.label: tuple(each for each in shape.labels if each in named)}

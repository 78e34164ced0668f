"""What the terms of expressions stand for: attributes of events, times and their parts, aggregates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from acelera.errors import did_you_mean, listing, nearest
from acelera.language.aggregates import find_aggregate
from acelera.language.ast import Attribute, Call, Expression
from acelera.language.expressions import FUNCTIONS
from acelera.language.printer import print_expression
from acelera.language.tree import children, fold, rebuilt, walk
from acelera.programs.problems import Notes
from acelera.trepl.named_events import Catalog, said
from acelera.trepl.resolved import PARTS, TIME_FUNCTIONS, Aggregate, Field, Part, Stamp
from acelera.trepl.scopes import LATER, Bound, Scope

TIMES = ("Timestamp", *PARTS)
"""What every event has beside its attributes."""

_IDENTIFYING = frozenset({"id", "name", "key", "code", "symbol"})
"""Names that people give to what tells one row from another, and mistake for each other."""


def is_aggregate(node: Expression) -> bool:
    """Whether a function as written is an aggregate; functions of single values go first."""
    if not isinstance(node, Call):
        return False
    name = node.function.lower()
    return name not in FUNCTIONS and name not in TIME_FUNCTIONS and find_aggregate(name) is not None


class TermNames:
    """Resolves the terms of one program."""

    def __init__(self, catalog: Catalog, notes: Notes) -> None:
        self._catalog = catalog
        self._notes = notes

    def resolve(self, expression: Expression, scope: Scope) -> Expression:
        """The expression with all its names known; what is not known is noted, and stays without a type."""
        return fold(expression, self._combine(scope, self._aggregate), _below)

    def _combine(
        self, scope: Scope, aggregate: Callable[[Call, Scope], Expression]
    ) -> Callable[[Expression, Sequence[Expression]], Expression]:
        def combine(node: Expression, inner: Sequence[Expression]) -> Expression:
            if isinstance(node, Attribute):
                return self._term(node, scope)
            if isinstance(node, Call) and is_aggregate(node):
                return aggregate(node, scope)
            if is_event(node):
                hint = "a bracket before it may not be closed: (a(X, X.b > 1), b(Y))"
                message = "an event cannot stand here, where a condition or a value is expected"
                self._notes.wrong(message, node.span, hint)
                return _nothing(node)
            if isinstance(node, Call):
                return Call(node.function.lower(), tuple(inner), span=node.span)
            return rebuilt(node, inner)

        return combine

    # terms

    def _term(self, node: Attribute, scope: Scope) -> Expression:
        if node.variable is None:
            hint = f"write {node.name}.attribute" if node.name in scope.known else "a term is written X.attribute"
            self._notes.wrong(f"{node.name} alone is no value", node.span, hint)
            return _nothing(node)
        bound = self._bound(node.variable, node, scope)
        return _nothing(node) if bound is None else self._attribute(bound, node)

    def _bound(self, variable: str, node: Expression, scope: Scope) -> Bound | None:
        """The variable, if it is seen; otherwise a note says why it is not."""
        if variable in scope.known:
            return scope.known[variable]
        why = scope.unseen.get(variable)
        if why is not None:
            hint = why.hint and why.hint.format(variable)
            self._notes.wrong(why.message.format(variable), node.span, hint)
        else:
            near = did_you_mean(variable, scope.known)
            hint = f"there are {listing(scope.known)}" if scope.known else "an event binds one: st(X, …)"
            self._notes.wrong(f"{variable} is not known here{near}", node.span, hint)
        return None

    def _attribute(self, bound: Bound, node: Attribute) -> Expression:
        """`X.A`: a column of that name, a column of the new or the old row, or a time."""
        attributes = self._catalog.attributes(bound.types[0]) if bound.types else None
        if attributes is None:
            return _nothing(node)
        side, _, rest = node.name.partition("_")
        if node.name in attributes:
            only_old = all(each.kind == "delete" for each in bound.types)
            return self._field(bound, "old" if only_old else "new", node.name, node)
        if side in ("new", "old") and rest in attributes:
            if not (side == "old" and bound.types[0].kind == "derived"):
                return self._field(bound, side, rest, node)
        elif node.name == "Timestamp":
            return Stamp(bound.variable, span=node.span)
        elif node.name in PARTS:
            return Part(bound.variable, node.name, span=node.span)
        self._no_attribute(bound, attributes, node)
        return _nothing(node)

    def _field(self, bound: Bound, side: str, attribute: str, node: Attribute) -> Field:
        kinds = {each.kind for each in bound.types}
        if side == "old" and kinds == {"insert"}:
            self._notes.wrong("an inserted row has no old values", node.span, f"write {node.variable}.{attribute}")
        elif side == "new" and kinds == {"delete"}:
            self._notes.wrong("a deleted row has no new values", node.span, f"write {node.variable}.{attribute}")
        elif side == "old" and not self._has_old(bound):
            relation = bound.types[0].name
            hint = "give a source that tells what rows were before: changes, debezium or delta"
            self._notes.warn(f"the source of {relation} has no old values, so this is always NULL", node.span, hint)
        return Field(bound.variable, side, attribute, span=node.span)

    def _has_old(self, bound: Bound) -> bool:
        relation = self._catalog.relations.get(bound.types[0].name)
        return relation is None or relation.has_old

    def _no_attribute(self, bound: Bound, attributes: Collection[str], node: Attribute) -> None:
        event = bound.types[0]
        name = said(event) if event.kind == "derived" else event.name
        near = nearest(node.name, (*attributes, *TIMES)) or _other_identifier(node.name, attributes)
        meant = f"; did you mean `{near}`?" if near else ""
        hint = f"{name} has {listing(attributes)}"
        if event.kind == "derived" and node.name.startswith("old_"):
            hint = f"declare it: derived {name}({', '.join((*attributes, node.name))})"
            meant = ""
        relation = self._catalog.relations.get(event.name)
        if event.kind != "derived" and relation is not None and relation.time == node.name:
            hint, meant = f"it tells when {name} changes, which is {node.variable}.Timestamp here", ""
        self._notes.wrong(f"no attribute {node.name} in {name}{meant}", node.span, hint)

    # aggregates

    def _aggregate(self, node: Call, scope: Scope) -> Expression:
        """`Max(X.A)`, `Count(X)`: over the rounds of the star that binds X."""
        variable = self._variable(node)
        if variable is None:
            return _nothing(node)
        bound = self._ranged_over(variable, node, scope)
        if bound is None:
            return _nothing(node)
        function = node.function.lower()
        if bound.star is None:
            hint = f"put a star before the event that binds {variable}: *{_event_of(bound)}({variable}, …)"
            hint = "a star does not keep what is bound under !, in {…}, or, yet, in first(…)" if scope.around else hint
            self._notes.wrong(f"{spelt(node.function)} needs a variable that a star binds", node.span, hint)
        elif function in ("first", "last") and bound.star in scope.barred:
            hint = "derive an event for what must not be, or compare in a goal without !"
            self._notes.wrong("First and Last of a star cannot stand under ! inside it", node.span, hint)
        argument = self._argument(node, scope)
        return Aggregate(function, bound.variable, argument, span=node.span)

    def _variable(self, node: Call) -> str | None:
        """The variable that an aggregate is over."""
        if len(node.arguments) != 1:
            self._notes.wrong(f"{spelt(node.function)} takes one argument, not {len(node.arguments)}", node.span)
            return None
        argument = node.arguments[0]
        if isinstance(argument, Attribute) and argument.variable is None:
            if node.function.lower() != "count":
                message = f"{spelt(node.function)} needs an attribute"
                self._notes.wrong(message, node.span, f"write {spelt(node.function)}({argument.name}.attribute)")
                return None
            return argument.name
        terms = [each for each in walk(argument) if isinstance(each, Attribute)]
        names = list(dict.fromkeys(each.variable for each in terms if each.variable is not None))
        if len(names) > 1:
            message = f"{spelt(node.function)} is over one variable, not over {' and '.join(names)}"
            self._notes.wrong(message, node.span, "what it computes may look at events of one star alone")
        elif not names:
            hint = f"write {spelt(node.function)}(X.attribute)"
            self._notes.wrong(f"{spelt(node.function)} needs a variable that a star binds", node.span, hint)
        return names[0] if len(names) == 1 else None

    def _ranged_over(self, variable: str, node: Call, scope: Scope) -> Bound | None:
        if variable not in scope.known and scope.unseen.get(variable) is LATER:
            shown = f"{spelt(node.function)}({print_expression(node.arguments[0])})"
            hint = "an aggregate may stand in the goal of its variable, and after it"
            self._notes.wrong(f"{shown} is not known before the goal of {variable}", node.span, hint)
            return None
        return self._bound(variable, node, scope)

    def _argument(self, node: Call, scope: Scope) -> Expression | None:
        argument = node.arguments[0]
        if isinstance(argument, Attribute) and argument.variable is None:
            return None
        return fold(argument, self._combine(scope, self._nested), _below)

    def _nested(self, node: Call, _: Scope) -> Expression:
        self._notes.wrong("an aggregate of an aggregate", node.span, "derive an event that has the inner one")
        return _nothing(node)


def _below(node: Expression) -> Sequence[Expression]:
    """What is resolved before a node; the argument of an aggregate is seen as that of the aggregate."""
    return () if is_aggregate(node) or is_event(node) else children(node)


def is_event(node: Expression) -> bool:
    """Whether what was read as a function has the form of an event, `st(X, …)`."""
    if not isinstance(node, Call) or is_aggregate(node) or node.function.lower() in (*FUNCTIONS, *TIME_FUNCTIONS):
        return False
    first = node.arguments[0] if node.arguments else None
    return isinstance(first, Attribute) and first.variable is None


def _nothing(node: Expression) -> Field:
    """Stands for a term that is not known, so that nothing else is said about it."""
    return Field("", "new", "", span=node.span)


def spelt(function: str) -> str:
    """An aggregate as it is spelt in most texts."""
    found = find_aggregate(function)
    return function if found is None or found.user_defined else function.capitalize()


def _event_of(bound: Bound) -> str:
    return bound.types[0].name if bound.types else "event"


def _other_identifier(name: str, attributes: Collection[str]) -> str | None:
    """The attribute that tells rows apart, if a name of such an attribute was written."""
    known = [each for each in attributes if each.lower() in _IDENTIFYING]
    return known[0] if name.lower() in _IDENTIFYING and len(known) == 1 else None

"""What a transition does besides moving: assignments, predicates and marks; and how that reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from acelera.automata.terms import (
    UNSET,
    Attr,
    Const,
    Environment,
    Fresh,
    Identical,
    Position,
    Reg,
    Sql,
    Term,
    registers_read,
    substitute,
)
from acelera.language import ast
from acelera.language.events import STREAM, Event, made_event


@dataclass(frozen=True)
class Mark:
    """A renaming: which event a transition puts into a variable.

    `fields` map the attributes of the new event to terms over the event and the registers as they are after the
    assignment; None stands for the event as it was read, whole. The origin tells events of the stream from those
    that an AGG made; `typed` tells whether the new event keeps the type of the one that was read.
    """

    fields: tuple[tuple[str, Term], ...] | None = None
    typed: bool = True
    origin: tuple[int, int] = STREAM

    def attribute(self, name: str) -> Term:
        """What an attribute of the new event is."""
        if isinstance(name, ast.Computed):
            return on_mark(name.expression, self)
        fields = None if self.fields is None else dict(self.fields)
        if fields is not None and name in fields:
            return fields[name]
        has_it = fields is None or name in ("time", "position") or (name == "type" and self.typed)
        return Attr(name) if has_it else Const(None)

    def terms(self) -> tuple[Term, ...]:
        """All terms of the mark."""
        return () if self.fields is None else tuple(term for _, term in self.fields)

    def event(self, env: Environment) -> Event:
        """⟦r⟧(ν): the new event; its time is that of the event in hand."""
        read = env.event
        if self.fields is None:
            return replace(read, origin=self.origin)
        values = {name: term.value(env) for name, term in self.fields}
        kept = read.type if self.typed else None
        return made_event(read.position, values, kept, read.time, self.origin, read.place)


def on_mark(expression: ast.Expression, mark: Mark) -> Term:
    """An expression over the event that a mark makes."""
    attributes = [node for node in ast.walk(expression) if isinstance(node, ast.Attribute)]
    leaves = {(node.variable, node.name): mark.attribute(node.name) for node in attributes}
    return Sql(expression, tuple(leaves.items()))


Marks = tuple[tuple[str, tuple[Mark, ...]], ...]
"""For each variable a bag of marks, sorted; variables with an empty bag are left out."""


def marks(bags: Mapping[str, Iterable[Mark]]) -> Marks:
    """λ from a mapping."""
    listed = {name: tuple(sorted(bag, key=_mark_order)) for name, bag in bags.items()}
    return tuple((name, listed[name]) for name in sorted(listed) if listed[name])


def _mark_order(mark: Mark) -> tuple[tuple[int, int], str]:
    return (mark.origin, repr(mark.fields))


@dataclass(frozen=True)
class Label:
    """What a transition does besides moving: (σ, P, λ).

    Assignments are made one after the other. They read the registers as they were before, and those before them;
    predicate and marks see them as they are after it. A register that is not assigned is forgotten.
    """

    assign: tuple[tuple[str, Term], ...] = ()
    predicate: tuple[Term, ...] = ()
    marks: Marks = ()

    @cached_property
    def _hash(self) -> int:
        return hash((self.assign, self.predicate, self.marks))

    def __hash__(self) -> int:
        return self._hash  # labels are compared often and are large

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}  # which this process made

    def bag(self, variable: str) -> tuple[Mark, ...]:
        """λ(X)."""
        return dict(self.marks).get(variable, ())

    def before(self, term: Term) -> Term:
        """A term over the registers as they are after the assignment, for use in a further assignment."""
        return substitute(term, lambda part: Fresh(part.name) if isinstance(part, Reg) else None)

    @cached_property
    def reads_before(self) -> frozenset[str]:
        """The registers whose former value matters."""
        return frozenset().union(*(registers_read(term) for _, term in self.assign))

    @cached_property
    def reads_after(self) -> frozenset[str]:
        """The registers that predicate and marks look at."""
        marked = [term for _, bag in self.marks for mark in bag for term in mark.terms()]
        return frozenset().union(*(registers_read(term) for term in (*self.predicate, *marked)))

    def with_assign(self, more: Mapping[str, Term]) -> Label:
        """The label with further assignments."""
        return replace(self, assign=(*self.assign, *more.items()))

    def with_predicate(self, *more: Term) -> Label:
        """The label with a stronger predicate."""
        return replace(self, predicate=tuple(dict.fromkeys((*self.predicate, *more))))


IDLE = Label()
"""Read an event and do nothing: forget all registers, mark nothing."""


# --- in words ---


def label_text(label: Label) -> str:
    """What a transition does, as one would write it in a query: `SELL, price > 100 → msft`."""
    types = [name for term in label.predicate if (name := type_asked(term)) is not None]
    tests = [_test(term) for term in label.predicate if type_asked(term) is None]
    before = ", ".join([*types, *tests]) or "any"
    sets = [f"{name} ← {term}" for name, term in label.assign if term != Reg(name) and not _trivial(term)]
    text = " → ".join([before, _marks(label, types)]) if label.marks else before
    return f"{text} [{'; '.join(sets)}]" if sets else text


def _marks(label: Label, types: list[str]) -> str:
    """The variables that are marked. That of the event's own type goes without saying, unless it is the only one."""
    marked = [(name, _marked(name, mark)) for name, bag in label.marks for mark in bag]
    shown = [text for name, text in marked if name not in types] or [text for _, text in marked]
    read = any(mark.origin == STREAM for _, bag in label.marks for mark in bag)
    missing = [name for name in types if read and name not in dict(label.marks)]
    return ", ".join(shown) + (f" without {', '.join(missing)}" if missing else "")


def _marked(variable: str, mark: Mark) -> str:
    """A variable, with the attributes of the event it gets if that is not the event as it was read."""
    if mark.fields is None:
        return variable
    return f"{variable}({', '.join(name for name, _ in mark.fields)})"


def type_asked(term: Term) -> str | None:
    """R, if a term is `type = 'R'`."""
    if not isinstance(term, Sql) or not isinstance(term.expression, ast.Binary) or term.expression.operator != "=":
        return None
    right = term.expression.right
    if (
        term.leaves == (((None, "type"), Attr("type")),)
        and isinstance(right, ast.Literal)
        and isinstance(right.value, str)
    ):
        return right.value
    return None


def _test(term: Term) -> str:
    if term == Identical(Position(), Const(1)):
        return "first position"
    return str(term)


def _trivial(term: Term) -> bool:
    return term == Const(UNSET)

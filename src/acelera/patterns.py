"""What a query looks for, and how that is compiled and planned: a formula, or an automaton that was written by hand."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from acelera.automata.analysis import attributes_asked
from acelera.automata.compilation import compile_formula
from acelera.automata.held_types import variables_of
from acelera.automata.model import Acea
from acelera.automata.simplify import simplify
from acelera.engine.plan import fold_under, folded, plan_of
from acelera.errors import AceleraWarning
from acelera.language import ast
from acelera.language.checker import BagUnion, Checked, check, check_clauses
from acelera.language.printer import print_around, print_query
from acelera.language.schema import Schema
from acelera.language.summary import attributes_of

if TYPE_CHECKING:
    from acelera.engine.machines.choice import Strategy


class Pattern(ABC):
    """What is looked for, apart from the clauses around it.

    `formula` is None if there is none. `event_types` are those that it names, and `implied` the variables that are only
    such names; `functions` are the aggregate functions that it uses by name, `attributes` those of events that an
    automaton asks for. `repeats` tells whether it takes every choice of some events, as `+` does. `source` is the text
    that it was written as, if it was.
    """

    formula: ast.Formula | None = None
    bag_union: BagUnion = "once"
    event_types: frozenset[str] = frozenset()
    implied: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    repeats: bool = False
    source: str = ""

    def __init__(self) -> None:
        self._planned: tuple[Schema, object, Strategy] | None = None

    @cached_property
    def built(self) -> Acea:
        """The automaton, without a schema, as it was built."""
        return self._build()

    @abstractmethod
    def _build(self) -> Acea: ...

    @cached_property
    def automaton(self) -> Acea:
        """The same, simplified."""
        return simplify(self.built)

    @abstractmethod
    def automaton_over(self, schema: Schema) -> Acea:
        """The automaton for a stream of this schema."""

    @abstractmethod
    def check(self, clauses: ast.Clauses, schema: Schema | None) -> Checked:
        """Check it with what stands around it; raises a QueryCheckError that lists every mistake."""

    @abstractmethod
    def tree(self, clauses: ast.Clauses) -> ast.Query | ast.Clauses:
        """The syntax tree of the query that it makes with these clauses, as far as it has one."""

    @abstractmethod
    def text(self, clauses: ast.Clauses) -> str:
        """The text of that query."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """What tells two patterns apart, beside the text."""

    def strategy(
        self,
        schema: Schema,
        looked_at: frozenset[tuple[str, str]] = frozenset(),
        totals: frozenset[ast.Total] = frozenset(),
    ) -> Strategy:
        """How the automaton runs over a stream; the last one is kept, since a query often runs again.

        The attributes of variables that are `looked_at` are asked for before matches are listed, if they ever are; if
        by `totals` alone, what is folded may be all that is needed.
        """
        from acelera.engine.machines.choice import strategy_of

        known, asked = self._planned, (looked_at, totals)
        if known is None or not known[0].is_exactly(schema) or known[1] != asked:
            automaton = self.automaton_over(schema)
            if not automaton.transitions:
                warnings.warn("nothing can match: parts of the query exclude each other", AceleraWarning, stacklevel=5)
            plan = plan_of(automaton, schema, self.formula is not None)
            listed = {each for total in totals if fold_under(plan, total) is None for each in attributes_of(total)}
            of_totals = {each for total in totals for each in attributes_of(total)} - listed
            made = strategy_of(plan, schema)
            if folded(plan, looked_at - of_totals) or (made.refused is not None and folded(plan, looked_at)):
                made = strategy_of(plan_of(automaton, schema, from_formula=False), schema)
            known = self._planned = (schema, asked, made)
        return known[2]


def _open_ended(node: ast.Formula) -> bool:
    return isinstance(node, ast.Repeated) and node.high is None and not node.contiguous


class FormulaPattern(Pattern):
    """A formula; `source` is the text that it was parsed from, for errors to point into."""

    formula: ast.Formula

    def __init__(self, formula: ast.Formula, source: str, bag_union: BagUnion) -> None:
        super().__init__()
        self.formula, self.source, self.bag_union = formula, source, bag_union
        nodes = list(ast.walk(formula))
        self.event_types = frozenset(node.name for node in nodes if isinstance(node, ast.EventType))
        written = {node.variable for node in nodes if isinstance(node, ast.As | ast.Agg)}
        self.implied = (self.event_types | {"ANY"}) - written
        created = (item for node in nodes if isinstance(node, ast.Agg) for item in node.created)
        self.functions = frozenset(item.value.function for item in created)
        self.repeats = any(isinstance(node, ast.Iteration) or _open_ended(node) for node in nodes)
        self._strips = any(isinstance(node, ast.Project) for node in nodes)
        self._compiled: tuple[Schema, Acea] | None = None

    def _build(self) -> Acea:
        return compile_formula(self.formula, None, self.bag_union, self.source)

    def automaton_over(self, schema: Schema) -> Acea:
        """Compiled again where the columns of the stream matter; the last one is kept."""
        if not self._strips:
            return self.automaton
        if self._compiled is None or self._compiled[0] != schema:
            built = compile_formula(self.formula, schema, self.bag_union, self.source)
            self._compiled = (schema, simplify(built))
        return self._compiled[1]

    def check(self, clauses: ast.Clauses, schema: Schema | None) -> Checked:
        """Check the whole query."""
        return check(self.tree(clauses), schema, self.bag_union, self.source)

    def tree(self, clauses: ast.Clauses) -> ast.Query:
        """The query."""
        return ast.Query(self.formula, *clauses.parts())  # type: ignore[arg-type]  # both have the same clauses

    def text(self, clauses: ast.Clauses) -> str:
        """The canonical text."""
        return print_query(self.tree(clauses))

    @property
    def identity(self) -> str:
        """How its bags are counted."""
        return self.bag_union

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormulaPattern) and (self.formula, self.bag_union) == (other.formula, other.bag_union)

    def __hash__(self) -> int:
        return hash((self.formula, self.bag_union))


class AutomatonPattern(Pattern):
    """An automaton written by hand: it says itself what it marks."""

    def __init__(self, automaton: Acea) -> None:
        super().__init__()
        self._written = automaton
        self.attributes = frozenset(attributes_asked(automaton))

    def _build(self) -> Acea:
        return self._written

    def automaton_over(self, schema: Schema) -> Acea:
        """The same for all streams."""
        return self.automaton

    def check(self, clauses: ast.Clauses, schema: Schema | None) -> Checked:
        """Check the clauses; with a schema also what the automaton says of attributes."""
        return check_clauses(clauses, schema, variables_of(self.built, schema))

    def tree(self, clauses: ast.Clauses) -> ast.Clauses:
        """The clauses alone."""
        return clauses

    def text(self, clauses: ast.Clauses) -> str:
        """The automaton in words, and the clauses around it."""
        return print_around(f"an automaton of {self.built.size()}", clauses)

    @property
    def identity(self) -> str:
        """The automaton in full."""
        return repr(self.built)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AutomatonPattern) and self.built == other.built

    def __hash__(self) -> int:
        return hash(self.built)

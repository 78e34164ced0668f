"""How a point of a rule continues a possible predecessor: the values of its columns, and what is asked on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from acelera.language.ast import Attribute, Binary, Call, Expression, Literal, walk
from acelera.trepl.datalog.clauses import NOW, atom
from acelera.trepl.datalog.parse_trees import Edge, Tree
from acelera.trepl.datalog.told_terms import LOOKING_BACK, Column, Columns, goal_text, plain, text, value_of
from acelera.trepl.resolved import Aggregate

DIRECT = ("max", "min", "sum", "product")
"""Aggregates whose value after one event is that of the event."""

_NONE = Attribute(None, "none")


class Step:
    """A point (or a condition) after one of its predecessors."""

    def __init__(self, node: Tree, edge: Edge, columns: Columns, star_of: Mapping[str, Tree]) -> None:
        self.node, self.edge = node, edge
        self._columns, self._star_of = columns, star_of
        self._updates: dict[Column, Call] = {}

    # --- values -------------------------------------------------------------------------------------------------------

    @cached_property
    def head(self) -> dict[str, Expression]:
        """The value of each column of the node."""
        found: dict[str, Expression] = {}
        for each in columns_of(self.node, self._columns):
            if isinstance(each, str):
                found[each] = Attribute(None, each)
            else:
                found[each.name] = self.value(each)
        return found

    def value(self, column: Column) -> Expression:
        """The value of an aggregate at the stage of the node."""
        if column.variable in self.node.single and self._is_star(column.variable):
            return self._earlier(column) if column.earlier else self._updated(column)
        return column.initial if self._begins(column.variable) else Attribute(None, column.name)

    def _is_star(self, variable: str) -> bool:
        return variable in self._star_of

    def _begins(self, variable: str) -> bool:
        """Whether the star of a variable begins on the way."""
        return self._star_of.get(variable) in self.edge.begun

    def _goes_on(self, variable: str) -> bool:
        """Whether there was surely a round before."""
        return self.edge.kind == "loop" and self.edge.node is self._star_of.get(variable)

    def _earlier(self, column: Column) -> Expression:
        if self._begins(column.variable):
            return column.initial
        kept = column.function == "first" and self._goes_on(column.variable)
        name = column.name.removeprefix("Before")
        return Attribute(None, name if kept else f"{name}1")

    def _updated(self, column: Column) -> Expression:
        argument = None if column.argument is None else plain(column.argument, self.aggregate)
        begins = self._begins(column.variable)
        old = column.initial if begins else Attribute(None, f"{column.name}1")
        if argument is None:
            return Literal(1) if begins else Binary("+", old, Literal(1))
        if column.function == "last" or (begins and column.function in (*DIRECT, "first")):
            return argument
        if column.function == "first" and self._goes_on(column.variable):
            return Attribute(None, column.name)
        self._updates[column] = Call(column.function, (argument, old, Attribute(None, column.name)))
        return Attribute(None, column.name)

    # --- conditions ---------------------------------------------------------------------------------------------------

    def asked(self, conjuncts: Iterable[Expression]) -> list[Expression]:
        """The conditions here: without those that look back, in the first round of their star."""
        return [told for each in conjuncts if (told := self._conjunct(each)) is not None]

    def _conjunct(self, condition: Expression) -> Expression | None:
        back = [each for each in walk(condition) if isinstance(each, Aggregate) and self._looks_back(each)]
        if any(each.variable in self.node.single and self._begins(each.variable) for each in back):
            return None
        told = plain(condition, self.aggregate)
        unsure = [each for each in back if each.variable not in self.node.single or not self._goes_on(each.variable)]
        for each in unsure:
            told = Binary("OR", Binary("=", self.aggregate(each), _NONE), told)
        return told

    def _looks_back(self, node: Aggregate) -> bool:
        return node.function in LOOKING_BACK and self._star_of.get(node.variable) in self.node.around

    def aggregate(self, node: Aggregate) -> Expression:
        """An aggregate as conditions of the node see it."""
        if not self._looks_back(node):
            return value_of(node, lambda function: self.value(self._columns.of(function, node)))
        column = self._columns.of(node.function, node)
        if node.variable not in self.node.single:
            return Attribute(None, self._columns.of(node.function, node, earlier=True).name)
        kept = node.function == "first" and self._goes_on(node.variable)
        return Attribute(None, column.name if kept else f"{column.name}1")

    def updates(self, told: Iterable[Expression]) -> list[Call]:
        """What computes the columns that are used."""
        names = set(used(told))
        return [update for column, update in self._updates.items() if column.name in names]

    # --- the predecessor ----------------------------------------------------------------------------------------------

    def predecessor(self, told: Iterable[Expression]) -> list[str]:
        """The goal for the predecessor, if there is one, with names for what is used."""
        if self.edge.node is None:
            return []
        names = set(used(told))
        waits = self.edge.kind == "wait" and self.node.kind != "test"
        given = [self._given(each, names) for each in columns_of(self.edge.node, self._columns)]
        return [atom(f"{'wait' if waits else 'sat'}_{self.edge.node.number}", given, NOW)]

    def _given(self, column: str | Column, names: set[str]) -> str:
        if isinstance(column, str):
            return column if column in self.node.imports and column in names else "_"
        if self._begins(column.variable):
            return "_"
        if f"{column.name}1" in names:
            return f"{column.name}1"
        return column.name if column.name in names and column not in self._updates else "_"


def columns_of(node: Tree, columns: Columns) -> list[str | Column]:
    """The columns of the satisfaction predicate of a node: what it imports, and what it exports."""
    return columns.listed(node.imports | node.exports, node.carried)


def used(told: Iterable[Expression]) -> Iterator[str]:
    """The names of columns that expressions look at."""
    for expression in told:
        for node in walk(expression):
            if isinstance(node, Attribute):
                yield node.name if node.variable is None else node.variable


def goals_of(told: Iterable[Expression]) -> list[str]:
    """Conditions and computations as goals."""
    return [text(each) if isinstance(each, Call) else goal_text(each) for each in told]

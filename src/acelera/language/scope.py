"""What the checkers of items and of summaries are told of names and types."""

from __future__ import annotations

from typing import Protocol

from acelera.errors import Problem, Span
from acelera.language import ast
from acelera.language.schema import Schema
from acelera.language.types import Type
from acelera.language.variables import Bindings, Variable


class Scope(Protocol):
    """What the checker of queries knows of names and types."""

    schema: Schema | None
    problems: list[Problem]

    def wrong(self, message: str, span: Span | None, hint: str | None = None) -> None:
        """Report a problem."""

    def variable(
        self, name: str, bindings: Bindings, span: Span | None, to_the_left: bool = True, with_attribute: bool = False
    ) -> Variable:
        """A variable that must be able to hold something."""

    def attribute(self, held: Variable, variable: str, name: str, span: Span | None) -> Type:
        """The type of an attribute of a variable's events."""

    def time(self, span: Span | None, what: str) -> Type:
        """The type of times, which there must be."""

    def no_aggregate(self, function: str, span: Span | None) -> None:
        """Report an aggregate function that is not there."""

    def aggregation(
        self, node: ast.Aggregation, bindings: Bindings, to_the_left: bool = True
    ) -> tuple[Type | None, Type]:
        """The type of what is aggregated, and of the aggregate."""

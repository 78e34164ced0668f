"""The errors of programs: mistakes in rules, with their places."""

from __future__ import annotations

from acelera.errors import QueryCheckError, QuerySyntaxError


class ProgramSyntaxError(QuerySyntaxError):
    """A text that is not a program."""


class ProgramCheckError(QueryCheckError):
    """A program that is well formed but cannot mean anything: unknown names, wrong types, rules that go in circles."""

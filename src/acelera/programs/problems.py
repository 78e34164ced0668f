"""The errors of programs: mistakes in rules, with their places."""

from __future__ import annotations

from dataclasses import dataclass, field

from acelera.errors import Problem, QueryCheckError, QuerySyntaxError, Span


class ProgramSyntaxError(QuerySyntaxError):
    """A text that is not a program."""


class ProgramCheckError(QueryCheckError):
    """A program that is well formed but cannot mean anything: unknown names, wrong types, rules that go in circles."""


@dataclass
class Notes:
    """Mistakes and warnings as they are found, each once: alternatives of a rule share most of their text."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def wrong(self, message: str, span: Span | None, hint: str | None = None) -> None:
        """Note a mistake."""
        problem = Problem(message, span, hint)
        if problem not in self.problems:
            self.problems.append(problem)

    def warn(self, message: str, span: Span | None, hint: str | None = None) -> None:
        """Note something that is most likely not what was meant."""
        problem = Problem(message, span, hint)
        if problem not in self.warnings:
            self.warnings.append(problem)

    def add(self, others: Notes) -> None:
        """Note all that others noted."""
        for each in others.problems:
            self.wrong(each.message, each.span, each.hint)
        for each in others.warnings:
            self.warn(each.message, each.span, each.hint)

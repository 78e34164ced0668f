"""What a person needs to hear when a text is not a program: what was expected, what was found, and how to mend it."""

from __future__ import annotations

import lark

from acelera.errors import Problem, Span


def explain_syntax_error(error: lark.UnexpectedInput, text: str) -> Problem:
    """The problem behind an error of the parser."""
    begin = error.pos_in_stream or 0
    return Problem("this is not expected here", Span(begin, begin + 1))

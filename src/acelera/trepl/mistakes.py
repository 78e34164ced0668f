"""What a person needs to hear when a text is not a program: what was expected, what was found, and how to mend it."""

from __future__ import annotations

import lark

from acelera.errors import Problem, Span


def explain_syntax_error(error: lark.UnexpectedInput, text: str) -> Problem:
    """The problem behind an error of the parser."""
    begin = error.pos_in_stream or 0
    return Problem("this is not expected here", Span(begin, begin + 1))


RESERVED = frozenset(
    "begin end module monitor derived partition by as or and not is in between like null true false"
    " cast timestamp date interval".split()
)
"""Words that may not be taken for names where something else can stand; as names they are best in backticks."""

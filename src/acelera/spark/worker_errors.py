"""What a worker raises: of an error of ours, the message alone.

Spark puts the whole traceback of a worker's exception before its message, and that into the exception of the action
that a user called. For errors in acelera that is needed; for those that users are to mend, it buries the message.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from acelera.errors import AceleraError

Given = ParamSpec("Given")
Part = TypeVar("Part")

_HIDDEN = "SPARK_HIDE_TRACEBACK"
"""What Spark asks for when a worker ends with an exception. That worker is gone then."""


def told_in_short(parts: Callable[Given, Iterator[Part]]) -> Callable[Given, Iterator[Part]]:
    """The same generator for workers, whose users read the message of an AceleraError and not how it came about."""

    @wraps(parts)
    def told(*given: Given.args, **named: Given.kwargs) -> Iterator[Part]:
        try:
            yield from parts(*given, **named)
        except AceleraError as error:
            if error.__cause__ is not None:  # an exception in a function of the user's own, which the traceback shows
                raise
            os.environ[_HIDDEN] = "1"
            raise error.with_traceback(None) from None

    return told

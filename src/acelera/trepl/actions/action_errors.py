"""What goes wrong when rules act."""

from __future__ import annotations

from acelera.errors import AceleraError


class ActionError(AceleraError):
    """A command that a database refuses, a function that fails, or a database that does not answer.

    All that was done before, except for the transaction that failed, stays done, and is not done again at the next try.
    """


class LedgerConflictError(Exception):
    """Another process has just noted the same rows as done."""

"""What is done: a table in the database of the commands, written in the same transactions as they."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from contextlib import suppress
from uuid import uuid4

from acelera.errors import AceleraError, UsageError
from acelera.trepl.actions.action_errors import ActionError, LedgerConflictError
from acelera.trepl.actions.action_rows import ActionRow
from acelera.trepl.actions.transactions import Transaction, Transactions, is_a, transient

TABLE = "trepl_done"

_LONGEST = 200
"""Characters of a name that are kept for people."""

_CREATE = f"""
create table {TABLE} (
    identity varchar(64) not null primary key,
    program varchar({_LONGEST}) not null,
    module varchar({_LONGEST}) not null,
    rule varchar({_LONGEST}) not null,
    action integer not null,
    stage decimal(19) not null,
    done_at varchar(32) not null
)"""
"""In types that all databases have; `done_at` is a time in UTC, as text."""

_LOOK = f"select identity from {TABLE} where 1 = 0"
_FIND = f"select identity from {TABLE} where identity in ({{}})"
_NOTE = f"insert into {TABLE} (identity, program, module, rule, action, stage, done_at) values (?, ?, ?, ?, ?, ?, ?)"

_FORGET = f"delete from {TABLE} where identity = ?"

_ASKED_AT_ONCE = 500
"""Databases take a limited number of parameters."""


def prepare(transactions: Transactions) -> None:
    """Create the table if it is missing; of several who do so at once, one succeeds."""
    if _is_there(transactions):
        return
    try:
        transactions.run(lambda transaction: transaction.do(_CREATE))
    except ActionError:
        if not _is_there(transactions):
            raise


def _is_there(transactions: Transactions) -> bool:
    try:
        transactions.run(lambda transaction: transaction.do(_LOOK))
    except ActionError as error:
        if error.__cause__ is None or transient(error.__cause__):
            raise
        return False
    return True


class _UndoError(AceleraError):
    """All is as it should be; undo it nevertheless."""


def refuse_what_is_not_undone(transactions: Transactions) -> None:
    """Note something and undo it: where it stays, nothing could be done exactly once."""
    trial = uuid4().hex

    def work(transaction: Transaction) -> None:
        transaction.do_all(_NOTE, [(trial, "", "", "", 0, 0, "")])
        raise _UndoError

    with suppress(_UndoError):
        transactions.run(work)
    if transactions.run(lambda transaction: transaction.do(_FIND.format("?"), [trial])):
        transactions.run(lambda transaction: transaction.do(_FORGET, [trial]))
        raise UsageError(
            "the database undoes nothing, so that a command and the note that it is done could be parted: give "
            f"connections with autocommit off, and let the table {TABLE} be one that takes part in transactions"
        )


def done_of(transaction: Transaction, rows: Sequence[ActionRow]) -> set[str]:
    """The identities of those rows that are done."""
    found: set[str] = set()
    for start in range(0, len(rows), _ASKED_AT_ONCE):
        asked = [row.identity for row in rows[start : start + _ASKED_AT_ONCE]]
        found.update(identity for (identity,) in transaction.do(_FIND.format(", ".join("?" * len(asked))), asked))
    return found


def note(transaction: Transaction, rows: Sequence[ActionRow]) -> None:
    """Note rows as done. Who comes second waits until it is known whether the first succeeds, and then does not."""
    if not rows:
        return
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    noted = [
        (
            each.identity,
            *(text[:_LONGEST] for text in (each.program, each.module, each.rule)),
            each.action,
            each.stage,
            now,
        )
        for each in rows
    ]
    try:
        transaction.do_all(_NOTE, noted)
    except Exception as error:
        if is_a(error, "IntegrityError"):
            raise LedgerConflictError(str(error)) from error
        raise

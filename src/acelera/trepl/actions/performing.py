"""Do what rules say: commands of SQL, each in a transaction with a note that it is done; functions; messages."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from reprlib import Repr
from typing import Any

from acelera.errors import UsageError, did_you_mean
from acelera.trepl import resolved
from acelera.trepl.actions.action_errors import ActionError
from acelera.trepl.actions.action_rows import (
    ActionRow,
    Names,
    Place,
    Tables,
    from_fired,
    from_frame,
    places,
    refuse_unknown,
    rows_of,
)
from acelera.trepl.actions.databases import Database, database
from acelera.trepl.actions.ledger import done_of, note, prepare, refuse_what_is_not_undone
from acelera.trepl.actions.placeholders import parameters_in
from acelera.trepl.actions.transactions import Transaction, Transactions
from acelera.trepl.commands import unbound
from acelera.trepl.history import Fired

Function = Callable[[ActionRow, str], object]
"""What is called by a rule, with the row and its identity."""


_MAKING = re.compile(r"\b(?:create|attach)\b", re.IGNORECASE)


def write_line(message: str) -> None:
    """Print a message; one that ends its line itself gets no second end."""
    sys.stdout.write(message if message.endswith("\n") else f"{message}\n")


@dataclass(frozen=True)
class Done:
    """How many rows were done, and how many had been done before."""

    now: int
    before: int


class Actions:
    """The actions of a program, to be done.

    Commands are done in `database` (see `databases.database`), each row exactly once: a transaction holds some commands
    and their identities, which a table `trepl_done` keeps. Functions and `write` are called at least once; where there
    is a database, they are not called again for rows whose call was noted. `name` stands for the text in identities: a
    hash for each rule, or a name of one's own that stays when the text is changed. Without a database, commands are an
    error, unless they are to be left alone.
    """

    def __init__(
        self,
        program: resolved.Program,
        name: str | Names,
        *,
        database: object = None,
        paramstyle: str | None = None,
        functions: Mapping[str, Function] | None = None,
        write: Callable[[str], object] = write_line,
        rows_at_once: int = 500,
        attempts: int = 10,
        leave_commands: bool = False,
    ) -> None:
        if min(rows_at_once, attempts) < 1:
            raise UsageError("rows_at_once and attempts are at least 1")
        self._program = program
        self._name = name
        self._database = _known(database, paramstyle)
        self._leave_commands = leave_commands
        self._functions = dict(functions or {})
        self._write = write
        self._rows_at_once, self._attempts = rows_at_once, attempts
        self._actions = places(program)
        self._tried = False
        for place, action in self._actions.items():
            self._refuse_unfit(place, action)

    def _refuse_unfit(self, place: Place, action: resolved.Action) -> None:
        """Mistakes that would show only once a rule fires."""
        rule = f"rule `{place[1]}` of module `{place[0]}`"
        match action:
            case resolved.Sql(text, arguments):
                if self._database is None and not self._leave_commands:
                    raise UsageError(f"{rule} has a command of SQL; say with database=… where to do it")
                if parameters_in(text) != len(arguments):
                    raise UsageError(f"{rule}: `{text}` has {parameters_in(text)} `?`, but {len(arguments)} arguments")
            case resolved.CallFunction(function, _):
                if function not in self._functions:
                    near = did_you_mean(function, self._functions)
                    raise UsageError(f"{rule} calls `{function}`, which is not among functions={{…}}{near}")

    # --- what is done -------------------------------------------------------------------------------------------------

    def do(self, tables: Tables) -> Done:
        """Do the rows of tables, one for each action (see `action_rows`), but those that are done already."""
        refuse_unknown(self._program, tables)
        rows = rows_of(self._program, self._name, tables)
        if not rows:
            return Done(0, 0)
        if self._database is None:
            self._call_all(rows)
            return Done(len(rows), 0)
        if not self._makes_tables:
            self._database.refuse_absent()
        now = 0
        with Transactions(self._database, self._attempts) as transactions:
            self._prepare(transactions)
            for commands, part in self._parts(rows):
                now += self._command(transactions, part) if commands else self._call(transactions, part)
        return Done(now, len(rows) - now)

    @property
    def _makes_tables(self) -> bool:
        """Whether something of the program may make what its commands need."""
        commands = [each.text for each in self._actions.values() if isinstance(each, resolved.Sql)]
        calls = any(isinstance(each, resolved.CallFunction) for each in self._actions.values())
        return calls or not commands or any(map(_MAKING.search, commands))

    def _prepare(self, transactions: Transactions) -> None:
        prepare(transactions)
        if not self._tried:
            refuse_what_is_not_undone(transactions)
            self._tried = True

    def do_fired(self, fired: Iterable[Fired]) -> Done:
        """Do what the meaning says that rules fire."""
        return self.do(from_fired(self._program, fired))

    def do_batch(self, frame: Any, number: int) -> None:
        """Do a micro-batch of a stream: `frame.writeStream.foreachBatch(actions.do_batch)`.

        Its rows are brought to the driver and done there.
        """
        self.do(from_frame(self._program, frame.toArrow()))

    def _parts(self, rows: Sequence[ActionRow]) -> Iterator[tuple[bool, Sequence[ActionRow]]]:
        """Rows in their order, some at a time: commands, or others. So when a function is called, the commands before
        it are committed.
        """
        for commands, group in groupby(rows, key=lambda row: isinstance(self._actions[row.place], resolved.Sql)):
            listed = list(group)
            for start in range(0, len(listed), self._rows_at_once):
                yield commands, listed[start : start + self._rows_at_once]

    def _command(self, transactions: Transactions, rows: Sequence[ActionRow]) -> int:
        """Do commands in one transaction. They are noted first, so that who does the same at the same time waits."""

        def work(transaction: Transaction) -> int:
            before = done_of(transaction, rows)
            todo = [row for row in rows if row.identity not in before]
            note(transaction, todo)
            for row in todo:
                self._command_one(transaction, row)
            return len(todo)

        return transactions.run(work)

    def _command_one(self, transaction: Transaction, row: ActionRow) -> None:
        action = self._actions[row.place]
        assert isinstance(action, resolved.Sql)
        try:
            transaction.do(action.text, row.arguments)
        except Exception as error:
            raise ActionError(_refused(row, action.text, error, self._rows_at_once)) from error

    def _call(self, transactions: Transactions, rows: Sequence[ActionRow]) -> int:
        """Call functions; those that were called are noted, even if a later one fails."""
        before = transactions.run(lambda transaction: done_of(transaction, rows))
        todo = [row for row in rows if row.identity not in before]
        called: list[ActionRow] = []
        try:
            self._call_all(todo, called)
        finally:
            transactions.run(lambda transaction: self._note_calls(transaction, called))
        return len(todo)

    def _note_calls(self, transaction: Transaction, called: Sequence[ActionRow]) -> None:
        before = done_of(transaction, called)
        note(transaction, [row for row in called if row.identity not in before])

    def _call_all(self, rows: Sequence[ActionRow], called: list[ActionRow] | None = None) -> None:
        for row in rows:
            match self._actions[row.place]:
                case resolved.CallFunction(function, _):
                    self._call_one(row, function)
                case resolved.Write():
                    self._write(row.message or "")
            if called is not None:
                called.append(row)

    def _call_one(self, row: ActionRow, function: str) -> None:
        try:
            self._functions[function](row, row.identity)
        except Exception as error:
            next_time = (
                "All is called again at the next try, since no database=… notes what was called"
                if self._database is None
                else "What was done before stays done, and is not done again at the next try"
            )
            raise ActionError(
                f"{_where(row)}: the function `{function}` fails: {type(error).__name__}: {error}\n"
                f"  with {_shown(row)}\n  {next_time}"
            ) from error


def _known(where: object, paramstyle: str | None) -> Database | None:
    return None if where is None else database(where, paramstyle)


# --- what went wrong --------------------------------------------------------------------------------------------------

_SHORT = Repr()
_SHORT.maxtuple, _SHORT.maxstring, _SHORT.maxother = 50, 200, 200


def _shown(row: ActionRow) -> str:
    return _SHORT.repr(row.arguments)


def _where(row: ActionRow) -> str:
    key = "".join(f", {name} = {value!r}" for name, value in row.key.items())
    return f"rule `{row.rule}` of module `{row.module}`, stage {row.stage} at {row.timestamp}{key}"


def _refused(row: ActionRow, command: str, error: Exception, at_once: int) -> str:
    left = "".join(f"\n  {term} in it is left to the database: no parameter stands for it" for term in unbound(command))
    return (
        f"{_where(row)}: the database refuses a command: {type(error).__name__}: {error}\n"
        f"  {command}{left}\n  with {_shown(row)}\n"
        f"  Its transaction, which holds up to {at_once} commands, is undone: all of them are done at the next try. "
        "What transactions before it did stays done, and is not done again"
    )

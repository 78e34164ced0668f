"""Actions that reach beyond the program: commands of SQL and functions that were registered by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from acelera.trepl import resolved
from acelera.trepl.actions.action_rows import ActionRow, places
from acelera.trepl.actions.performing import Actions
from acelera.trepl.stepping import Place

Functions = Mapping[str, Callable[[ActionRow, str], object]]
"""Functions by the names under which rules call them; they get the row and its identity."""

Doing = Callable[[Mapping[Place, pa.Table]], None]
"""Does what rules say, of what an engine gives."""


def doing(program: resolved.Program, name: str, functions: Functions, database: object) -> Doing:
    """What does commands, if there is a database for them, and calls functions; `name` stands for the program.

    Messages are not printed: they stand in the outputs.
    """
    wanted = [resolved.CallFunction] if database is None else [resolved.CallFunction, resolved.Sql]
    asked = {place for place, action in places(program).items() if isinstance(action, tuple(wanted))}
    if not asked:
        return leave
    actions = Actions(program, name, database=database, functions=functions, leave_commands=True)

    def do(tables: Mapping[Place, pa.Table]) -> None:
        actions.do({place: table for place, table in tables.items() if place in asked})

    return do


def leave(tables: Mapping[Place, pa.Table]) -> None:
    """Do nothing beyond the program."""

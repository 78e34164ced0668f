"""Actions that reach beyond the program: commands of SQL and functions that were registered by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from acelera.engine.storage.snapshots import fingerprint_of
from acelera.trepl import ast, resolved
from acelera.trepl.actions.action_rows import ActionRow, Names, places
from acelera.trepl.actions.performing import Actions
from acelera.trepl.printer import print_monitor, print_rule
from acelera.trepl.stepping import Place

Functions = Mapping[str, Callable[[ActionRow, str], object]]
"""Functions by the names under which rules call them; they get the row and its identity."""

Doing = Callable[[Mapping[Place, pa.Table]], None]
"""Does what rules say, of what an engine gives."""


@dataclass(frozen=True)
class Acting:
    """What is needed to act, whatever the sources: the functions, and what stands for the rules in identities."""

    functions: Functions
    names: Names


def names_of(program: ast.Program, own: str | None) -> Names:
    """What stands for the text of each rule in identities: a name that the user gave, or else a hash of the rule and of
    what its module monitors. Nothing else of the program is in it, so that other rules can come and go.
    """
    return {
        (module.name, rule.name): own or fingerprint_of(f"{print_monitor(module)}\n{print_rule(rule)}")
        for module in program.modules
        for rule in module.rules
    }


def doing(program: resolved.Program, acting: Acting, database: object) -> Doing:
    """What does commands, if there is a database for them, and calls functions.

    Messages are not printed: they stand in the outputs.
    """
    wanted = [resolved.CallFunction] if database is None else [resolved.CallFunction, resolved.Sql]
    asked = {place for place, action in places(program).items() if isinstance(action, tuple(wanted))}
    if not asked:
        return leave
    actions = Actions(program, acting.names, database=database, functions=acting.functions, leave_commands=True)

    def do(tables: Mapping[Place, pa.Table]) -> None:
        actions.do({place: table for place, table in tables.items() if place in asked})

    return do


def leave(tables: Mapping[Place, pa.Table]) -> None:
    """Do nothing beyond the program."""

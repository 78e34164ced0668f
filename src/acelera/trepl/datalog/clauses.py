"""Rules of Datalog as texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NOW, NEXT = "J", "s(J)"
_LONGEST_LINE = 110


def atom(predicate: str, arguments: Iterable[str], stage: str) -> str:
    """`sat_1(X, Y, J)`."""
    return f"{predicate}({', '.join([*arguments, stage])})"


def clause(head: str, goals: Sequence[str]) -> str:
    """`head <- goal, goal.`, broken between goals if it is long."""
    line = f"{head} <- {', '.join(goals)}."
    if len(line) <= _LONGEST_LINE:
        return line
    lines, rest = [f"{head} <-"], list(goals)
    while rest:
        taken = rest.pop(0)
        while rest and len(taken) + len(rest[0]) + 6 <= _LONGEST_LINE:
            taken += f", {rest.pop(0)}"
        lines.append(f"    {taken}{',' if rest else '.'}")
    return "\n".join(lines)

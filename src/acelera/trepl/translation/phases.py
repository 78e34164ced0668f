"""In which order edges are taken at a stage: what tells events that others look for settles before them."""

from __future__ import annotations

from collections.abc import Sequence

from acelera.stages.model import Machine, Phase


def phases(machine: Machine, edge_owner: Sequence[int], head_owner: Sequence[int]) -> tuple[Phase, ...]:
    """Edges that tell events of the machine, owners that do not depend on each other one after the other; at last all
    others. Owners that depend on each other are taken together, again and again.
    """
    telling = [edge for edge in range(len(machine.edges)) if _tells(machine, edge)]
    makers: dict[int, set[int]] = {}
    for head, owner in zip(machine.heads, head_owner, strict=True):
        if head.event is not None:
            makers.setdefault(head.event, set()).add(owner)
    depends: dict[int, set[int]] = {edge_owner[edge]: set() for edge in telling}
    for edge in telling:
        for event in _looks_at(machine, edge):
            depends[edge_owner[edge]] |= makers.get(event, set())
    found = []
    for group in _groups(depends):
        repeats = any(depends[owner] & group for owner in group)
        found.append(Phase(tuple(edge for edge in telling if edge_owner[edge] in group), repeats))
    others = tuple(edge for edge in range(len(machine.edges)) if edge not in set(telling))
    return (*found, Phase(others))


def _tells(machine: Machine, edge: int) -> bool:
    """Whether an edge may tell an event of the machine."""
    outcomes = machine.states[machine.edges[edge].target].outcomes
    return any(machine.heads[head].event is not None for outcome in outcomes for head in outcome.heads)


def _looks_at(machine: Machine, edge: int) -> set[int]:
    given = machine.edges[edge]
    steps = (*given.steps, *(step for steps in given.absences for step in steps))
    return {event for step in steps for event in range(*step.types)}


def _groups(depends: dict[int, set[int]]) -> list[set[int]]:
    """Those that depend on each other, those that others depend on first."""
    reach = {each: {each} | others for each, others in depends.items()}
    changed = True
    while changed:
        changed = False
        for found in reach.values():
            more = set().union(*(reach.get(other, set()) for other in found)) - found
            changed |= bool(more)
            found |= more
    groups: list[set[int]] = []
    for each in sorted(reach, key=lambda owner: (len(reach[owner]), owner)):
        if not any(each in group for group in groups):
            groups.append({other for other in reach[each] if each in reach.get(other, set())} | {each})
    return groups

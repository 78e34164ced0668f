"""States that are always there: `any` as the first goal is satisfied at every stage, so it need not be looked for."""

from __future__ import annotations

from dataclasses import replace

from acelera.stages.model import START, Edge, Machine


def begun_at_once(machine: Machine) -> tuple[Machine, list[int]]:
    """The same with START in the place of states in which there is always one configuration, without registers; and
    which edges are left.
    """
    always = {state for state in range(1, len(machine.states)) if _is_always_there(machine, state)}
    kept = [number for number, edge in enumerate(machine.edges) if edge.target not in always]
    edges = [machine.edges[number] for number in kept]
    moved = tuple(replace(edge, source=START if edge.source in always else edge.source) for edge in edges)
    states = tuple(
        replace(state, outcomes=(), initial=False) if number in always else state
        for number, state in enumerate(machine.states)
    )
    return replace(machine, edges=moved, states=states), kept


def _is_always_there(machine: Machine, number: int) -> bool:
    """Whether a state is arrived at from the start at every stage, also before the first, and rests there alone."""
    state = machine.states[number]
    ways = [edge for edge in machine.edges if edge.target == number]
    rests = len(state.outcomes) == 1 and state.outcomes[0].state == number and not state.outcomes[0].conditions
    return state.initial and rests and not state.waits and len(ways) == 1 and _asks_nothing(ways[0])


def _asks_nothing(edge: Edge) -> bool:
    asked = edge.steps or edge.absences or edge.tests or edge.loops or edge.begins or edge.flags
    return edge.source == START and not asked

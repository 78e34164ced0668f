"""What a query does, in words: for people who want to know what will run."""

from __future__ import annotations

from acelera.automata.analysis import (
    is_unambiguous,
    reactions,
    state_growth,
    uses_contiguity,
    uses_positions,
)
from acelera.automata.drawing import label_text
from acelera.automata.model import Acea, Label


def explain(text: str, variables: dict[str, str], built: Acea, simplified: Acea, windowed: bool) -> str:
    """The text of `Query.explain`."""
    sections = [
        ("query", text.splitlines()),
        ("variables", [f"{name}: {held}" for name, held in variables.items()]),
        ("automaton", _sizes(built, simplified)),
        ("transitions", _transitions(simplified)),
        ("how it runs", _running(simplified, windowed)),
    ]
    return "\n\n".join("\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections if lines)


def _sizes(built: Acea, simplified: Acea) -> list[str]:
    lines = [f"as built: {built.size()}", f"simplified: {simplified.size()}"]
    for number, (one, two) in enumerate(zip(built.guards, simplified.guards, strict=True), 1):
        lines.append(f"guard {number} (of UNLESS): {two.size()}; as built: {one.size()}")
    return lines


def _transitions(automaton: Acea) -> list[str]:
    names = automaton.names
    return [f"{names[t.source]} → {names[t.target]}: {label_text(t.label)}" for t in automaton.transitions]


def _running(automaton: Acea, windowed: bool) -> list[str]:
    lines = [f"state: {state_growth(automaton, windowed)}"]
    if is_unambiguous(automaton):
        lines.append("every match has one run: nothing is found twice")
    else:
        lines.append("a match may have several runs: what is found twice is removed")
    contiguous, positions = uses_contiguity(automaton), uses_positions(automaton)
    if contiguous or positions:
        why = "what stands next to what" if contiguous else "the number of a position"
        lines.append(f"every event counts, since {why} matters")
    else:
        wanted = " or ".join(dict.fromkeys(label_text(Label((), tests)) for tests in reactions(automaton)))
        lines.append(f"events that matter: {wanted}; all others may be dropped")
    if automaton.registers:
        lines.append(f"registers: {', '.join(automaton.registers)}")
    return lines

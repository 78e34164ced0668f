"""What a query does, in words: for people who want to know what will run."""

from __future__ import annotations

from acelera.automata.analysis import (
    is_unambiguous,
    longest_run,
    reactions,
    state_growth,
    uses_contiguity,
    uses_positions,
)
from acelera.automata.labels import Label, label_text
from acelera.automata.model import Acea
from acelera.language import ast
from acelera.language.checker import Checked
from acelera.language.printer import duration, print_keep
from acelera.language.summary import Summarized

MOST_SHOWN = 500
"""So many transitions are written out: a text of thousands of lines is read by nobody."""


def explain(
    text: str, checked: Checked, variables: dict[str, str], built: Acea, simplified: Acea, repeats: bool
) -> str:
    """The text of `Query.explain`; `repeats` tells whether the query has a `+`."""
    sections = [
        ("query", text.splitlines()),
        ("variables", [f"{name}: {held}" for name, held in variables.items()]),
        ("automaton", _sizes(built, simplified)),
        ("transitions", _transitions(simplified)),
        ("how it runs", _running(simplified, checked, repeats)),
    ]
    return "\n\n".join("\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections if lines)


def _sizes(built: Acea, simplified: Acea) -> list[str]:
    lines = [f"as built: {built.size()}", f"simplified: {simplified.size()}"]
    for number, (left, right) in enumerate(zip(built.guards, simplified.guards, strict=True), 1):
        lines.append(f"guard {number} (of UNLESS): {right.size()}; as built: {left.size()}")
    return lines


def _transitions(automaton: Acea) -> list[str]:
    name = automaton.name
    shown, left_out = automaton.transitions[:MOST_SHOWN], len(automaton.transitions) - MOST_SHOWN
    lines = [f"{name(t.source)} → {name(t.target)}: {label_text(t.label)}" for t in shown]
    if left_out > 0:
        lines.append(f"… and {left_out:,} more, which q.automaton.transitions holds")
    for number, guard in enumerate(automaton.guards, 1):
        lines += [f"guard {number}, {line}" for line in _transitions(guard)]
    for absence in automaton.absences:
        lines.append(f"guard {absence.guard + 1} must not match {absence.text()}")
    return lines


def _running(automaton: Acea, checked: Checked, repeats: bool) -> list[str]:
    if not automaton.transitions:
        return ["nothing can match: its parts exclude each other"]
    within, summary = checked.clauses.within, checked.summary
    lines = [f"state: {state_growth(automaton, within is not None) if summary is None else _kept(automaton, checked)}"]
    if is_unambiguous(automaton):
        lines.append("every match has one run: nothing is found twice")
    else:
        lines.append("a match may have several runs: what is found twice is removed")
    lines.append(_what_matters(automaton, checked))
    if repeats and summary is not None:
        lines.append("matches: + takes every choice of events that fit; they are summarized, and never listed")
    elif repeats and checked.clauses.keep is not None:
        lines.append("matches: + takes every choice of events that fit; those that KEEP drops are not listed")
    elif repeats:
        where = "in a window" if within is not None else "in the stream; a window would bound it"
        lines.append(f"matches: + takes every choice of events that fit, so each can double their number {where}")
    if checked.waits is not None:
        lines += _waiting(checked.waits)
    if checked.clauses.keep is not None:
        lines += _keeping(checked.clauses.keep, within is not None)
    if automaton.registers:
        lines.append(f"registers: {', '.join(automaton.registers)}")
    if summary is not None:
        lines.append(f"rows: {_complete(summary, [key.name for key in checked.clauses.partition_by])}")
    return lines


def _waiting(longest: int) -> list[str]:
    """When it is known of a match that nothing follows that rules it out."""
    length = duration(longest)
    return [
        f"UNLESS … FOR: a match waits until the clock of the stream has passed its end by {length}",
        f"the last {length} of a table say nothing yet; with until=… they do, if it is complete up to a later time",
    ]


def _keeping(keep: ast.Keep, windowed: bool) -> list[str]:
    """When it is known of a match that it is kept, so that it is given; and what is remembered until then."""
    which = print_keep(keep)
    if keep.kind == "any":
        slow = "matches are looked for one event after the other in Python, which is slow where many are kept"
        lines = [f"{which}: {slow}"]
    else:
        lines = []
    if keep.scope == "end" or keep.kind in ("shortest", "all"):
        return [f"{which}: a match is given when it ends", *lines]
    until = "the window has passed it, " if windowed else ""
    lines.insert(
        0,
        f"{which}: a match is given when no partial match goes on from its start: {until}none is left, or "
        "the stream is at its end",
    )
    if keep.scope == "apart":
        lines.append("and when none goes on from an earlier start behind the last match")
    if not windowed:
        lines.append("until then its end is remembered: WITHIN would bound for how long")
    return lines


def _kept(automaton: Acea, checked: Checked) -> str:
    """How much a summary must remember: numbers, for whatever partial matches are told apart by."""
    summary, within = checked.summary, checked.clauses.within
    assert summary is not None
    if within is not None or summary.windows is not None or longest_run(automaton) is not None:
        return state_growth(automaton, True)
    if any(not end for end, _ in summary.bounds):
        return "can grow with the stream: BY start tells partial matches apart; WITHIN or OVER would bound it"
    if automaton.registers:
        return "grows with the number of different values in registers, not with that of partial matches"
    apart = ["state of the automaton", *(["key of PARTITION BY"] if checked.clauses.partition_by else [])]
    apart += [f"value of {variable}.{attribute}" for variable, attribute in summary.event_keys]
    return f"does not grow with the stream: numbers for each {' and '.join(apart)}, to which partial matches are added"


def _complete(summary: Summarized, partition_by: list[str]) -> str:
    """When no event can add to a row any more, so that it is given."""
    windows, ends = summary.windows, {timed for end, timed in summary.bounds if end}
    missing = [name for name in dict.fromkeys(partition_by) if name not in summary.partition_keys]
    if False in ends and not missing:
        return "each is given at once"
    if True in ends:
        return "each is given when a later time comes"
    if windows is not None and windows.timed:
        return "each is given when its window is over"
    if windows is not None and not missing:
        return "each is given when its partition has come to the end of the window"
    if windows is not None or ends:
        why = "positions are those of each partition"
        return f"given at the end of the stream, since {why}; with {', '.join(missing)} in BY they come before"
    why = "any event may add to any of them"
    return f"given at the end of the stream, since {why}; with OVER or BY end_time they come before"


def _what_matters(automaton: Acea, checked: Checked) -> str:
    """Which events must be read, and why."""
    if uses_contiguity(automaton):
        return "every event counts, since what stands next to what matters"
    if uses_positions(automaton):
        return "every event counts, since the number of a position matters"
    within, positions = checked.clauses.within, checked.result.shows_positions
    if within is not None and within.unit == "events":
        return "every event counts, since WITHIN … EVENTS counts positions"
    if checked.summary is not None:
        positions = checked.summary.shows_positions
        if checked.summary.windows is not None and not checked.summary.windows.timed:
            return "every event counts, since OVER … EVENTS counts positions"
    wanted = " or ".join(dict.fromkeys(label_text(Label((), tests)) for tests in reactions(automaton)))
    if () in reactions(automaton):
        return "every event counts, since some part takes any event"
    if positions:
        shown = "shown" if checked.summary is None else "asked for"
        return f"events that matter: {wanted}; the others only count for the positions that are {shown}"
    if positions is None:
        return f"events that matter: {wanted}; if the stream has time, all others may be dropped"
    return f"events that matter: {wanted}; all others may be dropped"

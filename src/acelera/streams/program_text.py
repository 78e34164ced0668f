"""What a program does, in words: for people who want to know what will run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from acelera.language import ast
from acelera.streams.references import Stream, Streams


def explained(streams: Streams, told: Mapping[str, str], how: Sequence[str]) -> str:
    """The text of `Program.explain`: `told` is what is said of the query of each statement, `how` of all of them."""
    sections = [
        ("program", str(streams).splitlines()),
        ("streams", [line for each in streams.listed for line in _lines(streams, each)]),
        *((f"stream {name}", _body(text)) for name, text in told.items()),
        ("how the program runs", how),
    ]
    return "\n\n".join(
        "\n".join([title, *(f"  {line}".rstrip() for line in lines)]) for title, lines in sections if lines
    )


def _lines(streams: Streams, each: Stream) -> Iterator[str]:
    """What a statement reads."""
    read = [streams.names[number] for number in each.reads]
    if not each.base:
        yield f"{each.name}: reads {read[0]} alone"
    elif read:
        yield f"{each.name}: reads what comes in, and {', '.join(read)}"
    else:
        yield f"{each.name}: reads what comes in"


def waiting(streams: Streams, timed: bool) -> list[str]:
    """For what rows wait, in process: one line for each statement that reads others."""
    found = []
    for each in streams.listed:
        if not each.reads:
            continue
        until = "a row of a later time has come" if timed else "no row can come before them"
        late = [streams.names[number] for number in each.reads if _is_late(streams, number)]
        found.append(f"{each.name}: rows wait until {until}" + (f", and {_known(late)}" if late else ""))
    return found


def _known(names: Sequence[str]) -> str:
    verb = "is" if len(names) == 1 else "are"
    return f"{' and '.join(names)} {verb} known up to them, which is later than matches end"


def _is_late(streams: Streams, number: int) -> bool:
    """Whether matches of a statement, or of one that it is made of, may become known after they end."""
    query = streams.listed[number].query
    formula = query.pattern.formula
    assert formula is not None
    waits = query.clauses.keep is not None or any(isinstance(node, ast.UnlessFor) for node in ast.walk(formula))
    return waits or any(_is_late(streams, read) for read in streams.listed[number].reads)


def _body(text: str) -> list[str]:
    """What is said of a query, without its text, which the program has."""
    _, _, rest = text.partition("\n\n")
    return rest.splitlines()

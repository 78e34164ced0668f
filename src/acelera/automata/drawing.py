"""Pictures of automata: DOT and Mermaid text, and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acelera.automata.model import Acea, Label, Mark, Transition
from acelera.automata.svg import to_svg
from acelera.automata.terms import UNSET, Attr, Const, Identical, Position, Reg, Sql, Term
from acelera.language import ast
from acelera.language.events import STREAM


def label_text(label: Label) -> str:
    """What a transition does, as one would write it in a query: `SELL, price > 100 → msft`."""
    types = [name for term in label.predicate if (name := _type_of(term)) is not None]
    tests = [_test(term) for term in label.predicate if _type_of(term) is None]
    before = ", ".join([*types, *tests]) or "any"
    sets = [f"{name} ← {term}" for name, term in label.assign if term != Reg(name) and not _trivial(term)]
    text = " → ".join([before, _marks(label, types)]) if label.marks else before
    return f"{text} [{'; '.join(sets)}]" if sets else text


def _marks(label: Label, types: list[str]) -> str:
    """The variables that are marked. That of the event's own type goes without saying, unless it is the only one."""
    marked = [(name, _marked(name, mark)) for name, bag in label.marks for mark in bag]
    shown = [text for name, text in marked if name not in types] or [text for _, text in marked]
    read = any(mark.origin == STREAM for _, bag in label.marks for mark in bag)
    missing = [name for name in types if read and name not in dict(label.marks)]
    return ", ".join(shown) + (f" without {', '.join(missing)}" if missing else "")


def _marked(variable: str, mark: Mark) -> str:
    """A variable, with the attributes of the event it gets if that is not the event as it was read."""
    if mark.fields is None:
        return variable
    return f"{variable}({', '.join(name for name, _ in mark.fields)})"


def _type_of(term: Term) -> str | None:
    """R, if the term is `type = 'R'`."""
    if not isinstance(term, Sql) or not isinstance(term.expression, ast.Binary) or term.expression.operator != "=":
        return None
    right = term.expression.right
    if (
        term.leaves == (((None, "type"), Attr("type")),)
        and isinstance(right, ast.Literal)
        and isinstance(right.value, str)
    ):
        return right.value
    return None


def _test(term: Term) -> str:
    if term == Identical(Position(), Const(1)):
        return "first position"
    return str(term)


def _trivial(term: Term) -> bool:
    return term == Const(UNSET)


@dataclass(frozen=True)
class Drawing:
    """A picture of an automaton. In a notebook it shows itself.

    `dot` and `mermaid` are its text in these two languages; `svg()` is laid out by acelera itself.
    """

    automaton: Acea

    @property
    def dot(self) -> str:
        """The picture in Graphviz's language."""
        automaton = self.automaton
        lines = ["digraph acea {", "  rankdir=LR;", '  node [shape=circle, fontname="sans-serif"];',
                 '  edge [fontname="sans-serif", fontsize=11];', '  start [shape=point, label=""];']  # fmt: skip
        for state in range(automaton.states):
            shape = ", shape=doublecircle" if state in automaton.finals else ""
            lines.append(f"  s{state} [label={_quoted(automaton.name(state))}{shape}];")
        lines.append(f"  start -> s{automaton.initial};")
        for (source, target), texts in _edges(automaton.transitions).items():
            lines.append(f"  s{source} -> s{target} [label={_quoted(chr(10).join(texts))}];")
        for number, guard in enumerate(automaton.guards, 1):
            lines.append(f"  subgraph cluster_{number} {{ label={_quoted(f'guard {number}')};")
            for state in range(guard.states):
                shape = ", shape=doublecircle" if state in guard.finals else ""
                lines.append(f"    g{number}_{state} [label={_quoted(guard.name(state))}{shape}];")
            for (source, target), texts in _edges(guard.transitions).items():
                lines.append(f"    g{number}_{source} -> g{number}_{target} [label={_quoted(chr(10).join(texts))}];")
            lines.append("  }")
        return "\n".join([*lines, "}"])

    @property
    def mermaid(self) -> str:
        """The picture in Mermaid's language."""
        automaton = self.automaton
        lines = ["flowchart LR", "  start(( )) --> " + f"s{automaton.initial}"]
        for state in range(automaton.states):
            name = _escaped(automaton.name(state))
            lines.append(f'  s{state}((("{name}")))' if state in automaton.finals else f'  s{state}(("{name}"))')
        for (source, target), texts in _edges(automaton.transitions).items():
            lines.append(f'  s{source} -->|"{"<br>".join(_escaped(text) for text in texts)}"| s{target}')
        for number, guard in enumerate(automaton.guards, 1):
            lines.append(f"  subgraph guard {number}")
            for (source, target), texts in _edges(guard.transitions).items():
                text = "<br>".join(_escaped(text) for text in texts)
                lines.append(f'    g{number}_{source} -->|"{text}"| g{number}_{target}')
            lines.append("  end")
        return "\n".join(lines)

    def svg(self) -> str:
        """The picture as SVG. It is laid out here, and the same everywhere; Graphviz is not needed and not used."""
        automaton = self.automaton
        labels = [_edges(each.transitions) for each in (automaton, *automaton.guards)]
        return to_svg(automaton, labels, f"automaton of {automaton.size()}")

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": self.dot, "text/vnd.mermaid": self.mermaid, "image/svg+xml": self.svg()}

    def __str__(self) -> str:
        return self.dot


def _edges(transitions: Sequence[Transition]) -> dict[tuple[int, int], list[str]]:
    """The labels between each two states: one arrow each."""
    edges: dict[tuple[int, int], list[str]] = {}
    for t in transitions:
        edges.setdefault((t.source, t.target), []).append(label_text(t.label))
    return edges


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _escaped(text: str) -> str:
    """Mermaid reads HTML entities, with # for &."""
    return "".join(char if char.isalnum() or char in " _.,;:=+-*/()←→'" else f"#{ord(char)};" for char in text)

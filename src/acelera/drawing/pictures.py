"""Pictures of graphs: DOT and Mermaid text, and SVG."""

from __future__ import annotations

from dataclasses import dataclass

from acelera.drawing.graph import Graph
from acelera.drawing.svg import to_svg


@dataclass(frozen=True)
class Drawing:
    """A picture of an automaton. In a notebook it shows itself.

    `dot` and `mermaid` are its text in these two languages; `svg()` is laid out by acelera itself.
    """

    graph: Graph

    @property
    def dot(self) -> str:
        """The picture in Graphviz's language."""
        graph = self.graph
        lines = ["digraph acea {", "  rankdir=LR;", '  node [shape=circle, fontname="sans-serif"];',
                 '  edge [fontname="sans-serif", fontsize=11];', '  start [shape=point, label=""];']  # fmt: skip
        nodes, edges = _dot_parts(graph, "s", "  ")
        lines += [*nodes, f"  start -> s{graph.initial};", *edges]
        for number, inner in enumerate(graph.inner, 1):
            nodes, edges = _dot_parts(inner, f"g{number}_", "    ")
            lines += [f"  subgraph cluster_{number} {{ label={dot_text(inner.described)};", *nodes, *edges, "  }"]
        return "\n".join([*lines, "}"])

    @property
    def mermaid(self) -> str:
        """The picture in Mermaid's language."""
        graph = self.graph
        lines = ["flowchart LR", "  start(( )) --> " + f"s{graph.initial}"]
        for state, name in enumerate(map(mermaid_text, graph.names)):
            lines.append(f'  s{state}((("{name}")))' if state in graph.finals else f'  s{state}(("{name}"))')
        lines += _mermaid_edges(graph, "s", "  ")
        for number, inner in enumerate(graph.inner, 1):
            lines += [
                f'  subgraph "{mermaid_text(inner.described)}"',
                *_mermaid_edges(inner, f"g{number}_", "    "),
                "  end",
            ]
        return "\n".join(lines)

    def svg(self) -> str:
        """The picture as SVG. It is laid out here, and the same everywhere; Graphviz is not needed and not used."""
        return to_svg(self.graph)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": self.dot, "text/vnd.mermaid": self.mermaid, "image/svg+xml": self.svg()}

    def __str__(self) -> str:
        return self.dot


def _dot_parts(graph: Graph, prefix: str, indent: str) -> tuple[list[str], list[str]]:
    """The nodes and the arrows of a graph."""
    nodes = []
    for state, name in enumerate(graph.names):
        shape = ", shape=doublecircle" if state in graph.finals else ""
        nodes.append(f"{indent}{prefix}{state} [label={dot_text(name)}{shape}];")
    edges = [
        f"{indent}{prefix}{source} -> {prefix}{target} [label={dot_text(chr(10).join(texts))}];"
        for (source, target), texts in graph.edges.items()
    ]
    return nodes, edges


def _mermaid_edges(graph: Graph, prefix: str, indent: str) -> list[str]:
    return [
        f'{indent}{prefix}{source} -->|"{"<br>".join(map(mermaid_text, texts))}"| {prefix}{target}'
        for (source, target), texts in graph.edges.items()
    ]


def dot_text(text: str) -> str:
    """A text in quotes, as Graphviz reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def mermaid_text(text: str) -> str:
    """Mermaid reads HTML entities, with # for &."""
    return "".join(char if char.isalnum() or char in " _.,;:=+-*/()←→'" else f"#{ord(char)};" for char in text)

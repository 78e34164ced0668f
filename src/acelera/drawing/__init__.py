"""Pictures: automata as DOT, Mermaid and SVG."""

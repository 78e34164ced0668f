"""The language: grammar, parser, AST, printer, builder and checker."""

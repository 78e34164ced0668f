"""The engine: columns in, matches out."""

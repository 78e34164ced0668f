"""TREPL: active rules over patterns of changes."""

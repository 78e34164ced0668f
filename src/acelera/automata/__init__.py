"""ACEA: the register automata that every query compiles to."""

"""From programs to rules of the algebra."""

from acelera.xchangeeq.translation.rules_of_programs import Translation

__all__ = ["Translation"]

"""The meaning of rules over changes, computed plainly from the definitions: the judge of every engine.

The contract is the design of the language; [P] is paper 004. Nothing here knows of any engine.
"""

from acelera.trepl.semantics.settling import fired

__all__ = ["fired"]

"""The meaning of programs, computed slowly and plainly from the definitions: the judge of every engine.

The contract is section 3 of the design; [P] is paper 003. Nothing here knows of any engine.
"""

from acelera.xchangeeq.semantics.fixpoint import derive, strata

__all__ = ["derive", "strata"]

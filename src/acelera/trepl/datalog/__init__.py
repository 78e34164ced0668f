"""The Datalog_1S rules of a program ([P], section 5), as a text that a reader of paper 004 recognises.

They are there to be read: `sat_i(…, J)` is the satisfaction predicate of the i-th event of a rule, counted as in figure
1; `s(J)` is the stage after J. Where the contract of the language differs from the paper, they follow the contract.
"""

from acelera.trepl.datalog.whole_programs import datalog

__all__ = ["datalog"]

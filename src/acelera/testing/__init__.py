"""A tester for queries of one's own: push events written as a short string, see what matched and what still waits.

>>> from acelera.testing import Tester
>>> t = Tester("MATCH A ; B ; C WITHIN 10 EVENTS")
>>> t.push("A X B")
[]
>>> for partial in t.partial():
...     print(partial)
from 1: A=[1]; in q1, waits for B
from 1: A=[1], B=[3]; in q2, waits for C
>>> t.push("C")
[Match(start=1, end=4, A=[1], B=[3], C=[4])]
"""

from acelera.testing.partial import Partial, Partials
from acelera.testing.stream import Match
from acelera.testing.tester import Tester

__all__ = ["Match", "Partial", "Partials", "Tester"]

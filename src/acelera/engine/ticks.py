"""Where an event stands: four ways to count, which are not to be mixed up.

- A **row** is a place in the store of a session (`session/store.py`). It is what nodes refer to; rows that nobody needs
  are forgotten, and those that stay are numbered anew.
- A **place** is the number of an event in the whole stream, from 0, over all keys.
- A **position** is the number of an event within its partition, from 1: what the language speaks of (`START`,
  `x.position`, `SELECT start`).
- A **tick** is where an event stands in the unit of the window: its position for `WITHIN … EVENTS`, its time otherwise.
  The **floor** of an event is the oldest tick at which a match that it ends may start. Several events may share a tick.
- A **moment** is like a tick, but no two events of a key share one: its position, or its place where windows are of
  time. Guards are told apart by moments, since a match that starts with an event is not one that starts after it.
"""

from __future__ import annotations

import numpy as np

FAR_PAST = np.iinfo(np.int64).min
"""A floor below all ticks."""

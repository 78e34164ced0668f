"""What goes out: the matches that have ended are listed, and become rows of the result, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from acelera.engine.plan import Plan
from acelera.engine.results.presenter import Presenter
from acelera.engine.session.matcher import Matcher
from acelera.engine.session.pages import Page
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section
from acelera.language.checker import Checked


class Outgoing:
    """The result up to now: how many matches there were."""

    def __init__(self, checked: Checked, plan: Plan, matcher: Matcher) -> None:
        self.schema, self.matches = checked.schema_of_result, 0
        self._matcher = matcher
        self.presenter = Presenter(checked, plan, matcher.machine)

    def pages(self, starting_before: int | None = None) -> Iterator[Page]:
        """The matches that have ended and were not given yet; only those that start before a tick, if one is given."""
        store = self._matcher.store
        rows = store.frame()
        for listed in self._matcher.machine.arena.listed(self.presenter.as_tree):
            if starting_before is not None:
                kept = np.flatnonzero(store.ticks[listed.start_row] < starting_before)
                listed = listed if len(kept) == len(listed) else listed.only(kept)
            if not len(listed):
                continue
            self.matches += len(listed)
            ends, starts = store.places[listed.end_row], store.places[listed.start_row]
            shown, sizes = self.presenter.present(listed, rows)
            yield Page.of_matches(shown, ends, starts, sizes)

    def state(self) -> dict[str, Section]:
        """Its part of the state in a snapshot."""
        return {"matches": self.matches}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from the state in a snapshot."""
        self.matches = state["matches"]
        check.whole("state", self.matches)

"""The meaning of a query, computed slowly and plainly from the papers' definitions: the judge of everything else."""

from acelera.semantics.event_rows import rows_of_events
from acelera.semantics.queries import Matches, complex_events, evaluate, meaning, present
from acelera.semantics.summaries import summarize

__all__ = ["Matches", "complex_events", "evaluate", "meaning", "present", "rows_of_events", "summarize"]

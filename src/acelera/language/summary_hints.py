"""Hints for texts that speak of summaries, but not as the language does."""

from __future__ import annotations

import re
from collections.abc import Collection

CLAUSES = ("SUMMARIZE", "FROM", "MATCH", "PARTITION BY", "WITHIN", "BY", "OVER … EVERY", "HAVING")

_WINDOWS = "windows are written OVER 10 MINUTES EVERY 1 MINUTE, or OVER 100 EVENTS"
_ELSEWHERE = {"SLIDE", "SLIDING", "HOP", "HOPPING", "TUMBLE", "TUMBLING", "ADVANCE", "WINDOW"}
_KEYS = "keys are attributes of PARTITION BY, x.price, start, end, start_time and end_time"
_EITHER = "a query has either SELECT or SUMMARIZE"

_OF_EXPRESSIONS = {"LPAR", "PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CONCAT", "COMPARISON", "NUMBER", "STRING"}
"""What an expression goes on with, or begins."""


def summarizes(before: str) -> bool:
    """Whether a text begins with SUMMARIZE."""
    return re.match(r"(\s|--[^\n]*\n)*summarize\b", before, re.IGNORECASE) is not None


def has_formula(before: str) -> bool:
    """Whether a text has come as far as MATCH."""
    return re.search(r"\bmatch\b", before, re.IGNORECASE) is not None


def hint_on_summaries(found: str, kind: str, before: str, expected: Collection[str]) -> str | None:
    """How to mend what was found after the text before it, where that is about a summary."""
    if not summarizes(before):
        return _in_other_queries(found.upper(), kind, before)
    if found.upper() == "SELECT":
        return _EITHER
    if found.upper() == "ORDER" and has_formula(before):
        return (
            "rows of a summary come by window and keys; events are ordered when it is run: q.run(table, order_by='ts')"
        )
    if found.upper() == "GROUP":
        return "groups are written BY: SUMMARIZE count(*) MATCH … BY x.kind"
    return (_after_match if has_formula(before) else _in_items)(found.upper(), kind, before, expected)


def _in_other_queries(word: str, kind: str, before: str) -> str | None:
    """What only summaries have, in a query that is none."""
    selects = re.match(r"(\s|--[^\n]*\n)*select\b", before, re.IGNORECASE) is not None
    if word == "SUMMARIZE" and selects:
        return _EITHER
    if word == "SUMMARIZE" and has_formula(before):
        return "SUMMARIZE stands before MATCH: SUMMARIZE count(*) MATCH A ; B"
    if kind == "STAR" and selects and not has_formula(before) and _ends(before, r"\bcount\s*\("):
        return "count(x) counts the events of the variable x; matches are counted by SUMMARIZE count(*) MATCH …"
    if (kind == "BY" or word == "GROUP") and has_formula(before):
        return "for one stream per key write PARTITION BY key; matches are grouped by SUMMARIZE count(*) MATCH … BY key"
    if kind == "HAVING" and has_formula(before):
        return (
            "what AGG makes of a match is filtered: … AGG m[total <- sum(x.price)] FILTER m.total > 100; HAVING is for "
            "summaries: SUMMARIZE count(*) AS n MATCH … HAVING n > 3"
        )
    if kind == "OVER" and has_formula(before):
        return "OVER gives the windows of a summary: SUMMARIZE count(*) MATCH … OVER 10 MINUTES; a match has WITHIN"
    return None


def _in_items(word: str, kind: str, before: str, expected: Collection[str]) -> str | None:
    """Slips between SUMMARIZE and MATCH."""
    if word in ("PARTITION", "WITHIN", "BY", "OVER", "EVERY", "HAVING"):
        return f"{word} follows the formula; {_order()}"
    if kind == "STAR" and _ends(before, r"(\bsummarize|,)"):
        return "matches are counted by count(*)"
    if _ends(before, r"\b(summarize\s+|\(\s*)distinct"):
        return "for a row for each value make it a key: SUMMARIZE count(*) MATCH … BY x.kind"
    if kind == "STAR" and _ends(before, r"\(\s*\w+\s*\."):
        return "count(x) counts the events of the variable x"
    if word == "IGNORE" and _ends(before, r"\)"):
        return "IGNORE NULLS stands in the bracket: sum(x.price IGNORE NULLS)"
    if _ends(before, r"\bcase"):
        return "there is no CASE; kinds of matches are keys (BY x.kind), or a summary each (FILTER x.price > 100)"
    if kind in ("FROM", "MATCH") and "RPAR" in expected:
        return f"a `)` is missing before {word}"
    if kind in ("NAME", "QUOTED") and {"FROM", "OR"} <= set(expected) and word not in ("WHERE", "ORDER", "LIMIT"):
        return "items are separated by commas, and named with AS: count(*) AS n"
    return None


def _after_match(word: str, kind: str, before: str, expected: Collection[str]) -> str | None:
    """Slips in the clauses that follow MATCH."""
    if word in _ELSEWHERE:
        return _WINDOWS
    if word == "EVERY":
        return "EVERY follows OVER: OVER 10 MINUTES EVERY 1 MINUTE"
    if kind == "STRING" and _ends(before, r"\b(over|every)"):
        return "a window is written without quotes: OVER 10 MINUTES"
    if _ends(before, r"\b(over|every)") and "NUMBER" in expected:
        return _WINDOWS
    if kind == "COMMA" and _ends(before, r"\bover\s+\d+\s+\w+"):
        return "remove the comma: OVER 10 MINUTES EVERY 1 MINUTE"
    if kind == "NAME" and _ends(before, r",\s*by"):
        return "remove the comma before BY"
    if word in ("SUMMARIZE", "FROM", "MATCH", "PARTITION", "WITHIN", "BY", "OVER", "HAVING") and "NAME" not in expected:
        return _order()
    if kind in _OF_EXPRESSIONS and _in_keys(before):
        return f"{_KEYS}; what is computed must be a column of the table, and hours or days are windows: OVER 1 HOUR"
    if word == "PER":
        return "a row for each hour is written OVER 1 HOUR, one for each value BY x.kind"
    return None


def _order() -> str:
    return f"the clauses come in this order: {', '.join(CLAUSES)}"


def _in_keys(before: str) -> bool:
    """Whether the last clause is BY."""
    words = [word.upper() for word in re.findall(r"\w+", before)]
    clauses = [
        (former, word)
        for former, word in zip(["", *words], words, strict=False)
        if word in ("MATCH", "WITHIN", "BY", "OVER", "HAVING")
    ]
    return bool(clauses) and clauses[-1][1] == "BY" and clauses[-1][0] != "PARTITION"


def _ends(before: str, pattern: str) -> bool:
    return re.search(pattern + r"\s*$", before, re.IGNORECASE) is not None

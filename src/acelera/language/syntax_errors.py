"""What a person needs to hear when a text is not a query: what was expected, what was found, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

import lark

from acelera.errors import Problem, QuerySyntaxError, Span, nearest
from acelera.language.summary_hints import has_formula, hint_on_summaries, summarizes

_CLAUSES = {"SELECT", "FROM", "MATCH", "PARTITION", "WITHIN"}
_CHAIN = {"FILTER", "PROJECT", "AGG"}
_INFIX = {"OR", "AND", "ALL", "UNLESS", "AS"}
_CONSTANTS = {"NULL", "TRUE", "FALSE"}
_PREDICATES = {"NOT", "IS", "IN", "BETWEEN", "LIKE"}
_SUMMARY = {"SUMMARIZE", "BY", "OVER", "EVERY", "HAVING"}
_KEPT = {"LONGEST", "SHORTEST", "PER", "APART"}
_FREE = _SUMMARY | _KEPT | {"IGNORE", "NULLS", "LESS", "THAN", "FOR", "KEEP"}
KEYWORDS = frozenset(_CLAUSES | _CHAIN | _INFIX | _CONSTANTS | _PREDICATES | _FREE | {"ANY"})
RESERVED = KEYWORDS - _FREE
"""Words that are never names unless they stand in backticks."""

_SYMBOLS = {
    "COLON_PLUS": ":+",
    "COLON_STAR": ":*",
    "COLON_LBRACE": ":{",
    "QUESTION": "?",
    "LBRACE": "{",
    "RBRACE": "}",
    "PER_START": "START",
    "PER_END": "END",
    "COLON": ":",
    "SEMICOLON": ";",
    "COMMA": ",",
    "DOT": ".",
    "LPAR": "(",
    "RPAR": ")",
    "LSQB": "[",
    "RSQB": "]",
    "ARROW": "<-",
    "PLUS": "+",
    "MINUS": "-",
    "STAR": "*",
    "SLASH": "/",
    "PERCENT": "%",
    "CONCAT": "||",
}

_ONE_MATCH = (
    "which matches are kept is said last: KEEP LONGEST APART goes on behind each one, KEEP LONGEST PER START keeps one "
    "from each start"
)
_ROWS = "a row of the result is a match; q.run(…, rows='events') gives a row for each of its events"

# Words of other languages, and what to write instead.
_CASE = "CASE is written if(x.price > 5, 'high', 'low'); events are counted by count(x[price > 5])"
_FOREIGN = {
    "AFTER": _ONE_MATCH,
    "SKIP": _ONE_MATCH,
    "GREEDY": "KEEP LONGEST PER START keeps the longest; a greedy A+ and then B is NEXT(A):+ : (NEXT(B) UNLESS A)",
    "RELUCTANT": "all matches are found: KEEP SHORTEST PER START keeps the shortest",
    "UNTIL": "a loop that something else ends is written with UNLESS: (A ; B+) UNLESS C",
    "MEASURES": "what a match shows is written SELECT …, before MATCH",
    "SUBSET": "several events get a name in brackets: (A ; B) AS u",
    "PERMUTE": "in any order is written A ALL B; without gaps STRICT(A ALL B)",
    "ONE": _ROWS,
    "FOLLOWEDBY": "'followed by' is written A : NEXT(B) for the first B, A ; B for each, A : B for the very next event",
    "FOLLOWEDBYANY": "'followed by any' is written A ; B",
    "NOTFOLLOWEDBY": "absence is written UNLESS: (A ; C) UNLESS B; at the end, A UNLESS B FOR 5 MINUTES",
    "WHERE": "conditions follow the formula: MATCH … FILTER x.price > 100",
    "PATTERN": "a pattern is written MATCH formula",
    "SEQ": "a sequence is written A ; B",
    "HAVING": "filter the aggregate: … AGG m[total <- sum(x.price)] FILTER m.total > 100",
    "RETURN": "what a match looks like is written SELECT …, before MATCH",
    "DEFINE": "conditions follow the formula: MATCH A:+ AS x FILTER x[price > 100], or x[price > prev(price)]",
    "GROUP": "for one stream per key write PARTITION BY key, after the formula",
    "ORDER": "the order is given when the query is run: q.run(table, order_by='ts')",
    "LIMIT": "a query has no LIMIT; slice the resulting table",
    "FOLLOWED": "'followed by' is written A : NEXT(B) for the first B, A ; B for each, A : B for the very next event",
    "IF": "conditions follow the formula: MATCH … FILTER x.price > 100",
    "CASE": _CASE,
    "THEN": "a sequence is written A ; B (later) or A : B (at the very next position)",
    "WHEN": _CASE,
    "CONSUME": "to go on behind the first matches write KEEP ALL APART, after WITHIN",
    "LONGEST": "which matches are kept is said behind WITHIN: KEEP LONGEST PER START, KEEP LONGEST APART, …",
    "SHORTEST": "which matches are kept is said behind WITHIN: KEEP SHORTEST PER END, KEEP SHORTEST APART, …",
    "DISTINCT": "matches are a set already; different values are counted by count(DISTINCT x.price)",
    "OVER": "SELECT has no window functions; compute them on the resulting table",
    "EVERY": "a query finds every match; just write the formula",
    "MATCH_RECOGNIZE": "a query is SELECT … FROM … MATCH formula FILTER conditions, without brackets",
    "LAG": "inside x[…], prev(price) is of the event before",
    "RUNNING": "what is true of the events so far stands inside x[…]; an item of SELECT is of the whole match",
    "FINAL": "an item of SELECT is of the whole match; leave FINAL out",
}
OF_ROWS = "q.run(…, rows='events') gives a row for each event, with its variable and an id of its match"
"""What CLASSIFIER() and MATCH_NUMBER() are elsewhere."""


def fail(message: str, span: Span | None, hint: str | None = None) -> NoReturn:
    """Found while building; the text is filled in further up, where it is known."""
    raise QuerySyntaxError([Problem(message, span, hint)])


def explain_syntax_error(error: lark.UnexpectedInput, text: str, start: str) -> Problem:
    """The problem behind an error of the parser."""
    if isinstance(error, lark.UnexpectedCharacters):
        return _bad_character(error.pos_in_stream or 0, text)
    assert isinstance(error, lark.UnexpectedToken)
    token = error.token
    expected = set(error.accepts or error.expected)
    if token.type == "$END":
        return _unfinished(text, expected)
    begin, end = token.start_pos or 0, token.end_pos or 0
    return _unexpected(str(token), token.type, Span(begin, end), text, expected, start)


def _bad_character(offset: int, text: str) -> Problem:
    char, span = text[offset], Span(offset, offset + 1)
    word = re.match(r"\w+", text[offset:])
    if word and word.group().upper() in RESERVED:
        end = offset + word.end()
        return Problem(f"`{word.group()}` has no meaning here", Span(offset, end), _FOREIGN.get(word.group().upper()))
    if char == "'":
        return Problem("this string is never closed", span, "a quote within a string is doubled: 'it''s'")
    if char == "`":
        return Problem("this name is never closed, or is empty", span, "a name in backticks ends with a backtick")
    hints = {
        '"': "strings are written in single quotes, names in backticks",
        "?": "all matches are found, none is preferred: KEEP SHORTEST PER START keeps one; none or more is written A*",
        "≥": "write >=",
        "≤": "write <=",
        "≠": "write <>",
        "“": "strings are written in straight single quotes: 'text'",
        "‘": "strings are written in straight single quotes: 'text'",
        "’": "strings are written in straight single quotes: 'text'",
        "#": "a comment begins with --",
        "&": "write AND",
        "|": "write OR",
        "!": "write NOT in a condition; absence in a formula is written UNLESS: (A ; C) UNLESS B",
        "$": "a stream has no end: KEEP LONGEST PER START goes as far as there is; what must not follow, UNLESS … FOR",
        "^": "START(…) matches at the beginning of the stream",
    }
    otherwise = None if char.isascii() else "a name that holds it is written in backticks"
    return Problem(f"the character {char!r} has no meaning here", span, hints.get(char, otherwise))


def _unfinished(text: str, expected: set[str]) -> Problem:
    end = len(text.rstrip())
    span = Span(end, end + 1)
    opened = _unclosed(text)
    if opened is not None and expected & {"RPAR", "RSQB"}:
        return Problem(f"this `{text[opened]}` is never closed", Span(opened, opened + 1))
    if not text.strip():
        return Problem("the query is empty", Span(0, 0), "a query looks like MATCH A ; B FILTER A.price > 100")
    if re.search(r"\b(WITHIN|OVER|EVERY)\s+[\d.]+$", text.rstrip(), re.IGNORECASE):
        return Problem(
            "the query ends too early; expected a unit", span, "EVENTS, or milliseconds, seconds, minutes, hours, days"
        )
    if text.rstrip().endswith(";"):
        return Problem(
            f"the query ends too early; expected {_readable(expected, text)}",
            span,
            "`;` means 'then, later', it does not end a query",
        )
    return Problem(f"the query ends too early; expected {_readable(expected, text)}", span)


def _unexpected(found: str, kind: str, span: Span, text: str, expected: set[str], start: str) -> Problem:
    message = f"unexpected `{found}`; expected {_readable(expected, text[: span.start])}"
    hint = _hint(found, kind, span, text, expected, start)
    return Problem(message, span, hint)


def _hint(found: str, kind: str, span: Span, text: str, expected: set[str], start: str) -> str | None:
    """How to mend it, from the most telling sign to the least."""
    before, after = text[: span.start].rstrip(), text[span.end :].lstrip()
    place = _Place(found, kind, before, after, text[max(0, span.start - 1) : span.end + 1], expected)
    if found.upper() == "DETECT" and {"MATCH", "SELECT"} <= expected:
        return "this is a program of rules: read it with ac.xchangeeq(…); at the command line its file ends with .xceq"
    if start == "query" and before == "" and "MATCH" in expected and found.upper() not in _FOREIGN:
        close = nearest(found, ["MATCH", "SELECT", "FROM", "SUMMARIZE"])
        return f"did you mean {close}?" if close else "a query begins with MATCH (or SELECT, FROM): MATCH A ; B"
    hint = hint_on_summaries(found, kind, before, expected)
    if hint is not None:
        return hint
    for rule in (
        _hint_of_keep,
        _hint_of_words,
        _hint_of_symbols,
        _hint_in_formula,
        _hint_in_condition,
        _hint_in_clauses,
    ):
        hint = rule(place)
        if hint is not None:
            return hint
    return None


class _Place(NamedTuple):
    """What was found where, and what could have stood there."""

    found: str
    kind: str
    before: str
    after: str
    around: str
    expected: set[str]

    @property
    def formula_goes_on(self) -> bool:
        return {"SEMICOLON", "UNLESS"} <= self.expected

    @property
    def formula_begins(self) -> bool:
        # Names and brackets also begin other things; STRICT can begin every formula, and nothing else.
        return "STRICT" in self.expected

    @property
    def expression_begins(self) -> bool:
        return {"NAME", "TRUE"} <= self.expected

    def follows(self, pattern: str) -> bool:
        """Whether the text before ends so."""
        return re.search(pattern + r"$", self.before, re.IGNORECASE) is not None


def _hint_of_keep(place: _Place) -> str | None:
    """Slips in KEEP, and KEEP where it cannot stand."""
    if place.kind == "KEEP" and place.follows(r"\bKEEP\b[\w\s]*"):
        return "one KEEP says which matches are kept"
    if place.kind == "KEEP" and "RPAR" in place.expected:
        return "KEEP is of whole matches: it stands once, at the end of the query"
    if place.follows(r"\bKEEP\b[\w\s]*") and place.expected & {"PER", "APART", "PER_START", "PER_END", "LONGEST"}:
        return "KEEP LONGEST | SHORTEST PER START | PER END | APART, KEEP ALL APART, KEEP ANY 3 PER START | PER END"
    return None


def _hint_of_words(place: _Place) -> str | None:
    """Words of other languages, misspelt words, words of the language as names."""
    word = place.found.upper()
    if word == "FILTER" and place.follows(r"\w\s*\([^()]*\)") and place.expected & {"FROM", "RSQB"}:
        return "some events are told in brackets: count(x[price > 5]), sum(x[price > 5].price IGNORE NULLS)"
    if word == "ORDER" and re.match(r"BY\b[^;]*\bDESC\b", place.after, re.IGNORECASE):
        return (
            "the order is given when the query is run: q.run(table, order_by='ts'); it is ascending, so turn the "
            "formula round: what comes first in descending order comes last"
        )
    if word == "PER" and place.follows(r"\bALL\s+ROWS"):
        return _ROWS
    if word in _FOREIGN:
        return _FOREIGN[word]
    former = re.search(r"(\w+)$", place.before)
    if former and former.group().upper() in _FOREIGN and place.kind in ("LPAR", "NAME", "NUMBER", "STRING"):
        return _FOREIGN[former.group().upper()]
    if place.kind in RESERVED and place.follows(r"(\.|\[|\bAS|\bBY|\bFROM)") and place.kind not in _CONSTANTS:
        return f"{word} is a word of the language; as a name it is written in backticks: `{place.found}`"
    close = nearest(word, [name for name in place.expected if name in KEYWORDS])
    return f"did you mean {close}?" if place.kind == "NAME" and len(word) > 2 and close else None


def _hint_of_symbols(place: _Place) -> str | None:
    """Symbols of other languages."""
    if place.kind == "LBRACE" and place.after.startswith("-"):
        return "what is to be left out of a match is left out by PROJECT: (A ; B ; C) PROJECT A, C"
    if place.kind == "LBRACE" and place.expression_begins:
        return "values are written out; was the f before the string forgotten?"
    if "==" in place.around:
        return "equality is written ="
    if place.expression_begins and (place.found == "->" or place.follows(r"\w\s*-")) and "->" in place.around:
        return "a field of a struct is written with a dot: x.geo.lat"
    pair = place.found + place.after[:1]
    if place.expression_begins and ("=>" in place.around or "=<" in place.around):
        return "the comparisons are written >= and <="
    if pair in ("->", "=>") or "->" in place.around or "=>" in place.around:
        return "'followed by' is written A : NEXT(B) for the first B, A ; B for each, A : B for the very next event"
    if "::" in place.around:
        return "a cast is written CAST(x.price AS int)"
    if place.kind == "COMPARISON" and "||" in place.before:
        return "|| joins strings; between conditions write OR"
    if "/*" in place.around:
        return "a comment begins with -- and ends with the line"
    if place.kind == "RPAR" and "RSQB" in place.expected:
        return "`[` is closed with `]`"
    if place.kind == "RSQB" and "RPAR" in place.expected:
        return "`(` is closed with `)`"
    if place.kind == "SEMICOLON" and not place.after:
        return "`;` means 'then, later', it does not end a query"
    if place.kind == "RPAR" and place.before.count("(") <= place.before.count(")"):
        return "there is no bracket to close"
    return None


def _hint_in_formula(place: _Place) -> str | None:
    """Slips where a formula begins or goes on."""
    kind, found = place.kind, place.found
    if kind == "NOT" and (place.formula_begins or place.formula_goes_on):
        return "absence is written UNLESS: (A ; C) UNLESS B"
    if place.formula_begins:
        if kind in _CHAIN | _INFIX:
            return f"an event type is missing before {found.upper()}"
        if kind == "STRING":
            return "an event type is written without quotes; with odd characters, in backticks"
    if place.formula_goes_on:
        hints = {
            "COMMA": "a sequence is written A ; B (later) or A : B (at the very next position)",
            "NAME": f"between two formulas write ; or :, and name a variable with AS: AS {found}",
            "QUOTED": f"between two formulas write ; or :, and name a variable with AS: AS {found}",
            "DOT": "attributes are used after FILTER: MATCH A FILTER A.price > 100",
            "LSQB": "conditions are written after FILTER: (A FILTER A[price > 100]) ; B",
            "COMPARISON": "conditions are written after FILTER: MATCH A FILTER A.price > 100",
            "MINUS": "a type with odd characters in its name is written in backticks: `A-B`",
        }
        return hints.get(kind)
    if kind in ("SEMICOLON", "COLON", "COLON_PLUS", "UNLESS", "ALL") and _after_condition(place.before):
        return (
            "FILTER applies to all that stands to its left in the same bracket; "
            "to go on with the formula, bracket it: (A FILTER A.price > 100) ; B"
        )
    return None


def _hint_in_condition(place: _Place) -> str | None:
    """Slips in conditions and aggregates."""
    kind, expected = place.kind, place.expected
    if expected == {"STRING"} and place.follows(r"\bLIKE"):
        return "LIKE takes a pattern that is written out: x.name LIKE 'A%'"
    unit = place.found.lower().rstrip("s") in {"millisecond", "second", "minute", "hour", "day"}
    if unit and place.follows(r"[<>=+-]\s*[0-9.]+"):
        return f"a duration is written INTERVAL 5 {place.found.upper()}"
    if kind == "STRING" and place.follows(r"\bINTERVAL"):
        return "a duration is written INTERVAL 5 MINUTES"
    if "ARROW" in expected or (expected == {"LSQB"} and place.follows(r"\bAGG\s+\S+")):
        return "AGG assigns with <-: AGG m[total <- sum(x.price)]"
    if kind in ("DOT", "NUMBER", "STRING") and place.follows(r"<-(\s*\w+)?"):
        return "AGG takes aggregate functions: AGG m[high <- max(x.price)]"
    if kind == "STAR" and "NAME" in expected and place.follows(r"\("):
        return "count(x) counts the events of the variable x"
    if kind == "COMMA" and "OR" in expected and _after_condition(place.before):
        return "conditions are joined with AND and OR"
    if kind == "COMPARISON" and "AND" in expected:
        return "comparisons cannot be chained; write a < b AND b < c"
    return None


def _hint_in_clauses(place: _Place) -> str | None:
    """Slips in and between clauses."""
    kind, expected = place.kind, place.expected
    if kind in RESERVED and place.before.endswith(","):
        return "remove the comma before it"
    if kind in ("AND", "OR") and place.follows(_WINDOW) and re.match(r"\d", place.after):
        return "a duration of several parts is written 1 MINUTE 30 SECONDS"
    if kind == "INTERVAL" and place.follows(r"\b(WITHIN|FOR)"):
        return "a window is written WITHIN 5 MINUTES, a time after a match FOR 5 MINUTES"
    if kind in _SEQUENCE | _INFIX and place.follows(_WINDOW):
        return "a window on a part of a formula stands in brackets: (A ; B WITHIN 5 MINUTES) ; C"
    if kind in _CHAIN and ("$END" in expected or "WITHIN" in expected):
        return f"{place.found.upper()} belongs to the formula, before PARTITION BY, WITHIN and KEEP"
    if kind in _CLAUSES and "NAME" in expected:
        return f"something is missing before {place.found.upper()}"
    if kind in _CLAUSES:
        return "the clauses come in this order: SELECT, FROM, MATCH, PARTITION BY, WITHIN, KEEP"
    former = re.search(r"\bBY\b[^;]*?(\w+)$", place.before, re.IGNORECASE)
    if kind == "DOT" and former and place.after:
        name = f"{former[1]}.{place.after.split()[0]}"
        return f"attributes of PARTITION BY stand alone: PARTITION BY user; a name with a dot in it is written `{name}`"
    if kind == "NAME" and former:
        return f"a name with a blank in it is written in backticks: `{former[1]} {place.found}`"
    if kind == "STRING" and place.follows(r"\bWITHIN"):
        return "a window is written without quotes: WITHIN 5 MINUTES"
    in_select = "MATCH" in expected and "FROM" in expected
    if in_select or (place.follows(r"\bSELECT\b.*") and kind == "STAR" and "MATCH" not in place.before.upper()):
        return "items of SELECT are x, x.price, max(x.price) and expressions, b.v - a.v AS rise; with commas between"
    if kind in RESERVED and "NAME" in expected and not place.expression_begins:
        return f"{kind} is a word of the language; as a name it is written in backticks: `{place.found}`"
    return None


_WINDOW = r"\bWITHIN\s+(LESS\s+THAN\s+)?(\s*[\d.]+\s*[A-Z]+)+"


def _after_condition(before: str) -> bool:
    """Whether the innermost open bracket already holds a FILTER."""
    depth = 0
    for token in reversed(re.findall(r"'[^']*'|`[^`]*`|\w+|[^\w\s]", before)):
        if token in (")", "]"):
            depth += 1
        elif token in ("(", "["):
            if depth == 0:
                return False
            depth -= 1
        elif depth == 0 and token.upper() == "FILTER":
            return True
    return False


def _unclosed(text: str) -> int | None:
    """The place of the innermost bracket that is never closed."""
    opened: list[int] = []
    for match in re.finditer(r"'(?:[^']|'')*'|`(?:[^`]|``)*`|--[^\n]*|[()\[\]]", text):
        if match.group() in ("(", "["):
            opened.append(match.start())
        elif match.group() in (")", "]") and opened:
            opened.pop()
    return opened[-1] if opened else None


def _readable(expected: Iterable[str], before: str) -> str:
    """Names of terminals as a person would say them, the likeliest first."""
    names = set(expected)
    if {"IGNORE", "OR"} <= names:
        names.discard("IGNORE")  # which is for aggregates alone
    if "NUMBER" in names and names & {"$END", "RPAR", "RSQB"}:
        names.discard("NUMBER")  # a duration may go on
    if "NUMBER" in names:
        names.discard("LESS")
    if "LSQB" not in names and len(names) > 1:
        names.discard("DOT")  # an attribute may go on with a field
    said: list[str] = []
    for telling, words, covered in _SAID:
        if telling <= names:
            said.append(_of_summaries(words, before) if "TRUE" in telling else words)
            names -= covered
    said += [f"`{_SYMBOLS[name]}`" for name in _SYMBOLS if name in names]
    said += sorted(names & KEYWORDS)
    if "$END" in names:
        said.append("the end of the query")
    if len(said) == 1:
        return said[0]
    return ", ".join(said[:-1]) + f" or {said[-1]}" if said else "something else"


def _of_summaries(words: str, before: str) -> str:
    """What an expression begins with is said otherwise in a summary, which speaks of totals and columns."""
    if not summarizes(before) or before.rstrip().endswith("("):
        return words
    if not has_formula(before):
        return words.replace("an attribute", "a total")
    return words.replace("an attribute", "a column") if re.search(r"\bHAVING\b", before, re.IGNORECASE) else words


_NAMES = {"NAME", "QUOTED", "ANY"}
_ARITHMETIC = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CONCAT"}
_COUNTS = {"COLON_STAR", "COLON_LBRACE", "LBRACE", "QUESTION", "STAR"}
_SEQUENCE = {"COLON_PLUS", "COLON", "SEMICOLON", "PLUS"} | _COUNTS
_AFTER_FORMULA = {"PARTITION", "WITHIN", "KEEP", "FOR", "BY", "OVER", "HAVING"}

# If all of these terminals are expected, say this, and no more of those.
_SAID: tuple[tuple[set[str], str, set[str]], ...] = (
    (
        {"FROM", "OR"},
        "`,`, AS, FROM, MATCH or an operator such as `/`",
        _ARITHMETIC | _PREDICATES | {"COMMA", "AS", "FROM", "MATCH", "OR", "AND", "COMPARISON"},
    ),
    ({"STRICT"}, "an event type or `(`", _NAMES | {"LPAR", "START", "STRICT", "NEXT"}),
    (
        {"NAME", "TRUE"},
        "an attribute, a value or `(`",
        _NAMES
        | _CONSTANTS
        | {"LPAR", "NUMBER", "STRING", "MINUS", "NOT", "CAST", "TIMESTAMP", "DATE", "INTERVAL", "STAR"},
    ),
    ({"NAME"}, "a name", _NAMES),
    ({"NUMBER"}, "a number", set()),
    ({"STRING"}, "a string in single quotes", set()),
    ({"COMPARISON"}, "a comparison such as `=` or `<`", set()),
    (
        {"SEMICOLON", "UNLESS"},
        "an operator such as `;`, `+`, AS, OR or FILTER",
        _SEQUENCE | _INFIX | _CHAIN | _AFTER_FORMULA,
    ),
    ({"FILTER", "OR"}, "AND, OR, FILTER, AGG or PROJECT", _ARITHMETIC | _INFIX | _CHAIN | _AFTER_FORMULA),
    ({"FILTER", "AGG"}, "FILTER, AGG or PROJECT", _CHAIN | _AFTER_FORMULA),
)

"""What a person needs to hear when a text is not a query: what was expected, what was found, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import lark

from acelera.errors import Problem, Span, nearest

_CLAUSES = {"SELECT", "FROM", "MATCH", "PARTITION", "WITHIN"}
_CHAIN = {"FILTER", "PROJECT", "AGG"}
_INFIX = {"OR", "AND", "ALL", "UNLESS", "AS"}
_CONSTANTS = {"NULL", "TRUE", "FALSE"}
_PREDICATES = {"NOT", "IS", "IN", "BETWEEN", "LIKE"}
KEYWORDS = frozenset(_CLAUSES | _CHAIN | _INFIX | _CONSTANTS | _PREDICATES | {"ANY", "BY", "IGNORE", "NULLS"})
RESERVED = KEYWORDS - {"BY", "IGNORE", "NULLS"} | {"SUMMARIZE"}
"""Words that are never names unless they stand in backticks."""

_SYMBOLS = {
    "COLON_PLUS": ":+",
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

# Words of other languages, and what to write instead.
_FOREIGN = {
    "WHERE": "conditions follow the formula: MATCH … FILTER x.price > 100",
    "PATTERN": "a pattern is written MATCH formula",
    "SEQ": "a sequence is written A ; B",
    "HAVING": "filter the aggregate: … AGG m[total <- sum(x.price)] FILTER m.total > 100",
    "RETURN": "what a match looks like is written SELECT …, before MATCH",
    "DEFINE": "conditions follow the formula: MATCH … FILTER x.price > 100",
    "GROUP": "for one stream per key write PARTITION BY key, after the formula",
    "ORDER": "the order is given when the query is run: q.run(table, order_by='ts')",
    "LIMIT": "a query has no LIMIT; slice the resulting table",
    "FOLLOWED": "'followed by' is written ; (later) or : (at the very next position)",
    "IF": "conditions follow the formula: MATCH … FILTER x.price > 100",
    "CASE": "there is no CASE; use OR between filtered formulas, or coalesce",
    "EVERY": "a query finds every match; just write the formula",
    "SUMMARIZE": "SUMMARIZE is reserved for aggregation across matches and is not there yet",
}


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
        "?": "there is no `?`; for an optional part write both cases with OR: (A ; B) OR A",
        "{": "there is no repetition count; count the events and filter: A+ AGG n[k <- count(A)] FILTER n.k = 3",
        "&": "write AND",
        "|": "write OR",
        "!": "write NOT, or <> for 'not equal'",
        "^": "START(…) matches at the beginning of the stream",
    }
    return Problem(f"the character {char!r} has no meaning here", span, hints.get(char))


def _unfinished(text: str, expected: set[str]) -> Problem:
    end = len(text.rstrip())
    span = Span(end, end + 1)
    opened = _unclosed(text)
    if opened is not None and expected & {"RPAR", "RSQB"}:
        return Problem(f"this `{text[opened]}` is never closed", Span(opened, opened + 1))
    if not text.strip():
        return Problem("the query is empty", Span(0, 0), "a query looks like MATCH A ; B FILTER A.price > 100")
    if text.rstrip().endswith(";"):
        return Problem(
            f"the query ends too early; expected {_readable(expected)}",
            span,
            "`;` means 'then, later', it does not end a query",
        )
    return Problem(f"the query ends too early; expected {_readable(expected)}", span)


def _unexpected(found: str, kind: str, span: Span, text: str, expected: set[str], start: str) -> Problem:
    message = f"unexpected `{found}`; expected {_readable(expected)}"
    hint = _hint(found, kind, span, text, expected, start)
    return Problem(message, span, hint)


def _hint(found: str, kind: str, span: Span, text: str, expected: set[str], start: str) -> str | None:
    word, before, after = found.upper(), text[: span.start].rstrip(), text[span.end :].lstrip()
    around = text[max(0, span.start - 1) : span.end + 1]
    if word in _FOREIGN:
        return _FOREIGN[word]
    called = re.search(r"(\w+)$", before)
    if found == "(" and called and called.group().upper() in _FOREIGN:
        return _FOREIGN[called.group().upper()]
    if "==" in around:
        return "equality is written ="
    if found + after[:1] in ("->", "=>") or around in ("->", "=>") or before[-1:] + found in ("->", "=>"):
        return "'followed by' is written ; (later) or : (at the very next position)"
    if start == "query" and before == "" and "MATCH" in expected:
        close = nearest(found, ["MATCH", "SELECT", "FROM"])
        return f"did you mean {close}?" if close else "a query begins with MATCH (or SELECT, FROM): MATCH A ; B"
    close = nearest(word, [name for name in expected if name in KEYWORDS])
    if kind == "NAME" and len(word) > 2 and close:
        return f"did you mean {close}?"
    if _after_condition(before) and kind in ("SEMICOLON", "COLON", "COLON_PLUS", "UNLESS", "ALL"):
        return (
            "FILTER applies to all that stands to its left in the same bracket; "
            "to go on with the formula, bracket it: (A FILTER A.price > 100) ; B"
        )
    return _hint_by_kind(found, kind, expected, text, span)


def _hint_by_kind(found: str, kind: str, expected: set[str], text: str, span: Span) -> str | None:
    formula_goes_on = "SEMICOLON" in expected and "UNLESS" in expected
    if kind == "COMMA" and formula_goes_on:
        return "a sequence is written A ; B (later) or A : B (at the very next position)"
    if kind == "STAR" and formula_goes_on:
        return "A+ is one or more A, A:+ one or more without a gap; for none or more write both cases with OR"
    if kind in ("NAME", "QUOTED") and formula_goes_on:
        return f"between two formulas write ; or :, and name a variable with AS: AS {found}"
    if kind == "STAR" and "NAME" in expected and text[: span.start].rstrip().endswith("("):
        return "count(x) counts the events of the variable x"
    if kind == "DOT" and formula_goes_on:
        return "attributes are used after FILTER: MATCH A FILTER A.price > 100"
    if kind == "COMPARISON" and "ARROW" in expected:
        return "AGG assigns with <-: AGG m[total <- sum(x.price)]"
    if kind == "COMPARISON" and formula_goes_on:
        return "conditions are written after FILTER: MATCH A FILTER A.price > 100"
    if kind in RESERVED and text[: span.start].rstrip().endswith(","):
        return "remove the comma before it"
    if kind in _CLAUSES and "NAME" in expected:
        return f"something is missing before {found.upper()}"
    if kind in _CLAUSES:
        return "the clauses come in this order: SELECT, FROM, MATCH, PARTITION BY, WITHIN"
    if kind in RESERVED and "NAME" in expected and "TRUE" not in expected:
        return f"{found.upper()} is a word of the language; as a name it is written in backticks: `{found}`"
    if kind == "RPAR" and text[: span.start + 1].count("(") < text[: span.start + 1].count(")"):
        return "there is no bracket to close"
    if expected == {"RPAR"} and re.search(r"\bNEXT\s*\(\s*\S+$", text[: span.start].rstrip(), re.IGNORECASE):
        return "NEXT takes one event type: NEXT(A)"
    if expected == {"STRING"} and re.search(r"\bLIKE$", text[: span.start].rstrip(), re.IGNORECASE):
        return "LIKE takes a pattern that is written out: x.name LIKE 'A%'"
    if kind == "COMPARISON" and "||" in text[: span.start]:
        return "|| joins strings; between conditions write OR"
    if kind == "COMPARISON" and not formula_goes_on and "AND" in expected:
        return "comparisons cannot be chained; write a < b AND b < c"
    return None


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


def _readable(expected: Iterable[str]) -> str:
    """Names of terminals as a person would say them, the likeliest first."""
    names = set(expected)
    said: list[str] = []
    for telling, words, covered in _SAID:
        if telling <= names:
            said.append(words)
            names -= covered
    said += [f"`{_SYMBOLS[name]}`" for name in _SYMBOLS if name in names]
    said += sorted(names & KEYWORDS)
    if "$END" in names:
        said.append("the end of the query")
    if len(said) == 1:
        return said[0]
    return ", ".join(said[:-1]) + f" or {said[-1]}" if said else "something else"


_NAMES = {"NAME", "QUOTED", "ANY"}
_ARITHMETIC = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CONCAT"}
_SEQUENCE = {"COLON_PLUS", "COLON", "SEMICOLON", "PLUS"}

# If all of these terminals are expected, say this, and no more of those.
_SAID: tuple[tuple[set[str], str, set[str]], ...] = (
    ({"STRICT"}, "an event type or `(`", _NAMES | {"LPAR", "START", "STRICT", "NEXT"}),
    (
        {"NAME", "TRUE"},
        "an attribute, a value or `(`",
        _NAMES | _CONSTANTS | {"LPAR", "NUMBER", "STRING", "MINUS", "NOT", "CAST", "TIMESTAMP", "DATE", "INTERVAL"},
    ),
    ({"NAME"}, "a name", _NAMES),
    ({"NUMBER"}, "a number", set()),
    ({"STRING"}, "a string in single quotes", set()),
    ({"COMPARISON"}, "a comparison such as `=` or `<`", set()),
    (
        {"SEMICOLON", "UNLESS"},
        "an operator such as `;`, `+`, AS, OR or FILTER",
        _SEQUENCE | _INFIX | _CHAIN | {"PARTITION", "WITHIN"},
    ),
    ({"FILTER", "AND"}, "AND, OR, FILTER, AGG or PROJECT", _ARITHMETIC | _INFIX | _CHAIN | {"PARTITION", "WITHIN"}),
    ({"FILTER", "AGG"}, "FILTER, AGG or PROJECT", _CHAIN | {"PARTITION", "WITHIN"}),
)

"""What a person needs to hear when a text is not a program: what was expected, what was found, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import lark

from acelera.errors import Problem, Span, did_you_mean, nearest
from acelera.xchangeeq import ast

RESERVED = frozenset("and or not event while collect where var desc without optional all true false".split())
"""Words that are never names, nor labels unless they stand in backticks."""

_NOT_TAKEN_OVER = {
    "except": "there is no `except`; name the children that are wanted",
    "some": "there is no `some`; `all` gives every instance",
    "position": "there is no `position`; the order of children is asked for by [[ … ]]",
    "as": "a term is bound with an arrow: var X -> temp {{ … }}",
    "first": "there is no `first`; `order by` sorts the instances",
    "CONSTRUCT": "a rule begins with DETECT, and its body with ON",
    "FROM": "the body of a rule begins with ON",
    "RAISE": "a rule begins with DETECT",
}
"""Words of Xcerpt and of older texts that are refused, and what to write instead."""

_FOREIGN = {
    "SELECT": "a rule is written DETECT head ON body END",
    "MATCH": "this looks like a query; a program is made of rules: DETECT head ON body END",
    "IF": "conditions follow the body: … where { var T > 40 }",
    "AND": "`and` is written before what it joins: and { …, … }",
    "OR": "`or` is written before what it joins: or { …, … }",
    "NOT": "absence needs a window: event i: timer:from-end [event e, 1 min], while i: not temp {{ }}",
    "FILTER": "conditions follow the body: … where { var T > 40 }",
    "HAVING": "ask for an aggregate in a second rule, over what this one makes",
    "WITHIN": "how long it may take is a condition: … where { {i, j} within 1 min }",
}

_NO_TIMES = "expressions cannot read the times of events; copy the time into a column of data, and bind that"
_NO_NULL = "there is no null; that a child is missing is written without: temp {{ without value {{ }} }}"
_NO_DISTINCT = "all v { var V } in a head has each value once; count these in a second rule"
_COUNT_EVENTS = "events are counted by count(all var X), with while w: collect var X -> ping {{ }}"

_SYMBOLS = {
    "LBRACE": "{",
    "RBRACE": "}",
    "LSQB": "[",
    "RSQB": "]",
    "LPAR": "(",
    "RPAR": ")",
    "COLON": ":",
    "COMMA": ",",
    "ARROW": "->",
    "PLUS": "+",
    "MINUS": "-",
    "STAR": "*",
    "SLASH": "/",
}


def explain_syntax_error(error: lark.UnexpectedInput, text: str) -> Problem:
    """The problem behind an error of the parser."""
    if re.fullmatch(r"\S+\.xceq", text.strip()):
        hint = f'read the file first: ac.xchangeeq(Path("{text.strip()}").read_text())'
        return Problem("this is the name of a file, not a program", Span(0, len(text)), hint)
    if isinstance(error, lark.UnexpectedCharacters):
        return _bad_character(error.pos_in_stream or 0, text)
    assert isinstance(error, lark.UnexpectedToken)
    expected = set(error.accepts or error.expected)
    if error.token.type == "$END":
        return _unfinished(text, expected)
    begin = error.token.start_pos or 0
    return _unexpected(begin, text, expected)


def _bad_character(offset: int, text: str) -> Problem:
    char, span = text[offset], Span(offset, offset + 1)
    if char in "\"'":
        return Problem("this string is never closed", span, f"a quote within a string is doubled: {char * 2}")
    if char == "`":
        return Problem("this label is never closed, or is empty", span, "a label in backticks ends with a backtick")
    hints = {
        ";": "rules stand one after the other, each from DETECT to END; parts are separated by commas",
        "^": "references are not taken over from Xcerpt",
        "@": "references are not taken over from Xcerpt",
        "&": "references are not taken over from Xcerpt; conditions are joined by commas, or by and { …, … }",
        "|": "alternatives are written or { …, … }",
        "!": "write not { … } in a condition, and while i: not … in a body",
        "≥": "write >=",
        "≤": "write <=",
        "≠": "write !=",
        "→": "write ->",
        "“": "strings are written in straight quotes",
        "”": "strings are written in straight quotes",
        "‘": "strings are written in straight quotes",
        ".": "children are named by nested terms: area {{ zip {{ var Z }} }}",
        "%": "there is no remainder",
    }
    if re.match(r"\.\s*(?:begin|end|start|time|ts|timestamp)\b", text[offset:]):
        hints["."] = _NO_TIMES
    otherwise = None if char.isascii() else "a label that holds it is written in backticks"
    return Problem(f"the character {char!r} has no meaning here", span, hints.get(char, otherwise))


def _unfinished(text: str, expected: set[str]) -> Problem:
    end = len(text.rstrip())
    span = Span(end, end + 1)
    if not _bare(text).strip():
        return Problem(
            "the program is empty", Span(0, 0), "a rule looks like DETECT fire { area { var A } } ON smoke {{ … }} END"
        )
    message = f"the program ends too early; expected {_readable(expected)}"
    opened = unclosed(text)
    if opened is not None:
        doubled = text[opened - 1 : opened + 1] in ("{{", "[[") and expected & {"RBRACE", "RSQB"}
        shown = text[opened] * 2 if doubled else text[opened]
        start = opened - (1 if doubled else 0)
        return Problem(f"this `{shown}` is never closed", Span(start, opened + 1))
    hint = "every rule ends with END" if "END" in expected else None
    return Problem(message, span, hint)


class _Place(NamedTuple):
    """What was found where, and what could have stood there."""

    found: str
    before: str
    after: str
    expected: set[str]

    def follows(self, pattern: str) -> re.Match[str] | None:
        """Whether the text before ends so."""
        return re.search(f"(?:{pattern})$", self.before)


def _unexpected(begin: int, text: str, expected: set[str]) -> Problem:
    piece = re.compile(r"[^\W\d][\w-]*|\d+|->|==|<=|>=|<>|!=|.", re.DOTALL).match(text, begin)
    found = piece.group() if piece else text[begin : begin + 1]
    place = _Place(found, _bare(text[:begin]).rstrip(), text[begin + len(found) :].lstrip(), expected)
    refused = _refused(place, Span(begin, begin + len(found)))
    if refused is not None:
        return refused
    message = f"unexpected `{found}`; expected {_readable(expected)}"
    return Problem(message, Span(begin, begin + len(found)), _hint(place))


def _refused(place: _Place, span: Span) -> Problem | None:
    """What is known and not taken over, refused by its name."""
    if former := place.follows(r"(?<![\w-])while\s+\w+\s*:"):
        name = former.group().rstrip(": ").split()[-1]
        return Problem(
            f"while {name}: needs not or collect", span, f"write while {name}: collect …, or event {name}: …"
        )
    if place.found in _NOT_TAKEN_OVER:
        return Problem(f"`{place.found}` is not taken over from Xcerpt", span, _NOT_TAKEN_OVER[place.found])
    word = place.follows(r"(?<![\w-])(except|some|position|first)")
    if word:
        name = word.group(1)
        return Problem(f"`{name}` is not taken over from Xcerpt", span, _NOT_TAKEN_OVER[name])
    if place.follows(r"(?<![\w-])var\s+\w+") and place.found in "{[" and "ARROW" in place.expected:
        return Problem(
            "a variable cannot stand for a label", span, "any label is *: * {{ … }}; a term is var X -> * {{ … }}"
        )
    if place.found == "/" and "LABEL" in place.expected:
        return Problem("regular expressions are not taken over from Xcerpt", span, "compare values in where { … }")
    if place.found == ":" and place.follows(r"\bvar\s+\w+"):
        return Problem("a variable cannot stand for a namespace", span, "a label with a colon is written out: ns:temp")
    return None


def _hint(place: _Place) -> str | None:
    """How to mend it, from the most telling sign to the least."""
    for rule in (
        _hint_of_sql,
        _hint_of_hyphens,
        _hint_of_rules,
        _hint_of_timers,
        _hint_of_words,
        _hint_of_braces,
        _hint_in_conditions,
    ):
        hint = rule(place)
        if hint is not None:
            return hint
    return None


def _hint_of_sql(place: _Place) -> str | None:
    """What SQL has in expressions, and this language has not, or writes otherwise."""
    word, expected = place.found.lower(), place.expected
    if (word in ("null", "none") and "NUMBER" in expected) or (word == "is" and "COMPARE" in expected):
        return _NO_NULL
    if place.follows(r"\{\s*(?:null|NULL)") and "LBRACE" in expected:
        return _NO_NULL
    if word == "in" and "COMPARE" in expected:
        return "name each of them: or { var V = 1, var V = 2 }"
    if word == "distinct" or place.follows(r"\((?:\s*all)?\s*(?:distinct|DISTINCT)"):
        return _NO_DISTINCT
    if (word == "*" and place.follows(r"\w\s*\((?:\s*all)?")) or (word == ")" and place.follows(r"\(\s*all")):
        return _COUNT_EVENTS
    if place.follows(r"\b(?:begin|end|start)\s*\(") and "FUNCTION" in expected:
        return _NO_TIMES
    return None


def _hint_of_hyphens(place: _Place) -> str | None:
    """Variables with a hyphen in their name."""
    in_a_term = place.found == "-" and "ARROW" in place.expected
    name = place.follows(r"\bvar\s+(\w+)" if in_a_term else r"\bvar\s+(\w+)-(?:\s*var)?")
    return f"names have no -, which subtracts: write var {name.group(1)}_…" if name else None


def _hint_of_rules(place: _Place) -> str | None:
    """Slips between rules, and in what a rule consists of."""
    if place.found.upper() == "DETECT" and "END" in place.expected:
        return "every rule ends with END"
    if place.found.upper() in ("END", "DETECT", "ON") and "RBRACE" in place.expected:
        return "a `{` before it is not closed"
    if place.found in "}]" and "END" in place.expected:
        return "there is no brace to close; every rule ends with END"
    if place.expected <= {"DETECT", "$END"} and place.found.upper() not in _FOREIGN:
        close = nearest(place.found.upper(), ["DETECT"])
        return f"did you mean {close}?" if close else "a rule begins with DETECT"
    if place.found == "," and "END" in place.expected:
        return "several parts stand in and { …, … }"
    if place.found == "where" and place.follows("}"):
        return "there is one where { … }, its conditions are separated by commas"
    return None


def _hint_of_timers(place: _Place) -> str | None:
    """Slips around timers."""
    named = place.follows(r"timer:([\w-]+)")
    if named and named.group(1) in (*ast.RELATIVE, "periodic"):
        return "a timer has square brackets: timer:from-end [ event e, 12 sec ]"
    if named and place.found == "[":
        return None
    if place.follows(r"timer:[\w-]+\s*\[") and place.expected == {"EVENT"}:
        return "a timer names its event: timer:from-end [ event e, 12 sec ]"
    unknown = place.follows(r"(timer:[\w-]+)\s*\[")
    if unknown and unknown.group(1).removeprefix("timer:") in (*ast.RELATIVE, "periodic"):
        return f"a timer needs a name: event i: {unknown.group(1)} [ … ]"
    if unknown:
        kinds = [f"timer:{each}" for each in (*ast.RELATIVE, "periodic")]
        near = did_you_mean(unknown.group(1), [*kinds, *ast.ABSOLUTE])
        return f"there is no {unknown.group(1)}{near}"
    if place.expected == {"UNIT"}:
        return "a duration has a unit: 12 sec, 1 min 30 sec, 2 days"
    if place.expected == {"NUMBER"}:
        return "a duration is written 12 sec, 1 min 30 sec, 2 days"
    return None


def _hint_of_words(place: _Place) -> str | None:
    """Words of other languages, misspelt words, words of the language as names."""
    found = place.found
    former = place.follows(r"(?<![\w-])([A-Za-z]+)")
    if former and former.group(1).lower() in RESERVED and not former.group(1).islower():
        return f"all words but DETECT, ON and END are in lower case: {former.group(1).lower()}"
    if found.lower() in RESERVED and found.upper() in place.expected:
        return f"all words but DETECT, ON and END are in lower case: {found.lower()}"
    if (found.upper() in _FOREIGN and found.lower() not in RESERVED) or found in ("AND", "OR", "NOT"):
        return _FOREIGN[found.upper()]
    if found in ("and", "or") and "COMMA" in place.expected:
        return _FOREIGN[found.upper()]
    if found == "not" and "LABEL" in place.expected and "EVENT" in place.expected:
        return _FOREIGN["NOT"]
    if found in RESERVED and "LABEL" in place.expected and re.match(r"[{\[]", place.after):
        return f"`{found}` is a word of the language; as a label it is written in backticks"
    capital = re.search(r"\b(AND|And|OR|Or)\s*$", place.before[: unclosed(place.before)])
    if found in ("event", "while") and capital:
        return f"all words but DETECT, ON and END are in lower case: {capital.group(1).lower()} {{ … }}"
    if found in ("event", "while") and "LABEL" in place.expected:
        return "events are named in the body of a rule only, not within terms"
    if found in ("without", "optional") and "LABEL" in place.expected:
        return f"`{found}` stands before a child, within the braces of a term"
    if found == "all" and "FUNCTION" in place.expected:
        return "`all` stands before a child of a head, or within an aggregate: sum(all var A)"
    if found in RESERVED and place.expected == {"NAME"}:
        return f"`{found}` is a word of the language; choose another name"
    words = [name.lower() for name in place.expected if name not in _SYMBOLS and name.isupper()]
    words += list(_RELATIONS) if "RELATION" in place.expected else []
    close = nearest(found, words) if len(found) > 2 and found[0].isalpha() else None
    if close is None or close in ("name", "label", "number", "string", "unit", "function", "relation"):
        return None
    return f"did you mean {close.upper() if close in ('detect', 'on', 'end') else close}?"


_RELATIONS = dict.fromkeys((*ast.RELATIONS, *ast.RELATIONS.values(), "simultaneous", "within", "apart-by"))


def _hint_of_braces(place: _Place) -> str | None:
    """Braces that do not fit each other, or double ones where single ones stand."""
    if place.found == "{" and place.follows(r"\{") and "LABEL" in place.expected and "ALL" in place.expected:
        return "what a rule makes has single braces: fire { area { var A } }"
    if place.found == "[" and place.follows(r"\[") and "ALL" in place.expected:
        return "what a rule makes has single brackets: fire [ area [ var A ] ]"
    if place.found == "{" and place.follows(r"\b(?:and|or)\s*\{"):
        return "`and`, `or` and `where` have single braces"
    if re.match(r"[:=<>]", place.found) and {"LBRACE", "LSQB"} <= place.expected:
        return "what is in a child stands in braces: v {{ var V }} in a body, v { var V } in a head"
    if place.expected == {"RBRACE"}:
        return "`{{` is closed with `}}`"
    if place.expected == {"RSQB"}:
        return "`[[` is closed with `]]`"
    if place.found in "]}" and {"RBRACE", "RSQB"} & place.expected:
        return "`{` is closed with `}`, `[` with `]`"
    if place.found == "}" and place.follows(","):
        return "remove the comma before it"
    if place.expected == {"COLON"} or (place.found == ":" and place.expected == {"NAME"}):
        return "an event has a name and a colon: event e: temp {{ … }}"
    if {"LBRACE", "LSQB"} <= place.expected and "LABEL" not in place.expected:
        return "a label has children in braces, be there none: temp {{ }}"
    if place.found in ("var", '"', "'") or (place.found.isalnum() and "COMMA" in place.expected):
        return "children and conditions are separated by commas" if "COMMA" in place.expected else None
    return None


def _hint_in_conditions(place: _Place) -> str | None:
    """Slips in where { … }."""
    if place.follows(r"\bwhere"):
        return "conditions stand in braces: where { …, … }"
    if place.found == "," and "RELATION" in place.expected:
        return "several events stand in braces: {i, j} within 1 min"
    if place.expected >= {"RELATION"}:
        if re.match(r"[<>=!]", place.found) or place.found in "+-*/":
            return "a variable is written with var: var T > 40"
        return "events are compared by before, during, overlaps and so on: i before j"
    if re.match(r"[<>=!]", place.found) and "COMMA" in place.expected:
        return "comparisons are not chained; write them apart, separated by commas"
    if place.found == "(" and place.follows(r"\b(?:not|and|or)"):
        return "conditions are joined in braces: or { …, … }, not { … }"
    if place.found == "within" or place.found == "apart-by":
        return f"the events stand in braces: {{i, j}} {place.found} 1 min"
    if place.found == "while":
        return "`while` belongs to the body, before where"
    return None


_SKIPPED = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'|`(?:[^`]|``)*`|(?:--|#)[^\n]*")


def _bare(text: str) -> str:
    """The text without comments."""
    return _SKIPPED.sub(lambda match: "" if match.group()[0] in "-#" else match.group(), text)


def unclosed(text: str) -> int | None:
    """The place of the innermost brace or bracket that is never closed."""
    opened: list[int] = []
    for match in re.finditer(_SKIPPED.pattern + r"|[(){}\[\]]", text):
        if match.group() in "({[":
            opened.append(match.start())
        elif match.group() in ")}]" and opened:
            opened.pop()
    return opened[-1] if opened else None


def _readable(expected: Iterable[str]) -> str:
    """Names of terminals as a person would say them, the likeliest first."""
    names = set(expected)
    said: list[str] = []
    for telling, words, covered in _SAID:
        if telling <= names:
            said += words.split("|")
            names -= covered | telling
    said += [f"`{_SYMBOLS[name]}`" for name in _SYMBOLS if name in names]
    capital = ("DETECT", "ON", "END")
    said += [name for name in capital if name in names]
    said += sorted(
        name.lower().replace("_", "-")
        for name in names
        if name not in _SYMBOLS and name not in capital and name != "$END"
    )
    if "$END" in names:
        said.append("the end of the program")
    if len(said) == 1:
        return said[0]
    return ", ".join(said[:-1]) + f" or {said[-1]}" if said else "something else"


_VALUES = {"VAR", "NUMBER", "STRING", "TRUE", "FALSE", "MINUS"}
_TERM = _VALUES | {"LABEL", "QUOTED", "STAR", "DESC"}

# If all of these terminals are expected, say this (`|` stands between several things), and no more of those.
_SAID: tuple[tuple[set[str], str, set[str]], ...] = (
    ({"EVENT", "LABEL"}, "an event, `and` or `or`", _TERM | {"WHILE", "AND", "OR"}),
    ({"RELATIVE"}, "a term or a timer", _TERM | {"PERIODIC"}),
    ({"WITHOUT", "LABEL"}, "a child", _TERM | {"OPTIONAL"}),
    ({"FUNCTION", "LABEL"}, "a child|an expression", _VALUES | {"QUOTED", "LPAR", "ALL"}),
    ({"STAR", "LABEL"}, "a term", _TERM),
    ({"LABEL"}, "a label", {"QUOTED"}),
    ({"FUNCTION", "NAME"}, "a condition", _VALUES | {"LPAR", "NOT", "AND", "OR", "LBRACE"}),
    ({"FUNCTION"}, "a variable, a value or `(`", _VALUES | {"LPAR"}),
    ({"NAME"}, "a name", set()),
    ({"RELATION"}, "a relation such as `before` or `during`", set()),
    ({"COMPARE"}, "a comparison such as `=` or `<`", {"PLUS", "MINUS", "STAR", "SLASH"}),
    ({"NUMBER"}, "a number", set()),
    ({"UNIT"}, "a unit of time", set()),
)

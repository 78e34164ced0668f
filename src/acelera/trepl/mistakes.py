"""What a person needs to hear when a text is not a program: what was expected, what was found, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import lark

from acelera.errors import Problem, Span, nearest

RESERVED = frozenset(
    "begin end module monitor derived partition by as or and not is in between like null true false"
    " cast timestamp date interval".split()
)
"""Words that may be taken for something else where a name stands, unless they are in backticks."""

_A_RULE = "Name: (a(X), b(Y, Y.id = X.id)) -> write(X.id);"

_FOREIGN = {
    "where": "conditions stand in the brackets of an event: a(X, X.b > 1), or after it: (a(X), X.b > 1)",
    "if": "conditions stand in the brackets of an event: a(X, X.b > 1), or after it: (a(X), X.b > 1)",
    "when": "a rule begins with its name and the event: Name: a(X) -> …",
    "on": "a rule begins with its name and the event: Name: a(X) -> …",
    "then": "the actions of a rule follow an arrow: a(X) -> write(X.b)",
    "do": "the actions of a rule follow an arrow: a(X) -> write(X.b)",
    "select": "this looks like a query; a program is made of rules: Name: a(X) -> write(X.b)",
    "match": "this looks like a query; a program is made of rules: Name: a(X) -> write(X.b)",
    "detect": "this looks like XChangeEQ; here a rule is written Name: a(X) -> write(X.b)",
    "case": "there is no CASE; write two rules",
    "group": "events are grouped by partition by in the monitor statement, or by X.id = First(X.id) in a star",
    "within": "how long it may take is a condition: Y.Timestamp - X.Timestamp <= INTERVAL 2 HOURS",
    "else": "there is no else; write a second rule",
}
"""Words of other languages, and what is written here."""

_CHARACTERS = {
    "→": "an arrow is written ->",
    "⇒": "an arrow is written ->",
    "≥": "write >=",
    "≤": "write <=",
    "≠": "write <>",
    "“": "strings are written in straight quotes",
    "”": "strings are written in straight quotes",
    "‘": "strings are written in straight quotes",
    "’": "strings are written in straight quotes",
    "¬": "that an event does not happen is written !a",
    "~": "that an event does not happen is written !a",
    "|": "one of several events is written {a, b}; conditions are joined by OR",
    "#": "a comment begins with --",
    "?": 'parameters stand in a command of SQL: sql("… ? …", X.a)',
    "@": "a name that holds it is written in backticks",
    "$": "a name that holds it is written in backticks",
    "\\": "a name that holds it is written in backticks",
    "^": "there is no such operator",
}

_SYMBOLS = {
    "ARROW": "->",
    "COLON": ":",
    "RPAR": ")",
    "RSQB": "]",
    "RBRACE": "}",
    "COMMA": ",",
    "AMPERSAND": "&",
    "SEMICOLON": ";",
    "DOT": ".",
    "LPAR": "(",
    "LSQB": "[",
    "LBRACE": "{",
    "BANG": "!",
    "STAR": "*",
}


def explain_syntax_error(error: lark.UnexpectedInput, text: str) -> Problem:
    """The problem behind an error of the parser."""
    if re.fullmatch(r"\S+\.(?:trepl|sql|txt)", text.strip()):
        hint = f'read the file first: ac.trepl(Path("{text.strip()}").read_text())'
        return Problem("this is the name of a file, not a program", Span(0, len(text)), hint)
    if isinstance(error, lark.UnexpectedCharacters):
        return _bad_character(error.pos_in_stream or 0, text)
    assert isinstance(error, lark.UnexpectedToken)
    expected = set(error.accepts or error.expected)
    if error.token.type == "$END":
        return _unfinished(text, expected)
    return _unexpected(error.token.start_pos or 0, text, expected)


def _bad_character(offset: int, text: str) -> Problem:
    char, span = text[offset], Span(offset, offset + 1)
    if char == "'":
        return Problem("this string is never closed", span, "a quote within a string is doubled: 'it''s'")
    if char == '"':
        return Problem("this string is never closed", span, 'a quote within a string has a backslash: "say \\"a\\""')
    if char == "`":
        return Problem("this name is never closed, or is empty", span, "a name in backticks ends with a backtick")
    otherwise = None if char.isascii() else "a name that holds it is written in backticks"
    return Problem(f"the character {char!r} has no meaning here", span, _CHARACTERS.get(char, otherwise))


def _unfinished(text: str, expected: set[str]) -> Problem:
    bare = _bare(text)
    if not bare.strip():
        return Problem("the program is empty", Span(0, 0), f"a rule looks like {_A_RULE}")
    opened = _unclosed(text)
    if opened is not None:
        return Problem(f"this `{text[opened]}` is never closed", Span(opened, opened + 1))
    end = len(text.rstrip())
    place = _Place("", bare.rstrip(), "", expected)
    hint = "every module ends with End Module." if "END" in expected else _hint(place)
    return Problem(f"the program ends too early; expected {_readable(expected)}", Span(end, end + 1), hint)


class _Place(NamedTuple):
    """What was found where, and what could have stood there."""

    found: str
    before: str
    after: str
    expected: set[str]

    def follows(self, pattern: str) -> re.Match[str] | None:
        """Whether the text before ends so."""
        return re.search(f"(?:{pattern})$", self.before, re.IGNORECASE)

    @property
    def wants_name(self) -> bool:
        """Whether a name could stand here, and no value."""
        return "NAME" in self.expected and "NUMBER" not in self.expected

    @property
    def wants_value(self) -> bool:
        """Whether an expression or an event could begin here."""
        return "NUMBER" in self.expected and "NAME" in self.expected


_PIECE = re.compile(r"[^\W\d]\w*|\d+|->|=>|==|<=|>=|<>|!=|&&|\|\||//|/\*|.", re.DOTALL)


def _unexpected(begin: int, text: str, expected: set[str]) -> Problem:
    piece = _PIECE.match(text, begin)
    found = piece.group() if piece else text[begin : begin + 1]
    place = _Place(found, _bare(text[:begin]).rstrip(), text[begin + len(found) :].lstrip(), expected)
    opened = _unclosed(text[:begin])
    if opened is not None and (found == "->" or found.lower() in ("end", "begin")) and place.follows(r"[^,(\[{]"):
        hint = f"a `{text[opened]}` is closed before the arrow" if found == "->" else None
        return Problem(f"this `{text[opened]}` is never closed", Span(opened, opened + 1), hint)
    message = f"unexpected `{found}`; expected {_readable(expected)}"
    return Problem(message, Span(begin, begin + len(found)), _hint(place))


def _hint(place: _Place) -> str | None:
    """How to mend it, from the most telling sign to the least."""
    rules = (_hint_of_signs, _hint_of_statements, _hint_of_rules, _hint_of_brackets, _hint_of_values, _hint_of_words)
    return next((hint for rule in rules if (hint := rule(place)) is not None), None)


def _hint_of_signs(place: _Place) -> str | None:
    """Signs of other languages."""
    found = place.found
    if found == "=>" or (found in (">", ">=") and place.follows("=")):
        return "an arrow is written ->"
    if found == "==" or (found == "=" and place.follows("=")):
        return "equality is written ="
    if found.startswith("&") and place.follows("&"):
        return "events of one stage are joined by one &: a & b; conditions by AND"
    if found in ("//", "/*") or (found in ("/", "*") and place.follows("/")):
        return "a comment begins with --"
    if found == "=" and place.follows(":"):
        return "the name of a rule has a colon, without ="
    if found == ">" and place.follows(r"[\w)\]}]\s*\+\s*-"):
        return "repetition is written with a star before the event: * a(X)"
    if found == ">" and place.follows("-"):
        return "an arrow is written ->, without a blank"
    if place.follows(r"\|") and found == "|":
        return _CHARACTERS["|"]
    if place.follows(r"[\w)\]}]\s*\*") and found in (",", ")", "]", "}", "->", "&"):
        return "a star stands before what is repeated: * a(X)"
    if place.follows(r"[\w)\]}]\s*\+") and found in (",", ")", "]", "}", "->", "&"):
        return "repetition is written with a star before the event: * a(X)"
    return None


_STATEMENTS = ("begin", "end", "monitor", "derived", "partition")


def _hint_of_statements(place: _Place) -> str | None:
    """Slips in what stands around rules."""
    former = place.follows(r"(?<![\w.])([^\W\d]\w*)")
    word = former.group(1) if former else ""
    if re.search(r"\bbegin\s+module\s+(?:monitor|derived)\s+\w*$", place.before, re.IGNORECASE):
        return "the module has no name: Begin Module Name"
    if "MODULE" in place.expected:
        if place.found == ":":
            return f"`{word}` is a word of the language; as a name it is written in backticks"
        return f"write {word} Module"
    if place.found.lower() == "end" and place.after.startswith(":"):
        return f"`{place.found}` is a word of the language; as a name it is written in backticks"
    if place.expected <= {"BEGIN", "$END"}:
        return "rules stand between Begin Module and End Module, or in a program without modules"
    if place.expected == {"COLON"} and word.lower() == "begin":
        return "every module ends with End Module."
    if place.expected == {"COLON"} and word.lower() in _FOREIGN:
        return _FOREIGN[word.lower()]
    if re.match(r"partition\s+by\b", f"{place.found} {place.after}", re.IGNORECASE) or (
        word.lower() == "partition" and place.found.lower() == "by"
    ):
        return "`partition by` belongs to monitor, before its `;`: monitor a partition by k;"
    if place.expected == {"COLON"} and word.lower() in ("monitor", "derived", "partition"):
        return f"{word.lower()} stands before the rules"
    if place.expected == {"COLON"} and word and place.found not in ("(", "->"):
        close = nearest(word.lower(), _STATEMENTS)
        if close:
            return f"did you mean {close}?"
    if place.expected == {"BY"}:
        return "write partition by"
    if place.follows(r"\bderived\s+\w+") and "LPAR" in place.expected:
        return "a derived event has attributes: derived alarm(id, at)"
    return None


def _hint_of_rules(place: _Place) -> str | None:
    """Slips in the parts of a rule."""
    found, expected = place.found, place.expected
    if expected == {"COLON"} or (found in ("(", "[", "{", "*", "!", ":") and place.wants_name):
        return f"a rule begins with its name and a colon: {_A_RULE}"
    if found == "->" and "ARROW" not in expected and "SEMICOLON" in expected:
        return "a rule has one arrow; several actions are separated by commas"
    if found in (";", ".") and "ARROW" in expected:
        return "a sequence is written (a, b), or [a, b] if others may happen between; the actions follow ->"
    if found == "," and "ARROW" in expected:
        return "several goals stand in brackets: (a, b), [a, b] or {a, b}"
    if "MONITOR" in expected and not found:
        return f"a module has rules: {_A_RULE}"
    if "ARROW" in expected and (not found or found[0].isalpha()) and not _foreign(place):
        return "the actions of a rule follow an arrow: a(X) -> write(X.b)"
    if "SQL" in expected or (place.follows(r"->\s*\w+") and "LPAR" in expected):
        return _hint_of_actions(place)
    return None


def _hint_of_actions(place: _Place) -> str:
    word = place.follows(r"\b(insert|update|delete|select|merge|replace|drop|create|call)")
    if word or place.found.lower() in ("select", "merge"):
        return 'commands are insert into …, update … set … and delete from …; others are written sql("…", X.a)'
    return "an action has brackets: alarm(X.id), write(X.id)"


_CLOSING = {"(": ")", "[": "]", "{": "}"}


def _hint_of_brackets(place: _Place) -> str | None:
    """Brackets that do not fit each other, and what is missing in them."""
    found = place.found
    if found in (")", "]", "}", ";") and place.follows(","):
        return "remove the comma before it"
    if found == ")" and place.follows(r"\w\s*\("):
        return "an event has a variable, a(X), or stands alone without brackets; so does Count(X)"
    if found in (")", "]", "}") and place.follows(r"[(\[{]"):
        return "brackets hold at least one event"
    if found in (")", "]", "}") and {"RPAR", "RSQB", "RBRACE"} & place.expected:
        return "`(` is closed with `)`, `[` with `]`, `{` with `}`"
    if found in (")", "]", "}") and ("ARROW" in place.expected or "SEMICOLON" in place.expected):
        return "there is no bracket to close; those of the event are closed before the arrow"
    if found in (";", ".") and "RPAR" in place.expected:
        return "a `(` before it is not closed"
    return None


def _hint_of_values(place: _Place) -> str | None:
    """Slips in expressions."""
    found = place.found
    if found == "*" and place.follows(r"\bcount\s*\("):
        return "the events of a star are counted by its variable: Count(X)"
    if found == ")" and place.follows(r"\(\s*\*"):
        return "the events of a star are counted by its variable: Count(X)"
    if place.follows(r"\binterval") and found in ("'", '"'):
        return "a duration is written INTERVAL 2 HOURS"
    if place.follows(r"\binterval\s+(?:\d+\s+\w+\s+)*\d+"):
        return "a duration has a unit: INTERVAL 2 HOURS"
    if re.fullmatch(r"(?:milli)?seconds?|minutes?|hours?|days?", found.lower()) and place.follows(r"\d"):
        return "a duration is written INTERVAL 2 HOURS"
    if re.match(r"[<>=!]", found) and {"RPAR", "ARROW"} & place.expected:
        return "comparisons are not chained; write X.a BETWEEN 1 AND 2, or join two with AND"
    if found in ("'", '"') and place.follows(r"['\"]"):
        return "strings are joined by ||; a quote within one is doubled in '…', and has a backslash in \"…\""
    if place.follows(r"\.") and "NAME" in place.expected:
        return "a dot stands between a variable and an attribute: X.price"
    if place.expected == {"STRING"}:
        return "LIKE takes a pattern in quotes: X.name LIKE 'A%'"
    if place.follows(r"\bis") and "NULL" in place.expected:
        return "write IS NULL or IS NOT NULL; equality is written ="
    return None


def _hint_of_words(place: _Place) -> str | None:
    """Words of other languages, misspelt words, words of the language as names."""
    found = place.found.lower()
    former = place.follows(r"(?<![\w.])([^\W\d]\w*)")
    foreign = _foreign(place)
    if foreign is not None:
        return foreign
    if place.found in ("(", ".", ":") and former and former.group(1).lower() in RESERVED:
        return f"`{former.group(1)}` is a word of the language; as a name it is written in backticks"
    if found in RESERVED and place.wants_value:
        return f"something is missing before {place.found}"
    words = [name.lower() for name in place.expected if name.lower() in RESERVED]
    close = nearest(found, words) if len(found) > 2 and found[0].isalpha() else None
    if close:
        return f"did you mean {close}?"
    if found and (found[0].isalnum() or found in "'\"`") and "COMMA" in place.expected:
        return "goals and conditions are separated by commas"
    return None


def _foreign(place: _Place) -> str | None:
    """What to write instead of a word of another language, which stands here or just before."""
    former = place.follows(r"(?<![\w.])([^\W\d]\w*)")
    words = (place.found.lower(), former.group(1).lower() if former else "")
    return next((_FOREIGN[word] for word in words if word in _FOREIGN), None)


_SKIPPED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|`(?:[^`]|``)*`|--[^\n]*", re.DOTALL)


def _bare(text: str) -> str:
    """The text without comments."""
    return _SKIPPED.sub(lambda match: "" if match.group()[0] == "-" else match.group(), text)


def _unclosed(text: str) -> int | None:
    """The place of the innermost bracket that is never closed, since the last arrow."""
    opened: list[int] = []
    for match in re.finditer(_SKIPPED.pattern + r"|[(){}\[\]]|->", text, re.DOTALL):
        if match.group() == "->":
            opened = []
        elif match.group() in "({[":
            opened.append(match.start())
        elif match.group() in ")}]" and opened:
            opened.pop()
    return opened[-1] if opened else None


def _readable(expected: Iterable[str]) -> str:
    """Names of terminals as a person would say them, the likeliest first."""
    names = set(expected)
    if "PLUS" in names:
        names.discard("NUMBER")  # a duration may go on
    said: list[str] = []
    for telling, words, covered in _SAID:
        if telling <= names:
            said.append(words)
            names -= covered | telling
    operators = names & _OPERATORS if "PLUS" in names else set()
    names -= operators
    said += [f"`{_SYMBOLS[name]}`" for name in _SYMBOLS if name in names]
    said += sorted(_WORDS.get(name, name) for name in names if name not in _SYMBOLS and name != "$END")
    if operators:
        said.append("an operator")
    if "$END" in names:
        said.append("the end of the program")
    if len(said) == 1:
        return said[0]
    return ", ".join(said[:-1]) + f" or {said[-1]}" if said else "something else"


_WORDS = {
    **{name: name.capitalize() for name in ("BEGIN", "END", "MODULE")},
    **{name: name.lower() for name in ("MONITOR", "DERIVED", "PARTITION", "BY", "AS")},
    "COMPARISON": "a comparison",
    "CONCAT": "`||`",
}
_OPERATORS = set("AMPERSAND COMPARISON PLUS MINUS STAR SLASH PERCENT CONCAT IS IN BETWEEN LIKE NOT AND OR".split())
_VALUES = set("NAME QUOTED NUMBER STRING TRUE FALSE NULL TIMESTAMP DATE INTERVAL CAST MINUS LPAR LSQB LBRACE".split())
_EVENT = _VALUES | {"BANG", "STAR", "NOT"}

# If all of these terminals are expected, say this, and no more of those.
_SAID: tuple[tuple[set[str], str, set[str]], ...] = (
    ({"BEGIN", "MONITOR"}, "a module, a monitor statement or a rule", {"DERIVED", "NAME", "QUOTED"}),
    ({"MONITOR", "NAME"}, "monitor, derived or a rule", {"DERIVED", "QUOTED"}),
    ({"NAME", "BANG", "STAR"}, "an event or a condition", _EVENT),
    ({"NAME", "NUMBER"}, "a value", _VALUES | {"NOT"}),
    ({"SQL"}, "an action", {"NAME", "QUOTED"}),
    ({"NAME"}, "a name", {"QUOTED"}),
    ({"NUMBER"}, "a number", set()),
    ({"STRING"}, "a string", set()),
)

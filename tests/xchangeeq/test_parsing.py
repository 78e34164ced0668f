"""What the text of a program becomes, and what is said when it is none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.programs.problems import ProgramSyntaxError
from acelera.xchangeeq import ast
from acelera.xchangeeq.parser import parse_program
from xchangeeq.programs import P_WITHOUT_SPACES, TWELVE, P


def body(text: str) -> ast.Body:
    return parse_program(f"DETECT d {{ }} ON {text} END").rules[0].body


def query(text: str) -> ast.Query:
    event = body(text)
    assert isinstance(event, ast.Event)
    return event.query


def head(text: str) -> ast.Construct:
    return parse_program(f"DETECT {text} ON a {{{{ }}}} END").rules[0].head


def condition(text: str) -> ast.Condition:
    where = body(f"a {{{{ }}}} where {{ {text} }}")
    assert isinstance(where, ast.Where)
    return where.conditions[0]


def test_program_p_parses_as_printed() -> None:
    fire, burnt_down, average = parse_program(P).rules
    area = ast.Labelled("area", (ast.Binds("A"),))
    smoke = ast.Event("s", ast.Labelled("smoke", (area,)))
    temp = ast.Event("t", ast.Labelled("temp", (area, ast.Labelled("value", (ast.Binds("T"),)))))
    minute = ast.Duration(((1, "min"),))
    asked = (
        ast.Temporal("s", "before", "t"),
        ast.Within(("s", "t"), minute),
        ast.Comparison(">", ast.Variable("T"), ast.Literal(40)),
    )
    assert fire == ast.Rule(
        ast.Construct("fire", (ast.Construct("area", (ast.Variable("A"),)),)),
        ast.Where(ast.AllOf((smoke, temp)), asked),
    )
    assert isinstance(burnt_down.body, ast.Where) and isinstance(burnt_down.body.body, ast.AllOf)
    sensor = ast.Labelled("sensor", (ast.Binds("S"),))
    assert burnt_down.body.body.bodies[1:] == (
        ast.RelativeTimer("i", "from-end", "n", ast.Duration(((12, "s"),))),
        ast.While("i", True, ast.Labelled("temp", (sensor,))),
    )
    averaged = ast.Aggregate("avg", ast.All(ast.Variable("T")))
    assert average.head.children[1] == ast.Construct("value", (averaged,))


def test_program_p_parses_without_spaces() -> None:
    assert parse_program(P_WITHOUT_SPACES) == parse_program(P)


@pytest.mark.parametrize("name", TWELVE)
def test_the_programs_of_the_contract_parse(name: str) -> None:
    assert len(parse_program(TWELVE[name]).rules) == TWELVE[name].count("DETECT")


def test_nodes_know_their_place() -> None:
    text = "DETECT d { v { var V } } ON and { event i: a {{ v {{ var V }} }} } where { var V > 1 + 2 } END"
    rule = parse_program(text).rules[0]

    def shown(node: ast.Node) -> str:
        assert node.span is not None
        return text[node.span.start : node.span.end]

    assert shown(rule) == text
    assert shown(rule.head.children[0]) == "v { var V }"
    assert isinstance(rule.body, ast.Where) and isinstance(rule.body.body, ast.AllOf)
    assert shown(rule.body.body.bodies[0]) == "event i: a {{ v {{ var V }} }}"
    assert shown(rule.body.conditions[0]) == "var V > 1 + 2"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a {{ }}", ast.Labelled("a", ())),
        ("a { }", ast.Labelled("a", (), True)),
        ("a [[ ]]", ast.Labelled("a", (), False, True)),
        ("a [ ]", ast.Labelled("a", (), True, True)),
        ("* {{ }}", ast.Labelled(None, ())),
        ("a{{b{var X}}}", ast.Labelled("a", (ast.Labelled("b", (ast.Binds("X"),), True),))),
        ("a{b{{var X}}}", ast.Labelled("a", (ast.Labelled("b", (ast.Binds("X"),)),), True)),
        ("var X -> desc a {{ }}", ast.Binds("X", ast.Descendant(ast.Labelled("a", ())))),
        ("a {{ -1.5, true, 'it''s', \"b\" }}", ast.Labelled("a", tuple(map(ast.IsValue, (-1.5, True, "it's", "b"))))),
        (
            "a {{ without b {{ }}, optional c {{ }} }}",
            ast.Labelled("a", (ast.Without(ast.Labelled("b", ())), ast.Optional(ast.Labelled("c", ())))),
        ),
        ("net-log:in-out {{ }}", ast.Labelled("net-log:in-out", ())),
        ("`odd label``s` {{ }}", ast.Labelled("odd label`s", ())),
        (
            "order {{ end {{ }}, group {{ }}, before {{ }} }}",
            ast.Labelled("order", tuple(ast.Labelled(each, ()) for each in ("end", "group", "before"))),
        ),
        ("event-log {{ }}", ast.Labelled("event-log", ())),
        ("timer:date {{ }} -- a comment\n# and another\n", ast.Labelled("timer:date", ())),
    ],
)
def test_query_terms(text: str, found: ast.Query) -> None:
    assert query(text) == found


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("12 sec", ((12, "s"),)),
        ("12s", ((12, "s"),)),
        ("1min30sec", ((1, "min"), (30, "s"))),
        ("1.5 hours", ((1.5, "h"),)),
        (
            "2 weeks 1 day 3 h 4 minutes 5 seconds 6 ms",
            ((2, "week"), (1, "d"), (3, "h"), (4, "min"), (5, "s"), (6, "ms")),
        ),
        (
            "1 week 1 d 1 hour 1 minute 1 second 1 millisecond",
            tuple((1, unit) for unit in ("week", "d", "h", "min", "s", "ms")),
        ),
    ],
)
def test_durations(text: str, amounts: tuple[tuple[float, str], ...]) -> None:
    assert condition(f"{{i, j}} within {text}") == ast.Within(("i", "j"), ast.Duration(amounts))


@pytest.mark.parametrize("kind", ast.RELATIVE)
def test_relative_timers(kind: str) -> None:
    timer = ast.RelativeTimer("i", kind, "e", ast.Duration(((1, "h"),)))
    assert body(f"event i: timer:{kind} [ event e, 1 h ]") == timer


@pytest.mark.parametrize("relation", [*ast.RELATIONS, *ast.RELATIONS.values()])
def test_relations(relation: str) -> None:
    assert condition(f"i {relation} j") == ast.Temporal("i", relation, "j")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("i simultaneous j", ast.Temporal("i", "equals", "j")),
        ("{i, j, k} apart-by 1 h", ast.ApartBy(("i", "j", "k"), ast.Duration(((1, "h"),)))),
        ("var A-1 == 2", ast.Comparison("=", ast.Arithmetic("-", ast.Variable("A"), ast.Literal(1)), ast.Literal(2))),
        ("var A <> -2", ast.Comparison("!=", ast.Variable("A"), ast.Literal(-2))),
        (
            "1 + 2 * 3 >= -abs(var A)",
            ast.Comparison(
                ">=",
                ast.Arithmetic("+", ast.Literal(1), ast.Arithmetic("*", ast.Literal(2), ast.Literal(3))),
                ast.Negative(ast.Call("abs", (ast.Variable("A"),))),
            ),
        ),
        (
            "not { or { i before j, and { i after j } } }",
            ast.Not(ast.Either((ast.Temporal("i", "before", "j"), ast.Both((ast.Temporal("i", "after", "j"),))))),
        ),
    ],
)
def test_conditions(text: str, found: ast.Condition) -> None:
    assert condition(text) == found


def test_heads() -> None:
    variable = ast.Variable
    assert head(
        "d [ all v { var V } group by { var G } order by [ var O desc, var V asc ], n { count(all var V) } ]"
    ) == (
        ast.Construct(
            "d",
            (
                ast.All(
                    ast.Construct("v", (variable("V"),)),
                    (variable("G"),),
                    (ast.OrderKey(variable("O"), True), ast.OrderKey(variable("V"))),
                ),
                ast.Construct("n", (ast.Aggregate("count", ast.All(variable("V"))),)),
            ),
            True,
        )
    )


def test_words_of_rules_have_any_case_the_others_are_in_lower_case() -> None:
    assert parse_program("detect d { } On a {{ }} eNd") == parse_program("DETECT d { } ON a {{ }} END")
    with pytest.raises(ProgramSyntaxError, match="all words but DETECT, ON and END are in lower case: event"):
        parse_program("DETECT d { } ON EVENT i: a {{ }} END")


def test_nesting_has_no_limit() -> None:
    deep = 5_000
    assert len(parse_program(f"DETECT d {{ }} ON {'a{{' * deep}{'}}' * deep} END").rules) == 1
    assert len(parse_program(f"DETECT {'d{' * deep}{'}' * deep} ON a {{{{ }}}} END").rules) == 1


MISTAKES = [
    ("", 1, "the program is empty", "a rule looks like DETECT fire { area { var A } } ON smoke {{ … }} END"),
    ("-- nothing", 1, "the program is empty", "a rule looks like DETECT fire { area { var A } } ON smoke {{ … }} END"),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }}",
        50,
        "the program ends too early; expected END or where",
        "every rule ends with END",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} DETECT e { } ON b {{ }} END",
        51,
        "unexpected `DETECT`; expected END or where",
        "every rule ends with END",
    ),
    (
        "DETECT d { v { var V } } ON event i: var X as a {{ v {{ var V }} }} END",
        44,
        "`as` is not taken over from Xcerpt",
        "a term is bound with an arrow: var X -> temp {{ … }}",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V } }} END",
        50,
        "unexpected `END`; expected `}`",
        "a `{` before it is not closed",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} END",
        48,
        "unexpected `END`; expected `}` or `,`",
        "a `{` before it is not closed",
    ),
    (
        "DETECT d { v { var V } } ON a { v { var V } END",
        45,
        "unexpected `END`; expected `}` or `,`",
        "a `{` before it is not closed",
    ),
    (
        "DETECT d {{ v {{ var V }} }} ON a {{ v {{ var V }} }} END",
        11,
        "unexpected `{`; expected a child, an expression or `}`",
        "what a rule makes has single braces: fire { area { var A } }",
    ),
    (
        "DETECT d { v { var V } } ON and { event i: a {{ v {{ var V }} }}, event j: timer:from-end [ event i, 2 months ] } END",
        104,
        "months have no fixed length",
        "write days: 30 days",
    ),
    (
        "DETECT d { v { var V } } ON and { event i: a {{ v {{ var V }} }}, event j: timer:from-end [ i, 2 days ] } END",
        93,
        "unexpected `i`; expected event",
        "a timer names its event: timer:from-end [ event e, 12 sec ]",
    ),
    (
        "DETECT d { v { var V } } ON and { event i: a {{ v {{ var V }} }}, event j: timer:from-end { event i, 2 days } } END",
        91,
        "unexpected `{`; expected `[`",
        "a timer has square brackets: timer:from-end [ event e, 12 sec ]",
    ),
    (
        "DETECT d { v { var V } } ON and { event i: a {{ v {{ var V }} }}, event j: timer:from-ends [ event i, 2 days ] } END",
        94,
        "unexpected `event`; expected a child, `[` or `]`",
        "there is no timer:from-ends; did you mean `timer:from-end`?",
    ),
    (
        "DETECT d { v { var V } } ON and { event i: a {{ v {{ var V }} }}, timer:from-end [ event i, 2 days ] } END",
        84,
        "unexpected `event`; expected a child, `[` or `]`",
        "a timer needs a name: event i: timer:from-end [ … ]",
    ),
    (
        "DETECT d { v { var V } } ON and { event i: a {{ v {{ var V }} }}, event j: timer:from-end [ event i, 2 ] } END",
        104,
        "unexpected `]`; expected a unit of time",
        "a duration has a unit: 12 sec, 1 min 30 sec, 2 days",
    ),
    (
        "DETECT d { v { var V } } ON and { event i: a {{ v {{ var V }} }}, event j: timer:from-end [ event i, 2 dayz ] } END",
        104,
        "`dayz` is not a unit; did you mean `day`?",
        "the units are ms, sec, min, hour, day, week",
    ),
    (
        "DETECT d { v { var V } } ON and { event i: a {{ v {{ var V }} }}, while i: b {{ }} } END",
        76,
        "while i: needs not or collect",
        "write while i: collect …, or event i: …",
    ),
    (
        "DETECT d { v { var V } } ON and { event i: a {{ v {{ var V }} }}, not b {{ }} } END",
        67,
        "unexpected `not`; expected an event, `and` or `or`",
        "absence needs a window: event i: timer:from-end [event e, 1 min], while i: not temp {{ }}",
    ),
    (
        "DETECT d { v { var V } } ON a {{ except v {{ var V }} }} END",
        41,
        "`except` is not taken over from Xcerpt",
        "there is no `except`; name the children that are wanted",
    ),
    (
        "DETECT d { v { var V } } ON a {{ position 2 v {{ var V }} }} END",
        43,
        "`position` is not taken over from Xcerpt",
        "there is no `position`; the order of children is asked for by [[ … ]]",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ /.*/ }} }} END",
        39,
        "regular expressions are not taken over from Xcerpt",
        "compare values in where { … }",
    ),
    (
        "DETECT d { v { var V } } ON var L {{ v {{ var V }} }} END",
        35,
        "a variable cannot stand for a label",
        "any label is *: * {{ … }}; a term is var X -> * {{ … }}",
    ),
    (
        "DETECT d { v { var V } } ON a {{ ^ref }} END",
        34,
        "the character '^' has no meaning here",
        "references are not taken over from Xcerpt",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var ns:V }} }} END",
        45,
        "a variable cannot stand for a namespace",
        "a label with a colon is written out: ns:temp",
    ),
    (
        "DETECT d { some v { var V } } ON a {{ v {{ var V }} }} END",
        17,
        "`some` is not taken over from Xcerpt",
        "there is no `some`; `all` gives every instance",
    ),
    (
        "DETECT d { except v { var V } } ON a {{ v {{ var V }} }} END",
        19,
        "`except` is not taken over from Xcerpt",
        "there is no `except`; name the children that are wanted",
    ),
    (
        "DETECT d { some 3 v { var V } } ON a {{ v {{ var V }} }} END",
        17,
        "`some` is not taken over from Xcerpt",
        "there is no `some`; `all` gives every instance",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { V > 3 } END",
        61,
        "unexpected `>`; expected a relation such as `before` or `during`",
        "a variable is written with var: var T > 40",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { var V > 3 and var V < 5 } END",
        69,
        "unexpected `and`; expected `}`, `,`, `+`, `-`, `*` or `/`",
        "`and` is written before what it joins: and { …, … }",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { 1 < var V < 5 } END",
        69,
        "unexpected `<`; expected `}`, `,`, `+` or `-`",
        "comparisons are not chained; write them apart, separated by commas",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }}, b {{ }} END",
        50,
        "unexpected `,`; expected END",
        "several parts stand in and { …, … }",
    ),
    (
        "DETECT d { v { var V } } ON event i: a {{ v {{ var V }} }} AND event j: b {{ }} END",
        60,
        "unexpected `AND`; expected END or where",
        "`and` is written before what it joins: and { …, … }",
    ),
    (
        "DETECT d { v { var V } } ON event i a {{ v {{ var V }} }} END",
        37,
        "unexpected `a`; expected `:`",
        "an event has a name and a colon: event e: temp {{ … }}",
    ),
    (
        "DETECT d { v { var V } } ON event: a {{ v {{ var V }} }} END",
        34,
        "unexpected `:`; expected a name",
        "an event has a name and a colon: event e: temp {{ … }}",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { i befor j } END",
        61,
        "unexpected `befor`; expected a relation such as `before` or `during`",
        "did you mean before?",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { i, j within 3 min } END",
        60,
        "unexpected `,`; expected a relation such as `before` or `during`",
        "several events stand in braces: {i, j} within 1 min",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { not (i before j) } END",
        63,
        "unexpected `(`; expected `{`",
        "conditions are joined in braces: or { …, … }, not { … }",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { med(var V) > 3 } END",
        59,
        "there is no function `med`",
        "there are abs, floor, ceil, lower, upper, length, coalesce, count, sum, avg, min, max",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { sum(var V) > 3 } END",
        59,
        "sum takes all values of something",
        "over all values it is sum(all …), over one there is nothing to compute",
    ),
    (
        'DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { var V > "x } END',
        67,
        "this string is never closed",
        'a quote within a string is doubled: ""',
    ),
    ("DETCT d { } ON a {{ }} END", 1, "unexpected `DETCT`; expected DETECT", "did you mean DETECT?"),
    ("SELECT * MATCH A", 1, "unexpected `SELECT`; expected DETECT", "a rule is written DETECT head ON body END"),
    ("DETECT d { } FROM a {{ }} END", 14, "`FROM` is not taken over from Xcerpt", "the body of a rule begins with ON"),
    (
        "DETECT d { } ON a {{ }} END;",
        28,
        "the character ';' has no meaning here",
        "rules stand one after the other, each from DETECT to END; parts are separated by commas",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} w {{ }} }} END",
        48,
        "unexpected `w`; expected `}` or `,`",
        "children and conditions are separated by commas",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }}, }} END",
        49,
        "unexpected `}`; expected a child",
        "remove the comma before it",
    ),
    (
        "DETECT d { v { var V } } ON a END",
        31,
        "unexpected `END`; expected `{` or `[`",
        "a label has children in braces, be there none: temp {{ }}",
    ),
    (
        "DETECT d { v { var V } ON a {{ }} END",
        24,
        "unexpected `ON`; expected `}` or `,`",
        "a `{` before it is not closed",
    ),
    (
        "DETECT d { v { var V } } ON a {{ event {{ var V }} }} END",
        34,
        "unexpected `event`; expected a child or `}`",
        "`event` is a word of the language; as a label it is written in backticks",
    ),
    (
        "DETECT d { v { var V } } ON and { a {{ without v {{ var V }} }}, without b {{}} } END",
        66,
        "unexpected `without`; expected an event, `and` or `or`",
        "`without` stands before a child, within the braces of a term",
    ),
    (
        "DETECT d { v { var V } } ON a [[ v {{ var V }} ]} END",
        49,
        "unexpected `}`; expected `]`",
        "`[[` is closed with `]]`",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { var V > 3 } where { var V < 3 } END",
        71,
        "unexpected `where`; expected END",
        "there is one where { … }, its conditions are separated by commas",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }}} END",
        50,
        "unexpected `}`; expected END",
        "there is no brace to close; every rule ends with END",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { var V ≥ 3 } END",
        65,
        "the character '≥' has no meaning here",
        "write >=",
    ),
    (
        "DETECT d { v { var V } } ON event all: a {{ v {{ var V }} }} END",
        35,
        "unexpected `all`; expected a name",
        "`all` is a word of the language; choose another name",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v { var V.x } }} END",
        43,
        "the character '.' has no meaning here",
        "children are named by nested terms: area {{ zip {{ var Z }} }}",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} END END",
        55,
        "unexpected `END`; expected DETECT or the end of the program",
        "a rule begins with DETECT",
    ),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where { var V > 99999999999999999999 } END",
        67,
        "this number is too large",
        "whole numbers have 64 bits; write it as 1e20",
    ),
    (" x", 2, "unexpected `x`; expected DETECT", "a rule begins with DETECT"),
    (
        "DETECT d { v { var V } } ON a {{ v {{ var V }} }} where var V > 3 END",
        57,
        "unexpected `var`; expected `{`",
        "conditions stand in braces: where { …, … }",
    ),
    ("DETECT d { } ON a {{ v {{ var V }}", 19, "this `{{` is never closed", None),
    ("DETECT d { } ON a {{ v {{ var V }} }", 19, "this `{` is never closed", None),
    ("DETECT d { } ON a { v {", 23, "this `{` is never closed", None),
    ("DETECT d { } ON a {{ }} where { sum(", 36, "this `(` is never closed", None),
    ("DETECT d", 9, "the program ends too early; expected `{` or `[`", None),
    (
        "DETECT d { } ON and {{ a {{ }} }} END",
        22,
        "unexpected `{`; expected an event, `and` or `or`",
        "`and`, `or` and `where` have single braces",
    ),
    (
        "DETECT d { } ON event i: timer:from-end [ event e, 1 min 30 ] END",
        61,
        "unexpected `]`; expected a unit of time",
        "a duration has a unit: 12 sec, 1 min 30 sec, 2 days",
    ),
    (
        "DETECT d { } ON event i: timer:from-end [ event e, one min ] END",
        52,
        "unexpected `one`; expected a number",
        "a duration is written 12 sec, 1 min 30 sec, 2 days",
    ),
    (
        "DETECT d { } ON event i: timer:periodic [ 0 s ] END",
        43,
        "a period of no length would happen without end",
        "write timer:periodic [ 1 min ]",
    ),
    (
        "DETECT d { } ON a {{ var X as b {{ }} }} END",
        28,
        "`as` is not taken over from Xcerpt",
        "a term is bound with an arrow: var X -> temp {{ … }}",
    ),
    (
        "DETECT d { } ON a {{ b }} END",
        24,
        "unexpected `}`; expected `{` or `[`",
        "a label has children in braces, be there none: temp {{ }}",
    ),
    (
        "DETECT d { } ON a {{ b = 3 }} END",
        24,
        "unexpected `=`; expected `{` or `[`",
        "what is in a child stands in braces: v {{ var V }} in a body, v { var V } in a head",
    ),
    (
        "DETECT d { } ON a {{ b: 3 }} END",
        23,
        "unexpected `:`; expected `{` or `[`",
        "what is in a child stands in braces: v {{ var V }} in a body, v { var V } in a head",
    ),
    (
        "DETECT d { v: var V } ON a {{ }} END",
        13,
        "unexpected `:`; expected `{` or `[`",
        "what is in a child stands in braces: v {{ var V }} in a body, v { var V } in a head",
    ),
    ("DETECT d { all } ON a {{ }} END", 16, "unexpected `}`; expected a child or an expression", None),
    (
        "DETECT d ( ) ON a {{ }} END",
        10,
        "unexpected `(`; expected `{` or `[`",
        "a label has children in braces, be there none: temp {{ }}",
    ),
    (
        "DETECT d { } ON while i: not a {{ }}, event i: b {{ }} END",
        37,
        "unexpected `,`; expected END",
        "several parts stand in and { …, … }",
    ),
    (
        "DETECT d { } ON a {{ }} where { i before j within 3 s } END",
        44,
        "unexpected `within`; expected `}` or `,`",
        "how long it may take is a condition: … where { {i, j} within 1 min }",
    ),
    ("DETECT d { } ON a {{ }} where { {i, j} < 3 s } END", 40, "unexpected `<`; expected apart-by or within", None),
    (
        "DETECT d { } ON a {{ }} where { var X > 3 sec } END",
        43,
        "unexpected `sec`; expected `}`, `,`, `+`, `-`, `*` or `/`",
        "children and conditions are separated by commas",
    ),
    (
        "DETECT d { } ON a {{ }} where { var X like 'a' } END",
        39,
        "unexpected `like`; expected a comparison such as `=` or `<`",
        None,
    ),
    (
        " rules/cold.xceq\n",
        1,
        "this is the name of a file, not a program",
        'read the file first: ac.xchangeeq(Path("rules/cold.xceq").read_text())',
    ),
]


@pytest.mark.parametrize(("text", "column", "message", "hint"), MISTAKES)
def test_mistakes(text: str, column: int, message: str, hint: str | None) -> None:
    with pytest.raises(ProgramSyntaxError) as caught:
        parse_program(text)
    problem = caught.value.problems[0]
    assert (caught.value.column, problem.message, problem.hint) == (column, message, hint)


NO_TIMES = "expressions cannot read the times of events; copy the time into a column of data, and bind that"
NO_NULL = "there is no null; that a child is missing is written without: temp {{ without value {{ }} }}"
NO_DISTINCT = "all v { var V } in a head has each value once; count these in a second rule"
COUNTED = "events are counted by count(all var X), with while w: collect var X -> ping {{ }}"
HYPHEN = "names have no -, which subtracts: write var my_…"
FOREIGN = {
    "DETECT d { } ON a {{ b {{ }} }} where { i.begin > 5 } END": NO_TIMES,
    "DETECT d { at { i . end } } ON a {{ }} END": NO_TIMES,
    "DETECT d { at { begin(i) } } ON a {{ }} END": NO_TIMES,
    "DETECT d { } ON a {{ }} where { i.value > 5 } END": "children are named by nested terms: area {{ zip {{ var Z }} }}",
    "DETECT d { } ON a {{ }} where { var V = null } END": NO_NULL,
    "DETECT d { } ON a {{ }} where { var V IS NOT NULL } END": NO_NULL,
    "DETECT d { } ON a {{ v {{ NULL }} }} END": NO_NULL,
    "DETECT d { n { count(*) } } ON a {{ }} END": COUNTED,
    "DETECT d { n { count(all *) } } ON a {{ }} END": COUNTED,
    "DETECT d { n { count(all) } } ON a {{ }} END": COUNTED,
    "DETECT d { n { count(all distinct var V) } } ON a {{ }} END": NO_DISTINCT,
    "DETECT d { n { count(DISTINCT var V) } } ON a {{ }} END": NO_DISTINCT,
    "DETECT d { } ON a {{ }} where { var V in (1, 2) } END": "name each of them: or { var V = 1, var V = 2 }",
    "DETECT d { v { var my-var } } ON a {{ }} END": HYPHEN,
    "DETECT d { v { var my-own } } ON a {{ }} END": HYPHEN,
    "DETECT d { } ON a {{ v {{ var my-var }} }} END": HYPHEN,
    "DETECT d { } ON AND { event a: a {{ }} } END": "all words but DETECT, ON and END are in lower case: and { … }",
    "DETECT d { } ON Or { a {{ }}, while i: not b {{ }} } END": (
        "all words but DETECT, ON and END are in lower case: or { … }"
    ),
    "DETECT d { } ON AND {{ a {{ }}, b {{ event i: c }} }} END": (
        "events are named in the body of a rule only, not within terms"
    ),
}
"""What other languages have, and what is said of it."""


@pytest.mark.parametrize("text", FOREIGN)
def test_what_other_languages_have(text: str) -> None:
    with pytest.raises(ProgramSyntaxError) as caught:
        parse_program(text)
    assert caught.value.problems[0].hint == FOREIGN[text]


def test_a_mistake_is_shown_with_its_line() -> None:
    with pytest.raises(ProgramSyntaxError) as caught:
        parse_program("DETECT d { }\nON a {{ }}\nDETECT e { } ON b {{ }} END")
    assert str(caught.value) == (
        "line 3, column 1: unexpected `DETECT`; expected END or where\n"
        "  DETECT e { } ON b {{ }} END\n"
        "  ^^^^^^\n"
        "  hint: every rule ends with END"
    )


TOKENS = """
    DETECT ON END and or not event while collect where var desc without optional all true false group order by asc within
    apart-by timer:from-end timer:periodic timer:date before during { } {{ }} [ ] [[ ]] ( ) : , -> + - * / = < >= != 1 2.5
    12sec min "s" 's' `q` a b-c ns:d i X count( abs( sum( -- # except position some as ^ @ ; " ' é ` \n
""".split(" ")
PROGRAM = re.findall(r"[\w:-]+|\s+|.", P)


@pytest.mark.property
@given(st.lists(st.sampled_from(TOKENS), max_size=12), st.integers(0, len(PROGRAM)), st.integers(0, 3))
def test_any_text_parses_or_is_refused_with_a_place(tokens: list[str], place: int, taken: int) -> None:
    text = "".join(PROGRAM[:place]) + " ".join(tokens) + "".join(PROGRAM[place + taken :])
    try:
        parse_program(text)
    except ProgramSyntaxError as error:
        problem = error.problems[0]
        assert problem.span is not None and 0 <= problem.span.start <= len(text)
        assert not re.search(r"\b[A-Z_]{2,}\b", re.sub(r"`[^`]*`|DETECT|ON|END", "", problem.message))

"""What the text of a program becomes, and what is said when it is none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.language.ast import Attribute, Between, Binary, Call, Date, Expression, Interval, IsNull, Literal, Unary
from acelera.programs.problems import ProgramSyntaxError
from acelera.trepl import ast
from acelera.trepl.parser import parse
from trepl.programs import EXAMPLES, TEN


def rule(text: str) -> ast.Rule:
    (module,) = parse(f"monitor e; {text}").program.modules
    return module.rules[0]


def goal(text: str) -> ast.Goal:
    return rule(f"R: {text} -> write(1)").goal


def action(text: str, event: str = "(a(X), * b(Y))") -> ast.Act | ast.Command:
    return rule(f"R: {event} -> {text}").actions[-1]


def x(attribute: str, variable: str = "X") -> Attribute:
    return Attribute(variable, attribute)


def event(name: str, variable: str | None = None, condition: Expression | None = None) -> ast.Named:
    return ast.Named(None, None, name, variable, condition)


A, B, C = event("a"), event("b"), event("c")
BIG = Binary(">", x("v"), Literal(1))
SMALL = Binary("<", x("w"), Literal(2))


# --- examples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", EXAMPLES)
def test_the_examples_of_the_paper_parse_as_printed(number: str) -> None:
    parsed = parse(EXAMPLES[number])
    said = [problem.message for problem in parsed.warnings]
    assert said == {"8": ["module Main has no monitor statement"], "10": ["this `(` is never closed"] * 2}.get(
        number, []
    )
    assert len(parsed.program.modules[0].rules) == EXAMPLES[number].count("->")


@pytest.mark.parametrize("name", TEN)
def test_the_programs_of_the_contract_parse(name: str) -> None:
    parsed = parse(TEN[name])
    assert parsed.warnings == ()
    assert sum(len(module.rules) for module in parsed.program.modules) == TEN[name].count("->")


def test_example_2() -> None:
    (module,) = parse(EXAMPLES["2"]).program.modules
    assert module == ast.Module(
        "MyModule",
        (
            ast.Source("update", None, "stock_tick", "st"),
            ast.Source("insert", None, "owns"),
            ast.Source("update", None, "owns"),
        ),
        (),
        (ast.Declared("ibm_tick", ("ID", "Price")),),
        (
            ast.Rule(
                "IBM_StockTicks",
                event("st", "X", Binary("=", x("ID"), Literal("IBM"))),
                (ast.Act("ibm_tick", (x("ID"), x("Price"))),),
            ),
        ),
    )


def test_example_7() -> None:
    (module,) = parse(EXAMPLES["7"]).program.modules
    y = Attribute("Y", "Price")
    first = Binary("=", x("ID"), Call("first", (x("ID"),)))
    rising = Binary(">", x("Price"), Call("last", (x("Price"),)))
    falling = Binary("AND", Binary("=", Attribute("Y", "ID"), x("ID")), Binary("<", y, x("Price")))
    enough = Binary(">=", Call("count", (x("ID"),)), Literal(30))
    assert module.name == "Main"
    assert module.rules[0].goal == ast.Sequence(
        (
            ast.Star(event("st_cl", "X", Binary("AND", first, rising))),
            event("st_cl", "Y", Binary("AND", falling, enough)),
        )
    )
    assert module.rules[0].actions[0].arguments[0] == Literal("Good Phase for %s, from %s to %s\n")


def test_the_expressions_of_examples_12_to_14() -> None:
    assert goal("(upd(owns(X), q1(X)), upd(owns(Y), q2(X, Y)))") == ast.Sequence(
        (
            ast.Named("update", None, "owns", "X", Call("q1", (Attribute(None, "X"),))),
            ast.Named("update", None, "owns", "Y", Call("q2", (Attribute(None, "X"), Attribute(None, "Y")))),
        )
    )
    thirteenth = goal("( st_cl(X, X.Price > 50),\n * st_cl(Y, Y.Price > 40),\n Y.Price = Max(Y.Price)\n)")
    assert isinstance(thirteenth, ast.Sequence)
    assert [type(each) for each in thirteenth.goals] == [ast.Named, ast.Star, ast.Test]
    fourteenth = goal("(upd(A(X), qa(X)), * (* ins(B(Y), qb(X, Y)), del(C(Z), qc(X, Z))), upd(D(V), qd(X, V)))")
    assert isinstance(fourteenth, ast.Sequence)
    star = fourteenth.goals[1]
    assert isinstance(star, ast.Star) and isinstance(star.goal, ast.Sequence)
    assert isinstance(star.goal.goals[0], ast.Star)


# --- events and conditions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a", A),
        ("((a))", A),
        ("[a]", A),
        ("{a}", ast.Either((A,))),
        ("ANY", ast.Any()),
        ("`any`", event("any")),
        ("Watch.alarm", ast.Named(None, "Watch", "alarm")),
        ("Watch.alarm(X, X.v > 1)", ast.Named(None, "Watch", "alarm", "X", BIG)),
        ("DEL(a)", ast.Named("delete", None, "a")),
        ("ins(a(X), X.v > 1, X.w < 2)", ast.Named("insert", None, "a", "X", Binary("AND", BIG, SMALL))),
        ("Update(a, 1 = 1)", ast.Named("update", None, "a", None, Binary("=", Literal(1), Literal(1)))),
        ("`update`(X)", event("update", "X")),
        ("a(X, X.v > 1 AND X.w < 2)", event("a", "X", Binary("AND", BIG, SMALL))),
        ("a(X, (X.v > 1, X.w < 2))", event("a", "X", Binary("AND", BIG, SMALL))),
        ("a(X, NOT (X.v > 1, X.w < 2))", event("a", "X", Unary("NOT", Binary("AND", BIG, SMALL)))),
        ("a(X, starts(X.v))", event("a", "X", Call("starts", (x("v"),)))),
        ("!a", ast.Not(A)),
        ("!!a", ast.Not(ast.Not(A))),
        ("* : a", ast.Star(A, True)),
        ("*:a", ast.Star(A, True)),
        ("*!a & b", ast.Both((ast.Star(ast.Not(A)), B))),
        ("a & b & c", ast.Both((A, B, C))),
        ("(a & b) & c", ast.Both((ast.Both((A, B)), C))),
        ("*(a & b)", ast.Star(ast.Both((A, B)))),
        ("[a, (b, c)]", ast.Sequence((A, ast.Sequence((B, C))), True)),
        ("{a, [b, c]}", ast.Either((A, ast.Sequence((B, C), True)))),
        ("First((a, b))", ast.First(ast.Sequence((A, B)))),
        ("prior(a, first(b))", ast.Prior(A, ast.First(B))),
        ("`first`(X)", event("first", "X")),
        ("(a(X), X.v > 1)", ast.Sequence((event("a", "X"), ast.Test(BIG)))),
        ("(a(X), ((X.v > 1)))", ast.Sequence((event("a", "X"), ast.Test(BIG)))),
        ("(a(X), (X.v > 1, X.w < 2))", ast.Sequence((event("a", "X"), ast.Test(Binary("AND", BIG, SMALL))))),
        ("[a(X), X.v > 1, X.w < 2]", ast.Sequence((event("a", "X"), ast.Test(BIG), ast.Test(SMALL)), True)),
        ("(a(X), X.v IS NULL)", ast.Sequence((event("a", "X"), ast.Test(IsNull(x("v")))))),
        ("(a(X), NOT f(X.v))", ast.Sequence((event("a", "X"), ast.Test(Unary("NOT", Call("f", (x("v"),))))))),
        (
            "(a(X), (X.v + 1) * 2 BETWEEN 1 AND 3)",
            ast.Sequence(
                (
                    event("a", "X"),
                    ast.Test(
                        Between(Binary("*", Binary("+", x("v"), Literal(1)), Literal(2)), Literal(1), Literal(3))
                    ),
                )
            ),
        ),
        ("(a(X), First(X.v) > 1)", ast.Sequence((event("a", "X"), ast.Test(Binary(">", Call("first", (x("v"),)), Literal(1)))))),
    ],
)  # fmt: skip
def test_goals(text: str, found: ast.Goal) -> None:
    assert goal(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("'it''s'", Literal("it's")),
        (r'"a\tb\"c\\\x41\101\n"', Literal('a\tb"c\\AA\n')),
        ("X.end", x("end")),
        ("X.`odd name`", x("odd name")),
        ("INTERVAL 2 HOURS", Interval(2, "hours")),
        ("INTERVAL 1 MINUTE 30 SECONDS", Interval(90, "seconds")),
        ("date '2024-01-31'", Date("2024-01-31")),
        ('DATE "2024-01-31"', Date("2024-01-31")),
        ("X.Month + 1 -- a comment\n", Binary("+", x("Month"), Literal(1))),
        ("COUNT(X)", Call("count", (Attribute(None, "X"),))),
        ("1 - -2", Binary("-", Literal(1), Literal(-2))),
        ("X.v % 10 = 0 or null is not null", Binary("OR", Binary("=", Binary("%", x("v"), Literal(10)), Literal(0)), IsNull(Literal(None), True))),
    ],
)  # fmt: skip
def test_expressions(text: str, found: Expression) -> None:
    assert action(f"write({text})") == ast.Act("write", (found,))


# --- statements -------------------------------------------------------------------------------------------------------


def test_words_have_any_case_names_have_not() -> None:
    one = "BEGIN MODULE m MONITOR UPDATE(a) AS b PARTITION BY k DERIVED d(v) r: FIRST(b(X)) -> d(X.v) END MODULE"
    other = "begin module m monitor upd(a) as b partition by k; derived d(v); r: first(b(X)) -> d(X.v); end module."
    assert parse(one) == parse(other)
    assert parse(one.replace("b(X)", "B(X)")) != parse(other)


def test_statements_may_be_repeated_and_need_no_end() -> None:
    (module,) = parse(
        "monitor a derived d(v) monitor W.b as c partition by k, l\nR: a -> d(1), d(2)\nS: c -> e()."
    ).program.modules
    assert module.monitored == (ast.Source(None, None, "a"), ast.Source(None, "W", "b", "c"))
    assert module.partition == ("k", "l")
    assert module.derived == (ast.Declared("d", ("v",)),)
    assert [len(each.actions) for each in module.rules] == [2, 1]


def test_words_are_names_where_nothing_else_can_stand() -> None:
    (module,) = parse(
        "monitor end as by; derived module(as, by); and: by(in, in.not = 1) -> module(in.is, 1)"
    ).program.modules
    assert module.rules[0].goal == event("by", "in", Binary("=", Attribute("in", "not"), Literal(1)))


def test_nodes_know_their_place() -> None:
    text = "monitor a as b; derived d(v);\nR: (b(X, X.v > 1, X.w < 2), * !c, Count(X) = 5)\n  -> d(Max(X.v)), delete from t where i = X.v;"
    (module,) = parse(text).program.modules
    rule = module.rules[0]

    def shown(node: ast.Node) -> str:
        assert node.span is not None
        return text[node.span.start : node.span.end]

    assert isinstance(rule.goal, ast.Sequence)
    first, star, test = rule.goal.goals
    assert isinstance(first, ast.Named) and first.condition is not None
    assert shown(module.monitored[0]) == "a as b"
    assert shown(module.derived[0]) == "d(v)"
    assert shown(rule).startswith("R: (b(X") and shown(rule).endswith("X.v;")
    assert shown(first) == "b(X, X.v > 1, X.w < 2)"
    assert shown(first.condition) == "X.v > 1, X.w < 2"
    assert shown(star) == "* !c"
    assert shown(test) == "Count(X) = 5"
    assert shown(rule.actions[0].arguments[0]) == "Max(X.v)"
    assert shown(rule.actions[1]) == "delete from t where i = X.v"
    assert shown(rule.actions[1].arguments[0]) == "X.v"


def test_nesting_has_no_limit() -> None:
    deep = 3_000
    for opening, closing in (("(", ")"), ("[!", "]"), ("*{", "}"), ("first(", ")"), ("prior(a, ", ")")):
        assert isinstance(goal(opening * deep + "a" + closing * deep), ast.Goal)
    assert isinstance(goal(f"a(X, {'f(' * deep}X.v{')' * deep} > {'(' * deep}1{')' * deep})"), ast.Goal)


# --- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "text", "arguments"),
    [
        ("insert into t values (X.v, Y.w)", "insert into t values (?, ?)", (x("v"), x("w", "Y"))),
        ("INSERT  INTO t SELECT t.v, Z.w FROM s.Z WHERE v = X.v", "INSERT  INTO t SELECT t.v, Z.w FROM s.Z WHERE v = ?", (x("v"),)),
        ("update t set v = 'X.v; it''s' where \"X.w\" = X . w;", "update t set v = 'X.v; it''s' where \"X.w\" = ?", (x("w"),)),
        ("update s.t as u set v = lower(X.v)", "update s.t as u set v = lower(?)", (x("v"),)),
        ("delete from t where v = X.v -- X.w; is kept\n and w = 1", "delete from t where v = ? \n and w = 1", (x("v"),)),
        ("delete from t where v > Max(Y.v) and n = count( Y )", "delete from t where v > ? and n = ?", (Call("max", (x("v", "Y"),)), Call("count", (Attribute(None, "Y"),)))),
        ("delete from t /* X.v; */ where v::int = s.X.v", "delete from t /* X.v; */ where v::int = s.X.v", ()),
    ],
)  # fmt: skip
def test_commands(written: str, text: str, arguments: tuple[Expression, ...]) -> None:
    assert action(written) == ast.Command(text, arguments)
    assert action(f"write(1), {written}") == ast.Command(text, arguments)


@pytest.mark.parametrize(
    ("after", "rules"),
    [
        (";", 1),
        (".", 1),
        (" . -- the end\n", 1),
        ("; S: b -> write(1)", 2),
        ("\nS: b -> write(1)", 2),
        (".\n-- the next\n`S`: b -> write(1)", 2),
        ("", 1),
    ],
)
def test_where_a_command_ends(after: str, rules: int) -> None:
    text = f"R: a(X) -> delete from t where v = X.v{after}"
    for around in (
        "monitor a\n{}",
        "Begin Module M\nmonitor a\n{}\nEnd Module.",
        "Begin Module M monitor a {} end module",
    ):
        (module,) = parse(around.format(text)).program.modules
        assert module.rules[0].actions == (ast.Command("delete from t where v = ?", (x("v"),)),)
        assert len(module.rules) == rules


def test_sql_and_write_are_words_in_any_case_unless_quoted() -> None:
    assert action('SQL("delete from t where v = ?", X.v)') == ast.Act(
        "sql", (Literal("delete from t where v = ?"), x("v"))
    )
    assert action("Write(1)") == ast.Act("write", (Literal(1),))
    assert action("`Write`(1)") == ast.Act("Write", (Literal(1),))
    assert action("Tell()") == ast.Act("Tell", ())


# --- mistakes ---------------------------------------------------------------------------------------------------------

MISTAKES = [
    ("", 1, 1, "the program is empty", "a rule looks like Name: (a(X), b(Y, Y.id = X.id)) -> write(X.id);"),
    ("-- x", 1, 1, "the program is empty", "a rule looks like Name: (a(X), b(Y, Y.id = X.id)) -> write(X.id);"),
    (
        "rules.trepl",
        1,
        1,
        "this is the name of a file, not a program",
        'read the file first: ac.trepl(Path("rules.trepl").read_text())',
    ),
    (
        "monitor a, b; R: a(X) write(X.b);",
        1,
        23,
        "unexpected `write`; expected `->` or an operator",
        "the actions of a rule follow an arrow: a(X) -> write(X.b)",
    ),
    (
        "monitor a, b; R: a(X)",
        1,
        22,
        "the program ends too early; expected `->` or an operator",
        "the actions of a rule follow an arrow: a(X) -> write(X.b)",
    ),
    (
        "monitor a, b; (a(X), b(Y)) -> write(1);",
        1,
        15,
        "unexpected `(`; expected monitor, derived or a rule",
        "a rule begins with its name and a colon: Name: (a(X), b(Y, Y.id = X.id)) -> write(X.id);",
    ),
    (
        "monitor a, b; a(X) -> write(1);",
        1,
        16,
        "unexpected `(`; expected `:`",
        "a rule begins with its name and a colon: Name: (a(X), b(Y, Y.id = X.id)) -> write(X.id);",
    ),
    (
        "monitor update(a) (a(X), b(Y))",
        1,
        19,
        "unexpected `(`; expected monitor, derived or a rule, `,`, `;`, as or partition",
        "a rule begins with its name and a colon: Name: (a(X), b(Y, Y.id = X.id)) -> write(X.id);",
    ),
    ("monitor a, b; R: a(X) => write(1);", 1, 24, "unexpected `>`; expected a value", "an arrow is written ->"),
    (
        "monitor a, b; R: a(X, X.b == 1) -> write(1);",
        1,
        28,
        "unexpected `=`; expected a value",
        "equality is written =",
    ),
    (
        "monitor a, b; R: [a(X), b(Y) -> write(1);",
        1,
        18,
        "this `[` is never closed",
        "a `[` is closed before the arrow",
    ),
    (
        "monitor a, b; R: ((a(X), b(Y) -> write(1);",
        1,
        19,
        "this `(` is never closed",
        "a `(` is closed before the arrow",
    ),
    (
        "monitor a, b; R: a(X) -> write(1;",
        1,
        33,
        "unexpected `;`; expected `)`, `,` or an operator",
        "a `(` before it is not closed",
    ),
    ("monitor a, b; R: a(X) -> write(1", 1, 31, "this `(` is never closed", None),
    (
        "monitor a, b; R: a(X, X.b = “x”) -> write(1);",
        1,
        29,
        "the character '“' has no meaning here",
        "strings are written in straight quotes",
    ),
    (
        "monitor a, b; R: a(X, X.b = 'x) -> write(1);",
        1,
        29,
        "this string is never closed",
        "a quote within a string is doubled: 'it''s'",
    ),
    (
        'monitor a, b; R: a(X) -> write("x);',
        1,
        32,
        "this string is never closed",
        'a quote within a string has a backslash: "say \\"a\\""',
    ),
    (
        "Begin Module A monitor a; R: a(X) -> write(1);",
        1,
        47,
        "the program ends too early; expected End",
        "every module ends with End Module.",
    ),
    (
        "Begin Module A monitor a; R: a(X) -> write(1); Begin Module B monitor c; S: c -> write(1); End Module.",
        1,
        54,
        "unexpected `Module`; expected `:`",
        "every module ends with End Module.",
    ),
    (
        "Begin Module monitor a; R: a(X) -> write(1); End Module",
        1,
        23,
        "unexpected `;`; expected `:`",
        "the module has no name: Begin Module Name",
    ),
    ("Begin Module A monitor a; R: a -> write(1); End;", 1, 48, "unexpected `;`; expected Module", "write End Module"),
    (
        "Begin Modul A monitor a; R: a -> write(1); End Module",
        1,
        7,
        "unexpected `Modul`; expected Module",
        "write Begin Module",
    ),
    (
        "Begin Module A monitor a; R: a -> write(1); End Module. S: a -> write(2);",
        1,
        57,
        "unexpected `S`; expected Begin or the end of the program",
        "rules stand between Begin Module and End Module, or in a program without modules",
    ),
    ("moniter a; R: a -> write(1);", 1, 9, "unexpected `a`; expected `:`", "did you mean monitor?"),
    (
        "monitor a, b; R: a -> write(1); monitor c; S: c -> write(2);",
        1,
        41,
        "unexpected `c`; expected `:`",
        "monitor stands before the rules",
    ),
    (
        "monitor a partitioned by k; R: a -> write(1);",
        1,
        23,
        "unexpected `by`; expected `:`",
        "did you mean partition?",
    ),
    (
        "monitor a; partition by k; R: a -> write(1);",
        1,
        22,
        "unexpected `by`; expected `:`",
        "`partition by` belongs to monitor, before its `;`: monitor a partition by k;",
    ),
    (
        "monitor a; R: a(X) partition by k -> write(1);",
        1,
        20,
        "unexpected `partition`; expected `->` or an operator",
        "`partition by` belongs to monitor, before its `;`: monitor a partition by k;",
    ),
    ("monitor a partition k; R: a -> write(1);", 1, 21, "unexpected `k`; expected by", "write partition by"),
    (
        "monitor a group by k; R: a->write(1)",
        1,
        17,
        "unexpected `by`; expected `:`",
        "events are grouped by partition by in the monitor statement, or by X.id = First(X.id) in a star",
    ),
    (
        "derived d; monitor a; R: a -> d(1);",
        1,
        10,
        "unexpected `;`; expected `(`",
        "a derived event has attributes: derived alarm(id, at)",
    ),
    (
        "monitor a, b; R: a(X) && b(Y) -> write(1);",
        1,
        24,
        "unexpected `&`; expected an event or a condition",
        "events of one stage are joined by one &: a & b; conditions by AND",
    ),
    (
        "monitor a, b; R: a | b -> write(1);",
        1,
        20,
        "the character '|' has no meaning here",
        "one of several events is written {a, b}; conditions are joined by OR",
    ),
    (
        "monitor a, b; R: a || b -> write(1);",
        1,
        18,
        "this is neither an event nor a condition",
        "a condition compares: X.a > 1; an event is a(X, …)",
    ),
    (
        "monitor a, b; R: a(X); b(Y) -> write(1);",
        1,
        22,
        "unexpected `;`; expected `->` or an operator",
        "a sequence is written (a, b), or [a, b] if others may happen between; the actions follow ->",
    ),
    (
        "monitor a, b; R: a(X), b(Y) -> write(1);",
        1,
        22,
        "unexpected `,`; expected `->`",
        "several goals stand in brackets: (a, b), [a, b] or {a, b}",
    ),
    (
        "monitor a, b; R: a(X) where X.b > 1 -> write(1);",
        1,
        23,
        "unexpected `where`; expected `->` or an operator",
        "conditions stand in the brackets of an event: a(X, X.b > 1), or after it: (a(X), X.b > 1)",
    ),
    (
        "monitor a, b; R: (a*, b) -> write(1);",
        1,
        21,
        "unexpected `,`; expected a value",
        "a star stands before what is repeated: * a(X)",
    ),
    (
        "monitor a, b; R: (a+, b) -> write(1);",
        1,
        21,
        "unexpected `,`; expected a value",
        "repetition is written with a star before the event: * a(X)",
    ),
    (
        "monitor a, b; R: ¬a -> write(1);",
        1,
        18,
        "the character '¬' has no meaning here",
        "that an event does not happen is written !a",
    ),
    (
        "monitor a, b; R: !X.a > 1 -> write(1);",
        1,
        19,
        "a condition cannot stand after !, where an event is expected",
        "conditions stand in the brackets of an event, a(X, X.b > 1), or after it in a sequence. A condition is negated by NOT.",
    ),
    (
        "monitor a, b; R: a(X) & X.b > 1 -> write(1);",
        1,
        25,
        "a condition cannot stand beside &, where an event is expected",
        "conditions stand in the brackets of an event, a(X, X.b > 1), or after it in a sequence.",
    ),
    (
        "monitor a, b; R: (a, ) -> write(1);",
        1,
        22,
        "unexpected `)`; expected an event or a condition",
        "remove the comma before it",
    ),
    (
        "monitor a, b; R: a() -> write(1);",
        1,
        20,
        "unexpected `)`; expected an event or a condition",
        "an event has a variable, a(X), or stands alone without brackets; so does Count(X)",
    ),
    (
        "monitor a, b; R: () -> write(1);",
        1,
        19,
        "unexpected `)`; expected an event or a condition",
        "brackets hold at least one event",
    ),
    (
        "monitor a, b; R: (a, b] -> write(1);",
        1,
        23,
        "unexpected `]`; expected `->` or `)`",
        "`(` is closed with `)`, `[` with `]`, `{` with `}`",
    ),
    (
        "monitor a, b; R: a) -> write(1);",
        1,
        19,
        "unexpected `)`; expected `->`",
        "there is no bracket to close; those of the event are closed before the arrow",
    ),
    (
        "monitor a, b; R: a -> write(1) -> write(2);",
        1,
        32,
        "unexpected `->`; expected a name, `,`, `;`, `.` or the end of the program",
        "a rule has one arrow; several actions are separated by commas",
    ),
    (
        "monitor a, b; R: a -> alarm;",
        1,
        28,
        "unexpected `;`; expected `(`",
        "an action has brackets: alarm(X.id), write(X.id)",
    ),
    (
        "monitor a, b; R: a -> ;",
        1,
        23,
        "unexpected `;`; expected an action",
        "an action has brackets: alarm(X.id), write(X.id)",
    ),
    (
        "monitor a, b; R: a -> select 1;",
        1,
        30,
        "unexpected `1`; expected `(`",
        'commands are insert into …, update … set … and delete from …; others are written sql("…", X.a)',
    ),
    (
        "monitor a, b; R: a -> update t where x = 1;",
        1,
        30,
        "unexpected `t`; expected `(`",
        'commands are insert into …, update … set … and delete from …; others are written sql("…", X.a)',
    ),
    (
        "monitor a, b; R: a -> write(Count(*));",
        1,
        36,
        "unexpected `)`; expected an event or a condition or `:`",
        "the events of a star are counted by its variable: Count(X)",
    ),
    (
        "monitor a, b; R: (* a(X), Count() > 1) -> write(1);",
        1,
        33,
        "unexpected `)`; expected an event or a condition",
        "an event has a variable, a(X), or stands alone without brackets; so does Count(X)",
    ),
    (
        "monitor a, b; R: a(X, 1 < X.b < 3) -> write(1);",
        1,
        31,
        "unexpected `<`; expected `)`, `,` or an operator",
        "comparisons are not chained; write X.a BETWEEN 1 AND 2, or join two with AND",
    ),
    (
        "monitor a, b; R: a(X, X.t > INTERVAL '2' HOURS) -> write(1);",
        1,
        38,
        "unexpected `'`; expected `)`, `,`, `.`, `(` or an operator",
        "a duration is written INTERVAL 2 HOURS",
    ),
    (
        "monitor a, b; R: a(X, X.t > 2 hours) -> write(1);",
        1,
        31,
        "unexpected `hours`; expected `)`, `,` or an operator",
        "a duration is written INTERVAL 2 HOURS",
    ),
    (
        "monitor a, b; R: a(X, X.t > INTERVAL 2) -> write(1);",
        1,
        39,
        "unexpected `)`; expected a name",
        "a duration has a unit: INTERVAL 2 HOURS",
    ),
    (
        "monitor a, b; R: a(X, X.t > INTERVAL 2 APPLES) -> write(1);",
        1,
        40,
        "`APPLES` is not a unit",
        "the units are milliseconds, seconds, minutes, hours, days",
    ),
    (
        "monitor a, b; R: a(X, X.t > INTERVAL 2 HOURS 30) -> write(1);",
        1,
        48,
        "unexpected `)`; expected a name",
        "a duration has a unit: INTERVAL 2 HOURS",
    ),
    (
        "monitor a, b; R: a(X, X.t > INTERVAL 2 HOURS; b) -> write(1);",
        1,
        45,
        "unexpected `;`; expected `)`, `,` or an operator",
        "a `(` before it is not closed",
    ),
    (
        "monitor a, b; R: a(X, X.t > INTERVAL 30 SECONDS 1 MINUTE) -> write(1);",
        1,
        38,
        "the units of a duration go from long to short",
        "write it like 1 MINUTE 30 SECONDS",
    ),
    (
        "monitor a, b; // c\nR: a -> write(1);",
        1,
        15,
        "unexpected `//`; expected monitor, derived or a rule",
        "a comment begins with --",
    ),
    ("monitor a, b; R: a /* c */ -> write(1);", 1, 21, "unexpected `*`; expected a value", "a comment begins with --"),
    (
        "monitor a, b; # c\nR: a -> write(1);",
        1,
        15,
        "the character '#' has no meaning here",
        "a comment begins with --",
    ),
    (
        "monitor a, b; R: a -> write('it' 's');",
        1,
        34,
        "unexpected `'`; expected `)`, `,` or an operator",
        "strings are joined by ||; a quote within one is doubled in '…', and has a backslash in \"…\"",
    ),
    (
        "monitor a, b; R: a(X, X. > 1) -> write(1);",
        1,
        26,
        "unexpected `>`; expected a name",
        "a dot stands between a variable and an attribute: X.price",
    ),
    (
        "monitor a, b; R: a(X X.b > 1) -> write(1);",
        1,
        22,
        "unexpected `X`; expected `)`, `,`, `.`, `(` or an operator",
        "goals and conditions are separated by commas",
    ),
    (
        "monitor a, b; R: a(X.b > 1) -> write(1);",
        1,
        20,
        "an event has a variable first, then conditions",
        "write a(X, …), or update(a(X), …) for a kind of changes",
    ),
    (
        "monitor a, b; R: upadte(owns(X)) -> write(1);",
        1,
        25,
        "an event has a variable first, then conditions; did you mean `update`?",
        "write upadte(X, …), or update(upadte(X), …) for a kind of changes",
    ),
    (
        "monitor a, b; R: update(owns(X, X.b > 1)) -> write(1);",
        1,
        25,
        "conditions follow the relation",
        "write update(owns(X), …)",
    ),
    (
        "monitor a, b; R: update(owns.x) -> write(1);",
        1,
        25,
        "update(…) is of a relation",
        "write update(owns(X), …) or update(owns)",
    ),
    (
        "monitor a, b; R: any(X) -> write(1);",
        1,
        18,
        "any has no variable and no conditions",
        "it stands alone, for an event of any kind",
    ),
    (
        "monitor a, b; R: first(a, b) -> write(1);",
        1,
        18,
        "first takes one event, not 2",
        "a sequence has brackets of its own: first((a, b))",
    ),
    (
        "monitor a, b; R: prior(a) -> write(1);",
        1,
        18,
        "prior takes two events, not 1",
        "write prior(a, b): a is completed before b is",
    ),
    (
        "monitor a, b; R: update -> write(1);",
        1,
        18,
        "`update` is a word of the language",
        "write what it is of, or the name in backticks",
    ),
    (
        "monitor a, b; R: X.a + 1 -> write(1);",
        1,
        18,
        "this is neither an event nor a condition",
        "a condition compares: X.a > 1; an event is a(X, …)",
    ),
    (
        "monitor a, b; R: 1 -> write(1);",
        1,
        18,
        "this is neither an event nor a condition",
        "a condition compares: X.a > 1; an event is a(X, …)",
    ),
    (
        "monitor a, b; R: {a, X.b > 1} -> write(1);",
        1,
        22,
        "a condition cannot stand in {…}, where an event is expected",
        "conditions stand in the brackets of an event, a(X, X.b > 1), or after it in a sequence.",
    ),
    (
        "monitor a, b; R: a(X, X.b > [a, b]) -> write(1);",
        1,
        29,
        "an event cannot stand here, where a value is expected",
        None,
    ),
    ('monitor a, b; R: a -> write("\\q");', 1, 30, "\\q is not an escape", "a backslash is written \\\\"),
    (
        "monitor upd8(a); R: a -> write(1);",
        1,
        9,
        "`upd8` is not a kind of changes; did you mean `upd`?",
        "there are insert, update, delete",
    ),
    (
        "monitor a partition by k; monitor b partition by l; R: a -> write(1);",
        1,
        50,
        "partition by differs from the one before",
        "a module has one partition by, for all that it monitors",
    ),
    (
        "monitor a, b; R: a(X) -> insert into t values (X.a, ?);",
        1,
        53,
        "a command has no parameters of its own",
        'write X.a itself, or sql("… ? …", X.a)',
    ),
    (
        "monitor a, b; R: a(X) -> insert into t values (X.a), write(1);",
        1,
        52,
        "a command is the last action of a rule",
        "write the other actions before it",
    ),
    (
        "monitor a, b; R: a(X) -> insert into t values ('x);",
        1,
        48,
        "this string is never closed",
        "a quote within a string is doubled: 'it''s'",
    ),
    (
        "monitor a, b; R: a -> write(1); end: b -> write(2);",
        1,
        33,
        "unexpected `end`; expected the end of the program",
        "`end` is a word of the language; as a name it is written in backticks",
    ),
    (
        "monitor a, b; R: true(X) -> write(1);",
        1,
        22,
        "unexpected `(`; expected `->` or an operator",
        "`true` is a word of the language; as a name it is written in backticks",
    ),
    (
        "monitor a, b; R: a(X, X.n LIKE 3) -> write(1);",
        1,
        32,
        "unexpected `3`; expected a string",
        "LIKE takes a pattern in quotes: X.name LIKE 'A%'",
    ),
    (
        "SELECT * MATCH A ; B",
        1,
        8,
        "unexpected `*`; expected `:`",
        "this looks like a query; a program is made of rules: Name: a(X) -> write(X.b)",
    ),
    (
        "DETECT x { } ON a {{ }} END",
        1,
        8,
        "unexpected `x`; expected `:`",
        "this looks like XChangeEQ; here a rule is written Name: a(X) -> write(X.b)",
    ),
    (
        "monitor a, b;",
        1,
        14,
        "the program ends too early; expected monitor, derived or a rule",
        "a module has rules: Name: (a(X), b(Y, Y.id = X.id)) -> write(X.id);",
    ),
    (
        "monitor a, b; R: a - > write(1);",
        1,
        22,
        "unexpected `>`; expected a value",
        "an arrow is written ->, without a blank",
    ),
    (
        "monitor a, b; R := a -> write(1);",
        1,
        18,
        "unexpected `=`; expected an event or a condition",
        "the name of a rule has a colon, without =",
    ),
    (
        "monitor a, b; when a -> write(1);",
        1,
        20,
        "unexpected `a`; expected `:`",
        "a rule begins with its name and the event: Name: a(X) -> …",
    ),
    (
        "monitor a, b; R: if a(X) then write(1);",
        1,
        21,
        "unexpected `a`; expected `->`, `.`, `(` or an operator",
        "conditions stand in the brackets of an event: a(X, X.b > 1), or after it: (a(X), X.b > 1)",
    ),
    ("monitor a, b; R: a(X, not) -> write(1)", 1, 26, "unexpected `)`; expected a value", None),
    (
        "monitor a, b; R: a(X, X.a is 3) -> write(1)",
        1,
        30,
        "unexpected `3`; expected NOT or NULL",
        "write IS NULL or IS NOT NULL; equality is written =",
    ),
    (
        "monitor a, b; R: a(X, X.t > TIMESTAMP 'x') -> write(1)",
        1,
        39,
        "'x' is not a timestamp",
        "write it like TIMESTAMP '2024-01-31 10:00:00'",
    ),
    (
        "monitor a, b; R: (a(X), b(Y) -> write(1));",
        1,
        41,
        "unexpected `)`; expected a name, `,`, `;`, `.` or the end of the program",
        "there is no bracket to close; those of the event are closed before the arrow",
    ),
]


@pytest.mark.parametrize(("text", "line", "column", "message", "hint"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_mistakes_are_explained(text: str, line: int, column: int, message: str, hint: str | None) -> None:
    with pytest.raises(ProgramSyntaxError) as caught:
        parse(text)
    problem = caught.value.problems[0]
    assert (caught.value.line, caught.value.column) == (line, column)
    assert (problem.message, problem.hint) == (message, hint)


def test_a_plus_before_the_arrow_is_no_arrow() -> None:
    with pytest.raises(
        ProgramSyntaxError, match=r"hint: repetition is written with a star before the event: \* a\(X\)"
    ):
        parse("monitor t; R: t(X)+ -> write(X.v);")


def test_a_mistake_is_shown_with_its_line() -> None:
    with pytest.raises(ProgramSyntaxError) as caught:
        parse("monitor a;\nR: a(X) => write(X.v);")
    assert str(caught.value) == (
        "line 2, column 10: unexpected `>`; expected a value\n"
        "  R: a(X) => write(X.v);\n"
        "           ^\n"
        "  hint: an arrow is written ->"
    )


PIECES = [
    *"R a X : -> ( ) [ ] { } , ; . & ! * + - / % || = <> == => 1 2.5 'x' \"y\" `z` any first prior update".split(),
    *"monitor derived Begin End Module partition by as and or not is null in between like insert into cast".split(),
    *(
        "interval 2 hours",
        "X.a",
        "a(X)",
        "monitor a;",
        "R: a(X)",
        "-> write(1)",
        "'",
        '"',
        "`",
        "?",
        "delete from t",
        "--\n",
    ),
]


PROGRAM = re.findall(r"\w+|\s+|.", TEN["an aggregate of one's own by derived events"])


@pytest.mark.property
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.integers(0, len(PROGRAM)), st.integers(0, 3))
def test_any_text_parses_or_is_refused_with_a_place(pieces: list[str], place: int, taken: int) -> None:
    text = "".join(PROGRAM[:place]) + " ".join(pieces) + "".join(PROGRAM[place + taken :])
    try:
        parse(text)
    except ProgramSyntaxError as error:
        problem = error.problems[0]
        assert problem.span is not None and 0 <= problem.span.start <= len(text)
        assert not re.search(r"\b[A-Z]+_[A-Z]+\b|\b(?:RPAR|LPAR|NAME|QUOTED|ARROW)\b", problem.message)

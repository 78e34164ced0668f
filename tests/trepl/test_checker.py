"""What the checker refuses, what it warns of, and what it finds out."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from hypothesis import event, given

import acelera as ac
from acelera.errors import Problem, UsageError
from acelera.language.ast import Attribute, Binary, Date, Expression, Interval, Literal, Timestamp, Unary, walk
from acelera.language.types import FLOAT, INT, STRING, Type, from_arrow
from acelera.programs.problems import ProgramCheckError
from acelera.trepl import ast
from acelera.trepl.checker import Checked, check
from acelera.trepl.conjuncts import conjuncts, mentioned
from acelera.trepl.normal import normalize
from acelera.trepl.parser import parse
from acelera.trepl.printer import printed
from acelera.trepl.resolved import Aggregate, EventType, Field, Part, Relation, Rule, Simple, Stamp, Write
from acelera.trepl.shape import exported
from trepl.programs import EXAMPLES, TEN
from trepl.strategies_rules import programs
from trepl.strategies_syntax import PROGRAMS

HERE = Path(__file__).parent
ROW = {"v": INT, "w": FLOAT, "s": STRING}
CASES = {
    "a": Relation(ROW),
    "b": Relation(ROW),
    "t": Relation({"s": INT}),
    "owns": Relation({"Name": STRING, "Shares": INT}),
    "stock_closing": Relation({"ID": STRING, "Price": FLOAT}),
    "blind": Relation({"v": INT}, has_old=False),
}
"""The relations of the cases in YAML."""

STOCKS = {
    "stock_tick": Relation({"ID": STRING, "Price": FLOAT}),
    "stock_closing": Relation({"ID": STRING, "Price": FLOAT}),
    "owns": Relation({"Name": STRING, "ID": STRING, "Shares": INT}),
    "reading": Relation({"sensor": STRING, "value": FLOAT}),
    "stock": Relation({"id": STRING, "price": FLOAT}),
    "orders": Relation({"order_id": INT, "customer": STRING}),
    "customer": Relation({"customer_id": INT, "address": STRING}),
    "payment": Relation({"customer_id": INT, "amount": FLOAT, "order_id": INT}),
    "shipment": Relation({"order_id": INT}),
    "account": Relation({"id": INT, "balance": INT}),
}
"""Those of the paper and of the contract."""

NAIVE = from_arrow(pa.timestamp("us"))
ZONED = from_arrow(pa.timestamp("us", "UTC"))


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((HERE / name).read_text(encoding="utf-8"))
    return found


def checked(text: str, timestamp: Type = NAIVE, **options: Any) -> Checked:
    return check(parse(text).program, CASES, timestamp, text=text, **options)


def told(problems: tuple[Problem, ...], text: str) -> list[dict[str, str]]:
    found = []
    for problem in problems:
        assert problem.span is not None
        each = {"at": text[problem.span.start : problem.span.end], "says": problem.message}
        found.append({**each, "hint": problem.hint} if problem.hint else each)
    return found


def rule(text: str, **options: Any) -> Rule:
    """The last rule of a program over the relations of the cases."""
    return checked(f"monitor a, b; {text}", **options).program.modules[0].rules[-1]


def condition(text: str, **options: Any) -> Expression:
    """What a condition on X becomes."""
    goal = rule(f"R: a(X, {text}) -> write(1);", **options).goal
    assert isinstance(goal, Simple) and goal.condition is not None
    return goal.condition


def compared(text: str, **options: Any) -> Expression:
    """What the right side of a comparison becomes."""
    found = condition(text, **options)
    assert isinstance(found, Binary)
    return found.right


def messages(text: str, timestamp: Type = NAIVE, **options: Any) -> list[str]:
    with pytest.raises(ProgramCheckError) as caught:
        checked(text, timestamp, **options)
    return [each.message for each in caught.value.problems]


# --- mistakes and warnings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("refused_rules.yaml"), ids=lambda case: case["problems"][0]["says"][:60])
def test_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ProgramCheckError) as caught:
        checked(case["program"])
    assert told(caught.value.problems, case["program"]) == case["problems"]


@pytest.mark.parametrize("case", cases("warned_rules.yaml"), ids=lambda case: case["program"][:80])
def test_warned(case: dict[str, Any]) -> None:
    assert told(checked(case["program"]).warnings, case["program"]) == case["warnings"]


def test_a_mistake_is_shown_with_its_line() -> None:
    with pytest.raises(ProgramCheckError) as caught:
        checked("monitor a;\nR: a(X) -> write(X.vv);")
    assert str(caught.value) == (
        "line 2, column 18: no attribute vv in a; did you mean `v`?\n"
        "  R: a(X) -> write(X.vv);\n"
        "                   ^^^^\n"
        "  hint: a has v, w, s"
    )


def test_times_that_are_numbers_are_no_durations_apart() -> None:
    with pytest.raises(ProgramCheckError) as caught:
        checked("monitor a; R: (a(X), a(Y, Y.Timestamp - X.Timestamp <= INTERVAL 2 HOURS)) -> write(1);", INT)
    assert (caught.value.problems[0].hint or "").startswith("times are plain numbers here; say time_unit='s'")


def test_what_is_nested_too_deep_is_refused() -> None:
    assert "nested 201 deep" in messages(f"monitor a; R: {'!' * 200}a -> write(1);")[0]


def test_a_zone_that_is_not_known_is_refused() -> None:
    with pytest.raises(UsageError, match="zone='Mars' is not known"):
        checked("monitor a; R: a -> write(1);", zone="Mars")


# --- the paper and the contract -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [number for number in EXAMPLES if number not in ("8", "10")])
def test_the_examples_of_the_paper_are_accepted(number: str) -> None:
    assert check(parse(EXAMPLES[number]).program, STOCKS, NAIVE).warnings == ()


def test_example_8_names_an_attribute_that_is_not_there() -> None:
    text = EXAMPLES["8"]
    with pytest.raises(ProgramCheckError, match="no attribute Name in stock_closing; did you mean `ID`") as caught:
        check(parse(text).program, STOCKS, NAIVE, text=text)
    assert len(caught.value.problems) == 1
    mended = check(parse(text.replace("X.Name", "X.ID")).program, STOCKS, NAIVE)
    assert [each.message for each in mended.warnings] == [
        "nothing is monitored: the events that the rules name are the universe"
    ]
    assert mended.program.modules[0].universe == (
        EventType("insert", "stock_closing"),
        EventType("update", "stock_closing"),
    )


def test_example_10_needs_an_old_price_that_is_declared() -> None:
    text = EXAMPLES["2"] + EXAMPLES["10"]
    with pytest.raises(ProgramCheckError) as caught:
        check(parse(text).program, STOCKS, NAIVE, text=text)
    assert [(each.message, each.hint) for each in caught.value.problems] == [
        ("no attribute old_Price in ibm_tick", "declare it: derived ibm_tick(ID, Price, old_Price)")
    ] * 2
    declared = text.replace("(ID, Price)", "(ID, Price, old_Price)").replace("X.Price);", "X.Price, X.old_Price);")
    found = check(parse(declared).program, STOCKS, NAIVE).program
    assert [module.name for module in found.modules] == ["MyModule", "IBMTicks"]
    assert found.modules[1].universe == (EventType("derived", "ibm_tick", "MyModule"),)
    assert found.modules[1].derived == {"chg_count": {"IC": INT, "DC": INT}}
    assert found.modules[1].strata == ((0, 1, 2), (3,))


@pytest.mark.parametrize("name", TEN)
def test_the_ten_programs_are_accepted(name: str) -> None:
    found = check(parse(TEN[name]).program, STOCKS, NAIVE).program
    assert all(len(module.rules) == sum(map(len, module.strata)) for module in found.modules)


# --- names --------------------------------------------------------------------------------------------------------


def test_a_relation_alone_is_what_is_monitored_of_its_inserts_and_updates() -> None:
    goal = checked("monitor update(a), delete(a); R: a(X, X.old_v = 1) -> write(1);").program.modules[0].rules[0].goal
    assert isinstance(goal, Simple)
    assert goal.types == (EventType("update", "a"),)


def test_events_of_other_modules() -> None:
    text = (
        "Begin Module B monitor A.d; R: (d(X), A.d(Y)) -> write(X.v); End Module. "
        "Begin Module A monitor a; derived d(v); R: a(X) -> d(X.w); S: A.d -> write(1); End Module."
    )
    found = checked(text).program
    assert [module.name for module in found.modules] == ["A", "B"]
    goal = found.modules[1].rules[0].goal
    assert [each.types for each in ast.walk(goal) if isinstance(each, Simple)] == [
        (EventType("derived", "d", "A"),)
    ] * 2
    assert found.modules[1].rules[0].types == ((FLOAT,),)


def test_only_relations_that_are_monitored_are_kept() -> None:
    assert list(checked("monitor a; R: a -> write(1);").program.relations) == ["a"]


def test_sides_of_rows() -> None:
    relations = {"r": Relation({"v": INT, "new_v": INT, "Day": STRING})}

    def term(kind: str, name: str) -> Expression:
        text = f"monitor {kind}(r) as e; R: e(X) -> write(X.{name});"
        return check(parse(text).program, relations, NAIVE).program.modules[0].rules[0].actions[0].arguments[0]

    assert term("update", "v") == Field("X", "new", "v")
    assert term("update", "old_v") == Field("X", "old", "v")
    assert term("delete", "v") == term("delete", "old_v") == Field("X", "old", "v")
    assert term("update", "new_v") == Field("X", "new", "new_v"), "the full name goes first"
    assert term("update", "new_new_v") == Field("X", "new", "new_v")
    assert term("update", "Day") == Field("X", "new", "Day"), "a column hides a part"
    assert term("update", "Month") == Part("X", "Month")
    assert term("update", "Timestamp") == Stamp("X")


def test_derived_events_have_new_values_alone() -> None:
    found = rule("derived d(v, old_v); S: a(X) -> d(X.v, X.w); R: d(X) -> write(X.v, X.new_v, X.old_v);")
    assert found.actions == (Write(None, (Field("X", "new", "v"), Field("X", "new", "v"), Field("X", "new", "old_v"))),)
    assert found.types == ((INT, INT, FLOAT),)


def test_names_that_are_used_twice_get_numbers() -> None:
    goal = rule("R: (!a(U, U.v = 1), !b(U, U.v = 2), a(X)) -> write(X.v);").goal
    events = [each for each in ast.walk(goal) if isinstance(each, Simple)]
    assert [each.variable for each in events] == ["U", "U#2", "X"]
    assert events[1].condition == Binary("=", Field("U#2", "new", "v"), Literal(2))


def test_what_a_star_hides_may_be_bound_again() -> None:
    found = rule("R: (*(*a(X, X.v = 1), b(Y, Y.v = X.v)), a(X)) -> write(X.v, Max(Y.v));")
    assert found.actions[0].arguments == (
        Field("X#2", "new", "v"),
        Aggregate("max", "Y", Field("Y", "new", "v")),
    )


# --- aggregates ---------------------------------------------------------------------------------------------------


def test_aggregates_in_any_case_over_expressions() -> None:
    found = rule("R: *a(X, X.s = FIRST(X.s), COUNT(X) < 5) -> write(sum(X.v + 1), Last(X.Day), stddev(X.w));")
    assert found.actions[0].arguments == (
        Aggregate("sum", "X", Binary("+", Field("X", "new", "v"), Literal(1))),
        Aggregate("last", "X", Part("X", "Day")),
        Aggregate("stddev", "X", Field("X", "new", "w")),
    )
    assert found.types == ((INT, INT, FLOAT),)
    assert isinstance(found.goal, ast.Star) and isinstance(found.goal.goal, Simple)
    assert conjuncts(found.goal.goal.condition)[1] == Binary("<", Aggregate("count", "X", None), Literal(5))


def test_aggregates_of_ones_own() -> None:
    ac.aggregate("longest", lift=len, combine=max, identity=0, returns="int")
    found = rule("R: *a(X, X.v = 1) -> write(Longest(X.s));")
    assert found.actions[0].arguments == (Aggregate("longest", "X", Field("X", "new", "s")),)
    assert found.types == ((INT,),)


def test_what_a_point_under_not_may_use() -> None:
    rule("R: *(a(X, X.v = 1), !b(U, U.v > Max(X.v), U.w > X.w)) -> write(X.v);")
    rule("R: (*a(X, X.v = 1), !b(U, U.v = First(X.v))) -> write(X.v);")


def test_aggregates_of_a_star_inside_a_star() -> None:
    rule("R: *(*a(X, X.v = 1), b(Y, Y.v = Sum(X.v))) -> write(Count(Y));")


def test_first_keeps_variables_for_the_star_around_it() -> None:
    rule("R: *(first(a(X, X.v = 1)), X.v > Max(X.w)) -> write(Count(X));")


# --- times --------------------------------------------------------------------------------------------------------


def test_texts_beside_times() -> None:
    assert condition("X.Day = '21'") == Binary("=", Part("X", "Day"), Literal(21))
    assert condition("'21' = X.Day") == Binary("=", Literal(21), Part("X", "Day"))
    assert compared("X.Date > '1996-08-21'") == Date("1996-08-21")
    assert compared("X.Timestamp > '1996-08-21 09:13:27'") == Timestamp("1996-08-21 09:13:27")
    assert compared("X.Time = '09:13:27'") == Interval(33207, "seconds")
    assert compared("X.Time = '9:13'") == Interval(33180, "seconds")
    assert compared("X.Time = '09:13:27.5'") == Interval(33207500, "milliseconds")
    assert compared("X.Timestamp - X.Timestamp < '00:01'") == Interval(60, "seconds")


def test_texts_in_lists_and_ranges() -> None:
    inside = condition("X.Month IN ('1', 2) AND X.Date BETWEEN '2024-01-01' AND '2024-12-31'")
    assert Literal(1) in list(walk(inside))
    assert [each.text for each in walk(inside) if isinstance(each, Date)] == ["2024-01-01", "2024-12-31"]


def test_texts_are_times_of_the_zone() -> None:
    summer = "X.Timestamp > '1996-08-21 09:13:27.25'"
    assert compared(summer, timestamp=ZONED) == Timestamp("1996-08-21 09:13:27.25+00:00")
    assert compared(summer, timestamp=ZONED, zone="Europe/Berlin") == Timestamp("1996-08-21 09:13:27.25+02:00")
    assert compared("X.Timestamp > '1996-08-21 09:00Z'", timestamp=ZONED, zone="Asia/Tokyo") == Timestamp(
        "1996-08-21 09:00Z"
    )
    winter = "X.Timestamp > '1996-01-21 09:13:27'"
    assert compared(winter, timestamp=ZONED, zone="America/New_York") == Timestamp("1996-01-21 09:13:27-05:00")


def test_parts_are_moved() -> None:
    assert compared("X.Month = X.Month + 1") == Part("X", "Month", Literal(1))
    assert compared("X.Month = X.Month - 1") == Part("X", "Month", Literal(-1))
    assert compared("X.Date = X.Date + X.v") == Part("X", "Date", Field("X", "new", "v"))
    assert compared("X.Day = X.Day - X.v") == Part("X", "Day", Unary("-", Field("X", "new", "v")))
    assert condition("X.Month + 1 = '09'") == Binary("=", Part("X", "Month", Literal(1)), Literal(9))


def test_only_parts_themselves_are_moved() -> None:
    month = Part("X", "Month")
    assert compared("X.v = 1 + X.Month") == Binary("+", Literal(1), month)
    assert compared("X.v = X.Month - X.Day") == Binary("-", month, Part("X", "Day"))
    assert compared("X.v = X.Month + 1 + 1") == Binary("+", Part("X", "Month", Literal(1)), Literal(1))
    assert compared("X.v = X.Month * 2") == Binary("*", month, Literal(2))
    later = compared("X.Time < X.Time + INTERVAL 5 MINUTES")
    assert later == Binary("+", Part("X", "Time"), Interval(5, "minutes"))


def test_a_difference_from_the_first_part_is_a_number() -> None:
    found = rule("R: *a(X, X.Month - First(X.Month) = 1) -> write(1);")
    assert not any(each.moved for each in walk(_condition_of_star(found)) if isinstance(each, Part))


def _condition_of_star(found: Rule) -> Expression:
    assert isinstance(found.goal, ast.Star) and isinstance(found.goal.goal, Simple)
    assert found.goal.goal.condition is not None
    return found.goal.goal.condition


def test_units_since_1970() -> None:
    found = rule("R: (a(X), b(Y, months(Y.Timestamp) = months(X.Timestamp) + 1)) -> write(asctime(X.Timestamp));")
    assert found.types == ((STRING,),)


def test_times_that_are_integers_have_no_parts() -> None:
    assert rule("R: (a(X), b(Y, Y.Timestamp - X.Timestamp <= 5)) -> write(X.Timestamp);", timestamp=INT).types == (
        (INT,),
    )
    found = messages("monitor a; R: a(X, X.Day = 1) -> write(asctime(X.Timestamp));", timestamp=INT)
    assert found == [
        "Day is a part of timestamps, but times are of type int64",
        "`asctime` takes a timestamp, but this is of type int64",
    ]


# --- types of what is derived --------------------------------------------------------------------------------------


def test_types_of_recursive_rules() -> None:
    text = (
        "monitor a; derived d(n, m, k, l); "
        "Next: (d(X), a(Y)) -> d(X.n + 1, X.m + 1, X.k, X.l); Init: a(X) -> d(0, 0.5, X.s, NULL);"
    )
    module = checked(text).program.modules[0]
    assert {name: str(each) for name, each in module.derived["d"].items()} == {
        "n": "int64",
        "m": "double",
        "k": "string",
        "l": "NULL",
    }
    assert [str(each) for each in module.rules[0].types[0]] == ["int64", "double", "string", "NULL"]


def test_whole_numbers_and_fractions_are_fractions() -> None:
    module = checked("monitor a; derived d(v), e(v); R: a(X) -> d(X.v), d(X.w); S: d(X) -> e(X.v);").program.modules[0]
    assert module.derived == {"d": {"v": FLOAT}, "e": {"v": FLOAT}}
    assert module.rules[0].types == ((INT,), (FLOAT,))


def test_types_of_derived_attributes_are_checked_where_they_are_used() -> None:
    text = "monitor a; derived d(v); R: d(X, X.v > 1) -> write(1); S: a(X) -> d(X.s);"
    assert messages(text) == ["text and number do not compare"]


# --- strata -------------------------------------------------------------------------------------------------------


def test_strata_follow_what_is_needed_at_the_stage() -> None:
    text = (
        "monitor a; derived c(v), d(v), e(v); "
        "Last: (d(X), a(Y)) & !c(Z) -> e(Y.v); Second: c(X) -> d(X.v); First: a(X) -> c(X.v); "
        "Back: prior(e(X), d(Y)) -> c(Y.v); Tell: [e(X), *a(Y, Y.v = X.v)] -> write(X.v);"
    )
    assert checked(text).program.modules[0].strata == ((2, 4), (1, 3), (0,))


def test_recursion_over_stages_may_compute_and_deny() -> None:
    module = checked("monitor a; derived d(v); R: (!d(X), a(Y)) -> d(Y.v); S: (d(X), a(Y)) -> d(X.v + 1);")
    assert module.program.modules[0].strata == ((0, 1),)


def test_recursion_at_a_stage_may_pass_on_what_it_has() -> None:
    text = "monitor a; derived d(v, n), e(v); Q: a(X) -> d(X.v, 0); R: d(X) & a(Y) -> e(Y.v); S: e(X) -> d(X.v, 1);"
    assert checked(text).program.modules[0].strata == ((0,), (1, 2))


def test_computing_outside_of_the_circle_is_free() -> None:
    text = "monitor a; derived d(v), e(v); R: d(X) & a(Y) -> d(Y.v), e(X.v + 1); S: a(X) -> d(X.v);"
    assert checked(text).program.modules[0].strata == ((1,), (0,))


# --- random programs ----------------------------------------------------------------------------------------------


@pytest.mark.property
@given(PROGRAMS)
def test_any_tree_is_accepted_or_refused(program: ast.Program) -> None:
    text = printed(program)
    try:
        checked(text)
    except ProgramCheckError as error:
        assert all(problem.span is not None for problem in error.problems)


@pytest.mark.property
@given(programs())
def test_what_is_accepted_keeps_its_promises(program: ast.Program) -> None:
    text = printed(program)
    try:
        found = checked(text)
    except ProgramCheckError as error:
        event("refused")
        assert all(problem.span is not None for problem in error.problems)
        return
    event("accepted")
    for module in found.program.modules:
        assert sorted(number for level in module.strata for number in level) == list(range(len(module.rules)))
        for each in module.rules:
            _promises(each)


def _promises(found: Rule) -> None:
    assert normalize(found.goal) == found.goal
    assert not any(isinstance(each, ast.Named) for each in ast.walk(found.goal))
    conditions = [each.condition for each in ast.walk(found.goal) if isinstance(each, Simple | ast.Test)]
    arguments = [each for act in found.actions for each in act.arguments]
    nodes = [node for each in (*conditions, *arguments) if each is not None for node in walk(each)]
    assert not any(isinstance(node, Attribute) for node in nodes)
    left = exported(found.goal)
    assert all(mentioned(each) <= left.all for each in arguments)
    aggregates = [node for each in arguments for node in walk(each) if isinstance(node, Aggregate)]
    assert all(node.variable in left.starred for node in aggregates)

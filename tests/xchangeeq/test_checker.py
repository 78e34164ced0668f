"""What the checker refuses, what it warns of, and what it finds out."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from hypothesis import given

from acelera.errors import Problem
from acelera.programs.problems import ProgramCheckError
from acelera.xchangeeq import ast
from acelera.xchangeeq.checker import Checked, check
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.printer import print_program
from acelera.xchangeeq.schemas import Child, Held
from xchangeeq import programs as written
from xchangeeq.strategies import SCHEMAS, TREES, programs

HERE = Path(__file__).parent
CASES = {
    "a": pa.schema({"v": pa.int64(), "w": pa.int64(), "s": pa.string()}),
    "b": pa.schema({"v": pa.int64(), "s": pa.string()}),
    "temp": pa.schema(
        {"price": pa.float64(), "sensor": pa.string(), "area": pa.struct({"zip": pa.string(), "city": pa.string()})}
    ),
    "order": pa.schema(
        {
            "id": pa.int64(),
            "item": pa.list_(pa.struct({"sku": pa.string(), "n": pa.int64()})),
            "tag": pa.list_(pa.string()),
        }
    ),
}
"""The schemas of the cases in YAML."""


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((HERE / name).read_text(encoding="utf-8"))
    return found


def checked(text: str) -> Checked:
    return check(parse_program(text), CASES, text)


def told(problems: tuple[Problem, ...], text: str) -> list[dict[str, str]]:
    found = []
    for problem in problems:
        assert problem.span is not None
        each = {"at": text[problem.span.start : problem.span.end], "says": problem.message}
        found.append({**each, "hint": problem.hint} if problem.hint else each)
    return found


@pytest.mark.parametrize("case", cases("refused.yaml"), ids=lambda case: case["problems"][0]["says"][:60])
def test_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ProgramCheckError) as caught:
        checked(case["program"])
    assert told(caught.value.problems, case["program"]) == case["problems"]


@pytest.mark.parametrize("case", cases("warned.yaml"), ids=lambda case: case["program"][:80])
def test_warned(case: dict[str, Any]) -> None:
    assert told(checked(case["program"]).warnings, case["program"]) == case["warnings"]


def test_a_mistake_is_shown_with_its_line() -> None:
    with pytest.raises(ProgramCheckError) as caught:
        checked("DETECT d { }\nON temp {{ prise {{ var V }} }}\nEND")
    assert str(caught.value) == (
        "line 2, column 12: no child prise in temp; did you mean `price`?\n"
        "  ON temp {{ prise {{ var V }} }}\n"
        "             ^^^^^^^^^^^^^^^^^\n"
        "  hint: temp has price, sensor, area"
    )


def test_what_is_nested_too_deep_is_refused() -> None:
    text = f"DETECT {'d{' * 3000}{'}' * 3000} ON {'a{{' * 3000}{'}}' * 3000} END"
    with pytest.raises(ProgramCheckError, match=r"nested 3,00. deep, more than 100"):
        checked(text)


# --- what is found out --------------------------------------------------------------------------------------------


def outputs(text: str) -> dict[str, dict[str, pa.DataType]]:
    return {label: {each.name: each.type for each in schema} for label, schema in checked(text).schemas.items()}


def held(text: str) -> dict[str, str]:
    def shown(each: Held) -> str:
        return f"{each.label} term" if isinstance(each, Child) else str(each)

    return {name: shown(each) for name, each in checked(f"DETECT d {{ }} ON {text} END").variables[0].items()}


@pytest.mark.parametrize(
    ("head", "made"),
    [
        ("v { var V }", {"v": pa.int64()}),
        (
            "v { var V + 1 }, w { var V / 2 }, x { var V * 1.5 }",
            {"v": pa.int64(), "w": pa.float64(), "x": pa.float64()},
        ),
        ("v { 'x' }, w { length(lower(var S)) }, x { true }", {"v": pa.string(), "w": pa.int64(), "x": pa.bool_()}),
        ("all v { var V }", {"v": pa.list_(pa.int64())}),
        ("v { var V }, v { 1.5 }", {"v": pa.list_(pa.float64())}),
        ("n { p { var V }, all q { var S } }", {"n": pa.struct({"p": pa.int64(), "q": pa.list_(pa.string())})}),
        ("all n { p { var V } } group by { var S }", {"n": pa.list_(pa.struct({"p": pa.int64()}))}),
        ("n { count(all var S) }, a { avg(all var V) }", {"n": pa.int64(), "a": pa.float64()}),
        ("s { sum(all var V) }, l { min(all var S) }", {"s": pa.int64(), "l": pa.string()}),
        ("", {}),
    ],
)
def test_columns_of_heads(head: str, made: dict[str, pa.DataType]) -> None:
    assert outputs(f"DETECT d {{ {head} }} ON a {{{{ v {{{{ var V }}}}, s {{{{ var S }}}} }}}} END")["d"] == made


def test_outputs_are_joined_over_rules() -> None:
    text = """
    DETECT d { v { var V }, n { p { var V } } } ON a {{ v {{ var V }} }} END
    DETECT d { all v { 1.5 }, w { var S }, n { q { var S } } } ON a {{ s {{ var S }} }} END
    """
    made = outputs(text)["d"]
    assert made == {
        "v": pa.list_(pa.float64()),
        "n": pa.struct({"p": pa.int64(), "q": pa.string()}),
        "w": pa.string(),
    }
    assert list(made) == ["v", "n", "w"]


def test_types_go_through_chains_in_any_order_and_through_recursion() -> None:
    text = """
    DETECT f { v { var V } } ON e {{ v {{ var V }} }} END
    DETECT e { v { var V } } ON d {{ all_v {{ var V }} }} END
    DETECT d { all all_v { var V } } ON a {{ v {{ var V }} }} END
    DETECT g { v { var V } } ON g {{ v {{ var V }} }} END
    DETECT g { v { var V } } ON e {{ v {{ var V }} }} END
    """
    made = outputs(text)
    assert made == {**{label: {"v": pa.int64()} for label in "feg"}, "d": {"all_v": pa.list_(pa.int64())}}


def test_rows_and_heads_of_one_label_are_queried_together() -> None:
    found = checked(
        "DETECT b { v { var V }, extra { var V } } ON a {{ v {{ var V }} }} END DETECT c { e { var E } } ON b {{ s {{ var S }}, extra {{ var E }} }} END"
    )
    assert found.labels["b"].labels == ("v", "s", "extra")
    assert found.outputs["b"].labels == ("v", "extra")


@pytest.mark.parametrize(
    ("body", "variables"),
    [
        ("a {{ v {{ var V }}, s {{ var S }} }}", {"V": "int64", "S": "string"}),
        ("order {{ item {{ n {{ var N }} }}, tag {{ var T }} }}", {"N": "int64", "T": "string"}),
        ("temp {{ desc zip {{ var Z }} }}", {"Z": "string"}),
        ("desc zip {{ var Z }}", {"Z": "string"}),
        ("temp {{ area {{ * {{ var Z }} }} }}", {"Z": "string"}),
        ("var E -> temp {{ var A -> area {{ }} }}", {"A": "area term", "E": "temp term"}),
        ("temp {{ var A -> desc city {{ }} }}", {"A": "area term"}),
        ("a {{ v {{ var V -> 1 }} }}", {"V": "int64"}),
        ("* {{ price {{ var P }} }}", {"P": "double"}),
        ("nobody {{ v {{ var V }} }}", {"V": "unknown"}),
        (
            "and { event i: a {{ v {{ var V }} }}, event j: temp {{ price {{ var V }} }} } where { i equals j }",
            {"V": "double"},
        ),
        ("and { event i: a {{ }}, while i: collect order {{ id {{ var I }} }} }", {"I": "int64"}),
    ],
)
def test_what_variables_hold(body: str, variables: dict[str, str]) -> None:
    assert held(body) == variables


@pytest.mark.parametrize(
    ("body", "columns"),
    [
        ("a {{ s {{ var S }}, v {{ 1 }} }}", {"a": ("v", "s")}),
        ("a {{ without v {{ 1 }}, optional s {{ }} }}", {"a": ("v", "s")}),
        ("a {{ }}", {"a": ()}),
        ("a { v {{ }} }", {"a": ("v", "w", "s")}),
        ("var X -> a {{ }}", {"a": ("v", "w", "s")}),
        ("a {{ desc v {{ }} }}", {"a": ("v", "w", "s")}),
        ("temp {{ var A -> area {{ }} }}", {"temp": ("area",)}),
        ("and { event i: b {{ s {{ }} }}, while i: collect b {{ v {{ }} }} }", {"b": ("v", "s")}),
        ("nobody {{ v {{ }} }}", {"nobody": ()}),
    ],
)
def test_columns_that_are_read(body: str, columns: dict[str, tuple[str, ...]]) -> None:
    assert checked(f"DETECT d {{ }} ON {body} END").reads == columns


def test_what_is_computed_has_64_bits() -> None:
    text = "DETECT d { p { var X }, q { -var X }, r { sum(all var Y) }, t { sum(all var Z) } } ON e {{ x {{ var X }}, y {{ var Y }}, z {{ var Z }} }} END"
    schemas = {"e": pa.schema({"x": pa.int32(), "y": pa.float32(), "z": pa.decimal128(10, 2)})}
    made = check(parse_program(text), schemas, text).schemas["d"]
    assert [each.type for each in made] == [pa.int32(), pa.int64(), pa.float64(), pa.decimal128(38, 2)]


def test_a_term_is_put_into_a_head() -> None:
    text = "DETECT d { where { var A }, all var I } ON and { event t: temp {{ var A -> area {{ }} }}, while t: collect order {{ var I -> item {{ }} }} } END"
    area, item = CASES["temp"].field("area").type, CASES["order"].field("item").type
    assert outputs(text.replace("where", "place"))["d"] == {"place": pa.struct({"area": area}), "item": item}


def test_strata_are_those_of_rules() -> None:
    text = (
        "DETECT e { } ON and { event i: a {{ }}, while i: not d {{ }} } END DETECT d { } ON or { a {{ }}, b {{ }} } END"
    )
    found = checked(text)
    assert found.strata.numbers == (1, 0)
    assert [rule.number for rule in found.rules] == [0, 1, 1]


def test_program_p() -> None:
    found = check(parse_program(written.P), written.SCHEMAS, written.P)
    assert found.schemas == {
        "fire": pa.schema({"area": pa.string()}),
        "burnt_down": pa.schema({"sensor": pa.string()}),
        "avg_temp": pa.schema({"sensor": pa.string(), "value": pa.float64()}),
    }
    assert [problem.message for problem in found.warnings] == [
        "n lies in the closed window i if temp is a point event, and `not` then finds it"
    ]


WARNED_OF = {
    "IoT: the door was opened and closed while the machine ran": "run is kept",
    "food safety: contamination spreads": "bad is kept",
}


@pytest.mark.parametrize("name", written.TWELVE)
def test_the_programs_of_the_contract_are_accepted(name: str) -> None:
    schemas = {**written.SCHEMAS, "silent": pa.schema({"host": pa.string()})}
    found = check(parse_program(written.TWELVE[name]), schemas, written.TWELVE[name])
    assert set(found.outputs) == {rule.head.label for rule in found.program.rules}
    warnings = [WARNED_OF[name]] if name in WARNED_OF else []
    assert [
        problem.message[: len(warnings[0])] if warnings else problem.message for problem in found.warnings
    ] == warnings


@pytest.mark.property
@given(TREES)
def test_any_tree_is_accepted_or_refused(program: ast.Program) -> None:
    text = print_program(program)
    try:
        check(parse_program(text), SCHEMAS, text)
    except ProgramCheckError as error:
        assert all(problem.span is not None for problem in error.problems)


@pytest.mark.property
@given(programs())
def test_random_programs_are_accepted(program: ast.Program) -> None:
    text = print_program(program)
    found = check(parse_program(text), SCHEMAS, text)
    assert set(found.outputs) == {rule.head.label for rule in program.rules}
    assert all(problem.span is not None for problem in found.warnings)

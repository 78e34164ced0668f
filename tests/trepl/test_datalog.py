"""The Datalog of programs: that of the paper for its examples, with the star of the contract."""

import re

import pytest

from acelera.trepl.checker import check
from acelera.trepl.datalog import datalog
from acelera.trepl.parser import parse
from trepl.datalog_evaluation import clauses, split
from trepl.programs import EXAMPLES, TEN
from trepl.relations import RELATIONS, TIMESTAMP

LETTERS = "monitor update(A), insert(B), delete(C), update(D); R: "


def told(text: str) -> str:
    return datalog(check(parse(text).program, RELATIONS, TIMESTAMP, text=text).program)


def rules(text: str) -> list[str]:
    """What is told of the rules of a program, without its history and its aggregates."""
    _, rest = told(text).split("\n\n% R\n")
    return re.sub(r"\n +", " ", rest.split("\n\n")[0].strip()).split("\n")


def test_example_12() -> None:
    assert rules(
        "monitor update(owns); R: (upd(owns(X), X.ID = 'IBM'), upd(owns(Y), Y.Name = X.Name)) -> write(Y.ID);"
    ) == [
        "sat_1(X, J) <- upd_owns(X, J), X.ID = 'IBM'.",
        "sat_2(X, Y, s(J)) <- upd_owns(Y, s(J)), sat_1(X, J), Y.Name = X.Name.",
        "sat_3(X, Y, J) <- sat_2(X, Y, J).",
        "write(Y.ID, J) <- sat_3(X, Y, J).",
    ]


THIRTEEN = """
monitor update(stock_closing) as st_cl
R:
( st_cl(X, X.ID = 'IBM', X.Price > 50),
  * st_cl(Y, Y.ID = 'IBM', Y.Price > 40),
  Y.Price = Max(Y.Price)
) -> write(Y.Price)
"""


def test_example_13() -> None:
    """As in the paper, but for what begins no instance: ext_2 rather than sat_2. Its key is empty."""
    assert rules(THIRTEEN) == [
        "sat_1(X, J) <- upd_stock_closing(X, J), X.ID = 'IBM', X.Price > 50.",
        "sat_2(X, Y, Y.Price, s(J)) <- upd_stock_closing(Y, s(J)), sat_1(X, J), ¬ext_2(Y, s(J)), Y.ID = 'IBM', Y.Price > 40.",
        "sat_2(X, Y, MaxPrice, s(J)) <- upd_stock_closing(Y, s(J)), sat_2(X, _, MaxPrice1, J), Y.ID = 'IBM', Y.Price > 40, max(Y.Price, MaxPrice1, MaxPrice).",
        "ext_2(Y, s(J)) <- upd_stock_closing(Y, s(J)), sat_2(_, _, _, J), Y.ID = 'IBM', Y.Price > 40.",
        "sat_3(X, Y, MaxPrice, J) <- sat_2(X, Y, MaxPrice, J), Y.Price = MaxPrice.",
        "sat_4(X, Y, MaxPrice, J) <- sat_3(X, Y, MaxPrice, J).",
        "sat_5(X, Y, MaxPrice, J) <- sat_4(X, Y, MaxPrice, J).",
        "write(Y.Price, J) <- sat_5(X, Y, MaxPrice, J).",
    ]
    assert told(THIRTEEN).endswith(
        "\n\nmax(A, B, B) <- A <= B.\nmax(A, B, A) <- A > B.\nmax(NULL, B, B).\nmax(A, NULL, A).\n"
    )


def test_example_14() -> None:
    """Numbered as in figure 1: the inner *seq is 4. A star that begins compares what is still looked at of X."""
    text = "(upd(A(X), X.k > 1), * (* ins(B(Y), Y.k = X.k), del(C(Z), Z.k = X.k)), upd(D(V), V.k = X.k)) -> write(V.k)"
    assert rules(LETTERS + text) == [
        "sat_1(X, J) <- upd_A(X, J), X.k > 1.",
        "sat_2(X, Y, s(J)) <- ins_B(Y, s(J)), sat_1(X, J), ¬ext_4(X.k, Y, s(J)), ¬ext_2(X.k, Y, s(J)), Y.k = X.k.",
        "sat_2(X, Y, s(J)) <- ins_B(Y, s(J)), sat_4(X, _, J), ¬ext_2(X.k, Y, s(J)), Y.k = X.k.",
        "sat_2(X, Y, s(J)) <- ins_B(Y, s(J)), sat_2(X, _, J), Y.k = X.k.",
        "ext_2(X.k, Y, s(J)) <- ins_B(Y, s(J)), sat_2(X, _, J), Y.k = X.k.",
        "sat_3(X, Y, Z, s(J)) <- del_C(Z, s(J)), sat_2(X, Y, J), Z.old_k = X.k.",
        "sat_4(X, Z, J) <- sat_3(X, _, Z, J).",
        "ext_4(X.k, Y, s(J)) <- ins_B(Y, s(J)), sat_4(X, _, J), Y.k = X.k.",
        "sat_5(X, Z, V, s(J)) <- upd_D(V, s(J)), sat_4(X, Z, J), V.k = X.k.",
        "sat_6(X, Z, V, J) <- sat_5(X, Z, V, J).",
        "sat_7(X, Z, V, J) <- sat_6(X, Z, V, J).",
        "write(V.k, J) <- sat_7(X, Z, V, J).",
    ]


def test_every_instance_has_no_guard() -> None:
    assert rules(f"{LETTERS} *: upd(A(X)) -> write(Count(X))") == [
        "sat_1(X, 1, J) <- upd_A(X, J).",
        "sat_1(X, Count1 + 1, s(J)) <- upd_A(X, s(J)), sat_1(_, Count1, J).",
        "sat_2(X, Count, J) <- sat_1(X, Count, J).",
        "sat_3(X, Count, J) <- sat_2(X, Count, J).",
        "write(Count, J) <- sat_3(X, Count, J).",
    ]


def test_a_star_after_any_has_no_guard_and_any_is_satisfied_at_stage_0() -> None:
    assert rules(f"{LETTERS} (any, * upd(A(X))) -> write(X.k)")[:3] == [
        "sat_1(J) <- any(J).",
        "sat_2(X, s(J)) <- upd_A(X, s(J)), sat_1(J).",
        "sat_2(X, s(J)) <- upd_A(X, s(J)), sat_2(_, J).",
    ]
    assert rules(f"{LETTERS} *: any -> write(1)")[0] == "sat_1(s(J)) <- any(s(J))."


def test_relaxed_sequences_wait() -> None:
    assert rules(f"{LETTERS} [upd(A(X)), X.k > 1, ins(B(Y))] -> write(Y.k)") == [
        "sat_1(X, J) <- upd_A(X, J).",
        "sat_2(X, J) <- sat_1(X, J), X.k > 1.",
        "wait_2(X, J) <- sat_2(X, J).",
        "wait_2(X, s(J)) <- wait_2(X, J), any(s(J)).",
        "sat_3(X, Y, s(J)) <- ins_B(Y, s(J)), wait_2(X, J).",
        "sat_4(X, Y, J) <- sat_3(X, Y, J).",
        "sat_5(X, Y, J) <- sat_4(X, Y, J).",
        "write(Y.k, J) <- sat_5(X, Y, J).",
    ]


def test_negation_disjunction_conjunction() -> None:
    assert rules(f"{LETTERS} (upd(A(X)), !ins(B(U), U.k = X.k), {{ins(B), del(C(Z)) & upd(D(V))}}) -> write(X.k)")[
        :-3
    ] == [
        "sat_1(X, J) <- upd_A(X, J).",
        "sat_2(X, U, s(J)) <- ins_B(U, s(J)), sat_1(X, J), U.k = X.k.",
        "sat_3(X, s(J)) <- any(s(J)), sat_1(X, J), ¬sat_2(X, _, s(J)).",
        "sat_4(X, s(J)) <- ins_B(_, s(J)), sat_3(X, J).",
        "sat_5(X, Z, s(J)) <- del_C(Z, s(J)), sat_3(X, J).",
        "sat_6(X, V, s(J)) <- upd_D(V, s(J)), sat_3(X, J).",
        "sat_7(X, Z, V, J) <- sat_5(X, Z, J), sat_6(X, V, J).",
        "sat_8(X, J) <- sat_4(X, J).",
        "sat_8(X, J) <- sat_7(X, _, _, J).",
    ]


def test_a_negated_composite_is_an_event_of_its_own() -> None:
    assert rules(f"{LETTERS} (upd(A(X)), !(ins(B), del(C))) -> write(X.k)")[1:5] == [
        "sat_2(J) <- ins_B(_, J).",
        "sat_3(s(J)) <- del_C(_, s(J)), sat_2(J).",
        "sat_4(J) <- sat_3(J).",
        "sat_5(X, s(J)) <- any(s(J)), sat_1(X, J), ¬sat_4(s(J)).",
    ]


def test_first_and_prior() -> None:
    assert rules(f"{LETTERS} prior(upd(A(X)), first(ins(B(Y)))) -> write(X.k)") == [
        "sat_1(X, J) <- upd_A(X, J).",
        "sat_2(Y, J) <- ins_B(Y, J).",
        "past_2(Y, s(J)) <- sat_2(Y, s(J)).",
        "past_2(Y, s(J)) <- past_2(Y, J), any(s(J)).",
        "sat_3(Y, s(J)) <- sat_2(Y, s(J)), ¬past_2(_, J).",
        "past_1(X, s(J)) <- sat_1(X, s(J)).",
        "past_1(X, s(J)) <- past_1(X, J), any(s(J)).",
        "sat_4(X, Y, s(J)) <- past_1(X, J), sat_3(Y, s(J)).",
        "write(X.k, J) <- sat_4(X, Y, J).",
    ]


def test_first_after_another_goal_asks_whatever_came_before() -> None:
    assert rules(f"{LETTERS} (upd(A(X)), first(ins(B(Y)))) -> write(X.k)")[1:-2] == [
        "sat_2(X, Y, s(J)) <- ins_B(Y, s(J)), sat_1(X, J).",
        "sat_3(Y, J) <- ins_B(Y, J).",
        "past_3(Y, s(J)) <- sat_3(Y, s(J)).",
        "past_3(Y, s(J)) <- past_3(Y, J), any(s(J)).",
        "sat_4(X, Y, s(J)) <- sat_2(X, Y, s(J)), ¬past_3(_, J).",
    ]


def test_what_looks_back_is_left_out_in_the_first_round() -> None:
    assert rules(f"{LETTERS} * upd(A(X), X.k = First(X.k), X.k > Last(X.k) - 1, Count(X) < 9) -> write(Avg(X.k))")[
        :3
    ] == [
        "sat_1(X, X.k, X.k, 1, X.k, CountK, s(J)) <- upd_A(X, s(J)), ¬ext_1(X, s(J)), 1 < 9, count(X.k, 0, CountK).",
        "sat_1(X, FirstK, X.k, Count1 + 1, SumK, CountK, s(J)) <- upd_A(X, s(J)), sat_1(_, FirstK, LastK1, Count1, SumK1, CountK1, J),"
        " X.k = FirstK, X.k > LastK1 - 1, Count1 + 1 < 9, sum(X.k, SumK1, SumK), count(X.k, CountK1, CountK).",
        "ext_1(X, s(J)) <- upd_A(X, s(J)), sat_1(_, FirstK, LastK1, Count1, _, _, J), X.k = FirstK, X.k > LastK1 - 1, Count1 + 1 < 9.",
    ]


def test_rounds_of_several_goals_keep_what_was_before_them() -> None:
    assert rules(f"{LETTERS} * (upd(A(X)), ins(B(Y), Y.k > Last(X.k), Y.k > Last(Y.k))) -> write(Sum(Y.k))")[:4] == [
        "sat_1(X, X.k, none, none, NULL, s(J)) <- upd_A(X, s(J)), ¬ext_3(X, s(J)).",
        "sat_1(X, X.k, LastK1, LastYK, SumK, s(J)) <- upd_A(X, s(J)), sat_3(_, LastK1, _, _, LastYK, SumK, J).",
        "sat_2(X, LastK, BeforeLastK, Y, Y.k, SumK, s(J)) <- ins_B(Y, s(J)), sat_1(X, LastK, BeforeLastK, LastYK1, SumK1, J),"
        " (BeforeLastK = none OR Y.k > BeforeLastK), (LastYK1 = none OR Y.k > LastYK1), sum(Y.k, SumK1, SumK).",
        "sat_3(X, LastK, BeforeLastK, Y, LastYK, SumK, J) <- sat_2(X, LastK, BeforeLastK, Y, LastYK, SumK, J).",
    ]


def test_a_conjunction_in_a_star_is_taken_at_once() -> None:
    assert rules(f"{LETTERS} * (upd(A(X)) & upd(D(Y)) & !ins(B)) -> write(Count(X))")[:4] == [
        "sat_1(J) <- ins_B(_, J).",
        "sat_1(s(J)) <- ins_B(_, s(J)), sat_2(_, _, _, J).",
        "sat_2(X, 1, Y, s(J)) <- upd_A(X, s(J)), upd_D(Y, s(J)), ¬sat_1(s(J)), ¬ext_2({X, Y}, s(J)).",
        "sat_2(X, Count1 + 1, Y, s(J)) <- upd_A(X, s(J)), upd_D(Y, s(J)), sat_2(_, Count1, _, J), ¬sat_1(s(J)).",
    ]


# --- all programs -----------------------------------------------------------------------------------------------------

COUNTING = EXAMPLES["2"].replace("Price)", "Price, old_Price)").replace("X.Price, old_Price", "X.Price, X.old_Price")
WHOLE = {
    **{number: text for number, text in EXAMPLES.items() if number != "10"},
    "8": EXAMPLES["8"].replace("X.Name", "X.ID"),
    "10": COUNTING + EXAMPLES["10"],
    "13": THIRTEEN,
    **TEN,
}
GIVEN = re.compile(r"hist_\w+|log_(?:ins|upd|del)_\w+")


def predicate(atom: str) -> tuple[str, int] | None:
    """Name and number of arguments, if a goal is no condition."""
    found = re.fullmatch(r"(\w+)\((.*)\)", atom)
    return (found[1], len(split(found[2]))) if found else None


@pytest.mark.parametrize("name", WHOLE)
def test_every_predicate_is_defined(name: str) -> None:
    fed: set[str] = set()
    for module in told(WHOLE[name]).split("% module ")[1:]:
        history, *sections = re.split(r"\n\n", module)
        basic = {found for head, _ in clauses(history) if (found := predicate(head))}
        defined = basic | {found for each in sections for head, _ in clauses(each) if (found := predicate(head))}
        fed |= {name for name, _ in defined if name.startswith("log_")}
        tuples = {name for name, _ in defined}
        for section in sections:
            own = {found for head, _ in clauses(section) if (found := predicate(head))}
            for head, goals in clauses(section):
                for goal in filter(None, (predicate(each.removeprefix("¬")) for each in goals)):
                    if re.match(r"(?:sat|ext|wait|past)_\d", goal[0]):
                        assert goal in own, (head, goal)
                    else:
                        assert goal[0] in tuples | fed or GIVEN.fullmatch(goal[0]), (head, goal)


@pytest.mark.parametrize("name", WHOLE)
def test_what_a_rule_does_with_its_columns_is_known(name: str) -> None:
    """Each variable of a head stands in a goal that is not negated, or is computed there."""
    for module in told(WHOLE[name]).split("% module ")[1:]:
        for head, goals in clauses(module):
            bound = {word for goal in goals for word in re.findall(r"\b[A-Z]\w*", goal)}
            used = set(re.findall(r"(?<![.\w'\"])[A-Z]\w*", re.sub(r"'[^']*'|\"[^\"]*\"", "", head)))
            assert not goals or used - {"NULL"} <= bound, (head, goals)


def test_histories() -> None:
    text = told(WHOLE["10"])
    assert (
        "any(J) <- hist_MyModule(_, _, J).\nupd_stock_tick(X, J) <- hist_MyModule(upd_stock_tick, T, J), log_upd_stock_tick(X, T)."
        in text
    )
    assert "log_MyModule_ibm_tick(X, T) <- ibm_tick(X, J), hist_MyModule(_, T, J)." in text
    assert "ibm_tick(X, J) <- hist_IBMTicks(ibm_tick, T, J), log_MyModule_ibm_tick(X, T)." in text
    assert "chg_count(X.IC + 1, X.DC, J) <- sat_3(X, Y, J)." in text
    several = told(WHOLE["9"])
    assert "stock_tick(X, J) <- ins_stock_tick(X, J).\nstock_tick(X, J) <- upd_stock_tick(X, J)." in several


def test_a_long_sequence_does_not_overflow() -> None:
    assert told(f"{LETTERS} (upd(A(X)){', del(C)' * 600}) -> write(X.k)").count("sat_1200(") == 2

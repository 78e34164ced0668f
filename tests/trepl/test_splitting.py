"""How programs are spread: which modules run together, by which key, and why not by any."""

from __future__ import annotations

import pytest

from acelera.language.types import FLOAT, INT, STRING
from acelera.trepl.chained_keys import chained_key
from acelera.trepl.checker import check
from acelera.trepl.parser import parse
from acelera.trepl.resolved import Program, Relation
from acelera.trepl.splitting import keys_told, parts_of
from trepl.streams import TIMESTAMP

RELATIONS = {
    "p": Relation({"k": STRING, "j": STRING, "v": INT}),
    "q": Relation({"k": STRING, "v": INT}),
    "f": Relation({"k": FLOAT, "v": INT}),
    "n": Relation({"k": INT, "v": INT}),
}


def checked(text: str) -> Program:
    return check(parse(text).program, RELATIONS, TIMESTAMP).program


def module(name: str, monitored: str, *rules: str, derived: str = "") -> str:
    declared = f"derived {derived};" if derived else ""
    named = " ".join(f"{name}{number}: {rule};" for number, rule in enumerate(rules, 1))
    return f"Begin Module {name} monitor {monitored}; {declared} {named} End Module."


MAKER = module("A", "p, delete(p) as gone partition by k", "p(X) -> d(X.k, X.v)", derived="d(k, v)")
ONE = "one task, which sees all changes in order, as"
KEPT_TO = "which its rules keep to; stages are numbered before, over all keys"

B_HAS_NONE = "B has no `partition by` (B1 looks for {} of whatever k)"

SPREAD = {
    "a key": ([module("A", "p partition by k, v", "p -> write(1)")], ["module A: spread by key, p by k, v"]),
    "none": (
        [module("A", "p", "(p(X), p(Y)) -> write(X.v)")],
        [f"module A: {ONE} A has no `partition by` (A1 looks for p(Y) of whatever k)"],
    ),
    "on their own": (
        [module("A", "p partition by k", "p -> write(1)"), module("B", "p, q", "q -> write(1)")],
        ["module A: spread by key, p by k", f"module B: {ONE} {B_HAS_NONE.format('q')}"],
    ),
    "together": (
        [MAKER, module("B", "d, q partition by k", "d -> write(1)")],
        ["modules A, B: spread by key, p by k; q by k"],
    ),
    "by another name": (
        [module("A", "p partition by k", "p(X) -> d(X.v, X.new_k)", derived="d(v, z)"),
         module("B", "d partition by z", "d -> write(1)")],
        ["modules A, B: spread by key, p by k"],
    ),
    "two of one": (
        [MAKER, module("B", "p partition by j", "p -> write(1)")],
        ["module A: spread by key, p by k", "module B: spread by key, p by j"],
    ),
    "neither": (
        [module("A", "p", "(any, p(X), any) -> d(X.k)", derived="d(k)"), module("B", "d, q", "d -> write(1)")],
        [f"modules A, B: {ONE} A has no `partition by` (A1 can be completed by any or by an absence, which other events "
         "are as well)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPREAD)
def test_parts(name: str) -> None:
    modules, wanted = SPREAD[name]
    for together in (False, True):
        assert [part.line() for part in parts_of(checked("\n".join(modules)), together)] == wanted


APART = {
    "the second has none": (
        [MAKER, module("B", "d", "d -> write(1)")],
        ["module A: spread by key, p by k", f"module B: {ONE} {B_HAS_NONE.format('d')}"],
        B_HAS_NONE.format("d"),
    ),
    "another value": (
        [MAKER, module("B", "d partition by v", "d -> write(1)")],
        ["module A: spread by key, p by k", "module B: spread by key, A.d by v"],
        "A.d may have another v, by which B is split, than the k of the stage that made it",
    ),
    "split in two ways": (
        [MAKER, module("B", "d, p partition by v", "d -> write(1)")],
        ["module A: spread by key, p by k", "module B: spread by key, A.d by v; p by v"],
        "p is split by k and, for B, by v",
    ),
    "keys that nobody declares": (
        [module("A", "p, q", "(q(X), p(Y, Y.k = X.k)) -> d(X.k, Y.v)", derived="d(k, v)"),
         module("B", "d", "(d(X), d(Y, Y.v = X.v)) -> write(1)"), module("C", "d", "(d(X), d(Y)) -> write(1)")],
        [f"module A: spread by key, p by k; q by k, {KEPT_TO}", f"module B: spread by key, A.d by v, {KEPT_TO}",
         f"module C: {ONE} C has no `partition by` (C1 looks for d(Y) of whatever k)"],
        "A has no `partition by` (its rules keep to one k, but stages are numbered over all of them, which takes frames "
        "that are all there)",
    ),
    "of different types": (
        [module("A", "f, n partition by k", "n(X) -> d(X.k)", derived="d(k)"),
         module("B", "d partition by k", "d -> write(1)")],
        ["module A: spread by key, f by k; n by k", "module B: spread by key, A.d by k"],
        "the keys of A and B are of different types",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_modules_that_feed_each_other_by_other_keys(name: str) -> None:
    modules, apart, reason = APART[name]
    program = checked("\n".join(modules))
    assert [part.line() for part in parts_of(program)] == apart
    together = parts_of(program, together=True)
    assert [part.reason for part in together] == [reason]


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        (["p(X) -> d(X.k, X.v)"], {"k": "k"}),
        (["p(X) -> d(X.k, X.v)", "gone(X) -> d(X.k, X.v)"], {"k": "k"}),
        (["p(X) -> d(X.k, X.v)", "(d(X), p(Y)) -> d(X.k, X.v + Y.v)"], {"k": "k"}),
        (["p(X) -> d(X.k, X.v)", "p(X) -> d(X.j, X.v)"], {}),
        (["p(X) -> d(X.old_k, X.v)"], {}),
        (["p(X) -> d(upper(X.k), X.v)"], {}),
        (["p(X) -> d('a', X.v)"], {}),
        (["p(X) -> d(X.j, X.v)", "(d(X), p(Y)) -> d(X.k, Y.v)"], {}),
        (["p(X) -> e(X.j), d(X.k, 1)", "(e(X), p(Y)) -> d(X.k, Y.v)"], {}),
        (["p(X) -> e(X.k), d(X.k, 1)", "(e(X), p(Y)) -> d(X.k, Y.v)"], {"k": "k"}),
        (["(* p(X), any) -> d(First(X.k), Count(X))"], {}),
    ],
)
def test_attributes_that_are_the_key(rules: list[str], wanted: dict[str, str]) -> None:
    text = module("A", "p, delete(p) as gone partition by k", *rules, derived="d(k, v), e(k)")
    assert keys_told(checked(text).modules[0])["d"] == wanted


def test_a_key_of_two_attributes() -> None:
    text = module("A", "p partition by k, j", "p(X) -> d(X.j, X.k, X.v)", derived="d(a, b, v)")
    assert keys_told(checked(text).modules[0])["d"] == {"a": "j", "b": "k"}
    swapped = module("B", "d partition by a, b", "d -> write(1)")
    alike = module("B", "d partition by b, a", "d -> write(1)")
    assert [each.is_split for each in parts_of(checked(f"{text} {swapped}"), together=True)] == [False]
    assert [each.is_split for each in parts_of(checked(f"{text} {alike}"), together=True)] == [True]


# --- keys that nobody declares ----------------------------------------------------------------------------------------

KEPT = [
    "p(X) -> write(X.v)",
    "(p(X), q(Y, Y.k = X.k, Y.v > X.v)) -> write(1)",
    "(p(X), *!q(Y, X.k = Y.k), p(Z, Z.k = X.k)) -> write(1)",
    "[p(X), q(Y, Y.k = X.k), q(Z, Z.k = Y.k)] -> write(1)",
    "(* p(X, X.k = First(X.k), X.v > Last(X.v)), q(Y, Y.k = X.k)) -> write(1)",
    "(* p(X, Last(X.k) = X.k)) -> write(Count(X))",
    "(any, * p(X, X.k = First(X.k), Count(X) <= 5), Count(X) = 5) -> write(1)",
    "(* p(X, X.k = First(X.k)), *any, q(Y, Y.k = X.k)) -> write(1)",
    "(p(X) & q(Y), X.k = Y.k) -> write(1)",
    "(p(X), *(q(Y, Y.k = X.k), p(Z, Z.k = Y.k))) -> write(1)",
    "(delete(p(X)), q(Y, Y.k = X.k)) -> d(Y.k, X.v)",
    "(d(X), p(Y, Y.k = X.k)) -> d(X.k, Y.v)",
]


@pytest.mark.parametrize("rule", KEPT)
def test_rules_that_keep_to_one_key(rule: str) -> None:
    program = checked(module("A", "p, delete(p), q", rule, derived="d(k, v)"))
    assert chained_key(program.modules[0], program) == ("k", "")


STRAYING = {
    "(p(X), q(Y)) -> write(1)": "A1 looks for q(Y) of whatever k",
    "(p(X, X.k = 'a'), q(Y, Y.k = 'a')) -> write(1)": "A1 looks for q(Y) of whatever k",
    "(p(X), q(Y), Y.k = X.k) -> write(1)": "A1 looks for q(Y) of whatever k",
    "(p(X), q(Y, Y.k = X.k OR Y.v = 1)) -> write(1)": "A1 looks for q(Y) of whatever k",
    "(p(X), q(Y, Y.k = X.old_k)) -> write(1)": "A1 looks for q(Y) of whatever k",
    "(p(X), q(Y, Y.k >= X.k)) -> write(1)": "A1 looks for q(Y) of whatever k",
    "(p(X), * q(Y, Y.k = First(Y.k))) -> write(1)": "A1 looks for q(Y) of whatever k",
    "* p(X) -> write(1)": "A1 looks for p(X) of whatever k",
    "*(* p(X, X.k = First(X.k)), q(Y, Y.k = X.k)) -> write(1)": "A1 looks for p(X) of whatever k",
    "(p(X), *!q, p(Y, Y.k = X.k)) -> write(1)": "A1 looks for q of whatever k",
    "({p, q}, p(X)) -> write(1)": "A1 looks for p of whatever k",
    "(p(X), any) -> write(1)": "A1 can be completed by any or by an absence, which other events are as well",
    "(p(X), !q(Y, Y.k = X.k)) -> write(1)": "A1 can be completed by any or by an absence, which other events are as well",
    "* {p, any} -> write(1)": "A1 can be completed by any or by an absence, which other events are as well",
    "* (any, p(X, X.k = First(X.k))) -> write(1)": "A1 has a star that begins with any, which extends runs of whatever k",
    "first(p(X)) -> write(1)": "A1 has first or prior, which look at all events",
    "p(X) -> d(upper(X.k), X.v + 1)": "A1 derives d with another k than that of its events",
    "p(X) -> d(X.old_k, X.v + 1)": "A1 derives d with another k than that of its events",
}


@pytest.mark.parametrize("rule", STRAYING)
def test_rules_that_do_not(rule: str) -> None:
    program = checked(module("A", "p, q", rule, derived="d(k, v)"))
    assert chained_key(program.modules[0], program) == (None, STRAYING[rule])


def test_events_without_a_common_attribute() -> None:
    program = checked(module("A", "p", "p(X) -> d(1)", derived="d(z)"))
    assert chained_key(program.modules[0], program).reason == "its events have no attribute in common"


def test_the_first_attribute_that_fits() -> None:
    program = checked(module("A", "p", "(p(X), p(Y, Y.j = X.j)) -> write(1)"))
    assert chained_key(program.modules[0], program).key == "j"


def test_an_attribute_whose_values_have_no_type_in_common() -> None:
    program = checked(module("A", "p, n", "p(X) -> write(X.k)", "n(X) -> write(X.k)"))
    assert chained_key(program.modules[0], program).key == "v"
    program = checked(module("A", "f, n", "(f(X), n(Y, Y.k = X.k)) -> write(1)"))
    assert chained_key(program.modules[0], program).key == "k"

"""The meaning of events and rules, construct by construct (contract, sections 1, 3, 5 and 6)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from acelera.errors import AggregateError
from acelera.language.aggregates import aggregate
from acelera.language.types import INT
from acelera.trepl.resolved import Relation
from trepl.judging import gone, ins, judge, letters, moment, stages, told, upd
from trepl.programs import EXAMPLES


def rule(goal: str, head: str = "") -> str:
    return f"monitor a, b, c; R: {goal} -> write({head})"


# --- simple events ------------------------------------------------------------------------------------------------------


def test_example_1_asks_for_old_and_new_values() -> None:
    history = [
        upd("owns", "1996-08-21 09:13:27", Name="Jones", ID="IBM", Shares=(10, 2000)),
        upd("owns", "1996-08-21 09:13:28", Name="Jones", ID="IBM", Shares=(2000, 2500)),
        upd("owns", "1996-08-21 09:13:29", Name="Smith", ID="IBM", Shares=(0, 5000)),
    ]
    assert told(EXAMPLES["1"], history) == [(1, "IBM", "Wed Aug 21 09:13:27 1996")]


def test_kinds_of_changes() -> None:
    history = [ins("a", 1, k=1), upd("a", 2, k=(1, 2)), gone("a", 3, k=2)]
    both = "monitor a, delete(a); R: a(X) -> write(X.k, X.old_k); S: delete(a(X)) -> write(X.k, X.old_k)"
    assert told(both, history, "R") == [(1, 1, None), (2, 2, 1)]
    assert told(both, history, "S") == [(3, 2, 2)]


def test_an_update_whose_old_row_is_missing_has_null_there() -> None:
    first = upd("a", 1, k=(1, 2))
    history = [type(first)("a", "update", None, first.new, first.instant, first.timestamp)]
    assert told("monitor update(a) as u; R: u(X, X.old_k IS NULL) -> write(X.k)", history) == [(1, 2)]


def test_what_is_not_monitored_makes_no_stage() -> None:
    history = letters(["a1", "c0", "b1"])
    assert stages("monitor a, b; R: (a, b) -> write()", history) == [2]
    assert stages(rule("(a, b)"), history) == []


def test_equal_events_of_a_stage_are_one() -> None:
    assert told(rule("*a(X)", "Count(X), Sum(X.k)"), letters(["a2 a2", "a2"])) == [(1, 1, 2), (2, 2, 4)]


def test_a_condition_that_is_null_does_not_hold_and_its_absence_does() -> None:
    history = letters(["a", "a1"])
    assert stages(rule("a(X, X.k > 0)"), history) == [2]
    assert stages(rule("!a(X, X.k > 0)"), history) == [1]
    assert stages(rule("a(X, 1 / (X.k - 1) > 0 OR X.k IS NULL)"), history) == [1]


# --- sequences -----------------------------------------------------------------------------------------------------------


def test_example_3_later_includes_the_next_stage() -> None:
    def shares(at: int, old: int, new: int, name: str = "Ann") -> Any:
        return upd("owns", at, Name=name, ID="IBM", Shares=(old, new))

    history = [
        shares(1, 100, 90),
        shares(2, 90, 110),
        shares(3, 50, 20, "Bob"),
        shares(4, 110, 111),
        shares(5, 20, 51, "Bob"),
    ]
    assert told(EXAMPLES["3"], history) == [(2, "Ann", "IBM"), (5, "Bob", "IBM")]


def test_immediate_and_relaxed_sequences() -> None:
    history = letters(["a1", "b1", "c1", "b2"])
    assert told(rule("(a(X), b(Y))", "Y.k"), history) == [(2, 1)]
    assert told(rule("[a(X), b(Y)]", "Y.k"), history) == [(2, 1), (4, 2)]
    assert told(rule("[a(X), (c(Z), b(Y))]", "Y.k"), history) == [(4, 2)]
    assert told(rule("([a(X), c(Z)], b(Y))", "Y.k"), history) == [(4, 2)]


def test_several_events_of_a_stage_make_several_bindings() -> None:
    history = letters(["a1 a2", "b1 b2 b3"])
    assert told(rule("(a(X), b(Y, Y.k >= X.k))", "X.k, Y.k"), history) == [
        (2, 1, 1),
        (2, 1, 2),
        (2, 1, 3),
        (2, 2, 2),
        (2, 2, 3),
    ]
    assert told(rule("(a(X), b(Y, Y.k >= X.k))", "Y.k"), history) == [(2, 1), (2, 2), (2, 3)]


def test_a_test_filters_where_the_goal_before_it_is_completed() -> None:
    history = letters(["a1", "b2", "b3", "c0"])
    assert told(rule("([a(X), b(Y)], Y.k - X.k = 2, c(Z))", "Y.k"), history) == [(4, 3)]
    assert told(rule("[a(X), b(Y), Y.k - X.k = 1, c(Z)]", "Y.k"), history) == [(4, 2)]


# --- any, stage 0 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("any", [1, 2, 3]),
        ("(any, a)", [1, 3]),  # stage 0 is in the history
        ("[any, a]", [1, 3]),
        ("((any, 1 = 1), a)", [1, 3]),
        ("(any, any, a)", [3]),  # only the first may be stage 0
        ("({any, b}, a)", [3]),
        ("(*any, a)", [3]),
        ("*(any, a)", [1, 3]),  # an instance of the body is one of the star
        ("{(any, a), c}", [1, 3]),
        ("[b, (any, a)]", []),  # does not begin anywhere
        ("!(any, a)", [2]),
        ("(any, a) & a", [1, 3]),
        ("first((any, a))", [1]),
        ("prior((any, a), a)", [3]),
    ],
)
def test_any_is_at_stage_0_as_the_first_goal_of_what_begins(goal: str, expected: list[int]) -> None:
    assert stages(rule(goal), letters(["a1", "b1", "a2"])) == expected


# --- !, &, {} ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("!a", [2, 3]),
        ("!!a", [1, 4]),
        ("(a, !a)", [2]),
        ("!(a, b)", [1, 3, 4]),  # at all stages but where one is completed
        ("(b, !(a, b))", [3]),
        ("(a, !(a, b))", []),
        ("(c, !(a, b))", [4]),
        ("{a, b}", [1, 2, 4]),
        ("{(a, b), c}", [2, 3]),
        ("({(a, b), c}, {a, c})", [3, 4]),
        ("!{b, c}", [1]),
        ("*{a, b}", [1, 2, 4]),
        ("a & b", [4]),
        ("!a & !b", [3]),
        ("(c, a & b)", [4]),
        ("(a, b) & b", [2]),
        ("[a, b] & (c, a)", [4]),
        ("(c, first(b))", []),  # there was one before
        ("(a, first(b))", [2]),
    ],
)
def test_points_and_composites(goal: str, expected: list[int]) -> None:
    assert stages(rule(goal), letters(["a1", "b1", "c1", "a2 b3"])) == expected


def test_a_negated_point_sees_what_was_bound() -> None:
    history = letters(["a1 a2", "b1", "b1"])
    assert told(rule("(a(X), !b(U, U.k = X.k))", "X.k"), history) == [(2, 2)]


def test_both_export_and_may_be_the_same_event() -> None:
    history = letters(["a1 a2"])
    assert told(rule("(a(X) & a(Y), X.k <= Y.k)", "X.k, Y.k"), history) == [(1, 1, 1), (1, 1, 2), (1, 2, 2)]


def test_composites_beside_each_other_make_every_pair() -> None:
    history = letters(["a1", "a2", "b5", "c0"])
    text = rule("[a(X), b(Y)] & [a(Z), b(V)]", "X.k, Z.k")
    assert told(text, history) == [(3, 1, 1), (3, 1, 2), (3, 2, 1), (3, 2, 2)]


def test_either_drops_what_is_bound_in_it() -> None:
    history = letters(["a1", "a2", "b5"])
    assert told(rule("({(a(X), a(Y, Y.k > X.k)), a(Z, Z.k > 1)}, b(V))", "V.k"), history) == [(3, 5)]


# --- first, prior ------------------------------------------------------------------------------------------------------------


def test_first_is_once_even_if_the_event_goes_on() -> None:
    history = letters(["b1", "a1 a2", "a3", "b1", "a4"])
    assert told(rule("first(a(X))", "X.k"), history) == [(2, 1), (2, 2)]
    assert told(rule("first((b(Y), a(X)))", "X.k"), history) == [(2, 1), (2, 2)]
    assert told(rule("(first(a(X)), a(Y))", "X.k, Y.k"), history) == [(3, 1, 3), (3, 2, 3)]
    assert stages(rule("first(!first(a))"), letters(["a1", "a2", "b1"])) == [2]


def test_prior_only_asks_for_the_order_of_completion() -> None:
    history = letters(["b1", "a1", "c1", "b2", "c2"])
    # (b, [..], c) may begin before a occurs, which a sequence could not
    assert told(rule("prior(a(X), [b(Y), c(Z)])", "X.k, Y.k, Z.k"), history) == [
        (3, 1, 1, 1),
        (5, 1, 1, 2),
        (5, 1, 2, 2),
    ]
    assert told(rule("[a(X), b(Y), c(Z)]", "Y.k, Z.k"), history) == [(5, 2, 2)]
    assert stages(rule("prior(b, b)"), letters(["b1", "b2"])) == [2]


# --- derived events ------------------------------------------------------------------------------------------------------------


def test_derived_events_are_in_the_history_and_make_no_stage() -> None:
    text = """monitor a, b; derived d(v);
    R: a(X) -> d(X.k * 2);
    S: d(D) -> write(D.v, D.Timestamp);
    T: (d(D), any) -> write(D.v);
    U: (d(D) & any, !d) -> write(D.v)"""
    history = letters(["a1", "b0", "a2", "a3"])
    assert told(text, history, "S") == [(1, 2, moment(1)), (3, 4, moment(3)), (4, 6, moment(4))]
    assert told(text, history, "T") == [(2, 2), (4, 4)]
    assert told(text, history, "U") == [(2, 2)]


def test_strata_settle_what_is_negated_first() -> None:
    text = """monitor a, b; derived d(k), e(k);
    R: (a(X), !e(E, E.k = X.k)) -> write(X.k);
    S: a(X) & !d(D) -> write(X.k);
    T: d(D, D.k > 1) -> e(D.k);
    U: b(X) -> d(X.k)"""
    history = letters(["a2 a1", "b2", "a1 b1", "a3"])
    assert told(text, history, "R") == [(2, 1), (4, 1)]
    assert told(text, history, "S") == [(1, 1), (1, 2), (4, 3)]


def test_recursion_within_a_stage_reaches_its_least_fixpoint() -> None:
    text = """monitor edge; derived path(s, t);
    R: edge(E) -> path(E.s, E.t);
    S: (path(P) & edge(E), P.t = E.s) -> path(P.s, E.t);
    T: path(P, P.s = P.t) -> write(P.s)"""
    history = [ins("edge", 1, s=s, t=t) for s, t in ((1, 2), (2, 3), (3, 1), (4, 1))]
    assert told(text, history) == [(1, 1), (1, 2), (1, 3)]
    assert len(told(text, history, "S")) == 12


TICKS = (
    EXAMPLES["2"].replace("Price)", "Price, old_Price)").replace("X.Price, old_Price)", "X.Price, X.old_Price)")
    + EXAMPLES["10"]
)


def ticks(*prices: int) -> list[Any]:
    """Updates of IBM, of another stock between them, and of something else."""
    found = []
    for number, (old, new) in enumerate(pairwise(prices), 1):
        at = 1000 + 10 * number
        found += [
            upd("stock_tick", at, ID="IBM", Price=(old, new)),
            upd("stock_tick", at + 1, ID="TRD", Price=(1, 2)),
            upd("owns", at + 2, Name="Ann", ID="IBM", Shares=(1, 2)),
        ]
    return found


def test_examples_2_and_10_count_increases_and_decreases() -> None:
    said = "Twice as many Incr. as Decr. for IBM"
    rows = judge(TICKS, ticks(5, 6, 7, 8, 7, 6))
    report = [(each.stage, each.timestamp, *each.arguments) for each in rows if each.rule == "Report"]
    assert report == [
        (1, moment(1010), said, 0, 0, moment(1010)),
        (2, moment(1020), said, 1, 0, moment(1020)),
        (3, moment(1030), said, 2, 0, moment(1030)),
        (4, moment(1040), said, 2, 1, moment(1040)),
    ]
    made = [(each.stage, each.arguments) for each in rows if each.rule == "IBM_StockTicks"]
    assert made == [
        (1 + 3 * n, ("IBM", new, old)) for n, (old, new) in enumerate([(5, 6), (6, 7), (7, 8), (8, 7), (7, 6)])
    ]


def test_example_10_an_unchanged_price_ends_the_counting() -> None:
    rows = judge(TICKS, ticks(5, 6, 6, 7))
    assert [each.stage for each in rows if each.rule in ("InitRule", "Increase", "Decrease")] == [1]


# --- modules, keys, instants ------------------------------------------------------------------------------------------------------


def test_what_another_module_derives_is_numbered_anew() -> None:
    text = """Begin Module One monitor a, b; derived d(k);
    R: a(X, X.k > 1) -> d(X.k); End Module.
    Begin Module Two monitor d, One.d as e, c;
    S: (d(X), any, d(Y)) -> write(X.k, Y.k); End Module."""
    history = letters(["b1", "a2", "a1", "c0", "b0", "a3"])
    rows = judge(text, history)
    assert [(each.module, each.stage, each.instant, each.arguments) for each in rows] == [
        ("One", 2, moment(2), (2,)),
        ("One", 5, moment(6), (3,)),
        ("Two", 3, moment(6), (2, 3)),
    ]


def test_derived_events_of_several_keys_meet_in_one_stage() -> None:
    text = """Begin Module One monitor a partition by k; derived d(k);
    R: (a, a(X)) -> d(X.k); End Module.
    Begin Module Two monitor d;
    S: d(X) & d(Y, Y.k > 1) -> write(X.k, Y.k, X.Timestamp); End Module."""
    rows = judge(text, [ins("a", at, k=k) for at, k in ((1, 1), (2, 2), (3, 1), (3, 2), (4, 1))])
    assert [(each.stage, each.instant, each.arguments) for each in rows if each.module == "Two"] == [
        (1, moment(3), (1, 2, moment(3))),
        (1, moment(3), (2, 2, moment(3))),
    ]


def test_each_key_has_a_history_of_its_own_and_null_is_one() -> None:
    text = "monitor a, b partition by k; R: (a(X), b(Y)) -> write(X.k); S: first(any) -> write()"
    rows = judge(text, letters(["a1", "a2 a", "b1", "b"]))
    assert [(each.key, each.stage, each.instant) for each in rows if each.rule == "R"] == [
        ((None,), 2, moment(4)),
        ((1,), 2, moment(3)),
    ]
    assert [each.key for each in rows if each.rule == "S"] == [(None,), (1,), (2,)]


def test_a_deleted_row_belongs_to_the_key_it_had_an_update_to_the_one_it_has() -> None:
    text = "monitor a, delete(a) partition by k; R: any -> write()"
    rows = judge(text, [upd("a", 1, k=(1, 2)), gone("a", 2, k=2), gone("a", 3, k=1)])
    assert [(each.key, each.stage) for each in rows] == [((1,), 1), ((2,), 1), ((2,), 2)]


def test_stages_are_by_instant_and_have_the_largest_timestamp() -> None:
    history = [
        ins("a", 7, instant=(1, "t1"), k=1),
        ins("a", 5, instant=(1, "t2"), k=2),
        ins("b", 9, instant=(1, "t1"), k=3),
        ins("b", 9, instant=(2, "t0"), k=4),
    ]
    text = rule("a(X) & b(Y)", "X.Timestamp, Y.Timestamp") + "; S: (any, a(X), b(Y)) -> write(X.k)"
    rows = judge(text, history)
    assert [(each.rule, each.stage, each.instant, each.timestamp, each.arguments) for each in rows] == [
        ("R", 1, (1, "t1"), moment(9), (moment(7), moment(9))),
        ("S", 3, (2, "t0"), moment(9), (2,)),
    ]


# --- what a rule produces --------------------------------------------------------------------------------------------------------


def test_rows_are_ordered_by_stage_rule_action_and_arguments() -> None:
    text = "monitor a; Z: a(X) -> write(X.k), write('x'); A: a(X) -> write(X.k)"
    rows = judge(text, letters(["a2 a a10", "a1"]))
    assert [(each.stage, each.rule, each.action, *each.arguments) for each in rows] == [
        (1, "Z", 0, None),
        (1, "Z", 0, 2),
        (1, "Z", 0, 10),
        (1, "Z", 1, "x"),
        (1, "A", 0, None),
        (1, "A", 0, 2),
        (1, "A", 0, 10),
        (2, "Z", 0, 1),
        (2, "Z", 1, "x"),
        (2, "A", 0, 1),
    ]


def test_an_aggregate_of_ones_own() -> None:
    aggregate(
        "spread", lift=lambda v: (v, v), combine=_wider, identity=None, finish=lambda s: s[1] - s[0], returns="int"
    )
    assert told(rule("*a(X)", "spread(X.k)"), letters(["a5", "a1", "a7"])) == [(1, 0), (2, 4), (3, 6)]


def _wider(left: Any, right: Any) -> Any:
    return right if left is None else (min(left[0], right[0]), max(left[1], right[1]))


def test_an_overflow_in_an_aggregate_is_an_error_and_elsewhere_null() -> None:
    large = {"a": Relation({"k": INT})}
    history = [ins("a", 1, k=2**62), ins("a", 2, k=2**62 + 1)]
    assert told(rule("a(X)", "X.k + X.k"), history, relations=large) == [(1, None), (2, None)]
    with pytest.raises(AggregateError, match="overflow"):
        told(rule("*a(X)", "Sum(X.k)"), history)


# --- times -----------------------------------------------------------------------------------------------------------------------


def test_parts_are_moved_on_the_calendar() -> None:
    history = [
        ins("a", at, k=n) for n, at in enumerate(["2023-12-31 23:59:59", "2024-01-01", "2024-02-29", "2024-03-01"])
    ]
    months = rule("(a(X), a(Y, Y.Month = X.Month + 1))", "Y.Month, Y.Year")
    assert told(months, history) == [(2, 1, 2024), (3, 2, 2024), (4, 3, 2024)]
    assert told(rule("(a(X), a(Y, Y.Day - 1 = X.Day))", "Y.k"), history) == [(2, 1), (4, 3)]
    assert told(rule("(a(X), a(Y, Y.Date = X.Date + (X.k - X.k + 1)))", "Y.k"), history) == [(2, 1), (4, 3)]
    assert told(rule("a(X, X.Day = '29', X.Time = '00:00:00')", "days(X.Timestamp)"), history) == [(3, 19782)]
    assert stages(rule("(a(X), a(Y, months(Y.Timestamp) - months(X.Timestamp) = 1))"), history) == [2, 3, 4]


def test_parts_are_told_in_the_zone_of_the_program() -> None:
    history = [ins("a", "2024-06-30 23:30", k=1)]
    text = rule("a(X)", "X.Month, X.Hour, asctime(X.Timestamp)")
    assert told(text, history) == [(1, 6, 23, "Sun Jun 30 23:30:00 2024")]
    assert told(text, history, zone="Europe/Berlin") == [(1, 7, 1, "Mon Jul  1 01:30:00 2024")]


def test_timestamps_subtract_to_durations() -> None:
    history = letters(["a1", "c0", "c0", "b1"])
    within = "[a(X), b(Y, Y.Timestamp - X.Timestamp <= INTERVAL {} SECONDS)]"
    assert stages(rule(within.format(3)), history) == [4]
    assert stages(rule(within.format(2)), history) == []

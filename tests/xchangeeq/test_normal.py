"""`or` is multiplied out, events get names, literals are sorted."""

from hypothesis import given

from acelera.xchangeeq import ast
from acelera.xchangeeq.normal import NormalRule, normal_rules, normalize
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.printer import print_node
from xchangeeq.programs import TWELVE, P
from xchangeeq.strategies import BODIES


def alternatives(body: str) -> list[str]:
    return [shown(rule) for rule in normalize(parse_program(f"DETECT d {{ }} ON {body} END").rules[0])]


def shown(rule: NormalRule) -> str:
    parts = [*rule.events, *rule.absolute, *rule.periodic, *rule.relative, *rule.collects, *rule.nots]
    return (
        "; ".join(print_node(each) for each in parts) + " | " + "; ".join(print_node(each) for each in rule.conditions)
    )


def test_or_is_multiplied_out_with_the_conditions_around_it() -> None:
    assert alternatives(
        "and { or { event i: a { } where { var A > 1 }, event i: b { } }, or { c { }, e { } } } where { var B > 2 }"
    ) == [
        "event i: a { }; event _1: c { } | var A > 1; var B > 2",
        "event i: a { }; event _1: e { } | var A > 1; var B > 2",
        "event i: b { }; event _1: c { } | var B > 2",
        "event i: b { }; event _1: e { } | var B > 2",
    ]


def test_nested_and_is_flat() -> None:
    assert alternatives("and { and { event i: a { } } where { i before j }, event j: b { } } where { i after j }") == [
        "event i: a { }; event j: b { } | i before j; i after j"
    ]


def test_fresh_names_are_not_taken() -> None:
    assert alternatives("and { a { }, event _1: b { }, c { } } where { _3 before _1 }") == [
        "event _2: a { }; event _1: b { }; event _4: c { } | _3 before _1"
    ]


def test_literals_are_sorted_by_kind_and_timers_by_anchor() -> None:
    text = """and { while w: not n { }, event k: timer:extend [ event w, 1 s ], event w: timer:from-end [ event e, 1 s ],
        event p: timer:periodic [ 1 min ], while w: collect c { }, event t: timer:date { }, event e: a { } }"""
    assert alternatives(text) == [
        "event e: a { }; event t: timer:date { }; event p: timer:periodic [ 1 min ]; "
        "event w: timer:from-end [ event e, 1 s ]; event k: timer:extend [ event w, 1 s ]; "
        "while w: collect c { }; while w: not n { } | "
    ]


def test_timers_in_a_circle_are_kept_for_the_checker() -> None:
    text = "and { event t: timer:extend [ event u, 1 s ], event u: timer:extend [ event t, 1 s ] }"
    assert alternatives(text) == ["event t: timer:extend [ event u, 1 s ]; event u: timer:extend [ event t, 1 s ] | "]


def test_rules_know_where_they_come_from() -> None:
    program = parse_program(P + TWELVE["commerce: neither paid nor cancelled in two days, whatever shop it came from"])
    rules = normal_rules(program)
    assert [rule.number for rule in rules] == [0, 1, 2, 3, 3]
    assert all(rule.rule is program.rules[rule.number] and rule.head is rule.rule.head for rule in rules)
    assert rules[1].identifiers == ("n", "i")
    assert [identifier for identifier, _ in rules[1].queries] == ["n", None]


@given(BODIES)
def test_no_literal_and_no_condition_is_lost(body: ast.Body) -> None:
    nodes = list(ast.walk(body))
    literals = [each for each in nodes if not isinstance(each, ast.AllOf | ast.OneOf | ast.Where)]
    conditions = {each for node in nodes if isinstance(node, ast.Where) for each in node.conditions}
    found = normalize(ast.Rule(ast.Construct("d", ()), body))
    assert {each for rule in found for each in rule.conditions} == conditions
    kept = {
        each
        for rule in found
        for each in (*rule.events, *rule.absolute, *rule.periodic, *rule.relative, *rule.collects, *rule.nots)
    }
    assert {each for each in literals if not isinstance(each, ast.Event) or each.identifier is not None} <= kept
    assert all(event.identifier is not None for rule in found for event in (*rule.events, *rule.absolute))

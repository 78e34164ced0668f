"""Whole programs over small streams; what they derive is worked out by hand from the definitions."""

from fractions import Fraction

from acelera.xchangeeq.parser import parse_program
from xchangeeq import trees as programs
from xchangeeq.building import DAY, HOUR, MINUTE, SECOND, derived, ev

PAGE_22 = [
    ev("temp", 60, 63, area="a", sensor="s", value=40),
    ev("smoke", 65, 68, area="a"),
    ev("temp", 70, 80, area="a", sensor="s", value=41),
]


def test_p_on_the_stream_of_page_22_in_seconds_as_it_is_printed() -> None:
    assert derived(programs.P.tree, PAGE_22) == {
        ev("fire", 65, 80, area="a"),
        ev("burnt_down", 70, 92, sensor="s"),
        ev("avg_temp", 10, 80, sensor="s", value=40),
    }


def test_p_if_minutes_were_meant() -> None:
    assert derived(programs.P.tree, PAGE_22, tick=MINUTE) == {ev("burnt_down", 70, Fraction(802, 10), sensor="s")}


def test_p_on_point_events() -> None:
    points = [type(each)(each.term, each.end, each.end) for each in PAGE_22]
    assert derived(programs.P.tree, points) == {
        ev("fire", 68, 80, area="a"),
        ev("avg_temp", 3, 63, sensor="s", value=40),
        ev("avg_temp", 20, 80, sensor="s", value=40.5),
    }


def test_what_only_overlaps_a_window_is_not_in_it() -> None:
    hotter = [ev("temp", 60, 63, area="a", sensor="s", value=41), *PAGE_22[1:]]
    assert {each for each in derived(programs.P.tree, hotter) if each.label == "burnt_down"} == {
        ev("burnt_down", 60, 75, sensor="s"),
        ev("burnt_down", 70, 92, sensor="s"),
    }


def test_silent_and_recovered() -> None:
    beats = {"h1": [0, 60, 300], "h2": [100, 3700], "h3": [0, 90, 3691]}
    events = [ev("heartbeat", at, host=host) for host, times in beats.items() for at in times]
    silent = {("h1", 60), ("h1", 300), ("h2", 100), ("h2", 3700), ("h3", 90), ("h3", 3691)}  # at 90, h3's window has 90
    assert derived(programs.RECOVERED.tree, events) == {
        *(ev("silent", at, at + 90, host=host) for host, at in silent),
        ev("recovered", 60, 300, host="h1"),
        ev("recovered", 100, 3700, host="h2"),  # an hour, and not a second more
    }


def test_one_card_in_two_places() -> None:
    rows = [("c1", "DE", 0), ("c1", "FR", 300), ("c1", "DE", 600), ("c1", "US", 1201), ("c2", "FR", 100)]
    events = [ev("payment", at, card=card, country=country) for card, country, at in rows]
    assert derived(programs.TWO_PLACES.tree, events) == {
        ev("two_places", 0, 300, card="c1", **{"from": "DE"}, to="FR"),
        ev("two_places", 300, 600, card="c1", **{"from": "FR"}, to="DE"),
    }


PAYMENTS = [
    ev("payment", at, card="c", amount=amount) for at, amount in [(0, 10), (60, 10), (120, 20), (180, 5), (300, 7)]
]


def test_bursts_and_velocity() -> None:
    assert derived(programs.VELOCITY.tree, PAYMENTS) == {
        ev("burst", -300, 0, card="c", n=1, total=10),
        ev("burst", -240, 60, card="c", n=2, total=20),
        ev("burst", -180, 120, card="c", n=3, total=40),
        ev("burst", -120, 180, card="c", n=4, total=45),
        ev("burst", 0, 300, card="c", n=5, total=52),
        ev("velocity", 0, 300, card="c", total=52),
    }


def test_bursts_by_the_letter() -> None:
    assert derived(programs.VELOCITY.tree, PAYMENTS, aggregates="set") == {
        ev("burst", -300, 0, card="c", n=1, total=10),
        ev("burst", -240, 60, card="c", n=1, total=10),
        ev("burst", -180, 120, card="c", n=2, total=30),
        ev("burst", -120, 180, card="c", n=3, total=35),
        ev("burst", 0, 300, card="c", n=4, total=42),
    }


def test_the_door_was_open_while_the_machine_ran() -> None:
    doors = {"during": (12, 15), "starts": (10, 12), "finishes": (18, 20), "equals": (10, 20)}
    others = {"overlaps": (5, 12), "contains": (8, 22), "before": (1, 2)}
    events = [ev("run", 10, 20, machine=each) for each in (*doors, *others)]
    events += [ev("door_open", *times, machine=each) for each, times in (doors | others).items()]
    assert derived(programs.UNSAFE.tree, events) == {ev("unsafe", 10, 20, machine=each) for each in doors}


def test_tumbling_minutes() -> None:
    rows = [("s", 0, 20), ("s", 30, 22), ("s", 59, 24), ("s", 60, 30), ("s", 119, 32), ("t", 61, 5), ("s", 125, 99)]
    events = [ev("temp", at, sensor=sensor, value=value) for sensor, at, value in rows]
    assert derived(programs.MINUTES.tree, events) == {  # the third minute ends after all base events
        ev("minute", 0, 59, sensor="s", low=20, high=24, mean=22),
        ev("minute", 60, 119, sensor="s", low=30, high=32, mean=31),
        ev("minute", 60, 119, sensor="t", low=5, high=5, mean=5),
    }


def test_items_without_insurance() -> None:
    items = [
        {"sku": "a", "price": 2000},
        {"sku": "b", "price": 1500, "insurance": "full"},
        {"sku": "c", "price": 500},
        {"sku": "d", "price": 3000, "insurance": {"by": "us"}},
        {"price": 4000},
    ]
    assert derived(programs.UNINSURED.tree, [ev("order", 5, id=1, item=items)]) == {
        ev("uninsured", 5, order=1, sku="a")
    }


def test_the_way_of_a_parcel() -> None:
    stops = [("A", 7), ("B", 5), ("A", 3), ("too early", -5), ("too late", 11)]
    events = [ev("scan", at, parcel="p", place=place, at=at) for place, at in stops]
    events += [ev("delivered", 10, parcel="p"), ev("scan", 4, parcel="other", place="C", at=4)]
    way = [{"place": "A", "at": 3}, {"place": "B", "at": 5}, {"place": "A", "at": 7}]
    assert derived(programs.ITINERARY.tree, events, tick=DAY) == {ev("itinerary", -4, 10, parcel="p", stop=way)}


def test_orders_that_are_stuck() -> None:
    events = [
        ev("web_order", 0, id="o1"),
        ev("shop_order", 0, id="o2"),
        ev("payment", 1, order="o2"),
        ev("web_order", 0, id="o3"),
        ev("cancellation", 2, order="o3"),  # windows are closed
        ev("shop_order", 1, id="o4"),
        ev("payment", 4, order="o4"),
    ]
    assert derived(programs.STUCK.tree, events, tick=DAY) == {
        ev("stuck", 0, 2, order="o1"),
        ev("stuck", 1, 3, order="o4"),
    }


def test_contamination_spreads() -> None:
    mixes = [("a", "b", 2), ("b", "c", 3), ("c", "a", 4), ("b", "d", 2), ("a", "b", 5), ("z", "y", 9)]
    events = [ev("mix", at, **{"from": one}, into=other) for one, other, at in mixes]
    events += [ev("lab_test", 1, lot="a", result="positive"), ev("lab_test", 1, lot="z", result="negative")]
    bad = [("a", 1), ("b", 2), ("c", 3), ("a", 4), ("b", 5)]
    assert derived(programs.CONTAMINATION.tree, events) == {ev("bad", 1, end, lot=lot) for lot, end in bad}


def test_sales_by_six_every_day() -> None:
    rows = [("x", 7, 100), ("x", 9, 5), ("y", 12, 3), ("x", 17, 7), ("x", 34, 2), ("x", 42, 1)]
    events = [ev("sale", at, shop=shop, amount=amount) for shop, at, amount in rows]
    assert derived(programs.DAILY.tree, events, tick=HOUR) == {
        ev("daily", 8, 18, shop="x", sales=12),
        ev("daily", 8, 18, shop="y", sales=3),
        ev("daily", 32, 42, shop="x", sales=3),
    }


def test_alarms_that_no_restart_explains() -> None:
    events = [
        ev("alarm", 600, host="h1", source={"ip": "1.1"}, user="u"),
        ev("alarm", 600, host="h2", ip="2.2"),
        ev("restart", 570, host="h2"),  # too near to explain anything
        ev("alarm", 600, host="h3", ip="3.3", user="v"),
        ev("restart", 540, host="h3"),
        ev("alarm", 600, host="h4", user="w"),  # no ip
    ]
    assert derived(programs.PAGE.tree, events, tick=SECOND) == {
        ev("page", 240, 600, host="h1", ip="1.1", user="u"),
        ev("page", 240, 600, host="h2", ip="2.2"),
    }


def test_trees_are_those_of_their_texts() -> None:
    """What the judge is tried with says what is written beside it."""
    written = [each for each in vars(programs).values() if isinstance(each, programs.Written)]
    assert written
    for each in written:
        assert parse_program(each.text) == each.tree

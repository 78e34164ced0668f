"""How quickly queries run: against Arrow evaluating their predicates, against other windows, lengths and methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import acelera as ac
from data import ticks
from measuring import heading, in_turns, line, seconds

MILLION = 1_000_000

Step = tuple[str, str, float]
"""An event type, the name of a stock, and the price that it is above."""


def steps(price: float) -> list[Step]:
    """Three steps: sales of one stock, purchases of another, sales of a third one."""
    return [("SELL", "T01", price), ("BUY", "T02", price), ("SELL", "T03", price)]


def conditions(given: Sequence[Step]) -> str:
    """The predicates of steps, for the variables a, b and c."""
    return " AND ".join(
        f"{variable}[name = '{name}' AND price > {price}]"
        for variable, (_, name, price) in zip("abc", given, strict=True)
    )


def sequence(given: Sequence[Step], window: int = 100, iterate: str = "") -> str:
    """A query for three steps one after another, the second perhaps iterated."""
    (first, _, _), (second, _, _), (third, _, _) = given
    return f"""
        SELECT a.price, b.price, c.price MATCH {first} AS a ; ({second} AS b){iterate} ; {third} AS c
        FILTER {conditions(given)} WITHIN {window} EVENTS"""


START = f"SELECT a.price, c.price MATCH SELL AS a ; (BUY AS b){{plus}} ; SELL AS c FILTER {conditions(steps(150.0))}"
REMEMBERING = {
    "increasing": "SELECT a.price MATCH (SELL AS a)+ "
    "FILTER a[name = 'T01' AND price > 150] AND a[increasing(price)] WITHIN 100 EVENTS",
    "a.price < b.price": START.format(plus="") + " AND a.price < b.price WITHIN 100 EVENTS",
    "filtered aggregate": START.format(plus="+")
    + " AGG m[n <- count(b), total <- sum(b.price)] FILTER m.n > 1 AND m.total < 340 WITHIN 100 EVENTS",
    "UNLESS": "SELECT a.price, c.price MATCH ((SELL AS a ; SELL AS c) UNLESS (BUY AS b "
    "FILTER b[name = 'T02' AND price > 150])) "
    "FILTER a[name = 'T01' AND price > 150] AND c[name = 'T03' AND price > 150] WITHIN 100 EVENTS",
}
"""Queries with registers."""
SALES = "(SELL AS a ; SELL AS c) FILTER a[name = 'T01' AND price > 150] AND c[name = 'T03' AND price > 150]"
AFTERWARDS = {
    "plain": f"SELECT a.price, c.price MATCH {SALES} WITHIN 100 EVENTS",
    "UNLESS … FOR": f"SELECT a.price, c.price MATCH ({SALES}) UNLESS (BUY AS b FILTER b[name = 'T02' AND price > 150]) "
    "FOR 10 MILLISECONDS WITHIN 100 EVENTS",
    "UNLESS … FOR, compared with the match": f"SELECT a.price, c.price MATCH ({SALES}) "
    "UNLESS (BUY AS b FILTER b[name = 'T02'] AND b.price > a.price) FOR 10 MILLISECONDS WITHIN 100 EVENTS",
}
"""Queries whose matches wait."""


LOOKING_BACK = {
    "a[price > prev(price)], gaps": "SELECT a.price MATCH (SELL AS a)+ "
    "FILTER a[name = 'T01' AND price > 150] AND a[price > prev(price)] WITHIN 100 EVENTS",
    "a[price > 1.5 * prev(price)], no gaps": "SELECT start, end MATCH ANY:{2,} AS a "
    "FILTER a[price > 1.5 * prev(price)] WITHIN 100 EVENTS",
    "a[count() <= 3], gaps": "SELECT a.price MATCH (SELL AS a)+ "
    "FILTER a[name = 'T01' AND price > 150 AND count() <= 3] WITHIN 100 EVENTS",
}
"""Queries that look at the event before, or at the events so far."""
KEPT = [
    "LONGEST PER START",
    "SHORTEST PER START",
    "LONGEST PER END",
    "SHORTEST PER END",
    "LONGEST APART",
    "SHORTEST APART",
    "ALL APART",
]


def predicates(table: pa.Table, given: Sequence[Step]) -> list[pa.ChunkedArray]:
    """For each step the rows that satisfy it; what two steps ask for alike is compared once."""
    types = {kind: pc.equal(table["type"], kind) for kind in {kind for kind, _, _ in given}}
    names = {name: pc.equal(table["name"], name) for name in {name for _, name, _ in given}}
    prices = {price: pc.greater(table["price"], price) for price in {price for _, _, price in given}}
    return [pc.and_(types[kind], pc.and_(names[name], prices[price])) for kind, name, price in given]


def runner(text: str, table: pa.Table) -> Callable[[], pa.Table]:
    """Runs a query over a table; the query is parsed beforehand, as it would be in a program."""
    return partial(ac.query(text).run, table)


def against_predicates(table: pa.Table) -> None:
    """Whole queries, results included, against their predicates alone."""
    heading(f"{table.num_rows:,} events, 20 tickers, WITHIN 100 EVENTS, results included, against pyarrow.compute")
    for price in (195.0, 150.0):
        given = steps(price)
        works: dict[str, Callable[[], Any]] = {
            "arrow": partial(predicates, table, given),
            "a ; b ; c": runner(sequence(given), table),
            "a ; b+ ; c": runner(sequence(given, iterate="+"), table),
        }
        best = in_turns(works)
        arrow = best.pop("arrow")
        for name, taken in best.items():
            found = works[name]().num_rows
            note = f"{found:,} matches, {taken * 1e3:.0f} ms"
            line(f"{name}, price > {price:g}", taken / arrow, "times the predicates", at_most=4, note=note)


def against_one_key() -> None:
    """Many keys that interleave, against the same query over all events as one stream."""
    heading("1,000 interleaved keys, 1,000,000 events, WITHIN 100 EVENTS, against the unpartitioned run")
    table = ticks(MILLION, stocks=1000)
    for price in (199, 195):
        text = "SELECT a.price, b.price, c.price MATCH SELL AS a ; BUY AS b ; SELL AS c "
        text += f"FILTER a.price > {price} AND b.price > {price} AND c.price > {price}"
        one = runner(f"{text} WITHIN 100 EVENTS", table)
        many = runner(f"{text} PARTITION BY name WITHIN 100 EVENTS", table)
        best = in_turns({"one": one, "many": many})
        note = f"{many().num_rows:,} and {one().num_rows:,} matches, {best['many'] * 1e3:.0f} ms"
        line(f"PARTITION BY name, price > {price}", best["many"] / best["one"], "times", at_most=3, note=note)


def against_few_keys() -> None:
    """500,000 keys against 1,000, over as many events, with a window of five events of a key on the average."""
    rows, many, few = 5 * MILLION, 500_000, 1000
    heading(f"{many:,} interleaved keys against {few:,}, {rows:,} events, WITHIN a time")
    tables = {keys: timed(ticks(rows, stocks=keys)) for keys in (few, many)}
    numbered = {keys: with_numbers(table) for keys, table in tables.items()}
    for kind, given in (("texts", tables), ("whole numbers", numbered)):
        for name, compared in (("a ; b ; c", ""), ("a ; b ; c, a.price < c.price", " AND a.price < c.price")):
            text = "SELECT a.price, c.price MATCH SELL AS a ; BUY AS b ; SELL AS c FILTER a[price > 175]"
            text += f" AND b[price > 175] AND c[price > 175]{compared} PARTITION BY name WITHIN {{}} MILLISECONDS"
            works = {
                str(keys): partial(ac.query(text.format(5 * keys)).run, table, order_by="ts")
                for keys, table in given.items()
            }
            best = in_turns(works, rounds=3)
            note = f"{works[str(many)]().num_rows:,} and {works[str(few)]().num_rows:,} matches, "
            note += f"{rows / best[str(many)] / 1e6:.1f} million events/s"
            ratio = best[str(many)] / best[str(few)]
            line(f"{kind}: {name}", ratio, "times", at_most=None if compared else 3, note=note)


def timed(table: pa.Table) -> pa.Table:
    """An event a millisecond."""
    return table.append_column("ts", pa.array(range(0, 1000 * table.num_rows, 1000), pa.timestamp("us")))


def with_numbers(table: pa.Table) -> pa.Table:
    """The names of stocks as whole numbers."""
    place = table.column_names.index("name")
    return table.set_column(place, "name", pc.cast(pc.utf8_slice_codeunits(table["name"], 1), pa.int64()))


def against_small_window(table: pa.Table) -> None:
    """A large window against a small one, where both have few matches."""
    heading("WITHIN 10,000 EVENTS against WITHIN 100 EVENTS, 1,000,000 events, few matches in both")
    never = [*steps(150.0)[:2], ("SELL", "T03", 200.0)]
    for name, given in (("few partial matches", steps(199.7)), ("many partial matches, none is completed", never)):
        small, large = runner(sequence(given), table), runner(sequence(given, window=10_000), table)
        best = in_turns({"small": small, "large": large})
        note = f"{large().num_rows:,} and {small().num_rows:,} matches, {best['large'] * 1e3:.0f} ms"
        line(name, best["large"] / best["small"], "times", at_most=1.3, note=note)


def against_short(table: pa.Table) -> None:
    """Ten times as many events."""
    heading("10,000,000 events against 1,000,000")
    longer = ticks(10 * MILLION)
    for price in (195.0, 150.0):
        text = sequence(steps(price))
        best = in_turns({"short": runner(text, table), "long": runner(text, longer)}, rounds=5)
        note = f"{10 / best['long']:.1f} million events/s"
        line(f"a ; b ; c, price > {price:g}", best["long"] / best["short"], "times", at_most=11, note=note)


def against_automaton() -> None:
    """The engine against the interpreter of automata, which is run once."""
    heading("20,000 events, against method='automaton'")
    table = ticks(20_000)
    for window in (100, 20):
        query = ac.query(sequence(steps(150.0), window))
        best = in_turns({"engine": partial(query.run, table), "compilation": partial(query.run, table.slice(0, 0))})
        automaton = seconds(partial(query.run, table, method="automaton"))
        note = f"{automaton:.1f} s and {best['engine'] * 1e3:.1f} ms, of which {best['compilation'] * 1e3:.1f} compile"
        name = f"a ; b ; c, price > 150, WITHIN {window} EVENTS"
        line(name, automaton / best["engine"], "times as quick", at_least=200, note=note)


def with_registers(table: pa.Table) -> None:
    """Queries that must remember values; for information."""
    heading("1,000,000 events, WITHIN 100 EVENTS, with registers, for information")
    works = {name: runner(text, table) for name, text in {"plain": sequence(steps(150.0)), **REMEMBERING}.items()}
    best = in_turns(works, rounds=5)
    for name in REMEMBERING:
        note = f"{works[name]().num_rows:,} matches, {best[name] / best['plain']:.1f} times a ; b ; c"
        line(name, table.num_rows / best[name] / 1e6, "million events/s", note=note)


def looking_back(table: pa.Table) -> None:
    """What is asked of the event before, and of the events so far."""
    heading("1,000,000 events, WITHIN 100 EVENTS, conditions that look back")
    works = {name: runner(text, table) for name, text in {"plain": sequence(steps(150.0)), **LOOKING_BACK}.items()}
    best = in_turns(works, rounds=5)
    for name in LOOKING_BACK:
        note = f"{works[name]().num_rows:,} matches, {best[name] / best['plain']:.1f} times a ; b ; c"
        at_least = 8.0 if "prev" in name else None
        line(name, table.num_rows / best[name] / 1e6, "million events/s", at_least=at_least, note=note)


def keeping() -> None:
    """One match of 2**100,000 - 1, against as many matches as there are events."""
    size = 100_000
    heading(f"{size:,} events, A+ KEEP …, against A")
    table = pa.table({"type": ["A"] * size})
    texts = {"A": "SELECT start, end MATCH A"}
    texts |= {f"A+ KEEP {kept}": f"SELECT start, end MATCH A+ KEEP {kept}" for kept in KEPT}
    works = {name: runner(text, table) for name, text in texts.items()}
    best = in_turns(works)
    for name in list(works)[1:]:
        note = f"{works[name]().num_rows:,} matches, {best[name] * 1e3:.0f} ms"
        line(name, best[name] / best["A"], "times", note=note)


def waiting(table: pa.Table) -> None:
    """What is known of a match only some time after its end; for information."""
    heading(f"{table.num_rows:,} events, 1 a millisecond, absence afterwards, for information")
    with_times = timed(table)
    works = {name: partial(ac.query(text).run, with_times, order_by="ts") for name, text in AFTERWARDS.items()}
    best = in_turns(works, rounds=5)
    for name in AFTERWARDS:
        note = f"{works[name]().num_rows:,} matches, {best[name] / best['plain']:.1f} times the plain sequence"
        line(name, table.num_rows / best[name] / 1e6, "million events/s", note=note)


def main() -> None:
    """Print the ratios."""
    table = ticks(MILLION)
    against_predicates(table)
    against_one_key()
    against_few_keys()
    against_small_window(table)
    against_short(table)
    against_automaton()
    with_registers(table)
    looking_back(table)
    keeping()
    waiting(table)


if __name__ == "__main__":
    main()

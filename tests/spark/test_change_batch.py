"""Rules over changes in frames that are all there: the same as in process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera import cdc
from acelera.errors import UsageError
from acelera.trepl.on_spark.part_task import AT_ONCE, carried, whole_stages
from acelera.trepl.on_spark.rule_frames import RuleFrames
from acelera.trepl.on_spark.travelling import Travelling
from cdc.messages import MESSAGES, texts
from tiers import thinned

ToFrame = Callable[[pa.Table], Any]
Make = Callable[[Any], cdc.Source]

TIMES = pa.timestamp("us", "UTC")
SECOND = 1_000_000


def at(second: int) -> int:
    return 1_700_000_000 * SECOND + second * SECOND


def changes(*rows: tuple[int, str, Any, Any]) -> pa.Table:
    """Second, kind, key and value of each change, the old value of which is one less."""
    old = [None if op == "i" else (key, value - 1) for _, op, key, value in rows]
    new = [None if op == "d" else (key, value) for _, op, key, value in rows]
    row = pa.struct([("k", pa.string()), ("v", pa.int64())])
    return pa.table(
        {
            "ts": pa.array([at(second) for second, *_ in rows], TIMES),
            "op": [op for _, op, *_ in rows],
            "old": pa.array([each and dict(zip("kv", each, strict=True)) for each in old], row),
            "new": pa.array([each and dict(zip("kv", each, strict=True)) for each in new], row),
        }
    )


TICKS = changes(
    (1, "i", "a", 1), (1, "i", "b", 5), (2, "u", "a", 2), (2, "u", None, 7), (3, "u", "b", 4), (3, "u", "a", 3),
    (4, "d", "a", 3), (4, "u", None, 8), (5, "i", "a", 1), (6, "u", "b", 6), (6, "u", "a", 4), (7, "u", None, 9),
    (8, "d", "b", 6), (9, "u", "a", 5), (9, "d", None, 9), (9, "u", "b", 2),
)  # fmt: skip
OTHERS = changes(
    (2, "i", "b", 1), (3, "i", "a", 3), (4, "i", "a", 3), (5, "u", "b", 2), (6, "u", None, 4), (8, "i", "a", 5)
)

PROGRAMS = {
    "a key": """
        monitor p, delete(p) as gone partition by k; derived run(k, n);
        Run: (* p(X, X.v > Last(X.v)), Count(X) >= 2) -> run(X.k, Count(X)), write("%s: %d in a row", X.k, Count(X));
        Gone: (run(R), gone(X)) -> write(X.k, R.n, X.v), sql("insert into gone values (?, ?)", X.k, X.v);
    """,
    "no key": """
        monitor p, q; derived both(k);
        Left: (p(X), q(Y, Y.k = X.k)) -> both(X.k);
        Right: (q(X) & p(Y), Y.k = X.k) -> both(X.k);
        Again: [both(X), both(Y, Y.k = X.k)] -> write(X.k, Y.Second, Y.Timestamp - X.Timestamp, Y.Date, 1.5);
    """,
    "two relations by a key, one without old values": """
        monitor p, q partition by k;
        Meet: [p(X), *q(Y, Y.v > Last(Y.v))] -> write(X.v, Sum(Y.v), X.old_v);
        None: !q -> write("none");
    """,
    "modules with one key": """
        Begin Module M monitor p partition by k; derived d(k, v); D: (p(X), p(Y)) -> d(Y.k, X.v + Y.v); End Module.
        Begin Module N monitor M.d, q partition by k;
        E: [d(X), q(Y)] -> write(X.k, X.v, Y.v); End Module.
    """,
    "a key, then none": """
        Begin Module M monitor p partition by k; derived d(w, v); D: (p(X), p(Y)) -> d(Y.k, X.v + Y.v);
        F: (any, p(Y)) -> d(Y.k, Y.v); End Module.
        Begin Module N monitor M.d; derived e(v, z); E: (d(X), d(Y)) -> e(X.v, Y.v), write(X.w, X.v, Y.v); End Module.
        Begin Module O monitor M.d, N.e partition by v; G: {d, e} -> write("one"); End Module.
    """,
    "an event that nothing derives": """
        Begin Module M monitor p; derived d(v), e(v); D: p(X) -> d(X.v); End Module.
        Begin Module N monitor M.d, M.e partition by v; E: !e & d(X) -> write(X.v); End Module.
    """,
}  # fmt: skip


def sources(wrap: Callable[[pa.Table], Any]) -> dict[str, cdc.Source]:
    return {"p": cdc.changes(wrap(TICKS)), "q": cdc.changes(wrap(OTHERS))}


def rows(table: pa.Table) -> list[str]:
    """Rows in the types that Spark has, in some order."""
    columns = [column.cast(carried(column.type)) for column in table.columns]
    return sorted(map(repr, pa.table(columns, names=table.column_names).to_pylist()))


def agree(frames: RuleFrames, tables: Mapping[str, pa.Table]) -> None:
    """The same rows in columns of the same names and types, as far as Spark has them."""
    assert list(frames) == list(tables)
    for frame in frames.by_module.values():
        frame.cache()  # or each output would run its module anew
    for name, table in tables.items():
        found = frames[name].toArrow()
        assert rows(found) == rows(table), name
        assert found.schema.names == table.schema.names
        assert [each.type for each in found.schema] == [carried(each.type) for each in table.schema]


@pytest.mark.filterwarnings("ignore::acelera.errors.AceleraWarning")
@pytest.mark.parametrize("name", thinned(PROGRAMS, 4))
def test_frames_give_what_tables_give(name: str, to_frame: ToFrame) -> None:
    program = ac.trepl(PROGRAMS[name])
    tables = program.run(sources(lambda table: table))
    assert sum(table.num_rows for table in tables.values()) > 4
    agree(program.run(sources(to_frame)), tables)


def test_messages_and_transactions(to_frame: ToFrame) -> None:
    """Texts of Debezium, of which one transaction is a stage; integers as times; and a column that orders operations."""
    moved = (
        "monitor customers; Moved: (customers(X), update(customers(Y), Y.id = X.id)) -> write(Y.id, X.city, Y.city);"
    )
    messages = pa.Table.from_pylist(texts(MESSAGES))
    numbers = pa.table({"ts": [5, 5, 6], "n": pa.array([2, 1, 3], pa.int16()), "v": [1.5, None, 2.5]})
    for text, table, make, granularity in (
        (moved, messages, _debezium, "transaction"),
        ("monitor a; R: (a(X), a(Y)) -> write(X.v, Y.v, Y.Timestamp);", numbers, _numbered, "operation"),
    ):
        program = ac.trepl(text)
        (relation,) = program.relations
        tables = program.run({relation: make(table)}, granularity=granularity)
        assert sum(each.num_rows for each in tables.values())
        agree(program.run({relation: make(to_frame(table))}, granularity=granularity), tables)


def _debezium(data: Any) -> cdc.Source:
    return cdc.debezium(data, schema={"id": int, "city": str}, order_by=["source.ts_ms", "transaction.id"])


def _numbered(data: Any) -> cdc.Source:
    return cdc.inserts(data, order_by="n")


@pytest.mark.slow
def test_operations_of_two_relations_are_told_apart(to_frame: ToFrame) -> None:
    table = pa.table({"ts": [1, 2], "n": [1, 2]})
    given = {name: cdc.inserts(to_frame(table), order_by="n") for name in "ab"}
    with pytest.raises(Exception, match="two changes of `a` and `b` are of one instant"):
        ac.trepl("monitor a, b; R: any -> write(1);").run(given, granularity="operation")["R"].toArrow()


def test_what_rules_say_is_done(to_frame: ToFrame, tmp_path: Path) -> None:
    called: list[Any] = []
    program = ac.trepl(
        "monitor p partition by k; R: (p(X), p(Y)) -> call(X.v), insert into t values (Y.k, Y.v, Y.Timestamp);",
        {"call": lambda row, _: called.append((row.key["k"], row.arguments[0]))},
    )
    given = {name: {"p": cdc.changes(wrap(TICKS))} for name, wrap in (("frames", to_frame), ("tables", lambda t: t))}
    content = {}
    for name, changed in given.items():
        with sqlite3.connect(tmp_path / name) as connection:
            connection.execute("create table t(k text, v int, at text)")
        for _ in range(2):
            program.run(changed, database=tmp_path / name)
        with sqlite3.connect(tmp_path / name) as connection:
            content[name] = connection.execute("select * from t").fetchall()
            assert connection.execute("select count(*) from trepl_done").fetchone() == (2 * len(content[name]),)
    assert content["frames"] == content["tables"] and len(content["tables"]) > 5
    assert len(called) == 2 * len(content["tables"]) and called[: len(called) // 2] == called[len(called) // 2 :]


def test_aggregates_of_ones_own(to_frame: ToFrame) -> None:
    """Workers do not know what was added here, unless they are told."""
    ac.aggregate("largest_square", lift=lambda value: value * value, combine=max, identity=0, returns="int")
    program = ac.trepl("monitor p partition by k; R: * p(X, X.v > 0) -> write(X.k, largest_square(X.v));")
    tables = program.run({"p": cdc.changes(TICKS)})
    assert tables["R"].num_rows
    agree(program.run({"p": cdc.changes(to_frame(TICKS))}), tables)


@pytest.mark.slow
def test_large_stages_stay_together() -> None:
    columns = Travelling((), (pa.int64(), pa.string()), pa.int64())
    instants = [(1, "a")] * 3 + [(1, "b")] * AT_ONCE + [(2, "a")] + [(3, "a")] * 5
    whole = pa.table(
        {"source": [0] * len(instants), "kind": [0] * len(instants), "instant0": [each for each, _ in instants],
         "instant1": [each for _, each in instants], "time": range(len(instants))}
    )  # fmt: skip
    found = list(whole_stages(whole.to_batches(max_chunksize=10_000), columns))
    assert pa.concat_tables(found).equals(whole)
    seen = [{*zip(each["instant0"].to_pylist(), each["instant1"].to_pylist(), strict=True)} for each in found]
    assert len(seen) == 2 and not seen[0] & seen[1]


def test_what_is_refused(to_frame: ToFrame) -> None:
    program = ac.trepl("monitor p, q; R: p(X) -> write(X.v);")
    frame, table = cdc.changes(to_frame(TICKS)), cdc.changes(OTHERS)
    for given, options, message in (
        ({"p": frame, "q": table}, {}, "the changes of `p` are in a Spark frame, those of `q` are not"),
        ({"p": frame, "q": frame}, {"delay": "1 minute"}, "delay=… is for streams: in a frame that is all there"),
        ({"p": table, "q": table}, {"delay": "1 minute"}, "delay=… is for streams: in a table"),
        ({"p": frame, "q": frame}, {"checkpoint": "c"}, "checkpoint=… is for streams: a frame that is all there has"),
        ({"p": frame, "q": frame}, {"method": "semantics"}, "method='semantics' takes tables"),
    ):
        with pytest.raises(UsageError, match=message):
            program.run(given, **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="in a Spark frame; collect its rows"):
        program.open({"p": frame, "q": frame})
    alike = ac.trepl("monitor p; Rise: p(X) -> write(1); rise: p(X) -> write(2);")
    with pytest.raises(UsageError, match=r"the actions Main\.Rise\.0 and Main\.rise\.0 would be columns"):
        alike.run({"p": frame})
    frames = program.run({"p": frame, "q": frame})
    with pytest.raises(UsageError, match=r"no rule makes `r`; did you mean `R`\?"):
        frames["r"]
    with pytest.raises(UsageError, match="is done by run"):
        frames.do()


def test_explain_says_what_is_spread(to_frame: ToFrame) -> None:
    program = ac.trepl(PROGRAMS["a key, then none"])
    assert program.explain(sources(to_frame)).partition("  on Spark")[2].splitlines() == [
        ", over frames that are all there",
        "    module M: spread by key, p by k",
        "    module N: one task, which sees all changes in order, as N has no `partition by` (E looks for d(Y) of "
        "whatever v)",
        "    module O: spread by key, M.d by v; N.e by v",
    ]
    assert "on Spark" not in program.explain(sources(lambda table: table))

"""Random rules over changes on Spark, in frames that are all there and in streams, against their meaning."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, assume, event, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera import cdc
from acelera.errors import AggregateError, TooManyMatchesError
from acelera.programs.problems import ProgramCheckError
from acelera.trepl.checker import check
from acelera.trepl.history import Change
from acelera.trepl.on_spark.rule_frames import RuleFrames
from acelera.trepl.parser import parse
from acelera.trepl.splitting import parts_of
from spark.test_change_batch import agree, rows
from spark.test_change_streaming import outputs
from spark.test_streaming import Files, late_events
from trepl.strategies import programs
from trepl.streams import RELATIONS, TIMESTAMP, histories

EXAMPLES = int(os.environ.get("ACELERA_SPARK_EXAMPLES", "2"))
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""A case takes seconds, so a smaller one of those that fail is best looked for in process."""

MOST = 300
"""How many instances may be open: a case with more takes long, and shows nothing that smaller ones do not."""

TIMES = pa.timestamp("us", "UTC")
ROWS = {
    "p": pa.struct([("k", pa.string()), ("v", pa.int64()), ("x", pa.float64())]),
    "q": pa.struct([("k", pa.string()), ("v", pa.int64()), ("t", TIMES)]),
    "r": pa.struct([("k", pa.string()), ("b", pa.bool_()), ("m", pa.decimal128(6, 2)), ("d", pa.date32())]),
}
"""The rows of the relations that random programs are about."""


def table_of(history: Sequence[Change]) -> pa.Table:
    """Changes of all relations: `at` is the time, `n` the instant if it is another one."""
    columns: dict[str, Any] = {
        "relation": pa.array([each.relation for each in history], pa.string()),
        "op": pa.array([each.kind for each in history], pa.string()),
        "at": pa.array([each.timestamp // 1000 for each in history], TIMES),
        "n": pa.array([_number(each.instant) for each in history], pa.int64()),
    }
    for name, kind in ROWS.items():
        for side in ("old", "new"):
            values = [getattr(each, side) if each.relation == name else None for each in history]
            columns[f"{name}_{side}"] = pa.array([None if row is None else _micros(row) for row in values], kind)
    return pa.table(columns)


def _number(instant: Any) -> int:
    return int(instant) // 1000 if int(instant) > 10**9 else int(instant)


def _micros(row: Mapping[str, Any]) -> dict[str, Any]:
    """Times are counted in microseconds."""
    return {name: value // 1000 if name == "t" and value is not None else value for name, value in row.items()}


def source(name: str, data: Any, granularity: str) -> cdc.Source:
    """The changes of one relation, of those of all."""
    if isinstance(data, pa.Table):
        data = data.filter(pa.array([each == name for each in data.column("relation").to_pylist()], pa.bool_()))
        data = data.select(["op", "at", "n", f"{name}_old", f"{name}_new"])
    else:
        data = data.filter(data.relation == name).select("op", "at", "n", f"{name}_old", f"{name}_new")
    order = {"order_by": "n"} if granularity == "transaction" else {}
    return cdc.changes(data, old=f"{name}_old", new=f"{name}_new", time="at", **order)


@st.composite
def named_programs(draw: st.DrawFn, chained: int = 3) -> str:
    """Programs in which no two modules have rules of one name, which would be outputs of one name."""
    first, begin, second = draw(programs(chained=chained)).partition("Begin Module N")
    return first + begin + re.sub(r"\bR(\d: )", r"S\1", second)


def meant(text: str, table: pa.Table, granularity: str) -> dict[str, pa.Table]:
    """What a program means, if the check accepts it, few instances are open, and no sum is too large."""
    given_ = {name: source(name, table, granularity) for name in ROWS}
    try:
        program = ac.trepl(text)
        program.run(given_, granularity=granularity, max_tuples=MOST)
        found: dict[str, pa.Table] = program.run(given_, granularity=granularity, method="semantics")
    except (ProgramCheckError, TooManyMatchesError, AggregateError):
        assume(False)
        raise
    event("does something" if any(each.num_rows for each in found.values()) else "does nothing")
    return found


IGNORED = pytest.mark.filterwarnings("ignore::acelera.errors.AceleraWarning")


def _is_numbered(text: str) -> bool:
    """Whether a module without `partition by` is spread."""
    try:
        program = check(parse(text).program, RELATIONS, TIMESTAMP).program
    except ProgramCheckError:
        return False
    return any(part.numbered for part in parts_of(program))


@IGNORED
@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=EXAMPLES, phases=UNSHRUNK, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(text=named_programs(), history=histories())
def test_batches(text: str, history: list[Change], to_frame: Callable[[pa.Table], Any]) -> None:
    batches_agree(text, history, to_frame)


@IGNORED
@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=EXAMPLES, phases=UNSHRUNK, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(text=named_programs(chained=1).filter(_is_numbered), history=histories())
@pytest.mark.usefixtures("many_cores")
def test_batches_of_rules_that_keep_to_one_key(
    text: str, history: list[Change], to_frame: Callable[[pa.Table], Any]
) -> None:
    batches_agree(text, history, to_frame)


def batches_agree(text: str, history: list[Change], to_frame: Callable[[pa.Table], Any]) -> None:
    """Frames give what a program means."""
    table = table_of(history)
    granularity = "transaction" if table.column("n")[0].as_py() < 10**6 else "timestamp"
    wanted = meant(text, table, granularity)
    frame = to_frame(table)
    frames = ac.trepl(text).run(
        {name: source(name, frame, granularity) for name in ac.trepl(text).relations}, granularity=granularity
    )
    agree(frames, wanted)


# --- streams ------------------------------------------------------------------------------------------------------

DELAY = 10 * 24 * 3600
"""How late changes come at most, in seconds."""


def streaming(text: str, files: Files) -> RuleFrames:
    program, frame = ac.trepl(text), files.frame(None, 1).withWatermark("at", f"{DELAY} seconds")
    found: RuleFrames = program.run({name: source(name, frame, "timestamp") for name in program.relations})
    return found


def last(table: pa.Table) -> pa.Table:
    """An insert into each relation so late that all else passes."""
    after = int(table.column("at").cast(pa.int64()).to_numpy().max()) + (DELAY + 1) * 1_000_000
    every = len(ROWS)
    known = {"relation": pa.array([*ROWS]), "op": pa.array(["insert"] * every), "at": pa.array([after] * every, TIMES)}
    known |= {f"{name}_new": pa.array([{}] * every, kind) for name, kind in ROWS.items()}
    return pa.table({each.name: known.get(each.name, pa.nulls(every, each.type)) for each in table.schema})


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp("stream") for _ in iter(int, 1))


@IGNORED
@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=EXAMPLES, phases=UNSHRUNK, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(text=named_programs(), history=histories(granularity="timestamp"), data=st.data())
def test_streams(text: str, history: list[Change], data: st.DataObject, spark: Any, folders: Iterator[Path]) -> None:
    """Changes come up to ten days late, and the stream is stopped in between."""
    table = table_of(history)
    wanted = meant(text, table, "timestamp")
    delays = data.draw(st.lists(st.integers(0, DELAY), min_size=table.num_rows, max_size=table.num_rows))
    arrives = table.column("at").cast(pa.int64()).to_numpy() + np.array(delays) * 1_000_000
    arriving = table.take(pa.array(np.argsort(arrives)))
    cut = data.draw(st.integers(1, table.num_rows))
    files, progress = Files(spark, next(folders)), []
    for pieces in ([arriving.slice(0, cut)], [arriving.slice(cut), last(table)]):
        for piece in pieces:
            files.put(piece)
        found = streaming(text, files)
        progress += files.run(found.frame)
    assert late_events(progress) == 0
    assert outputs(found, files.found(), files) == {name: rows(each) for name, each in wanted.items()}

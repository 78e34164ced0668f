"""The engine against the meaning of programs: at once, in any steps, whatever it forgets, in several rounds."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from acelera.algebra import duckdb_session
from acelera.errors import AceleraError
from acelera.programs.problems import ProgramCheckError
from acelera.xchangeeq import ast
from acelera.xchangeeq.checker import Checked, check
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.terms import Event
from xchangeeq.stepping import LAST, Run
from xchangeeq.strategies import SCHEMAS, programs
from xchangeeq.streams import TICK, events_in, rounded, streams, timed
from xchangeeq.wide import wide_cases

EXAMPLES = int(os.environ.get("ACELERA_EXAMPLES", "25"))

READINGS = st.sampled_from(["nodes", "nodes", "set"])
CUTS = st.lists(st.integers(0, 24), max_size=4)


def accepted(program: ast.Program, schemas: Mapping[str, pa.Schema]) -> Checked:
    try:
        return check(program, schemas)
    except ProgramCheckError:
        assume(False)
        raise


def meant(program: ast.Program, tables: Mapping[str, pa.Table], aggregates: str = "nodes") -> frozenset[Event]:
    """What the judge says, if it can."""
    try:
        return derive(program, events_in(tables), aggregates, TICK)
    except AceleraError:  # numbers that do not fit
        assume(False)
        raise


# --- all at once, and in steps ------------------------------------------------------------------------------------


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(programs(), streams(most=8, last=12), READINGS)
def test_at_once(program: ast.Program, tables: dict[str, pa.Table], aggregates: str) -> None:
    run = Run(accepted(program, SCHEMAS), aggregates)
    assert rounded(run.derived(tables)) == rounded(meant(program, tables, aggregates))


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(wide_cases(), READINGS, CUTS, st.booleans())
def test_all_kinds_of_terms_and_values(
    case: tuple[dict[str, pa.Schema], ast.Program, dict[str, pa.Table]], aggregates: str, cuts: list[int], breaks: bool
) -> None:
    schemas, program, tables = case
    run = Run(accepted(program, schemas), aggregates, breaks=breaks)
    first = min(event.end for event in events_in(tables))
    assert rounded(run.derived(tables, [first + cut for cut in cuts])) == rounded(meant(program, tables, aggregates))


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(programs(), streams(most=9, last=16), CUTS, st.booleans())
def test_in_steps(program: ast.Program, tables: dict[str, pa.Table], cuts: list[int], breaks: bool) -> None:
    """Each event comes in the step in which it ends, and never again."""
    run = Run(accepted(program, SCHEMAS), breaks=breaks)
    expected, found, before = meant(program, tables), set[Event](), -LAST
    ends = sorted(event.end for event in events_in(tables))
    for now, made in run.steps(tables, cuts):
        reached = max((end for end in ends if end <= before), default=before)  # clocks stand still while no events come
        assert not made & found
        assert all(event.end > min(before, reached) for event in made)
        assert now == LAST or all(event.end <= now for event in made)
        found |= made
        before = now
    assert rounded(found) == rounded(expected)


@pytest.fixture
def in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step is computed by sorting, and by times first."""
    monkeypatch.setattr(duckdb_session, "MANY_PAIRS", -1)
    monkeypatch.setattr(duckdb_session, "MOST_PAIRS", -1)


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(programs(), st.data(), st.booleans(), READINGS, CUTS)
@pytest.mark.usefixtures("in_bulk")
def test_in_bulk(program: ast.Program, data: st.DataObject, points: bool, aggregates: str, cuts: list[int]) -> None:
    """What steps that bring much would do."""
    tables = data.draw(streams(points=points))
    longest = dict.fromkeys(SCHEMAS, 0) if points else None
    run = Run(accepted(program, SCHEMAS), aggregates, longest=longest)
    assert rounded(run.derived(tables, cuts)) == rounded(meant(program, tables, aggregates))


# --- what is forgotten --------------------------------------------------------------------------------------------


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step looks for what can be forgotten."""
    monkeypatch.setattr(duckdb_session, "FEW", -(10**9))


@pytest.mark.property
@settings(max_examples=EXAMPLES // 2)
@given(programs(most_rules=2, recursion=False), st.data(), st.booleans(), st.sets(st.integers(0, 120), max_size=10))
@pytest.mark.usefixtures("forgetful")
def test_what_is_forgotten_does_not_matter(
    program: ast.Program, data: st.DataObject, points: bool, cuts: set[int]
) -> None:
    tables = data.draw(streams(most=50, last=120, points=points))
    checked = accepted(program, SCHEMAS)
    longest = dict.fromkeys(SCHEMAS, 0 if points else 5)
    remembered = Run(checked).derived(tables)
    assert rounded(Run(checked, longest=longest).derived(tables, cuts)) == rounded(remembered)


FORGETTING = {
    "a join": (
        """DETECT r { v { var V } } ON and { event e: a {{ k {{ var K }}, v {{ var V }} }}, event f: b {{ k {{ var K }} }} }
           where { e before f, {e, f} within 3 s } END""",
        40,
    ),
    "a window that looks back": (
        """DETECT r { n { count(all var V) } } ON and { event e: b {{ k {{ var K }} }},
           event w: timer:from-end-backward [event e, 4 s], while w: collect a {{ k {{ var K }}, v {{ var V }} }} } END""",
        40,
    ),
    "a window that looks ahead": (
        """DETECT r { k { var K } } ON and { event e: a {{ k {{ var K }} }}, event w: timer:from-end [event e, 4 s],
           while w: not b {{ k {{ var K }} }} } END""",
        40,
    ),
    "three events": (
        """DETECT r { k { var K } } ON and { event e: a {{ k {{ var K }} }}, event f: b {{ k {{ var K }} }},
           event g: a {{ k {{ var K }} }} } where { e before f, f before g, {e, f, g} within 4 s } END""",
        60,
    ),
}


@pytest.mark.parametrize("points", [True, False])
@pytest.mark.parametrize("name", FORGETTING)
@pytest.mark.usefixtures("forgetful")
def test_what_cannot_matter_is_forgotten(name: str, points: bool) -> None:
    """Over a long time, no more is kept than a window has; with the same events as if all were kept."""
    text, most = FORGETTING[name]
    checked = check(parse_program(text), SCHEMAS)
    tables = long_stream(points)
    session = Run(checked, longest=dict.fromkeys(SCHEMAS, 0 if points else 3)).opened()
    found: list[Event] = []
    for now in range(0, 620, 5):
        given = {label: table.filter(_ends(table, now - 5, now)) for label, table in tables.items()}
        found += events_in(session.step(given, now))
        assert sum(session.kept().values()) <= most
    found += events_in(session.finish())
    assert found
    assert rounded(found) == rounded(Run(checked).derived(tables))


def long_stream(points: bool) -> dict[str, pa.Table]:
    """300 events over 600 ticks, of two keys."""
    rows: dict[str, list[dict[str, object]]] = {label: [] for label in SCHEMAS}
    for number in range(300):
        begin, label = 2 * number, "ab"[number * number % 7 % 2]
        end = begin if points else begin + number % 4
        rows[label].append({"k": "rs"[number % 5 % 2], "v": number, "#begin": begin, "#end": end})
    return {label: pa.Table.from_pylist(rows[label], timed(SCHEMAS[label])) for label in SCHEMAS}


def _ends(table: pa.Table, after: int, by: int) -> pa.Array:
    return pa.array([after < end <= by for end in table.column("#end").to_pylist()], pa.bool_())


# --- several rounds -----------------------------------------------------------------------------------------------

ROUNDS = {
    "a chain": """
        DETECT way { v { var X }, w { var Y } } ON a {{ v {{ var X }}, w {{ var Y }} }} END
        DETECT way { v { var X }, w { var Z } }
        ON and { event e: way {{ v {{ var X }}, w {{ var Y }} }}, event f: a {{ v {{ var Y }}, w {{ var Z }} }} } END""",
    "in order": """
        DETECT way { v { var X }, w { var Y } } ON a {{ v {{ var X }}, w {{ var Y }} }} END
        DETECT way { v { var X }, w { var Z } }
        ON and { event e: way {{ v {{ var X }}, w {{ var Y }} }}, event f: a {{ v {{ var Y }}, w {{ var Z }} }} }
        where { e before f } END""",
    "two of its own": """
        DETECT way { v { var X }, w { var Y } } ON a {{ v {{ var X }}, w {{ var Y }} }} END
        DETECT way { v { var X }, w { var Z } }
        ON and { event e: way {{ v {{ var X }}, w {{ var Y }} }}, event f: way {{ v {{ var Y }}, w {{ var Z }} }} }
        where { {e, f} within 4 s } END""",
    "two rules": """
        DETECT odd { v { var X }, w { var Y } } ON a {{ v {{ var X }}, w {{ var Y }} }} END
        DETECT even { v { var X }, w { var Z } }
        ON and { event e: odd {{ v {{ var X }}, w {{ var Y }} }}, event f: a {{ v {{ var Y }}, w {{ var Z }} }} }
        where { {e, f} within 5 s } END
        DETECT odd { v { var X }, w { var Z } }
        ON and { event e: even {{ v {{ var X }}, w {{ var Y }} }}, event f: a {{ v {{ var Y }}, w {{ var Z }} }} }
        where { {e, f} within 5 s } END""",
    "collected": """
        DETECT bad { v { var X } } ON a {{ v {{ var X }}, w {{ 0 }} }} END
        DETECT bad { v { var X } }
        ON and { event e: a {{ v {{ var X }}, w {{ var Y }} }}, event w: timer:extend-begin [event e, 3 s],
                 while w: collect bad {{ v {{ var Y }} }} } END""",
    "collected beside": """
        DETECT bad { v { var X } } ON a {{ v {{ var X }}, w {{ 0 }} }} END
        DETECT bad { v { var X } }
        ON and { event e: bad {{ v {{ var Y }} }}, event f: a {{ v {{ var X }}, w {{ var Y }} }},
                 event w: timer:extend [event f, 1 s], while w: collect a {{ w {{ var X }} }} }
        where { {e, f} within 4 s } END""",
    "collected where it happens": """
        DETECT bad { v { var X } } ON a {{ v {{ var X }}, w {{ 0 }} }} END
        DETECT bad { v { var X } }
        ON and { event e: bad {{ v {{ var Y }} }}, while e: collect a {{ v {{ var X }}, w {{ var Y }} }} } END""",
    "and none of something": """
        DETECT bad { v { var X } } ON a {{ v {{ var X }}, w {{ 0 }} }} END
        DETECT bad { v { var X } }
        ON and { event e: bad {{ v {{ var Y }} }}, event f: a {{ v {{ var X }}, w {{ var Y }} }},
                 event w: timer:from-end [event f, 1 s], while w: not b {{ v {{ var X }} }} }
        where { {e, f} within 4 s } END
        DETECT many { n { count(all var X) } } ON and { event e: b {{ }}, event w: timer:extend-begin [event e, 3 s],
                 while w: collect bad {{ v {{ var X }} }} } END""",
}
EDGES = {"a": pa.schema({"v": pa.int64(), "w": pa.int64()}), "b": pa.schema({"v": pa.int64()})}


@st.composite
def edges(draw: st.DrawFn) -> dict[str, pa.Table]:
    """Edges of a small graph, at times close to one another."""
    rows: dict[str, list[dict[str, int]]] = {"a": [], "b": []}
    for _ in range(draw(st.integers(2, 7))):
        begin = draw(st.integers(0, 10))
        times = {"#begin": begin, "#end": begin + draw(st.sampled_from([0, 0, 1, 3]))}
        values = {name: draw(st.integers(0, 3)) for name in "vw"}
        rows["a"].append({**values, **times})
        rows["b"] += [{"v": values["v"], **times}] if draw(st.integers(0, 4)) == 0 else []
    return {label: pa.Table.from_pylist(each, timed(EDGES[label])) for label, each in rows.items()}


@pytest.mark.property
@settings(max_examples=max(EXAMPLES // 6, 1))
@given(edges(), CUTS, st.booleans())
@pytest.mark.parametrize("name", ROUNDS)
@pytest.mark.usefixtures("forgetful")
def test_in_rounds(name: str, tables: dict[str, pa.Table], cuts: list[int], breaks: bool) -> None:
    program = parse_program(ROUNDS[name])
    run = Run(check(program, EDGES), longest={"a": 3, "b": 3}, breaks=breaks)
    assert rounded(run.derived(tables, cuts)) == rounded(meant(program, tables))


@pytest.mark.parametrize("cuts", [[], [30], [10, 20, 21, 22, 40]])
def test_a_long_chain(cuts: list[int]) -> None:
    """A round for each of its links."""
    rows = [{"v": number, "w": number + 1, "#begin": number, "#end": number} for number in range(50)]
    tables = {"a": pa.Table.from_pylist(rows, timed(EDGES["a"])), "b": timed(EDGES["b"]).empty_table()}
    found = Run(check(parse_program(ROUNDS["in order"]), EDGES)).derived(tables, cuts)
    assert len(found) == 50 * 51 // 2

"""Rules that act in PostgreSQL, where several transactions are under way at once."""

from __future__ import annotations

import datetime
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

import tiers
from acelera.errors import UsageError
from acelera.trepl.actions import transactions
from acelera.trepl.actions.action_errors import ActionError
from acelera.trepl.actions.performing import Actions, Done
from trepl.actions.acting import CREATE, MAIN, call, numbered, program, sql, table
from trepl.actions.failing import BrokenError, Faults, LostError, OperationalError
from trepl.actions.killing import COMMANDS, survive
from trepl.actions.servers import postgresql


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql() as where:
        yield where


@pytest.fixture
def where(server: str) -> str:
    """A server whose database holds an empty table."""
    run(server, "drop schema public cascade", "create schema public", CREATE)
    return server


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "_SHORTEST_PAUSE", 0.0)


def connect(where: str, **options: Any) -> Any:
    import psycopg

    return psycopg.connect(where, **options)


def run(where: str, *commands: str) -> list[Any]:
    """Run commands; what the last of them gives."""
    with connect(where) as connection:
        for command in commands:
            cursor = connection.execute(command)
        return list(cursor.fetchall()) if cursor.description else []


def content(where: str, query: str = "select n, name from t order by ctid") -> list[Any]:
    return run(where, query)


def acting_in(where: str, **options: Any) -> Actions:
    return Actions(program([sql()]), "p", database=lambda: connect(where), **options)


def expected(count: int) -> list[tuple[int, str]]:
    return [(number, f"row {number}") for number in range(count)]


def test_commands_are_done_once(where: str) -> None:
    actions = acting_in(where, rows_at_once=3)
    assert [actions.do({MAIN: numbered(count)}) for count in (5, 7)] == [Done(5, 0), Done(2, 5)]
    assert content(where) == expected(7)
    noted = content(where, "select module, rule, action, stage from trepl_done order by stage")
    assert noted == [("Main", "A", 0, number) for number in range(7)]


def test_by_a_url(where: str) -> None:
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    host = where.split()[0].removeprefix("host=")
    actions = Actions(program([sql()]), "p", database=f"postgresql+psycopg://test@/postgres?host={host}")
    assert [actions.do({MAIN: numbered(3)}) for _ in range(2)] == [Done(3, 0), Done(0, 3)]
    assert content(where) == expected(3)


def test_values(where: str) -> None:
    moment = datetime.datetime(1996, 8, 21, 9, 13, 27, 500_000)
    zoned = moment.replace(tzinfo=datetime.timezone.utc)
    morning = datetime.timedelta(hours=9, minutes=13)
    values = [moment, zoned, moment.date(), morning, morning, Decimal("1.50"), True, None, 2.5, 2**40, "50%", b"x"]
    kinds = "timestamp, timestamptz, date, interval, time, numeric, boolean, text, float8, bigint, text, bytea".split(
        ", "
    )
    run(where, f"create table v ({', '.join(f'c{n} {kind}' for n, kind in enumerate(kinds))})")
    command = sql(f"insert into v values ({', '.join('?' * len(values))}) -- 100%?", len(values))
    Actions(program([command]), "p", database=lambda: connect(where)).do({MAIN: table([(1, *values)])})
    values[4] = datetime.time(9, 13)
    assert content(where, "select * from v") == [tuple(values)]


def test_a_command_that_the_database_refuses(where: str) -> None:
    run(where, "alter table t add primary key (n)", "insert into t values (3, 'taken')")
    actions = acting_in(where, rows_at_once=2)
    with pytest.raises(ActionError, match=r"stage 3 at .*\n(.*\n)*  with \(3, 'row 3'\)") as caught:
        actions.do({MAIN: numbered(6)})
    assert "UniqueViolation: duplicate key value violates unique constraint" in str(caught.value)
    assert sorted(content(where)) == [*expected(2), (3, "taken")]
    run(where, "delete from t where name = 'taken'")
    assert actions.do({MAIN: numbered(6)}) == Done(4, 2)


def test_a_constraint_that_is_looked_at_in_the_end(where: str) -> None:
    """The commit itself is refused."""
    run(
        where, "alter table t add constraint u unique (n) deferrable initially deferred", "insert into t values (1, '')"
    )
    with pytest.raises(ActionError, match="fails: UniqueViolation"):
        acting_in(where).do({MAIN: numbered(3)})
    assert content(where) == [(1, "")]
    assert content(where, "select count(*) from trepl_done") == [(0,)]


def test_a_connection_that_commits_by_itself_is_refused(where: str) -> None:
    with pytest.raises(UsageError, match=r"undoes nothing, .*: give connections with autocommit off"):
        Actions(program([sql()]), "p", database=lambda: connect(where, autocommit=True)).do({MAIN: numbered(1)})


def test_conflicts_are_tried_again(where: str) -> None:
    """Each of the two reads what the other writes: of serializable transactions one fails."""
    run(where, "create table total (n bigint)", "insert into total values (0)")

    def serializable() -> Any:
        connection = connect(where)
        connection.isolation_level = 4
        return connection

    def add(number: int) -> Done:
        command = sql("update total set n = n + ? + 0 * (select count(*) from t)", 1)
        actions = Actions(program([command]), f"p{number}", database=serializable, rows_at_once=2, attempts=100)
        return actions.do({MAIN: table([(each, 1) for each in range(20)])})

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(add, range(3))) == [Done(20, 0)] * 3
    assert content(where, "select n from total") == [(60,)]


def test_several_at_once(where: str) -> None:
    actions = acting_in(where, rows_at_once=3, attempts=30)
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: actions.do({MAIN: numbered(60)}), range(4)))
    assert sum(each.now for each in done) == 60
    assert sorted(content(where)) == expected(60)


def test_who_comes_second_waits_for_the_first(where: str) -> None:
    """A transaction of which nobody knows yet how it ends: its rows are neither done nor to be done."""
    acting_in(where).do({MAIN: numbered(1)})
    row = content(where, "select * from trepl_done")[0]
    for end, now in (("commit", 0), ("rollback", 1)):
        run(where, "delete from trepl_done", "delete from t")
        first = connect(where)
        first.execute("insert into trepl_done values (%s, %s, %s, %s, %s, %s, %s)", row)
        found: list[Done] = []
        second = threading.Thread(target=lambda found=found: found.append(acting_in(where).do({MAIN: numbered(1)})))
        second.start()
        second.join(0.3)
        assert second.is_alive() and not found
        getattr(first, end)()
        first.close()
        second.join(20)
        assert found == [Done(now, 1 - now)]
        assert content(where) == expected(now)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("error", [BrokenError, OperationalError], ids=["raised", "tried again"])
def test_a_connection_lost_at_any_step(where: str, error: type[Exception], after: bool) -> None:
    rules = program([sql()], [call()])
    tables = {("Main", "A", 0): numbered(4), ("Main", "B", 0): table([(2, "x")])}
    step, steps = 0, 1
    while step < steps:
        run(where, "drop table if exists trepl_done", "truncate t")
        faults = Faults(lambda: connect(where), [step] if step else [], after, error)
        called: list[str] = []
        functions = {"f": lambda row, _, called=called: called.append(row.arguments[0])}
        actions = Actions(rules, "p", database=faults, functions=functions, rows_at_once=3, paramstyle="pyformat")
        try:
            actions.do(tables)
        except ActionError as failure:
            assert error is BrokenError and isinstance(failure.__cause__, LostError)
        steps = faults.steps if not step else steps
        step += 1
        actions.do(tables)
        assert actions.do(tables) == Done(0, 5)
        assert (sorted(content(where)), set(called)) == (expected(4), {"x"})
    assert steps >= 20


def test_a_server_that_ends_connections(where: str) -> None:
    """In the middle of a transaction, once: the driver hears of it with the next command."""
    given: list[Any] = []

    def give() -> Any:
        given.append(connect(where))
        return given[-1]

    def end(*_: Any) -> None:
        if len(called) == 0:
            run(where, f"select pg_terminate_backend({given[-1].info.backend_pid})")
        called.append(len(given))

    called: list[int] = []
    rules = program([sql(), call()])
    tables = {("Main", "A", 0): numbered(4), ("Main", "A", 1): table([(1, "x")])}
    assert Actions(rules, "p", database=give, functions={"f": end}).do(tables) == Done(5, 0)
    assert content(where) == expected(4)
    assert called == [len(given) - 1], "it was called once, and then there was one more connection"


@pytest.mark.parametrize("kills", [tiers.slow(3), tiers.slow(20)])
def test_a_process_that_is_killed(where: str, kills: int) -> None:
    run(where, *COMMANDS[1:])
    rows = survive(where, kills, random.Random(kills))
    assert sorted(content(where)) == expected(rows)
    assert content(where, "select n from total") == [(rows * (rows - 1) // 2,)]

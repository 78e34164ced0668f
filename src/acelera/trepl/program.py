"""What a user holds in hand: a program of rules over changes that can be checked, explained and run."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acelera.engine.storage.snapshots import fingerprint_of, unpack
from acelera.engine.storage.validation import fitting
from acelera.errors import AceleraWarning, Problem, Span, UsageError, outside, render
from acelera.programs.problems import Notes, ProgramCheckError
from acelera.programs.report.run import MOST_EVENTS
from acelera.trepl import ast, resolved
from acelera.trepl.agreement import (
    Incoming,
    are_on_spark,
    by_relation,
    incoming,
    relations_of,
    timestamp_of,
    unmonitored,
    warn_of_rows,
)
from acelera.trepl.checker import check
from acelera.trepl.doing import Acting, doing, leave, names_of
from acelera.trepl.engines import engine_again, engine_of
from acelera.trepl.explanation import explained
from acelera.trepl.parser import parse
from acelera.trepl.printer import printed
from acelera.trepl.rule_options import Coming, How, how
from acelera.trepl.rule_outputs import Output, check_names, named_outputs, outputs_of
from acelera.trepl.rule_session import Opened, RuleSession, stored_waiting

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from acelera.programs.drawing import RuleDrawing
    from acelera.programs.report.run import Run
    from acelera.trepl.doing import Functions
    from acelera.trepl.on_spark.rule_frames import RuleFrames
    from acelera.trepl.rule_options import Options


@dataclass(frozen=True)
class _Compiled:
    """A program over sources that are known."""

    program: resolved.Program
    warnings: tuple[Problem, ...]
    outputs: Mapping[str, Output]


class Program:
    """A program of rules over changes of tables, made by `acelera.trepl`.

    >>> import acelera as ac
    >>> from acelera import cdc
    >>> p = ac.trepl('''
    ...     monitor reading; derived rise(sensor, by);
    ...     Rise: (reading(X), reading(Y, Y.sensor = X.sensor, Y.value > X.value)) -> rise(Y.sensor, Y.value - X.value);
    ... ''')
    >>> p
    <acelera.trepl program makes rise, Rise of reading>
    >>> readings = [{"ts": 1, "sensor": "hall", "value": 20}, {"ts": 2, "sensor": "hall", "value": 23}]
    >>> p.run({"reading": cdc.inserts(readings)})["rise"].to_pylist()
    [{'stage': 2, 'Timestamp': 2, 'sensor': 'hall', 'by': 3}]

    Attributes
    ----------
    ast
        The abstract syntax tree; `str(p)` is its canonical text.
    text
        The program as it was written.
    functions
        The functions that rules may call, by name.
    name
        What the user calls it, so that what was done stays done when its text is changed.
    """

    def __init__(self, text: str, functions: Functions | None = None, name: str | None = None) -> None:
        if not isinstance(text, str):
            raise UsageError(f"a program is made of a text, not of {type(text).__name__}")
        self.text, self.functions, self.name = text, _functions(functions), _name(name)
        parsed = parse(text)
        self.ast = parsed.program
        notes = Notes()
        check_names(self.ast, notes)
        if notes.problems:
            raise ProgramCheckError(notes.problems, text)
        self._told: set[Problem] = set()
        self._warn(each for each in parsed.warnings if each.span not in _unmonitored(self.ast))

    # --- what it is ---------------------------------------------------------------------------------------------------

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """The relations whose changes must come in.

        >>> import acelera as ac
        >>> ac.trepl("monitor update(owns) as o; derived sold(id); Sale: o(X) -> sold(X.id);").relations
        ('owns',)
        """
        derived = {each.name for module in self.ast.modules for each in module.derived}
        found = [each for module in self.ast.modules for each in _monitored(module)]
        return tuple(dict.fromkeys(name for kind, name in found if kind is not None or name not in derived))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names of the tables that `run` gives: derived events, then rules; further actions of a rule are `rule.2`
        and so on.

        >>> import acelera as ac
        >>> ac.trepl("monitor owns; derived sold(id); Sale: owns(X) -> sold(X.id), write(X.id);").outputs
        ('sold', 'Sale', 'Sale.2')
        """
        return tuple(each.name for each in named_outputs(self.ast))

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_of(f"trepl {self}")

    @cached_property
    def _acting(self) -> Acting:
        return Acting(self.functions, names_of(self.ast, self.name))

    # --- what can be done with it -------------------------------------------------------------------------------------

    def check(self, sources: object, **options: Unpack[Options]) -> dict[str, pa.Schema]:
        """Check the program against what is known of its relations; the columns of each output.

        The sources are a mapping of relations to what `acelera.cdc` makes, of tables or of columns alone; a mapping of
        attributes to types will do, too, for a relation that has old values and a time. The options are those of `run`.
        Raises a QueryCheckError that lists every mistake, and warns of what is most likely not meant, once.

        >>> import acelera as ac
        >>> p = ac.trepl("monitor owns partition by id; Sum: * owns(X) -> write(X.id, Sum(X.number));")
        >>> p.check({"owns": {"id": str, "number": int}})["Sum"]
        module: string
        id: string
        stage: int64
        Timestamp: timestamp[us, tz=UTC]
        arg1: string
        arg2: int64
        message: string
        """
        compiled = self._compiled(by_relation(sources), how(options))
        return {name: output.schema for name, output in compiled.outputs.items()}

    def run(
        self,
        sources: object,
        *,
        database: object = None,
        delay: str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        **options: Unpack[Options],
    ) -> Any:
        """Do what the rules say of all changes; a table for each derived event, and one for each action of a rule.

        A derived event has the columns `stage`, `Timestamp` and its attributes. A rule has `module`, the attributes of
        `partition by`, `stage`, `Timestamp`, the arguments of its first action, `arg1` and so on, and `message` if that
        is `write`, or `command` if it is SQL; its second action is `rule.2`, and so on. Rows are ordered by instant,
        then by key and arguments.

        Functions are called with each row of their actions, at least once. Commands of SQL are done in the database,
        each row exactly once, however often the program is run over the same changes; without a database they are only
        told by the tables.

        Sources in Spark frames give frames with the same columns, whose rows have no order. Where changes still come,
        `frame` of the result has the rows of all actions, and `do(database=…)` is a writer that does them.

        Parameters
        ----------
        sources
            The changes: a mapping of relations to what `acelera.cdc` makes.
        database
            Where commands are done: the path of a file of SQLite, a URL or an engine of SQLAlchemy, or a function that
            gives a connection.
        delay
            How late changes of a stream may come, such as `"10 minutes"`, where its frame has no watermark on the time.
        checkpoint
            Where a stream will keep its checkpoint; one of another program is then refused before it starts.
        options
            `granularity="timestamp"` says that changes of one time are one stage; it is `"transaction"` or
            `"operation"` otherwise. `zone="UTC"` is where parts of time are computed. `method="semantics"` follows the
            definitions, slowly. `max_tuples=100_000` is how many unfinished instances of patterns a key may have.

        >>> import acelera as ac
        >>> from acelera import cdc
        >>> p = ac.trepl('''
        ...     monitor update(stock) as tick partition by id;
        ...     Phase: (* tick(X, X.price > Last(X.price)), Count(X) >= 3, !tick(U, U.price > X.price))
        ...       -> write("%s rose from %s to %s", X.id, First(X.price), X.price);
        ... ''')
        >>> prices = enumerate([10, 11, 13, 12])
        >>> ticks = [{"ts": time, "op": "u", "id": "IBM", "price": price} for time, price in prices]
        >>> p.run({"stock": cdc.changes(ticks, old=None, new=None)})["Phase"].to_pylist()
        [{'module': 'Main', 'id': 'IBM', 'stage': 4, 'Timestamp': 3, 'arg1': 'IBM', 'arg2': 10, 'arg3': 13,
        'message': 'IBM rose from 10 to 13'}]
        """
        given = by_relation(sources)
        on_spark = are_on_spark(given, self.relations)
        told = how(options, ("database", "delay", "checkpoint") if on_spark else ("database",))
        if on_spark:
            return self._run_spark(given, told, database, Coming(delay, checkpoint))
        Coming(delay, checkpoint).refuse_of("a table")
        session, come = self._session(given, database, told)
        session.hold({relation: come.whole(relation) for relation in come.sources})
        return session.finish()

    def report(
        self, sources: object, path: str | PathLike[str], *, events: int = MOST_EVENTS, **options: Unpack[Options]
    ) -> Path:
        """Write one HTML page that shows the program, the changes on a timeline, and what rules did when.

        Returns its path. Sources and options are those of `run`; nothing is done in databases, and no function is
        called. The page needs no other file and no network; folders of its path are made if they are not there. It
        shows the first `events` by their times, changes that came in and what rules made; counts are over all of them.

        >>> import acelera as ac, tempfile, pathlib
        >>> from acelera import cdc
        >>> p = ac.trepl("monitor a; R: a(X) -> write(X.v);")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = p.report({"a": cdc.inserts([{"ts": 1, "v": 5}])}, pathlib.Path(folder, "report.html"))
        ...     path.name, "</html>" in path.read_text(encoding="utf-8")
        ('report.html', True)
        """
        from acelera.programs.report.page import write
        from acelera.report import refuse_place

        refuse_place(Path(path))
        return write(self.findings(sources, options, events), Path(path))

    def findings(self, sources: object, options: Options, events: int = MOST_EVENTS) -> Run:
        """What `report` shows, before it is a page; the options are those of `run`."""
        from acelera.trepl.shown_changes import shown_run

        if not isinstance(events, int) or isinstance(events, bool) or events < 0:
            raise UsageError(f"{events=} is not a number of events to show")
        told, given = how(options, ("events",)), by_relation(sources)
        compiled, come = self._compiled(given, told), incoming(given, self.relations, told.granularity)
        tables = {relation: come.whole(relation) for relation in come.sources}
        session = RuleSession(Opened(come, compiled.outputs, leave, told, ""), engine_of(compiled.program, come, told))
        session.hold(tables)
        return shown_run(self.ast, self.text, compiled.program, tables, session.finish(), events)

    def open(self, sources: object, *, database: object = None, **options: Unpack[Options]) -> RuleSession:
        """Start the program on changes that come in batches; sources, database and options are those of `run`.

        Rows of sources are not read, of which a warning tells: what is pushed is.

        >>> import acelera as ac
        >>> from acelera import cdc
        >>> p = ac.trepl("monitor owns; First: first(owns(X)) -> write(X.id);")
        >>> session = p.open({"owns": cdc.inserts({"ts": "timestamp", "id": str})})
        >>> session.push({"owns": []})["First"].num_rows
        0
        """
        session, come = self._session(sources, database, how(options, ("database",)))
        warn_of_rows(come.sources)
        return session

    def resume(self, snapshot: bytes, sources: object, *, database: object = None) -> RuleSession:
        """Go on with changes from the snapshot of a session of the same program.

        The sources are made as those of the session were; their rows are not read. The options are those of the
        session.

        >>> import acelera as ac
        >>> from acelera import cdc
        >>> p = ac.trepl("monitor a; Two: (a(X), a(Y)) -> write(X.v, Y.v);")
        >>> sources = {"a": cdc.inserts({"ts": int, "v": int})}
        >>> session = p.open(sources)
        >>> session.push({"a": [{"ts": 1, "v": 5}]})["Two"].num_rows
        0
        >>> again = p.resume(session.snapshot(), sources)
        >>> again.push({"a": [{"ts": 2, "v": 6}]}, now=2)["Two"]["message"].to_pylist()
        ['5 6']
        """
        sections = unpack(snapshot, self._fingerprint)
        given = by_relation(sources)
        with fitting():
            session = dict(sections["session"])
            rows, told = session.pop("rows"), how(session)
        compiled, come = self._compiled(given, told), incoming(given, self.relations, told.granularity)
        waiting = stored_waiting(sections, come)
        with fitting():
            engine = engine_again(compiled.program, come, told, sections["engine"].tobytes())
            again = RuleSession(self._opened(compiled, come, told, database), engine, waiting)
            again.restore(rows)
            return again

    def explain(self, sources: object = None, **options: Unpack[Options]) -> str:
        """What the program is; with sources, as `check` takes them, what settles before what, and how it runs.

        >>> import acelera as ac
        >>> p = ac.trepl("monitor owns; derived sold(id); Sale: owns(X) -> sold(X.id); Tell: sold(X) -> write(X.id);")
        >>> print(p.explain({"owns": {"id": str}}).partition("\\n\\n")[2])
        module Main
          stages: insert(owns), update(owns); one history
          stratum 1: Sale
          stratum 2: Tell
          derives sold(id string)
        <BLANKLINE>
        plan
          Main: 2 states, 2 registers, compiled, step by step:
            no machine code for events that are derived and looked at within one stage
          Main: all rules keep to id, so that instances are kept apart by it
          Main: keeps open instances for the whole history, until there is a stage that does not extend them
        """
        if sources is None:
            return explained(self.ast, self.text, ())
        from acelera.trepl.plan_lines import plan_lines

        given, told = by_relation(sources), how(options)
        compiled = self._compiled(given, told)
        plan = plan_lines(compiled.program, self.ast)
        if are_on_spark(given, self.relations):
            from acelera.trepl.on_spark.running_frames import plan_on_spark

            plan += plan_on_spark(compiled.program, incoming(given, self.relations, told.granularity, on_spark=True))
        return explained(self.ast, self.text, compiled.warnings, compiled.program, plan)

    def datalog(self, sources: object, **options: Unpack[Options]) -> str:
        """The rules of Datalog that the program stands for, to be read; sources are those of `check`.

        >>> import acelera as ac
        >>> p = ac.trepl("monitor ins(a) as i; Two: (i(X), i(Y, Y.v > X.v)) -> write(Y.v);")
        >>> print(p.datalog({"a": {"v": int}}).strip())
        % module Main
        any(J) <- hist_Main(_, _, J).
        ins_a(X, J) <- hist_Main(ins_a, T, J), log_ins_a(X, T).
        <BLANKLINE>
        % Two
        sat_1(X, J) <- ins_a(X, J).
        sat_2(X, Y, s(J)) <- ins_a(Y, s(J)), sat_1(X, J), Y.v > X.v.
        sat_3(X, Y, J) <- sat_2(X, Y, J).
        write(Y.v, J) <- sat_3(X, Y, J).
        """
        from acelera.trepl.datalog import datalog

        return datalog(self._compiled(by_relation(sources), how(options)).program)

    def draw(self) -> RuleDrawing:
        """A picture of what is made of what, which shows itself in a notebook.

        >>> import acelera as ac
        >>> print(ac.trepl("monitor a; derived b(v); Make: a(X) -> b(X.v); Tell: !b -> write('none');").draw().mermaid)
        flowchart LR
          subgraph comes in
            n0("a")
          end
          subgraph level 1
            n1["b"]
          end
          subgraph level 2
            n2["Tell: write"]
          end
          n0 --> n1
          n1 -.->|"negation"| n2
        """
        from acelera.programs.drawing import drawn
        from acelera.trepl.rule_graph import label_graph

        return drawn(label_graph(self.ast))

    # --- how ----------------------------------------------------------------------------------------------------------

    def _compiled(self, given: Mapping[str, Any], told: How) -> _Compiled:
        """The program over sources: what is checked, and what is run."""
        timestamp = timestamp_of({name: each for name, each in given.items() if name in self.relations})
        checked = check(self.ast, relations_of(given), timestamp, told.zone, tuple(self.functions), self.text)
        self._warn([*checked.warnings, *unmonitored(given, self.relations)])
        return _Compiled(checked.program, checked.warnings, outputs_of(checked.program, self.outputs))

    def _run_spark(self, given: Mapping[str, Any], told: How, database: object, coming: Coming) -> RuleFrames:
        """The frames of what rules do; of changes that are all there, what is to be done besides is done now."""
        from acelera.trepl.on_spark.running_frames import is_growing, run_frames

        compiled = self._compiled(given, told)
        come = incoming(given, self.relations, told.granularity, on_spark=True)
        if is_growing(come) and database is not None:
            raise UsageError(
                "commands of a stream are done when it is started: run(…).do(database=…) is a writer; give it a "
                "checkpoint, and start it"
            )
        program, outputs = compiled.program, compiled.outputs
        frames = run_frames(program, come, told, outputs, self._fingerprint, self._acting, coming)
        if not is_growing(come):
            frames.do_now(database)
        return frames

    def _session(self, sources: object, database: object, told: How) -> tuple[RuleSession, Incoming]:
        """A session that has seen nothing, and what comes in."""
        given = by_relation(sources)
        compiled, come = self._compiled(given, told), incoming(given, self.relations, told.granularity)
        session = RuleSession(self._opened(compiled, come, told, database), engine_of(compiled.program, come, told))
        return session, come

    def _opened(self, compiled: _Compiled, come: Incoming, told: How, database: object) -> Opened:
        do = doing(compiled.program, self._acting, database)
        return Opened(come, compiled.outputs, do, told, self._fingerprint)

    def _warn(self, found: Iterable[Problem]) -> None:
        """Warn once of each thing that is most likely not meant."""
        for problem in found:
            if problem not in self._told:
                self._told.add(problem)
                warnings.warn(render(problem, self.text), AceleraWarning, stacklevel=outside())

    def __str__(self) -> str:
        return printed(self.ast)

    def __repr__(self) -> str:
        return f"<acelera.trepl program makes {', '.join(self.outputs)} of {', '.join(self.relations)}>"

    def __eq__(self, other: object) -> bool:
        own = (self.ast, self.functions, self.name)
        return isinstance(other, Program) and own == (other.ast, other.functions, other.name)

    def __hash__(self) -> int:
        return hash(self.ast)


def trepl(text: str, functions: Functions | None = None, name: str | None = None) -> Program:
    """A program from its text: rules of TREPL over changes of tables.

    All mistakes that can be found without the columns of tables are found here. `functions` are those that rules may
    call as actions, by name; each gets the row, with its arguments, and a text that identifies it. What was done is not
    done again as long as its rule and its module's monitor statement stay as they are; with a `name` for the program,
    as long as the names stay and the row is the same, however the text is changed.

    >>> import acelera as ac
    >>> from acelera import cdc
    >>> p = ac.trepl('''
    ...     monitor ins(orders) as o, ins(payment) as p, ins(shipment) as s;
    ...     Unpaid: (o(X), *!p(P, P.id = X.id), s(Y, Y.id = X.id)) -> write("unpaid: %s", X.id);
    ... ''')
    >>> orders, payments = [{"ts": 1, "id": 7}, {"ts": 2, "id": 8}], [{"ts": 3, "id": 7}]
    >>> shipments = [{"ts": 4, "id": 7}, {"ts": 5, "id": 8}]
    >>> tables = {"orders": orders, "payment": payments, "shipment": shipments}
    >>> p.run({name: cdc.inserts(rows) for name, rows in tables.items()})["Unpaid"]["message"].to_pylist()
    ['unpaid: 8']
    >>> ac.trepl("monitor o; Unpaid: o(X) => write(X.id);")
    Traceback (most recent call last):
        ...
    acelera.programs.problems.ProgramSyntaxError: line 1, column 26: unexpected `>`; expected a value
      monitor o; Unpaid: o(X) => write(X.id);
                               ^
      hint: an arrow is written ->
    """
    return Program(text, functions, name)


def _name(given: object) -> str | None:
    """What the user calls a program, if anything."""
    if given is not None and (not isinstance(given, str) or not given):
        raise UsageError(f"name={given!r} is no name for a program, such as 'shop alerts'")
    return given


def _functions(given: Functions | None) -> dict[str, Any]:
    """Functions by name; an action of the language cannot be one."""
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(name, str) for name in given)):
        raise UsageError(
            "functions are given with the names by which rules call them: functions={'page': page}, not "
            f"{type(given).__name__}"
        )
    found = dict(given or {})
    for name, function in found.items():
        if name in ("write", "sql"):
            raise UsageError(f"functions={{{name!r}: …}}: {name} is an action of the language; use another name")
        if not callable(function):
            raise UsageError(f"functions={{{name!r}: …}} is {type(function).__name__}, which cannot be called")
    return found


def _unmonitored(program: ast.Program) -> set[Span | None]:
    """Where rules of modules begin that do not say what they monitor: the checker tells what they should say."""
    return {module.rules[0].span for module in program.modules if not module.monitored}


def _monitored(module: ast.Module) -> Iterator[tuple[str | None, str]]:
    """Kinds and names of what a module monitors; if it does not say, of what its rules ask for."""
    if module.monitored:
        yield from ((each.kind, each.name) for each in module.monitored if each.module is None)
        return
    for rule in module.rules:
        for goal in ast.walk(rule.goal):
            if isinstance(goal, ast.Named) and goal.module is None:
                yield goal.kind, goal.name

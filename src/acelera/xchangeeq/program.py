"""What a user holds in hand: a program of rules that can be checked, explained and run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acelera.algebra.names import BEGIN, END
from acelera.engine.storage.snapshots import fingerprint_of, unpack
from acelera.engine.storage.validation import fitting
from acelera.errors import AceleraWarning, Problem, UsageError, did_you_mean, outside, render
from acelera.programs.announcement import Announced, Asked, announce, columns_of, labels_in
from acelera.programs.columns import plain_column
from acelera.programs.descriptions import announced_by
from acelera.programs.inputs import Given, read
from acelera.programs.options import How, how
from acelera.programs.outputs import TIMES, output_schema, shown
from acelera.programs.problems import Notes, ProgramCheckError
from acelera.programs.report.run import MOST_EVENTS
from acelera.programs.running import run_in_pieces, run_whole
from acelera.programs.session import ProgramSession
from acelera.programs.stepping import Stepping
from acelera.spark.schemas import is_frame, is_spark
from acelera.spelling import warn_of_missing_types
from acelera.tables import in_batches, to_arrow
from acelera.xchangeeq import ast
from acelera.xchangeeq.checker import Checked, check, check_rules
from acelera.xchangeeq.durations import check_lengths, longest_ticks
from acelera.xchangeeq.explanation import explained
from acelera.xchangeeq.judged import judged
from acelera.xchangeeq.normal import normal_rules
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.printer import print_program
from acelera.xchangeeq.strata import root_label

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from acelera.programs.drawing import RuleDrawing
    from acelera.programs.options import Options
    from acelera.programs.report.run import Run

KEPT_FOR_EVER = "is kept for ever"
METHODS = ("engine", "semantics")
AGGREGATES = ("nodes", "set")


@dataclass(frozen=True)
class _Compiled:
    """A program over a stream of which the columns are known."""

    checked: Checked
    stream: Announced
    aggregates: str

    @property
    def options(self) -> tuple[Checked, int, Mapping[str, float]]:
        """What an engine must know."""
        return self.checked, self.stream.kind.tick, self.stream.longest

    @property
    def on_spark(self) -> tuple[Checked, Announced, str]:
        """What Spark must know."""
        return self.checked, self.stream, self.aggregates

    def open(self) -> Stepping:
        """An engine that has seen nothing."""
        from acelera.xchangeeq.engine import opened

        return opened(*self.options, self.aggregates)

    def resume(self, data: bytes) -> Stepping:
        """An engine that goes on."""
        from acelera.xchangeeq.engine import resumed

        return resumed(*self.options, self.aggregates, data)

    def kept_for_ever(self) -> list[str]:
        """What an engine can never forget, in words."""
        from acelera.xchangeeq.engine import kept_for_ever

        return kept_for_ever(*self.options)

    def plan(self) -> list[str]:
        """How an engine runs it, in words."""
        from acelera.xchangeeq.engine import explained

        return explained(*self.options)


class Program:
    """A program of rules, made by `acelera.xchangeeq`.

    >>> import acelera as ac
    >>> p = ac.xchangeeq("DETECT hot { in { var R } } ON temp {{ in {{ var R }}, v {{ var V }} }} where {var V > 9}END")
    >>> p
    <acelera.Program makes hot of temp>
    >>> p.run([{"type": "temp", "t": 1, "in": "hall", "v": 41}], time="t", method="semantics")["hot"].to_pylist()
    [{'begin': 1, 'end': 1, 'in': 'hall'}]

    Attributes
    ----------
    ast
        The abstract syntax tree; `str(p)` is its canonical text.
    text
        The program as it was written.
    """

    def __init__(self, text: str, aggregates: str = "nodes") -> None:
        if not isinstance(text, str):
            raise UsageError(f"a program is made of a text, not of {type(text).__name__}")
        if aggregates not in AGGREGATES:
            raise UsageError(f"{aggregates=} is not known; it is one of {', '.join(map(repr, AGGREGATES))}")
        self.text, self.aggregates = text, aggregates
        self.ast = parse_program(text)
        self._strata = check_rules(self.ast, text)
        _refuse_times(self.ast, text)
        self._told: set[Problem] = set()

    # --- what it is -----------------------------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of events that must come in, since no rule makes them.

        >>> import acelera as ac
        >>> ac.xchangeeq("DETECT b { } ON a {{ }} END DETECT c { } ON b {{ }} END").labels
        ('a',)
        """
        return tuple(label for label in self._asked.labels if label not in self.outputs)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The labels of events that rules make.

        >>> import acelera as ac
        >>> ac.xchangeeq("DETECT b { } ON a {{ }} END DETECT c { } ON b {{ }} END").outputs
        ('b', 'c')
        """
        return tuple(dict.fromkeys(rule.head.label for rule in self.ast.rules))

    @cached_property
    def _asked(self) -> Asked:
        roots = [root_label(query) for rule in normal_rules(self.ast) for _, query in rule.queries]
        labels = dict.fromkeys(label for label in roots if label is not None)
        return Asked(tuple(labels), self.outputs, None in roots)

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_of(f"xchangeeq {self.aggregates} {self}")

    # --- what can be done with it ---------------------------------------------------------------------------------

    def check(self, schemas: object, **options: Unpack[Options]) -> dict[str, pa.Schema]:
        """Check the program against the columns of its events; the columns of each output.

        The schemas are a mapping of labels to pyarrow schemas, to tables, or to mappings of columns to types; or one of
        these for all labels, with a column that tells the label. The options are those of `run`. Raises a
        QueryCheckError that lists every mistake, and warns of what is most likely not meant, once.

        >>> import acelera as ac
        >>> p = ac.xchangeeq("DETECT sum { v { sum(all var V) } } ON a {{ v {{ var V }} }} END")
        >>> p.check({"a": {"t": "timestamp", "v": int}}, time="t")["sum"]
        begin: timestamp[us]
        end: timestamp[us]
        v: int64
        """
        compiled = self._compiled(self._announced(schemas, how(options)))
        kind = compiled.stream.kind
        return {label: output_schema(each, kind) for label, each in compiled.checked.schemas.items()}

    def run(
        self,
        tables: Any,
        *,
        method: str = "engine",
        late_events: str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        **options: Unpack[Options],
    ) -> Any:
        """Derive all events that follow from those of a table; a table for each label that rules make.

        A result has the columns `begin` and `end`, then one for each child, in order of end. Events that came in are
        not among those that are derived.

        Parameters
        ----------
        tables
            The events: a table with a column that tells the label of each, or a mapping of labels to tables. A table is
            one of pyarrow, pandas or polars, a reader or dataset, or a list of dicts. A reader, or an iterator of
            tables, is read piece by piece, and must be in order of end.
        method
            How to compute the result: `"engine"` is quick; `"semantics"` follows the definitions, and is slow.
        options
            `time="t"` for events that happen at a moment, or `begin="b", end="e"` for those that last, both ends
            included (without either, they are the columns `begin` and `end`); `type_column="type"`; for times that are
            integers `time_unit="s"` says what 1 is: us, ms, s, min, h or d; `longest={"temp": "5 sec"}` how long events
            of a label last at most, so that less has to be kept.

        >>> import acelera as ac
        >>> p = ac.xchangeeq('''
        ...     DETECT silent { host { var H } }
        ...     ON and { event b: beat {{ host {{ var H }} }}, event i: timer:from-end [ event b, 90 sec ],
        ...              event w: timer:shorten-begin [ event i, 1 sec ], while w: not beat {{ host {{ var H }} }} }
        ...     END
        ... ''')
        >>> beats = [{"t": 0, "host": "x"}, {"t": 60, "host": "x"}]
        >>> p.run({"beat": beats}, time="t", time_unit="s", method="semantics")["silent"].to_pylist()
        [{'begin': 60, 'end': 150, 'host': 'x'}]
        """
        if method not in METHODS:
            raise UsageError(f"{method=} is not known; it is one of {', '.join(map(repr, METHODS))}")
        told = how(options)
        if is_spark(tables):
            return self._run_spark(tables, told, method, late_events, checkpoint)
        if late_events is not None:
            raise UsageError("late_events=… is for streams of Spark: in tables no event comes late; leave it out")
        if checkpoint is not None:
            raise UsageError("checkpoint=… is for streaming DataFrames; leave it out")
        if method == "engine" and _in_pieces(tables) and not self._asked.every:
            schema, batches = in_batches(tables)
            return self._run_in_pieces(schema, batches, told)
        tables = _as_tables(tables)
        compiled, given = self._given(tables, told)
        found = self._derived(compiled, given, method)
        if isinstance(tables, pa.Table) and not any(table.num_rows for table in found.values()):
            self._warn_of_labels(tables, told, nothing_found=True)
        return found

    def report(
        self, tables: object, path: str | PathLike[str], *, events: int = MOST_EVENTS, **options: Unpack[Options]
    ) -> Path:
        """Write one HTML page that shows the program, its events on a timeline and what each was made from.

        Returns its path. Tables and options are those of `run`. The page needs no other file and no network; folders of
        its path are made if they are not there. It shows the first `events`, those that came in and those that were
        derived, by where they end; counts are over all of them.

        >>> import acelera as ac, tempfile, pathlib
        >>> p = ac.xchangeeq("DETECT b { v { var V } } ON a {{ v {{ var V }} }} END")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = p.report({"a": [{"t": 1, "v": 5}]}, pathlib.Path(folder, "report.html"), time="t")
        ...     path.name, "</html>" in path.read_text(encoding="utf-8")
        ('report.html', True)
        """
        from acelera.programs.report.page import write
        from acelera.report import refuse_place

        refuse_place(Path(path))
        return write(self.findings(tables, options, events), Path(path))

    def findings(self, tables: object, options: Options, events: int = MOST_EVENTS) -> Run:
        """What `report` shows, before it is a page; the options are those of `run`."""
        from acelera.xchangeeq.shown_run import run_of_tables

        if not isinstance(events, int) or isinstance(events, bool) or events < 0:
            raise UsageError(f"{events=} is not a number of events to show")
        told = how(options)
        if is_spark(tables):
            raise UsageError("the report of a program takes no Spark DataFrames; collect the rows: frame.toArrow()")
        compiled, given = self._given(tables, told)
        made = self._derived(compiled, given, "engine")
        return run_of_tables(self.ast, self.text, given, made, compiled.stream.kind, self.aggregates, events)

    def open(self, schemas: object, **options: Unpack[Options]) -> ProgramSession:
        """Start the program on a stream that comes in batches; schemas and options are those of `check` and `run`.

        >>> import acelera as ac
        >>> p = ac.xchangeeq("DETECT b { v { var V } } ON a {{ v {{ var V }} }} END")
        >>> session = p.open({"a": {"t": int, "v": str}}, time="t")
        >>> session.push({"a": [{"t": 1, "v": "x"}]})["b"].to_pylist()
        [{'begin': 1, 'end': 1, 'v': 'x'}]
        """
        compiled = self._compiled(self._announced(schemas, how(options)))
        return self._session(compiled, compiled.open())

    def resume(self, snapshot: bytes) -> ProgramSession:
        """Go on with a stream from the snapshot of a session of the same program.

        >>> import acelera as ac
        >>> p = ac.xchangeeq("DETECT c { } ON and { event i: a {{ }}, event j: b {{ }} } where { i before j } END")
        >>> session = p.open({"a": {"t": int}, "b": {"t": int}}, time="t")
        >>> session.push({"a": [{"t": 1}]})["c"].num_rows
        0
        >>> p.resume(session.snapshot()).push({"b": [{"t": 2}]})["c"].to_pylist()
        [{'begin': 1, 'end': 2}]
        """
        sections = unpack(snapshot, self._fingerprint)
        with fitting():
            compiled = self._compiled(announced_by(sections))
            session = self._session(compiled, compiled.resume(sections["engine"].tobytes()))
            session.restore(sections["session"])
            return session

    def explain(self, schemas: object = None, **options: Unpack[Options]) -> str:
        """What the program is: what is made before what, and its rules in normal form; with schemas, how it runs.

        With Spark frames in place of schemas, it says what Spark will do.

        >>> import acelera as ac
        >>> print(ac.xchangeeq("DETECT c { } ON or { a {{ }}, b {{ }} } END").explain())
        program
          DETECT c { } ON or { a {{ }}, b {{ }} } END
        <BLANKLINE>
        strata
          1: c
        <BLANKLINE>
        rules
          DETECT c { } ON event _1: a {{ }} END
          DETECT c { } ON event _1: b {{ }} END
        """
        if schemas is None:
            return explained(self.ast, self._strata, (), self.text, ())
        told = how(options)
        compiled = self._compiled(self._announced(schemas, told))
        if is_spark(schemas):
            from acelera.xchangeeq.on_spark import explained_on_spark

            plan = explained_on_spark(schemas, *compiled.on_spark)
        else:
            plan = compiled.plan()
        return explained(self.ast, self._strata, compiled.checked.warnings, self.text, plan)

    def draw(self) -> RuleDrawing:
        """A picture of what is made of what, which shows itself in a notebook."""
        from acelera.programs.drawing import drawn
        from acelera.xchangeeq.rule_graph import label_graph

        return drawn(label_graph(self.ast))

    # --- how ------------------------------------------------------------------------------------------------------

    def _announced(self, tables: object, told: How) -> Announced:
        """What is known of tables or of their schemas; of one table for all labels, also which labels its rows have."""
        if is_spark(tables):
            from acelera.xchangeeq.on_spark import columns_of_frames

            return announce(columns_of_frames(tables), told, self._asked)
        if isinstance(tables, Mapping) and any(map(is_frame, tables.values())):
            raise UsageError("some of these are Spark DataFrames, others are not; give all as the one or as the other")
        if not isinstance(tables, pa.Table):
            return announce(columns_of(tables), told, self._asked)
        come = labels_in(tables, told, self._asked)
        self._warn_of_labels(tables, told, nothing_found=False)
        return announce(columns_of(tables), told, self._asked, come)

    def _warn_of_labels(self, table: pa.Table, told: How, nothing_found: bool) -> None:
        """A label that no row has is most likely misspelt, if there is one like it, or if nothing was found."""
        if told.type_column in table.column_names:
            types = plain_column(table.column(told.type_column)).unique().drop_null().to_pylist()
            warn_of_missing_types(set(self.labels), set(map(str, types)), nothing_found, outside() + 1)

    def _given(self, tables: object, told: How) -> tuple[_Compiled, Given]:
        """The program over tables that are there, and their events."""
        tables = _as_tables(tables)
        compiled = self._compiled(self._announced(tables, told), lasting=False)
        return compiled, read(compiled.stream, tables)

    def _derived(self, compiled: _Compiled, given: Given, method: str) -> dict[str, pa.Table]:
        """What follows from events that are all there."""
        if method == "engine":
            made = run_whole(self._session(compiled, compiled.open()), given)
        else:
            checked, tick, _ = compiled.options
            made = [judged(self.ast, given, checked.outputs, self.aggregates, tick)]
        return shown(made, compiled.checked.schemas, compiled.stream.kind)

    def _compiled(self, stream: Announced, lasting: bool = True) -> _Compiled:
        """The program over a stream, which goes on if it is `lasting`: what is checked, and what is run."""
        # Labels that no rule asks for are known, so that one may be what was meant; what they have is of no account.
        others = dict.fromkeys(stream.others or (), pa.schema([]))
        checked = check(self.ast, {**others, **stream.labels}, self.text)
        check_lengths(self.ast, stream.kind, self.text)
        compiled = _Compiled(checked, replace(stream, longest=self._longest(stream)), self.aggregates)
        self._warn(compiled, lasting)
        return compiled

    def _longest(self, stream: Announced) -> dict[str, float]:
        """How long the events of each label that comes in last at most."""
        told = stream.how.longest
        for label in told:
            if label not in stream.labels:
                near = did_you_mean(label, stream.labels)
                raise UsageError(f"longest={{{label!r}: …}}: no rule asks for events of this label{near}")
        found: dict[str, float] = dict.fromkeys(stream.labels, 0 if stream.how.points else inf)
        return found | {label: longest_ticks(label, text, stream.kind) for label, text in told.items()}

    def _warn(self, compiled: _Compiled, lasting: bool) -> None:
        """Warn once of each thing that is most likely not meant; what is kept for ever matters to streams alone."""
        found = [each for each in compiled.checked.warnings if lasting or KEPT_FOR_EVER not in each.message]
        if lasting and not any(KEPT_FOR_EVER in each.message for each in found):
            found += [Problem(each) for each in compiled.kept_for_ever()]
        for problem in found:
            if problem not in self._told:
                self._told.add(problem)
                warnings.warn(render(problem, self.text), AceleraWarning, stacklevel=outside())

    def _session(self, compiled: _Compiled, engine: Stepping) -> ProgramSession:
        return ProgramSession(engine, compiled.stream, compiled.checked.schemas, self._fingerprint)

    def _run_in_pieces(self, schema: pa.Schema, batches: Iterator[object], told: How) -> dict[str, pa.Table]:
        compiled = self._compiled(announce(schema, told, self._asked))
        made = run_in_pieces(self._session(compiled, compiled.open()), batches)
        return shown(made, compiled.checked.schemas, compiled.stream.kind)

    def _run_spark(
        self, frames: Any, told: How, method: str, late_events: str | None, checkpoint: str | PathLike[str] | None
    ) -> Any:
        """The frames of what is derived, or all of it in one, if rows still come."""
        from acelera.spark.running import refuse_checkpoint_of_batch
        from acelera.xchangeeq.on_spark import is_growing, run_stream, run_whole_frames

        if method != "engine":
            raise UsageError(f"method={method!r} takes tables; collect the rows of a Spark DataFrame: frame.toArrow()")
        compiled = self._compiled(self._announced(frames, told), lasting=is_growing(frames))
        if is_growing(frames):
            return run_stream(frames, *compiled.on_spark, self._fingerprint, late_events, checkpoint)
        if late_events is not None:
            raise UsageError("late_events=… is for streams: in a frame that is all there no event comes late")
        refuse_checkpoint_of_batch(checkpoint, False)
        return run_whole_frames(frames, *compiled.on_spark)

    def __str__(self) -> str:
        return print_program(self.ast)

    def __repr__(self) -> str:
        of = ", ".join(["any event"] if self._asked.every else self.labels)
        return f"<acelera.Program makes {', '.join(self.outputs)} of {of or 'the clock'}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and (self.ast, self.aggregates) == (other.ast, other.aggregates)

    def __hash__(self) -> int:
        return hash((self.ast, self.aggregates))


def xchangeeq(text: str, aggregates: str = "nodes") -> Program:
    """A program from its text: rules of XChangeEQ, each of which makes events of others.

    All mistakes that can be found without the columns of events are found here. `aggregates` says what `count(all …)`
    and the like range over: `"nodes"`, every value that is there, or `"set"`, different values once (the letter of the
    definition).

    >>> import acelera as ac
    >>> p = ac.xchangeeq('''
    ...     DETECT fire { area { var A } }
    ...     ON and { event s: smoke {{ area {{ var A }} }}, event t: temp {{ area {{ var A }}, value {{ var T }} }} }
    ...        where { s before t, {s, t} within 1 min, var T > 40 }
    ...     END
    ... ''')
    >>> smoke, temp = {"t": 10, "area": "a"}, {"t": 50, "area": "a", "value": 41}
    >>> p.run({"smoke": [smoke], "temp": [temp]}, time="t", time_unit="s", method="semantics")["fire"].to_pylist()
    [{'begin': 10, 'end': 50, 'area': 'a'}]
    >>> ac.xchangeeq("DETECT fire { area { var A } } ON smoke {{ area {{ var B }} }} END")
    Traceback (most recent call last):
        ...
    acelera.programs.problems.ProgramCheckError: line 1, column 22: var A of the head is not bound
      DETECT fire { area { var A } } ON smoke {{ area {{ var B }} }} END
                           ^^^^^
      hint: bind it in an event or collect literal: temp {{ value {{ var V }} }}
    """
    return Program(text, aggregates)


def _refuse_times(tree: ast.Program, text: str) -> None:
    """A child of a head cannot be called as a column of time is."""
    notes = Notes()
    for rule in tree.rules:
        for child in rule.head.children:
            inner = child.what if isinstance(child, ast.All) else child
            if isinstance(inner, ast.Construct) and inner.label in (*TIMES, BEGIN, END):
                message = f"{rule.head.label} cannot have a child {inner.label}: that is a column of its time"
                notes.wrong(message, inner.span, "give it another label")
    if notes.problems:
        raise ProgramCheckError(notes.problems, text)


def _in_pieces(tables: object) -> bool:
    """Whether a source can be read once, piece by piece."""
    return isinstance(tables, pa.RecordBatchReader | Iterator)


def _as_tables(tables: object) -> object:
    """Tables that can be looked at more than once."""
    if isinstance(tables, Mapping):
        return {label: _as_tables(each) for label, each in tables.items()}
    if isinstance(tables, Iterator):
        return pa.concat_tables([to_arrow(each) for each in tables], promote_options="permissive")
    return to_arrow(tables)

"""What a program gives on Spark: a frame for each derived event and each action, and one of all actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from acelera.cdc.layout import NEW
from acelera.errors import UsageError, did_you_mean, listing
from acelera.programs.columns import plain_column
from acelera.spark.results import ByName
from acelera.spark.schemas import spark_schema
from acelera.spark.spark_expressions import quoted
from acelera.trepl import resolved
from acelera.trepl.actions.action_rows import ARGUMENT, INSTANT, KEY, STAGE, TIME, column_of, from_frame, places
from acelera.trepl.doing import Acting, doing
from acelera.trepl.on_spark.part_task import ACTION, AGAIN, PartTask, carried
from acelera.trepl.rule_outputs import COMMAND, MODULE, NUMBER, STAMP, ActionOutput, EventOutput, Output
from acelera.trepl.stepping import Place


@dataclass(frozen=True, repr=False)
class RuleFrames(ByName):
    """What the rules of a program do: a frame for each output, by its name, with the columns that it has in process.

    `frame` has the rows of all actions: which action (`module.rule.number`), when, and a struct for each action. Spark
    computes rows when they are asked for: what is written of `frames["one"]` and of `frames["other"]` are two
    computations, and two streams, if changes still come; `frame` is one.
    """

    by_module: Mapping[str, Any]
    tasks: tuple[PartTask, ...]
    outputs: Mapping[str, Output]
    program: resolved.Program
    acting: Acting

    @property
    def frame(self) -> Any:
        """The rows of all actions."""
        different = {id(each): each for each in self.by_module.values()}
        return reduce(lambda one, two: one.unionByName(two, allowMissingColumns=True), different.values())

    def part(self, name: str) -> Any:
        """The frame of one output."""
        output = self.outputs[name]
        if isinstance(output, ActionOutput):
            return _of_action(self.by_module[output.module.name], output)
        assert isinstance(output, EventOutput)
        return _of_event(self.by_module[output.module.name], output)

    def __repr__(self) -> str:
        kind = "streams" if any(each.isStreaming for each in self.by_module.values()) else "frames"
        return f"<acelera.trepl {kind} of {', '.join(self.outputs)}>"

    def unknown(self, name: str) -> str:
        """No rule makes it."""
        return f"no rule makes `{name}`{did_you_mean(name, self.outputs)} (there are {listing(self.outputs)})"

    # --- what is done -------------------------------------------------------------------------------------------------

    def do(self, database: object = None) -> Any:
        """A writer of the stream that does what rules say; give it a checkpoint, and start it.

        Commands of SQL are done in `database`, each row exactly once, also if Spark repeats a micro-batch; functions
        are called at least once. Rows are brought to the driver for it.
        """
        if not self.frame.isStreaming:
            raise UsageError(
                "the changes are all there, and what is to be done with them is done by run(…, database=…)"
            )
        if self._is_told(resolved.Sql) and database is None:
            raise UsageError("rules have commands of SQL; say with database=… where to do them")
        asked = self._asked(database)
        if not asked:
            raise UsageError("rules only derive events and write messages, which stand in the frames; nothing is to do")
        done = self._done(database)

        def do_batch(frame: Any, number: int) -> None:
            done(_rows(frame, asked))

        return self.frame.writeStream.foreachBatch(do_batch)

    def do_now(self, database: object) -> None:
        """Do what rules say, of changes that are all there."""
        asked = self._asked(database)
        if asked:
            self._done(database)(_rows(self.frame, asked))

    def _is_told(self, kind: type) -> bool:
        return any(isinstance(action, kind) for action in places(self.program).values())

    def _asked(self, database: object) -> list[Place]:
        """The actions that reach beyond the program."""
        wanted = (resolved.CallFunction,) if database is None else (resolved.CallFunction, resolved.Sql)
        return [place for place, action in places(self.program).items() if isinstance(action, wanted)]

    def _done(self, database: object) -> Callable[[pa.Table], None]:
        do = doing(self.program, self.acting, database)
        schemas = {place: schema for task in self.tasks for place, schema in task.places().items()}

        def done(rows: pa.Table) -> None:
            do({place: _typed(table, schemas[place]) for place, table in from_frame(self.program, rows).items()})

        return done


def _rows(frame: Any, asked: list[Place]) -> pa.Table:
    """The rows of some actions."""
    from pyspark.sql import functions

    names = [column_of(place) for place in asked]
    own = frame.filter(functions.col(ACTION).isin(names))
    found: pa.Table = own.select(*(functions.col(quoted(name)) for name in names)).toArrow()
    return found


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The same rows, with times in the zone in which they were made, not in that of the session of the day."""
    return pa.table([plain_column(table.column(each.name), each.type) for each in schema], schema=schema)


# --- outputs ----------------------------------------------------------------------------------------------------------


def _of_action(frame: Any, output: ActionOutput) -> Any:
    """The rows of an action, with the columns that it has in process."""
    from pyspark.sql import functions

    data = functions.col(quoted(column_of(output.place)))
    taken = {NUMBER: data.getField(STAGE), STAMP: functions.col(STAMP), MODULE: functions.lit(output.module.name)}
    taken |= {name: data.getField(f"{KEY}{name}") for name in output.module.partition}
    action = output.rule.actions[output.action]
    if isinstance(action, resolved.Sql):
        taken[COMMAND] = functions.lit(action.text)
    own = frame.filter(functions.col(ACTION) == column_of(output.place))
    names = output.schema.names
    return own.select(*((taken[each] if each in taken else data.getField(each)).alias(each) for each in names))


def _of_event(frame: Any, output: EventOutput) -> Any:
    """A derived event, whatever action derives it, once at a stage."""
    from pyspark.sql import functions

    own, data = _derived(frame, output)
    attributes = list(output.module.derived[output.event])
    arguments = [data.getField(f"{ARGUMENT}{number}").alias(name) for number, name in enumerate(attributes, 1)]
    return own.filter(~data.getField(AGAIN)).select(
        data.getField(STAGE).alias(NUMBER), functions.col(STAMP), *arguments
    )


def _derived(frame: Any, output: EventOutput) -> tuple[Any, Any]:
    """The rows of actions that derive an event, and the struct that they have in common."""
    from pyspark.sql import functions

    names = [column_of(place) for place in output.places]
    if not names:
        return frame.filter(functions.lit(False)), functions.lit(None).cast(_never(frame, output))
    own = frame.filter(functions.col(ACTION).isin(names))
    return own, functions.coalesce(*(functions.col(quoted(name)) for name in names))


def _never(frame: Any, output: EventOutput) -> Any:
    """The struct of an event that no action derives."""
    some = next(each.dataType for each in frame.schema if "." in each.name)
    instants = [pa.field(name, pa.null()) for name in some.names if name.startswith(INSTANT)]
    kinds = output.module.derived[output.event].values()
    arguments = [pa.field(f"{ARGUMENT}{place}", carried(kind.arrow)) for place, kind in enumerate(kinds, 1)]
    times = [pa.field(STAGE, pa.int64()), pa.field(TIME, output.program.timestamp.arrow), pa.field(AGAIN, pa.bool_())]
    return spark_schema(pa.schema([*instants, *times, *arguments]))


def derived_events(frame: Any, output: EventOutput, instants: int) -> Any:
    """A derived event in the columns of normalized changes, for modules that monitor it."""
    own, data = _derived(frame, output)
    names = [f"{INSTANT}{number}" for number in range(instants)] + [TIME]
    attributes = enumerate(output.module.derived[output.event], 1)
    return own.select(
        *(data.getField(name).alias(name) for name in names),
        *(data.getField(f"{ARGUMENT}{number}").alias(f"{NEW}{name}") for number, name in attributes),
    )

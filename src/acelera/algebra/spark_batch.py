"""All rules over frames that are all there: each rule is a statement of Spark SQL over the events below it.

Nothing is computed here: frames come out, which Spark computes when somebody asks for their rows. A label that several
rules look at is computed for each of them, unless Spark finds the same part twice in one statement; to compute it once,
persist the frame that comes out and run the rest of the rules over it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from typing import Any

import pyarrow as pa
from sqlglot import exp

from acelera.algebra.names import time
from acelera.algebra.operators import MERGED, Collect, Derive, Events, Join
from acelera.algebra.rules import Rule
from acelera.algebra.sql.spark_matching import BEGIN, END
from acelera.algebra.sql.spark_rules import statement
from acelera.algebra.sql.spark_words import plain, text_for_spark
from acelera.algebra.windows import whole
from acelera.errors import AceleraWarning, UsageError
from acelera.language.tree import walk
from acelera.spark.schemas import spark_schema
from acelera.spark.spark_expressions import quoted


def run_batch(
    frames: Mapping[str, Any],
    rules: Sequence[Rule],
    rows: Mapping[str, pa.DataType],
    relation: Callable[[Rule], Derive] = whole,
) -> dict[str, Any]:
    """For each label that rules derive a frame of the events that are new: begin, end, and its columns.

    `frames` has the events that came in, by label; their times are integers in columns `#begin` and `#end`. `rows` has
    the types of all labels, those that are derived as well. `relation` says what is computed for a rule.
    """
    order = labels_in_order(rules)
    session = next(iter(frames.values())).sparkSession
    tables = {label: _table(frame, rows[label]) for label, frame in frames.items()}
    found = {}
    for label in order:
        own = [rule for rule in rules if rule.head.label == label]
        events = [_events(session, relation(rule), tables, rows) for rule in own]
        together = events[0] if len(events) == 1 else reduce(lambda one, two: one.union(two), events).distinct()
        if label in tables:
            together = together.subtract(tables[label])
            tables[label] = tables[label].union(together)
        else:
            tables[label] = together
        found[label] = _shown(together, rows[label])
    return found


def labels_in_order(rules: Sequence[Rule]) -> list[str]:
    """The labels that are derived, each after those that its rules ask for."""
    asked: dict[str, set[str]] = {rule.head.label: set() for rule in rules}
    for rule in rules:
        queried = [*rule.events, *(each for _, each in (*rule.collected, *rule.absent))]
        asked[rule.head.label] |= {each.label for each in queried if isinstance(each, Events)} & asked.keys()
    try:
        return list(TopologicalSorter(asked).static_order())
    except CycleError as error:
        chain = error.args[1]
        way = " → ".join(chain)
        raise UsageError(
            f"`{chain[0]}` is recursive ({way}), and Spark batch has no recursion: run the program in process, "
            "over tables (`frame.toArrow()` collects the rows of a frame)"
        ) from None


# --- rules --------------------------------------------------------------------------------------------------------


def _events(session: Any, relation: Derive, tables: dict[str, Any], rows: Mapping[str, pa.DataType]) -> Any:
    """The events of a rule, with all columns of its label."""
    _warn_of_all_pairs(relation)
    query = statement(relation, rows)
    labels = list(dict.fromkeys(each.name for each in query.find_all(exp.Table)))
    for label in labels:
        if label not in tables:
            tables[label] = session.createDataFrame([], _schema(rows[label]))
    frames = {f"t{number}": tables[label] for number, label in enumerate(labels)}
    made = session.sql(text_for_spark(query, labels), **frames)
    return _fitted(made, rows[relation.head.label], time(MERGED, "begin"), time(MERGED, "end"))


def _warn_of_all_pairs(relation: Derive) -> None:
    for node in walk(relation):
        if isinstance(node, Join | Collect) and not node.left.heading.data & node.right.heading.data:
            left, right = (" and ".join(sorted(each.heading.times)) for each in (node.left, node.right))
            message = (
                f"{relation.head.label}: {left} and {right} share no variable, and nothing bounds how far apart they "
                "are, so that all pairs are looked at; add `within`, or longest="
            )
            warnings.warn(message, AceleraWarning, stacklevel=4)


# --- frames -------------------------------------------------------------------------------------------------------


def _schema(row: pa.DataType) -> Any:
    times = [pa.field(plain(name), pa.int64()) for name in (BEGIN, END)]
    return spark_schema(pa.schema([*(each.with_name(plain(each.name)) for each in row), *times]))


def _table(frame: Any, row: pa.DataType) -> Any:
    """A frame under plain names, with the types of its label."""
    from pyspark.sql import functions

    kinds = _schema(row)
    names = [*(each.name for each in row), BEGIN, END]
    return frame.select(
        *(functions.col(quoted(name)).cast(kinds[plain(name)].dataType).alias(plain(name)) for name in names)
    )


def _fitted(made: Any, row: pa.DataType, begin: str, end: str) -> Any:
    """The events of a rule as a table; columns that it does not fill are NULL."""
    from pyspark.sql import functions

    kinds, there = _schema(row), set(made.columns)
    sources = {each.name: each.name for each in row} | {BEGIN: begin, END: end}
    shown = []
    for name, given in sources.items():
        value = functions.col(quoted(plain(given))) if plain(given) in there else functions.lit(None)
        shown.append(value.cast(kinds[plain(name)].dataType).alias(plain(name)))
    return made.select(*shown)


def _shown(table: Any, row: pa.DataType) -> Any:
    """A table under the names of its label."""
    from pyspark.sql import functions

    names = [BEGIN, END, *(each.name for each in row)]
    return table.select(*(functions.col(quoted(plain(name))).alias(name) for name in names))

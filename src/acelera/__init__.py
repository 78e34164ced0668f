"""Acelera finds complex events in ordered tables and aggregates over them.

>>> import acelera as ac
>>> q = ac.query("SELECT a.price, max(b.price) AS hi MATCH SELL AS a ; (SELL AS b):+ FILTER a.price > b.price")
>>> rows = [{"type": "SELL", "price": price} for price in (101, 80, 81)]
>>> q.run(rows).to_pylist()
[{'a_price': 101, 'hi': 80}, {'a_price': 101, 'hi': 81}, {'a_price': 101, 'hi': 81}]
"""

from typing import TYPE_CHECKING

from acelera.automata.model import Acea, Move
from acelera.errors import (
    AceleraError,
    AceleraWarning,
    AggregateError,
    DataError,
    QueryCheckError,
    QueryError,
    QuerySyntaxError,
    QueryTooLargeError,
    SchemaError,
    SnapshotError,
    TooManyMatchesError,
    UsageError,
)
from acelera.language.aggregates import aggregate
from acelera.language.builder import E
from acelera.language.condition_builder import A, V, prev, so_far
from acelera.notebook import show_tables
from acelera.query import Query, query
from acelera.several import explain_all, run_all
from acelera.spark.metrics import metrics
from acelera.spark_sql import sql
from acelera.version import __version__ as __version__

if TYPE_CHECKING:  # when it runs, programs are imported once they are asked for; packages of languages can be called
    from acelera import cdc as cdc
    from acelera.rule_languages import program
    from acelera.trepl.program import trepl
    from acelera.xchangeeq.program import Program, xchangeeq
else:
    from acelera import trepl, xchangeeq

__all__ = [
    "A",
    "Acea",
    "AceleraError",
    "AceleraWarning",
    "AggregateError",
    "DataError",
    "E",
    "Move",
    "Program",
    "Query",
    "QueryCheckError",
    "QueryError",
    "QuerySyntaxError",
    "QueryTooLargeError",
    "SchemaError",
    "SnapshotError",
    "TooManyMatchesError",
    "UsageError",
    "V",
    "aggregate",
    "explain_all",
    "metrics",
    "prev",
    "program",
    "query",
    "run_all",
    "so_far",
    "sql",
    "trepl",
    "xchangeeq",
]


def __getattr__(name: str) -> object:
    if name == "Program":
        from acelera.xchangeeq.program import Program

        return Program
    if name == "program":
        from acelera.rule_languages import program

        return program
    if name == "cdc":
        from importlib import import_module

        return import_module("acelera.cdc")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


show_tables()

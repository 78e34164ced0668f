"""SQL over matches: `acelera('MATCH …', TABLE(ticks))` in a statement for Spark is the result of a query.

Such a call becomes a view of what `Query.run` gives; the rest of the statement is left to Spark as it is written. It is
no table function of Spark's own: in Python those either read row by row, or their columns are fixed before a query is.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from acelera.errors import UsageError, did_you_mean
from acelera.query import Query, query

FUNCTION = "acelera"
"""What the function is called, in any case."""

_OPENING, _CLOSING = {"(", "[", "{"}, {")", "]", "}"}
_OPTIONS = tuple(
    name
    for name, parameter in inspect.signature(Query.run).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in ("method", "checkpoint")
)


def sql(spark: Any, text: str) -> Any:
    """Run a statement of SQL on Spark in which `acelera(…)` is a table: the matches of a query.

    The function takes the text of a query, and `TABLE(name)` or `TABLE(SELECT …)`: the events. Several tables are named
    by the type of their events, `SELL => TABLE(sells)`. Options are those of `Query.run`, such as `order_by => 'ts'` or
    `order_by => array('ts', 'id')`. A table may be a stream; so is then the result. Each call becomes a temporary view.

    >>> import acelera as ac
    >>> ac.sql(None, "SELECT * FROM acelera('MATCH A ; B', ticks)")
    Traceback (most recent call last):
        ...
    acelera.errors.UsageError: acelera(…) takes the text of a query, then tables, TABLE(name) or TABLE(SELECT …), and
    options, name => value; `ticks` is none of these
    """
    made, end = [], 0
    for call in _calls(text):
        made += [text[end : call.start], _view(spark, call)]
        end = call.end
    return spark.sql("".join([*made, text[end:]]))


def _view(spark: Any, call: _Call) -> str:
    """The name of a view of the matches. The same call has the same one."""
    names = list(call.options)
    values = _literals(spark, call)
    if not isinstance(values[0], str):
        raise UsageError(f"{FUNCTION}(…): the first argument is the text of a query, not {call.query}")
    options = dict(zip(names, values[1:], strict=True))
    tables = {kind: _frame(spark, table) for kind, table in call.tables.items()}
    found = query(values[0]).run(tables.get(None, tables), **options)
    name = f"{FUNCTION}_{hashlib.sha256(call.text.encode()).hexdigest()[:12]}"
    found.createOrReplaceTempView(name)
    return name


def _literals(spark: Any, call: _Call) -> Any:
    """The text of the query, and the values of the options."""
    from pyspark.errors import AnalysisException

    try:
        return spark.sql(f"SELECT {', '.join([call.query, *call.options.values()])}").first()
    except AnalysisException as error:
        problem = str(error).splitlines()[0]
        raise UsageError(
            f"{FUNCTION}(…): the text of the query and the values of options are literals, as in order_by => 'ts'; "
            f"Spark says: {problem}"
        ) from None


def _frame(spark: Any, table: str) -> Any:
    """What stands in TABLE(…)."""
    return spark.table(table) if all(each.raw == "." or each.is_name for each in _words(table)) else sql(spark, table)


# --- what a statement says ----------------------------------------------------------------------------------------


class _Word(NamedTuple):
    """A word, a sign or a literal, as it is written, and where."""

    raw: str
    start: int
    end: int
    is_name: bool = False


@dataclass(frozen=True)
class _Call:
    """A call, and where it stands. The text of the query and the values of options are SQL."""

    start: int
    end: int
    text: str
    query: str
    tables: Mapping[str | None, str]
    options: Mapping[str, str]


def _words(text: str, begin: int = 0) -> list[_Word]:
    """Without comments and spaces, from a place on."""
    from sqlglot import TokenType
    from sqlglot.dialects import Spark
    from sqlglot.errors import TokenError

    names = {TokenType.VAR, TokenType.IDENTIFIER}
    try:
        tokens = Spark().tokenize(text[begin:])
    except TokenError as error:
        raise UsageError(f"the statement cannot be read: {error}") from None
    found: list[_Word] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and before.token_type is TokenType.COMMAND:  # as EXPLAIN: what follows is not taken apart
            return [*found, *_words(text, found[-1].end)]
        start, end = begin + token.start, begin + token.end + 1
        found.append(_Word(text[start:end], start, end, token.token_type in names))
    return found


def _calls(text: str) -> Iterator[_Call]:
    """The calls of the function that do not stand in another one."""
    words, at = _words(text), 0
    while at < len(words) - 1:
        is_ours = words[at].raw.strip("`").lower() == FUNCTION and (not at or words[at - 1].raw != ".")
        if is_ours and words[at + 1].raw == "(":
            end = _closing(words, at + 1)
            yield _call(text, words[at : end + 1])
            at = end
        at += 1


def _closing(words: Sequence[_Word], opening: int) -> int:
    """Where a bracket is closed."""
    depth = 0
    for at in range(opening, len(words)):
        depth += (words[at].raw in _OPENING) - (words[at].raw in _CLOSING)
        if not depth:
            return at
    raise UsageError(f"`{words[opening - 1].raw}(` is not closed")


def _call(text: str, words: Sequence[_Word]) -> _Call:
    """A call, whose arguments make sense."""
    tables: dict[str | None, str] = {}
    options: dict[str, str] = {}
    first, *others = _arguments(words[2:-1])
    for argument in others:
        name, value = _named(argument)
        table, written = _table(text, value), _written(text, value)
        if table is None and name is None:
            raise UsageError(
                f"{FUNCTION}(…) takes the text of a query, then tables, TABLE(name) or TABLE(SELECT …), and options, "
                f"name => value; `{written}` is none of these"
            )
        if name in (tables if table is not None else options):
            raise UsageError(f"{FUNCTION}(…): {name or 'TABLE(…)'} is given twice")
        if table is not None:
            tables[name] = table
        elif name is not None:
            options[_option(name)] = written
    if not tables or (None in tables and len(tables) > 1):
        raise UsageError(
            f"{FUNCTION}(…) takes one table, TABLE(name) or TABLE(SELECT …), or one for each event type: "
            "A => TABLE(name)"
        )
    whole = text[words[0].start : words[-1].end]
    return _Call(words[0].start, words[-1].end, whole, _written(text, first), tables, options)


def _arguments(words: Sequence[_Word]) -> list[Sequence[_Word]]:
    """What stands between commas."""
    found, begin, depth = [], 0, 0
    for at, word in enumerate(words):
        depth += (word.raw in _OPENING) - (word.raw in _CLOSING)
        if word.raw == "," and not depth:
            found.append(words[begin:at])
            begin = at + 1
    found.append(words[begin:])
    if not all(found):
        raise UsageError(f"{FUNCTION}(…) has an argument that is empty")
    return found


def _named(words: Sequence[_Word]) -> tuple[str | None, Sequence[_Word]]:
    """The name of an argument, if it has one, and its value."""
    if len(words) > 2 and words[1].raw == "=>":
        return words[0].raw.strip("`"), words[2:]
    return None, words


def _option(name: str) -> str:
    known = name.lower()
    if known not in _OPTIONS:
        near = did_you_mean(known, _OPTIONS) or f"; there are {', '.join(_OPTIONS)}"
        raise UsageError(f"{FUNCTION}(…): there is no option `{name}`{near}")
    return known


def _table(text: str, words: Sequence[_Word]) -> str | None:
    """The name or the query in TABLE(…), if it is that."""
    if words[0].raw.lower() != "table" or len(words) < 2:
        return None
    if words[1].raw != "(":
        return _written(text, words[1:])
    end = _closing(words, 1)
    if end != len(words) - 1:
        raise UsageError(
            f"{FUNCTION}(…): `{_written(text, words[end + 1 :])}` behind TABLE(…) has no meaning here; PARTITION BY "
            "stands in the query, and order_by => 'ts' says what orders the events"
        )
    return _written(text, words[2:-1])


def _written(text: str, words: Sequence[_Word]) -> str:
    return text[words[0].start : words[-1].end] if words else ""

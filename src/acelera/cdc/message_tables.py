"""Which tables messages are of. A source is of one: changes of several would count as changes of the same rows."""

from __future__ import annotations

from collections.abc import Collection

from acelera.errors import UsageError, did_you_mean, listing


def refuse_tables(found: Collection[object], table: str | None, whole: bool) -> None:
    """Messages are of one table, or, where `table` says which of them count, some are of that.

    `found` are the tables of messages, None for one that does not tell. If they are not the `whole` of a source,
    messages of the table may still come.
    """
    known = sorted({each for each in found if isinstance(each, str)})
    if table is None:
        _refuse_several(known)
    elif whole and found and table not in known:
        _refuse_absent(table, known)


def _refuse_several(known: list[str]) -> None:
    if len(known) > 1:
        raise UsageError(
            f"these messages are of several tables ({listing(known)}), but a source is of one; name it with table=…"
        )


def _refuse_absent(table: str, known: list[str]) -> None:
    if not known:
        raise UsageError(f"table={table!r} cannot be looked for: no message has `source.table`; leave table=… out")
    near = did_you_mean(table, known)
    raise UsageError(f"no message is of the table `{table}`{near} (tables: {listing(known)})")

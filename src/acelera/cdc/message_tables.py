"""Which tables messages are of. A source is of one: changes of several would count as changes of the same rows."""

from __future__ import annotations

from collections.abc import Collection

from acelera.errors import UsageError, did_you_mean, listing


def refuse_several(found: Collection[object]) -> None:
    """Messages are of one table, if nothing says which of them count; None is a message that does not tell."""
    known = _known(found)
    if len(known) > 1:
        raise UsageError(
            f"these messages are of several tables ({listing(known)}), but a source is of one; name it with table=…"
        )


def refuse_absent(table: str, found: Collection[object]) -> None:
    """Where there are messages, some are of the table that counts."""
    known = _known(found)
    if not found or table in known:
        return
    if not known:
        raise UsageError(
            f"no message is known to be of the table `{table}`, since none has `source.table`; leave table=… out"
        )
    raise UsageError(f"no message is of the table `{table}`{did_you_mean(table, known)} (tables: {listing(known)})")


def _known(found: Collection[object]) -> list[str]:
    return sorted({each for each in found if isinstance(each, str)})

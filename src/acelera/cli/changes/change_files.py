"""Files with changes: how a source is written at the command line, and what becomes of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from acelera import cdc
from acelera.cdc.message_files import messages_in
from acelera.cdc.rows import Held
from acelera.cli.inputs import Input, Inputs, find_inputs
from acelera.cli.progress import Progress
from acelera.cli.sources import sources_of
from acelera.errors import did_you_mean, nearest
from acelera.trepl.agreement import told_of

MAKERS: Mapping[str, Callable[..., cdc.Source]] = {
    "inserts": cdc.inserts,
    "changes": cdc.changes,
    "debezium": cdc.debezium,
    "delta": cdc.delta,
}
"""What makes a source of a table, by what it is called."""

_OPTIONS = {
    kind: [name for name in inspect.signature(make).parameters if name not in ("data", "schema")]
    for kind, make in MAKERS.items()
}
_LISTS = ("key", "order_by")
_WRITTEN = re.compile(rf"([^\W\d]\w*)=(?:({'|'.join(MAKERS)}):)?(.+)", re.DOTALL)
_OPTION = re.compile(r",(\w+)=([^,]*)$")
_LISTED = re.compile(rf",({'|'.join(_LISTS)})=(.*)$")


@dataclass(frozen=True)
class ChangeFiles:
    """The files of a relation, the kind of its source, if it is said, and the options of that."""

    relation: str
    kind: str | None
    inputs: Inputs
    options: Mapping[str, Any]

    @property
    def parts(self) -> tuple[Input, ...]:
        """The files and folders that are read."""
        return self.inputs.parts


def change_files(written: Sequence[str], kind: str | None) -> list[ChangeFiles]:
    """Sources as they are written: `orders=debezium:orders.jsonl,time=ts_ms`; `kind` is the format, if it was said."""
    found = [_files(each, kind) for each in written]
    for place, each in enumerate(found):
        if any(each.relation == other.relation for other in found[:place]):
            raise click.UsageError(f"--source {each.relation}=… is there twice; give one source for each relation")
    return found


def _files(written: str, given: str | None) -> ChangeFiles:
    parts = _WRITTEN.fullmatch(written)
    if parts is None:
        raise click.UsageError(f"--source {written!r} is no relation and file, such as orders=orders.csv")
    relation, kind, path = parts.groups()
    options: dict[str, Any] = {}
    while option := _OPTION.search(path):
        name, value = option.groups()
        _refuse_unknown(name, kind)
        options[name] = _value(name, value)
        path = path[: option.start()]
    if not Path(path).exists():
        _refuse_miswritten(path)
    inputs = find_inputs([path], given)
    for part in inputs.parts:
        if part.remote:
            raise click.UsageError(f"`{part.path}` is not on this machine, and programs run here; copy it to a file")
        if part.nested:
            raise click.UsageError(f"`{part.path}` holds folders that are named key=value; name the files")
    return ChangeFiles(relation, kind, inputs, dict(reversed(options.items())))


def _refuse_miswritten(path: str) -> None:
    """What is taken for the name of a file, but most likely is none."""
    prefix, colon, file = path.partition(":")
    kind = nearest(prefix, MAKERS) if colon else None
    if kind is not None:
        raise click.UsageError(f"there is no kind of source `{prefix}`; did you mean `{kind}:{file}`?")
    listed = _LISTED.search(path)
    if listed is not None:
        name, columns = listed.groups()
        raise click.UsageError(f"{name}={columns}: several columns are written {name}={columns.replace(',', '+')}")


def _refuse_unknown(name: str, kind: str | None) -> None:
    known = list(dict.fromkeys(each for of in ([kind] if kind else _OPTIONS) for each in _OPTIONS[of]))
    if name not in known:
        near = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        raise click.UsageError(f"{name}=… is no option of {kind or 'a source'}{near}")


def _value(name: str, written: str) -> Any:
    """Columns of a list are separated by +; what is empty is not there."""
    if name in _LISTS:
        return written.split("+")
    return written or None


# --- sources ----------------------------------------------------------------------------------------------------------


def change_source(files: ChangeFiles, progress: Progress) -> cdc.Source:
    """The source of a relation, with all its rows."""
    with told_of(files.relation):
        if files.kind == "debezium" and files.inputs.format == "json":
            return cdc.debezium(_messages(files), **files.options)
        table = _table(files, progress)
        kind = files.kind or _kind_of(table.schema)
        if kind == "debezium" and files.inputs.format == "json":
            return cdc.debezium(_messages(files), **files.options)
        for name in files.options:
            _refuse_other_kind(name, kind, files)
        if kind == "delta" and "key" not in files.options:
            raise click.UsageError(
                f"--source {files.relation}=…: a change data feed needs the key of its table: …,key=id (columns are "
                "separated by +)"
            )
        return MAKERS[kind](table, **files.options)


def _refuse_other_kind(name: str, kind: str, files: ChangeFiles) -> None:
    """An option is one of the kind that was said, or that columns tell; if they do, another can be said."""
    others = [each for each, options in _OPTIONS.items() if name in options]
    if files.kind is None and kind not in others:
        path = files.parts[0].path
        raise click.UsageError(
            f"{name}=… is no option of {kind}, which the columns of `{path}` look like; if they are {others[0]}, write "
            f"--source {files.relation}={others[0]}:{path},{name}=…"
        )
    _refuse_unknown(name, kind)


def _kind_of(schema: pa.Schema) -> str:
    """What changes are told by, as columns tell."""
    names = set(schema.names)
    if "_change_type" in names:
        return "delta"
    if "payload" in names or {"op", "before"} <= names or {"op", "after"} <= names:
        return "debezium"
    return "changes" if "op" in names else "inserts"


def _table(files: ChangeFiles, progress: Progress) -> pa.Table:
    """All rows; text is read once more before, to find the types of columns."""
    time = str(files.options.get("time", "ts"))
    sources = sources_of(files.inputs, [time], progress.advance)
    batches = [batch for each in sources if each.rows for batch in each.batches()]
    return pa.Table.from_batches(batches, sources[0].schema)


def _messages(files: ChangeFiles) -> Held:
    """A message a line."""
    value = str(files.options.get("value", "value"))
    return messages_in([file for part in files.parts for file in part.files], value, needed=True)

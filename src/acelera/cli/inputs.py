"""What is to be read: files and folders, found and checked before anything is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from acelera.files import reason

FORMATS = ("parquet", "csv", "json")

_SUFFIXES = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json.gz": "json",
}
_NAMED = re.compile(r"([^\W\d][\w-]*(?::[\w-]+)?)=(.+)", re.DOTALL)
_REMOTE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


@dataclass(frozen=True)
class Input:
    """A file or folder of one argument, and the event type it was given for; `files` are empty if it is elsewhere."""

    path: str
    event_type: str | None
    files: tuple[Path, ...]

    @property
    def remote(self) -> bool:
        """Whether only Spark can look at it."""
        return is_remote(self.path)

    @property
    def nested(self) -> bool:
        """Whether it is a folder of folders that are named key=value."""
        return any(Path(self.path) not in (file, file.parent) for file in self.files)


@dataclass(frozen=True)
class Inputs:
    """All that is read: one stream, or a part for each event type."""

    format: str
    parts: tuple[Input, ...]

    @property
    def size(self) -> int | None:
        """How many bytes there are, if all of them are on this machine."""
        if any(each.remote for each in self.parts):
            return None
        return sum(file.stat().st_size for each in self.parts for file in each.files)

    @property
    def by_type(self) -> dict[str | None, tuple[Input, ...]]:
        """The parts of each event type; all of them under None if types were not named."""
        types = dict.fromkeys(each.event_type for each in self.parts)
        return {name: tuple(each for each in self.parts if each.event_type == name) for name in types}


def is_remote(path: str) -> bool:
    """Whether a path names a file system: s3://…, hdfs://… ."""
    return _REMOTE.match(path) is not None


def format_of(name: str) -> str | None:
    """The format that a file's name tells."""
    return next((kind for suffix, kind in _SUFFIXES.items() if name.lower().endswith(suffix)), None)


def find_inputs(arguments: Sequence[str], given: str | None, may_be_empty: bool = False) -> Inputs:
    """The inputs of the command line; `given` is their format if it was said."""
    parts = _parts(arguments, may_be_empty)
    return Inputs(given or _common_format(parts), parts)


def find_inputs_by_type(arguments: Sequence[str], given: str | None) -> dict[str | None, Inputs]:
    """The inputs of each event type, which may be of a format of their own; under None if types were not named."""
    by_type = Inputs("", _parts(arguments)).by_type
    return {name: Inputs(given or _common_format(parts), parts) for name, parts in by_type.items()}


def _parts(arguments: Sequence[str], may_be_empty: bool = False) -> tuple[Input, ...]:
    parts = tuple(_input(argument, may_be_empty) for argument in arguments)
    if len({each.event_type is None for each in parts}) > 1:
        bare = next(each.path for each in parts if each.event_type is None)
        raise click.UsageError(f"some inputs are NAME=path, `{bare}` is not; name the event type of all, or of none")
    _refuse_repeated(parts)
    return parts


def _input(argument: str, may_be_empty: bool) -> Input:
    named = None if Path(argument).exists() or is_remote(argument) else _NAMED.fullmatch(argument)
    event_type, path = (named[1], named[2]) if named else (None, argument)
    if is_remote(path):
        return Input(path, event_type, ())
    place = Path(path)
    if not place.exists():
        raise click.UsageError(f"there is no file or folder `{path}`")
    files = tuple(_files_in(place)) if place.is_dir() else (place,)
    if not files and not may_be_empty:
        raise click.UsageError(f"the folder `{path}` holds no files")
    return Input(path, event_type, files)


def _files_in(folder: Path) -> list[Path]:
    """The files of a folder, also of `key=value` folders in it; names that start with . or _ are not data."""
    found: list[Path] = []
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise click.UsageError(f"the folder `{folder}` cannot be read: {reason(error)}") from None
    for each in entries:
        if each.name.startswith((".", "_")):
            continue
        if not each.is_dir():
            found.append(each)
        elif "=" in each.name:
            found += _files_in(each)
        else:
            raise click.UsageError(f"`{folder}` holds the folder `{each.name}`; name the folders that hold files")
    return found


def _common_format(parts: Sequence[Input]) -> str:
    known: dict[str, str] = {}
    for part in parts:
        names = [str(each) for each in part.files] or [part.path.rstrip("/")]
        for name in names:
            kind = format_of(name)
            if kind is None:
                raise click.UsageError(
                    f"whether `{name}` is parquet, csv or json, its name does not tell; say it with --format"
                )
            known.setdefault(kind, name)
    if len(known) > 1:
        listed = " and ".join(f"{kind} (`{name}`)" for kind, name in known.items())
        raise click.UsageError(f"the inputs are of several formats, {listed}; give those of one format")
    return next(iter(known))


def _refuse_repeated(parts: Sequence[Input]) -> None:
    seen: set[Path] = set()
    for part in parts:
        for file in part.files:
            place = file.resolve()
            if place in seen:
                raise click.UsageError(f"`{file}` is among the inputs twice")
            seen.add(place)

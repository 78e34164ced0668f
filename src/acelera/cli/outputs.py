"""Where matches go: a file or folder that is complete or not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet

from acelera.cli.csv_texts import csv_header, csv_lines
from acelera.cli.group import LackingError
from acelera.cli.inputs import FORMATS, Input, is_remote
from acelera.cli.lines import json_lines
from acelera.errors import UsageError
from acelera.files import beside, is_special, reason

Write = Callable[[pa.RecordBatch], None]


@dataclass(frozen=True)
class Output:
    """A place for matches, their format, and whether they replace what is there."""

    path: str
    format: str
    overwrite: bool = False

    @property
    def remote(self) -> bool:
        """Whether only Spark can write it."""
        return is_remote(self.path)

    @property
    def is_folder(self) -> bool:
        """Whether its name is that of a folder; on Spark, all are folders."""
        return not Path(self.path.rstrip("/")).suffix


def find_output(path: str, inputs: Sequence[Input], overwrite: bool, own: Collection[str] = ()) -> Output:
    """The output of the command line; refuses what would do harm. `own` are names that files of results may have."""
    if path == "-":
        raise click.UsageError("results are written to files; without -o, the first of them are shown")
    suffix = Path(path.rstrip("/")).suffix.lower().removeprefix(".")
    if suffix and suffix not in FORMATS:
        raise click.UsageError(
            f"`{path}` must end with .parquet, .csv or .json, or have no ending: then it is a folder of parquet files"
        )
    output = Output(path, suffix or "parquet", overwrite)
    if output.remote:
        return output
    place = Path(path)
    refuse_folder(place)
    refuse_overlap(place, inputs)
    if is_special(place):
        raise click.UsageError(f"`{path}` is neither a file nor a folder; name another")
    if place.exists() and not overwrite:
        raise click.UsageError(f"`{path}` is there already; name another, or replace it with --overwrite")
    if place.is_dir() and not _holds_results(place, own):
        raise click.UsageError(f"`{path}` holds more than results, so it is not replaced; remove it, or name another")
    return output


def refuse_folder(place: Path) -> None:
    """The folder that something is written into must be there, and open to it."""
    folder = place.absolute().parent
    if not folder.is_dir():
        raise click.UsageError(f"there is no folder `{place.parent}` to write into")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise click.UsageError(f"the folder `{place.parent}` cannot be written to; name another")


def refuse_overlap(place: Path, inputs: Sequence[Input]) -> None:
    """What is written is not what is read, nor inside of it or around it."""
    resolved = place.resolve()
    for each in inputs:
        if each.remote:
            continue
        source = Path(each.path).resolve()
        if source == resolved:
            raise click.UsageError(f"`{place}` is both input and output")
        if source in resolved.parents and source.is_dir():
            raise click.UsageError(f"the output `{place}` is inside the input `{each.path}`; write it elsewhere")
        if resolved in source.parents:
            raise click.UsageError(f"the input `{each.path}` is inside the output `{place}`; write it elsewhere")


def _holds_results(folder: Path, own: Collection[str]) -> bool:
    """Whether a folder holds nothing but what Spark or acelera writes into a folder of results."""
    return all(each.name in own or each.name.startswith(("part-", "_", ".part-", "._")) for each in folder.iterdir())


ONE_VALUE = (
    "SELECT what is one value a match: an attribute of a variable that holds exactly one event, or an aggregate "
    "such as max(x.price)"
)


def refuse_unfit(output: Output, result: pa.Schema, remedy: str = ONE_VALUE) -> None:
    """CSV holds plain values only; said before anything is looked for."""
    if output.format != "csv":
        return
    unfit = [each.name for each in result if not _is_plain(each.type)]
    if unfit:
        if all(pa.types.is_duration(result.field(name).type) for name in unfit):
            remedy = "leave them out: it has no form for durations"
        named = ", ".join(f"`{name}` ({result.field(name).type})" for name in unfit)
        raise click.UsageError(f"CSV cannot hold {named}; write a .parquet or .json file, or {remedy}")


def _is_plain(kind: pa.DataType) -> bool:
    tests = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return not any(test(kind) for test in (*tests, pa.types.is_duration))


# --- complete or not there ----------------------------------------------------------------------------------------


@contextmanager
def written(output: Output) -> Iterator[Path]:
    """A name to write to, which becomes the output when all is there; what goes wrong with it is said in a line."""
    try:
        with beside(Path(output.path), output.overwrite) as partial:
            yield partial
    except FileExistsError:
        raise click.UsageError(
            f"`{output.path}` came to be there meanwhile; name another, or replace it with --overwrite"
        ) from None
    except BrokenPipeError:  # whoever reads what is printed has gone
        raise
    except OSError as error:
        raise not_written(output.path, error) from error


@contextmanager
def page_written() -> Iterator[None]:
    """The same for a report, which says itself that it cannot be written."""
    try:
        yield
    except UsageError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        raise LackingError(str(error)) from error


def not_written(path: str | Path, error: OSError) -> LackingError:
    """The disk is full, or the like."""
    return LackingError(f"`{path}` cannot be written: {reason(error)}")


@contextmanager
def writer(output: Output, schema: pa.Schema) -> Iterator[Write]:
    """Writes batches to one file as they come."""
    with written(output) as partial:
        file = partial
        if output.is_folder:
            partial.mkdir()
            file = partial / "part-0.parquet"
        with file_writer(file, output.format, schema) as write:
            yield write


@contextmanager
def file_writer(file: Path, kind: str, schema: pa.Schema) -> Iterator[Write]:
    """Writes batches to a file of a format, from its beginning."""
    if kind == "json":
        with file.open("w", encoding="utf-8") as text:
            yield lambda batch: text.writelines(json_lines(batch))
    elif kind == "csv":
        with file.open("w", encoding="utf-8", newline="") as text:
            text.write(csv_header(schema))
            yield lambda batch: text.writelines(csv_lines(batch))
    else:
        with pa.parquet.ParquetWriter(file, schema) as sink:
            yield lambda batch: _write(sink, batch)


def _write(sink: object, batch: pa.RecordBatch) -> None:
    sink.write_batch(batch)  # type: ignore[attr-defined]  # of Arrow's writers, which have no types

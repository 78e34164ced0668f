"""`acelera` itself: what all commands share, and how each way of failing looks."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from acelera.cli.interrupts import INTERRUPTED, TERMINATED, TerminatedError, end_on_interrupt
from acelera.cli.printing import tell, visible
from acelera.errors import AceleraError, AceleraWarning
from acelera.files import reason, undo_unfinished
from acelera.language.sorting import TIES
from acelera.version import __version__

WRONG, USAGE, LACKING = 1, 2, 3
"""Exit codes; 2 is click's own."""


class LackingError(click.ClickException):
    """The machine lacks something: Java, a package, room on the disk."""

    exit_code = LACKING

    def show(self, file: Any = None) -> None:
        """Print it as all errors are printed."""
        tell(f"error: {self.message}")


class _Group(click.Group):
    """Errors of acelera, and of the machine, are messages, not tracebacks."""

    def main(self, args: Any = None, *rest: Any, **options: Any) -> Any:
        """Run it; as a program of its own if it takes its arguments from the process."""
        if args is None:
            end_on_interrupt()
        try:
            return super().main(args, *rest, **options)
        except (OSError, MemoryError) as error:
            with suppress(OSError):
                tell(f"error: {_trouble(error)}")
            _print_no_more()
            sys.exit(LACKING)

    def make_context(self, *given: Any, **options: Any) -> click.Context:
        """Read what comes before the command."""
        with _visible_messages():
            return super().make_context(*given, **options)

    def invoke(self, context: click.Context) -> Any:
        """Run a command."""
        try:
            with _warnings_in_short(), _visible_messages():
                return super().invoke(context)
        except AceleraError as error:
            if context.obj is not None and context.obj.get("debug"):
                traceback.print_exc()
            told = in_change_options if context.obj.get("language") == "trepl" else in_options
            tell(f"error: {told(str(error))}")
            context.exit(WRONG)
        except KeyboardInterrupt as error:
            undo_unfinished()
            terminated = isinstance(error, TerminatedError)
            tell("terminated" if terminated else "interrupted")
            context.exit(TERMINATED if terminated else INTERRUPTED)


@contextmanager
def _visible_messages() -> Iterator[None]:
    """Messages of click hold what was given to it."""
    try:
        yield
    except click.ClickException as error:
        error.message = visible(error.message)  # type: ignore[misc]  # final, but for those who raise it
        raise


def _trouble(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    return reason(error) if error.filename is None else f"`{error.filename}`: {reason(error)}"


def _print_no_more() -> None:
    """What could not be printed is not tried again when the process ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):  # it has no descriptor
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


_OPTION = re.compile(r"(?<![`'\"])\b(order_by|type_column|event_type|partition_by)\b(=?)(?![`'\"])")
_TOLD = re.compile(r"(?<!var )\b(time|begin|end|time_unit|longest)=(?:…|'([^'\n]*)')")
_LONGEST = re.compile(r"\blongest=\{'([^'\n]*)': (?:…|'([^'\n]*)')\}")
_PHRASES = {
    **{f"ties='{which}'": f"--ties {which}" for which in TIES},
    "limit=… makes": "--limit makes",
    "give a mapping of labels to schemas": "name the label of each input: LABEL=path",
}


def in_options(message: str) -> str:
    """A message that speaks of Python's arguments, speaking of options.

    >>> in_options("name it with type_column=…")
    'name it with --type-column …'
    >>> in_options("no column `order_by`; add one to order_by")
    'no column `order_by`; add one to --order-by'
    >>> in_options("longest={'temp': …}: needs time_unit='s'")
    '--longest temp=…: needs --time-unit s'
    >>> in_options("--rename geo.time=…: there is no column `geo.time`; name one with time=…")
    '--rename geo.time=…: there is no column `geo.time`; name one with --time …'
    """
    return _outside_names(message, _with_options)


def _with_options(message: str) -> str:
    for said, meant in _PHRASES.items():
        message = message.replace(said, meant)
    message = _LONGEST.sub(lambda found: f"--longest {found[1]}={found[2] or '…'}", message)
    message = _TOLD.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2] or '…'}", message)
    return _OPTION.sub(lambda found: f"--{found[1].replace('_', '-')}{' ' if found[2] else ''}", message)


_NAMES = re.compile(r"(`[^`\n]*`|--(?:rename|time-format) [^\n]*?=…:)")
"""Names of columns and files in messages, which may be those of options."""


def _outside_names(message: str, told: Callable[[str], str]) -> str:
    return "".join(each if number % 2 else told(each) for number, each in enumerate(_NAMES.split(message)))


_OF_CHANGES = re.compile(r"\b(granularity|zone|database|max_tuples)=(?:…|'([^'\n]*)')")


def in_change_options(message: str) -> str:
    """The same for programs over changes, of which most arguments are said with their sources.

    >>> in_change_options("`a`: granularity='transaction' needs order_by=…")
    '`a`: --granularity transaction needs order_by=…'
    """
    return _outside_names(
        message,
        lambda each: _OF_CHANGES.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2] or '…'}", each),
    )


@contextmanager
def _warnings_in_short() -> Iterator[None]:
    """Warnings of acelera as one line each, and each once; others stay quiet, since they are not the user's to mend."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
        warnings.simplefilter("always", AceleraWarning)
        told = set[str]()

        def show(message: Warning | str, *_: object, **__: object) -> None:
            line = f"warning: {in_options(str(message))}"
            if line not in told:
                told.add(line)
                tell(line)

        warnings.showwarning = show
        yield


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.pass_context
def main(context: click.Context) -> None:
    """Find complex events in ordered tables and streams.

    A query says what happened in what order; each match is a row of the result. A program, a file .xceq, is a set of
    rules that make events of events, and a file .trepl one of rules over changes of tables; all commands take each.
    `acelera COMMAND --help` tells more about a command and shows an example.

    \b
    Start here:
      acelera demo                                      see what it does
      acelera check rise.acel                           is the query well formed?
      acelera run rise.acel ticks.csv --order-by ts     find its matches
      acelera report rise.acel ticks.csv --order-by ts  show them on a page
      acelera run fire.xceq sensors.csv                 derive what the rules of a program make

    \b
    Exit codes:
      0    all is well, even if nothing matched
      1    a query, a program, a schema or data are wrong
      2    the command line is wrong
      3    the machine lacks something: Java, pyspark, room on the disk
      130  interrupted
      143  terminated
    """
    context.ensure_object(dict)

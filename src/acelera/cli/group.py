"""`acelera` itself: what all commands share, and how each way of failing looks."""

from __future__ import annotations

import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from acelera import __version__
from acelera.errors import AceleraError, AceleraWarning

WRONG, USAGE, LACKING, INTERRUPTED = 1, 2, 3, 130
"""Exit codes; 2 is click's own."""


class LackingError(click.ClickException):
    """The machine lacks something: Java, a package."""

    exit_code = LACKING

    def show(self, file: Any = None) -> None:
        """Print it as all errors are printed."""
        click.echo(f"error: {self.message}", err=True)


class _Group(click.Group):
    """Errors of acelera are messages, not tracebacks."""

    def invoke(self, context: click.Context) -> Any:
        try:
            with _warnings_in_short():
                return super().invoke(context)
        except AceleraError as error:
            if context.obj is not None and context.obj.get("debug"):
                traceback.print_exc()
            click.echo(f"error: {in_options(str(error))}", err=True)
            context.exit(WRONG)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            context.exit(INTERRUPTED)


_OPTION = re.compile(r"(?<![`'\"])\b(order_by|type_column|event_type|partition_by)\b(=?)(?![`'\"])")


def in_options(message: str) -> str:
    """A message that speaks of Python's arguments, speaking of options.

    >>> in_options("name it with type_column=…")
    'name it with --type-column …'
    >>> in_options("no column `order_by`; add one to order_by")
    'no column `order_by`; add one to --order-by'
    """
    message = message.replace("ties='keep'", "--ties keep")
    return _OPTION.sub(lambda found: f"--{found[1].replace('_', '-')}{' ' if found[2] else ''}", message)


@contextmanager
def _warnings_in_short() -> Iterator[None]:
    """Warnings of acelera as one line each; others stay quiet, since they are not the user's to mend."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
        warnings.simplefilter("always", AceleraWarning)
        warnings.showwarning = lambda message, *_, **__: click.echo(f"warning: {message}", err=True)
        yield


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.pass_context
def main(context: click.Context) -> None:
    """Find complex events in ordered tables and streams.

    A query says what happened in what order; each match is a row of the result. `acelera COMMAND --help` tells more
    about a command and shows an example.

    \b
    Start here:
      acelera demo                                      see what it does
      acelera check rise.acel                           is the query well formed?
      acelera run rise.acel ticks.csv --order-by ts     find its matches
      acelera report rise.acel ticks.csv --order-by ts  show them on a page

    \b
    Exit codes:
      0    all is well, even if nothing matched
      1    a query, a schema or data are wrong
      2    the command line is wrong
      3    the machine lacks something: Java, pyspark
      130  interrupted
    """
    context.ensure_object(dict)

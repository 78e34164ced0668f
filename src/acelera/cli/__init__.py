"""The command line: acelera run | check | explain | draw | demo."""

from acelera.cli import demo, queries, run  # the commands
from acelera.cli.group import main

__all__ = ["demo", "main", "queries", "run"]

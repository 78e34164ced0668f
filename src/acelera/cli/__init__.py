"""The command line: acelera run | report | check | explain | draw | demo."""

from acelera.cli import demo, queries, report, run  # the commands
from acelera.cli.group import main

__all__ = ["demo", "main", "queries", "report", "run"]

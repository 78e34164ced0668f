"""The command line: acelera run | report | check | explain | draw | demo | warm."""

from acelera.cli import demo, describe, report, run, warm  # the commands
from acelera.cli.group import main

__all__ = ["demo", "describe", "main", "report", "run", "warm"]

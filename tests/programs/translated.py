"""Rules of the algebra made of programs."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from acelera.algebra.rules import Rule
from acelera.xchangeeq.checker import Checked, check
from acelera.xchangeeq.engine import compiled
from acelera.xchangeeq.parser import parse_program


def rules_of(checked: Checked) -> list[Rule]:
    """The rules that can happen at all, in the order in which they are written."""
    return sorted(compiled(checked).rules, key=lambda rule: rule.number)


def rules_of_text(text: str, schemas: Mapping[str, pa.Schema]) -> list[Rule]:
    return rules_of(check(parse_program(text), schemas, text))

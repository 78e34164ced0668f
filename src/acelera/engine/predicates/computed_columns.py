"""Attributes as columns, also those that are computed from others."""

from __future__ import annotations

from typing import Any

from acelera.engine.frames import Frame, attribute_type
from acelera.engine.predicates.arrow_values import decoded
from acelera.engine.predicates.masks import Batch, expression_values
from acelera.engine.storage.columns import ordinary
from acelera.language import ast


def column(frame: Frame, name: str) -> Any:
    """An attribute of the events of a frame, as an Arrow array."""
    if not isinstance(name, ast.Computed):
        return frame[name]
    types = {each: attribute_type(each, frame.schema) for each in name.names}
    columns = {each: decoded(frame[each]) for each in name.names}
    kind = ordinary(attribute_type(name, frame.schema).arrow)
    return expression_values(name.expression, types, Batch(columns, len(frame)), kind)

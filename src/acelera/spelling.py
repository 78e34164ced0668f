"""Event types that are most likely misspelt."""

from __future__ import annotations

import warnings
from collections.abc import Set

import numpy as np
import pyarrow as pa

from acelera.engine.storage.columns import decoded
from acelera.errors import AceleraWarning, nearest
from acelera.language.schema import Schema
from acelera.tables import refuse_bad_text


def warn_of_misspelt_types(asked: Set[str], table: pa.Table, schema: Schema, nothing_found: bool = False) -> None:
    """A type that is asked for and that no row has, but that is near to one that rows have, is most likely a slip.

    If nothing was found, a type that no row has is told in any case.
    """
    if schema.type_column is None:
        return
    refuse_bad_text(table.select([schema.type_column]), np.arange(1, table.num_rows + 1))
    present = {value for value in decoded(table.column(schema.type_column)).unique().to_pylist() if value is not None}
    warn_of_missing_types(asked, present, nothing_found, stacklevel=4)


def warn_of_missing_types(asked: Set[str], present: Set[str], nothing_found: bool, stacklevel: int = 3) -> None:
    """The same, of types that are asked for and those that rows have."""
    others = sorted(present - asked)
    for name in sorted(asked - present):
        near = nearest(name, others)
        if near is not None:
            warnings.warn(f"no row is of type `{name}`; did you mean `{near}`?", AceleraWarning, stacklevel=stacklevel)
        elif nothing_found and present:
            shown = ", ".join(f"`{each}`" for each in sorted(present)[:8]) + (", …" if len(present) > 8 else "")
            warnings.warn(f"no row is of type `{name}`; there are {shown}", AceleraWarning, stacklevel=stacklevel)

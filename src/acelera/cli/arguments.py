"""What arguments stand for: the text of a query or a program, a schema, names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from acelera.errors import AceleraError, SchemaError
from acelera.files import reason


def read_text(file: Any) -> str:
    """The text of a query or a program."""
    try:
        return str(file.read())
    except UnicodeDecodeError as error:
        raise AceleraError(f"{getattr(file, 'name', 'the file')} is not a text in UTF-8: {error}") from None
    except OSError as error:
        raise AceleraError(f"{getattr(file, 'name', 'the file')} cannot be read: {reason(error)}") from None


def read_schema(path: Path) -> object:
    """Columns and types, as `Query.check` and `Program.check` take them."""
    if path.suffix == ".parquet":
        try:
            return pa.parquet.read_schema(path)
        except pa.ArrowException as error:
            raise SchemaError(f"{path} is not a parquet file: {error}") from None
        except OSError as error:
            raise SchemaError(f"{path} cannot be read: {reason(error)}") from None
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SchemaError(f"{path} is neither JSON nor parquet: {error}") from None
    except OSError as error:
        raise SchemaError(f"{path} cannot be read: {reason(error)}") from None
    if not isinstance(described, dict):
        raise SchemaError(f'{path} must hold an object of columns and types, such as {{"price": "float"}}')
    return described


def listed(names: str | None) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in (names or "").split(",") if name.strip()]

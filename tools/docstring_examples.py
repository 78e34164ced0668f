"""Docstrings as the reference wants them: what begins with `>>>` is a section of examples."""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADING = "Examples\n--------\n"


class Examples(griffe.Extension):
    """Puts the heading of numpy's style, which docstrings here do without, before the first example."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object when it has been read."""
        if obj.docstring is not None and HEADING not in obj.docstring.value:
            obj.docstring.value = re.sub(r"^(?=>>>)", HEADING, obj.docstring.value, count=1, flags=re.MULTILINE)

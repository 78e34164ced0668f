"""The formats of `write`: the places that they have for values."""

from __future__ import annotations

import re

_MARKED = re.compile(
    r"%(?P<flag>[-0]?)(?P<width>\d*)(?:\.(?P<precision>\d+))?(?P<letter>[sdf])"
    r"|(?P<percent>%%)"
    r"|(?P<other>%[-+#]*\d*(?:\.\d*)?[^\W\d_])"
)


def taken_apart(form: str) -> tuple[list[str], list[re.Match[str]]]:
    """The texts around the places for values, and the places: `flag`, `width`, `precision` and `letter` of each.

    >>> taken_apart("%s: %d of 100 %%")[0]
    ['', ': ', ' of 100 %']
    """
    pieces, places, end = [""], [], 0
    for found in _MARKED.finditer(form):
        pieces[-1] += form[end : found.start()]
        if found["letter"]:
            places.append(found)
            pieces.append("")
        else:
            pieces[-1] += "%" if found["percent"] else found["other"]
        end = found.end()
    pieces[-1] += form[end:]
    return pieces, places


def no_places(form: str) -> list[str]:
    """What looks like a place for a value, and is none.

    >>> no_places("%i of %x, %s")
    ['%i', '%x']
    """
    return [found["other"] for found in _MARKED.finditer(form) if found["other"]]

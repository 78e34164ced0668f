"""What is printed is text: nothing in data, names or queries can command the terminal."""

from __future__ import annotations

from collections.abc import Mapping

import click

_UNSEEN = ord("�")
_SHOWN: dict[int, int] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},  # as pictures: ␛ for an escape
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), _UNSEEN),  # escapes in one character
    **dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), _UNSEEN),  # directions
    **dict.fromkeys((0x2028, 0x2029), _UNSEEN),  # ends of lines
    **dict.fromkeys(range(0xD800, 0xE000), _UNSEEN),  # what is no character, such as bytes of a file's name
}


def visible(text: str) -> str:
    """The text with a sign in place of each character that would not be shown but obeyed; as long as it was.

    >>> visible("\\x1b[31mred\\x07")
    '␛[31mred␇'
    """
    return text.translate(_SHOWN)


def say(text: str) -> None:
    """Print to standard output."""
    click.echo(visible(text))


def say_pairs(title: str, pairs: Mapping[str, str]) -> None:
    """Print names and what there is to say of each, under a title."""
    say(f"{title}:")
    width = max((len(name) for name in pairs), default=0)
    for name, value in pairs.items():
        say(f"  {name:<{width}}  {value}")


def tell(text: str) -> None:
    """Print to standard error."""
    click.echo(visible(text), err=True)

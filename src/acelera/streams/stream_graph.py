"""The streams of a program as a picture shows them: what is made of what."""

from __future__ import annotations

from collections.abc import Iterator

from acelera.programs.label_graph import LabelGraph, Use
from acelera.streams.references import Stream, Streams

ANY = "*"
"""Stands for whatever comes in, where a formula asks for events of any type."""


def stream_graph(streams: Streams) -> LabelGraph:
    """What is made from what."""
    uses = (use for number, each in enumerate(streams.listed) for use in _uses(number, each))
    return LabelGraph(streams.names, tuple(uses), streams.levels(), streams.names, "level")


def _uses(number: int, stream: Stream) -> Iterator[Use]:
    if stream.reads_any and stream.base:
        yield Use(ANY, stream.name, number)
    for name in stream.types():
        yield Use(name, stream.name, number)

"""Which of several queries share a pass over a frame: those that can be split in the same way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from acelera.engine.compiled_query import CompiledQuery
from acelera.spark.buckets import BUCKETS
from acelera.spark.pipeline import Pipeline
from acelera.spark.summary_shares import KEYS, WHOLE

SPLIT, SLICED, IN_ORDER, APART = "split", "sliced", "in order", "apart"
"""How the rows of a pass are shared out: by keys; by slices of time; to one task; as its only query needs it."""


@dataclass(frozen=True)
class Group:
    """Queries that share a pass, by name; those that are `SPLIT` have the `keys` in common."""

    how: str
    names: tuple[str, ...]
    keys: tuple[str, ...] = ()


def groups_of(pipelines: Mapping[str, Pipeline]) -> list[Group]:
    """The passes that some queries need: few of them, each shared out as widely as its queries allow."""
    kinds = {name: _how(pipeline) for name, pipeline in pipelines.items()}
    found = list(_with_common_keys({name: pipelines[name].keys for name, how in kinds.items() if how == SPLIT}))
    for how in (SLICED, IN_ORDER):
        names = tuple(name for name, kind in kinds.items() if kind == how)
        found += [Group(how, names)] if names else []
    found += [Group(APART, (name,)) for name, kind in kinds.items() if kind == APART]
    order = list(pipelines)
    return sorted(found, key=lambda group: order.index(group.names[0]))


def _how(pipeline: Pipeline) -> str:
    shares = pipeline.shares
    if shares is not None and shares.merged:
        return APART
    if shares is not None and shares.cut not in (KEYS, WHOLE):
        return APART
    return SPLIT if pipeline.keys else SLICED if pipeline.sliced else IN_ORDER


def _with_common_keys(keys: dict[str, tuple[str, ...]]) -> Iterator[Group]:
    """Again and again the key that most of the queries have which are left."""
    left = dict(keys)
    while left:
        asked = Counter(key for each in left.values() for key in dict.fromkeys(each))
        most = max(asked, key=lambda key: asked[key])
        names = tuple(name for name, each in left.items() if most in each)
        common = tuple(key for key in left[names[0]] if all(key in left[name] for name in names))
        yield Group(SPLIT, names, common)
        left = {name: each for name, each in left.items() if name not in names}


def stream_groups(pipelines: Mapping[str, Pipeline]) -> list[Group]:
    """The same for a growing frame, in which nothing is cut by time, and every query has buckets of a group."""
    split = {name: pipeline.keys for name, pipeline in pipelines.items() if pipeline.keys}
    found, rest = list(_with_common_keys(split)), tuple(name for name in pipelines if name not in split)
    return [*found, *([Group(IN_ORDER, rest)] if rest else [])]


# --- in words -----------------------------------------------------------------------------------------------------


def group_lines(group: Group, queries: Mapping[str, CompiledQuery], pipelines: Mapping[str, Pipeline]) -> list[str]:
    """How a pass over a frame that is all there is shared out."""
    if group.how == APART:
        (name,) = group.names
        return pipelines[name].lines(queries[name], False)
    if group.how == SPLIT:
        return [f"split by {', '.join(group.keys)}: many keys a task", *_more_keys(group, pipelines)]
    if group.how == SLICED:
        return [
            "cut into slices of time that overlap by the longest window: each match belongs to the slice it starts in"
        ]
    return ["one task reads the whole stream in order: PARTITION BY, or WITHIN a time, would split it"]


def stream_group_lines(group: Group, pipelines: Mapping[str, Pipeline]) -> list[str]:
    """How the buckets of a group are filled."""
    if group.how == SPLIT:
        return [
            f"split by {', '.join(group.keys)}, in {BUCKETS} buckets with a state each",
            *_more_keys(group, pipelines),
        ]
    return ["one task reads the whole stream in order: PARTITION BY would split it"]


def _more_keys(group: Group, pipelines: Mapping[str, Pipeline]) -> list[str]:
    found: dict[str, list[str]] = {}
    for name in group.names:
        others = [key for key in pipelines[name].keys if key not in group.keys]
        if others:
            found.setdefault(", ".join(others), []).append(name)
    return [f"within a task also by {keys}: {', '.join(names)}" for keys, names in found.items()]

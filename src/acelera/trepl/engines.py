"""What computes a program: the engine, or its meaning."""

from __future__ import annotations

from acelera.trepl import resolved
from acelera.trepl.agreement import Incoming
from acelera.trepl.rule_options import How
from acelera.trepl.stepping import Engine


def engine_of(program: resolved.Program, incoming: Incoming, how: How) -> Engine:
    """What has seen nothing yet."""
    if how.method == "engine":
        from acelera.trepl.engine import opened

        return opened(program, how.max_tuples)
    from acelera.trepl.judged import Judged

    return Judged(program, incoming.instants)


def engine_again(program: resolved.Program, incoming: Incoming, how: How, snapshot: bytes) -> Engine:
    """What goes on from a snapshot of its own."""
    if how.method == "engine":
        from acelera.trepl.engine import resumed

        return resumed(program, snapshot, how.max_tuples)
    from acelera.trepl.judged import judged_again

    return judged_again(program, incoming.instants, snapshot)

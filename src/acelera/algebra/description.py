"""Plans for people: what is computed, what is kept, for how long and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from acelera.algebra.bounds import Bound, Until
from acelera.algebra.operators import lines_of
from acelera.algebra.plan import Joined, Match, Plan, Staged, Waiting

_UNITS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1))


def length_of(ticks: Bound, tick: Fraction) -> str:
    """A length of time in the greatest unit of which it is a whole number.

    >>> length_of(90, Fraction(1_000_000)), length_of(120, Fraction(1_000_000)), length_of(0, Fraction(1))
    ('90 s', '2 min', '0 s')
    """
    microseconds = Fraction(int(ticks)) * tick
    if not microseconds:
        return "0 s"
    for name, length in _UNITS:
        if (microseconds / length).denominator == 1:
            return f"{int(microseconds / length):,} {name}"
    return f"{int(ticks):,} ticks"


def described(plan: Plan, length: Callable[[Bound], str]) -> list[str]:
    """The plan in lines: points and for how long they are kept, then how each rule is computed."""
    return [*_kept(plan, length), *_computed(plan)]


def _kept(plan: Plan, length: Callable[[Bound], str]) -> Iterator[str]:
    for match in plan.matches.values():
        kept = f"kept {_how_long(match, length)}" if match.uses else "not kept: nothing that comes later can meet it"
        yield f"{match.name}, {kept}"
        yield from (f"  {line}" for line in lines_of(match.relation))
    for rule in plan.rules:
        for each in rule.points:
            if isinstance(each, Waiting):
                timers = ", ".join(timer.identifier for timer in rule.rule.timers)
                yield f"{each.name}, kept until its timers have passed ({timers} of {rule.rule.head.label})"
                yield from (f"  {line}" for line in lines_of(each.new))
            elif isinstance(each, Joined) and each.uses:
                yield f"{each.name}, kept {_how_long(each, length)}"
                yield from (f"  {line}" for line in lines_of(each.relation))


def _how_long(point: Match | Joined, length: Callable[[Bound], str]) -> str:
    endless = [name for use in point.uses for name in use.for_ever]
    if endless:
        return f"for ever: {_why(point, list(dict.fromkeys(endless)))}"
    longest = max(_longest(use) for use in point.uses)
    return f"for {length(longest)} after it ends" if longest > 0 else "until the end of the step"


def _longest(until: Until) -> Bound:
    """How long after its end a tuple is kept at most: what is bound to its begin is bound to its end, too."""
    return max((min(each.values()) for each in until.meeting.values()), default=0)


def _why(point: Match | Joined, endless: Sequence[str]) -> str:
    names = " and ".join(name for name in endless if not name.endswith("#"))
    told = f"nothing bounds how long after it {names} may end; add {{…}} within …"
    return f"{told}, or say with longest=… how long events last" if isinstance(point, Match) else told


def _computed(plan: Plan) -> Iterator[str]:
    for rule in plan.rules:
        yield f"{rule.rule.head.label}" + (", in rounds, as it needs itself" if rule.recursive else "")
        for point in rule.points:
            if isinstance(point, Staged):
                yield f"  {point.name} :="
                yield from (f"    {line}" for line in lines_of(point.new))
        yield from (f"  {line}" for line in lines_of(rule.derived))
        if rule.in_bulk is not None:
            yield "  or, if a step brings much,"
            yield from (f"  {line}" for line in lines_of(rule.in_bulk))

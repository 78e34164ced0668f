"""Random programs over the relations of `streams`, as text; the check accepts most of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

ATTRIBUTES = {
    "p": {"k": "text", "v": "int", "x": "float"},
    "q": {"k": "text", "v": "int", "t": "time"},
    "r": {"k": "text", "b": "bool", "m": "decimal", "d": "date"},
}
"""What the relations have, by what can be done with it."""

CONSTANTS = {
    "text": ["'a'", "'b'"],
    "int": ["1", "0", "2"],
    "float": ["1.0", "0.5", "1.5"],
    "time": ["TIMESTAMP '2024-01-31 12:00:00Z'", "TIMESTAMP '2024-01-01 00:00:00Z'"],
    "bool": ["TRUE", "FALSE"],
    "decimal": ["1.5", "2"],
    "date": ["DATE '2024-01-31'", "DATE '2024-02-29'"],
}
COMPARISONS = ["=", "<=", ">", "<>", ">=", "<"]
PARTS = ["Day", "Month", "Hour", "Year", "Minute", "Second"]
UNITS = ["days", "months", "hours", "years", "minutes", "seconds"]


@dataclass(frozen=True)
class Kind:
    """Events that a goal can be about: how they are written, and what of them can be looked at."""

    name: str
    attributes: dict[str, str]
    sides: tuple[str, ...] = ("", "new_")
    word: str | None = None  # `update` of update(p(X))

    def written(self, variable: str, conditions: Sequence[str]) -> str:
        """A goal about such an event."""
        inner = "".join(f", {each}" for each in conditions)
        return (
            f"{self.name}({variable}{inner})" if self.word is None else f"{self.word}({self.name}({variable}){inner})"
        )

    @property
    def alone(self) -> str:
        """A goal about such an event that binds nothing."""
        return self.name if self.word is None else f"{self.word}({self.name})"


@dataclass(frozen=True)
class Bound:
    """A variable, its event, and the star in whose rounds it is bound."""

    name: str
    kind: Kind
    star: int | None

    def terms(self, wanted: str) -> list[str]:
        """Its attributes of a type."""
        found = [name for name, type_ in self.kind.attributes.items() if type_ == wanted]
        return [f"{self.name}.{side}{name}" for side in self.kind.sides for name in found]


@dataclass(frozen=True)
class Scope:
    """What is seen at a place: variables, the star that keeps what is bound here, stars beyond a `!`."""

    seen: tuple[Bound, ...] = ()
    star: int | None = None
    around: frozenset[int] = frozenset()
    barred: frozenset[int] = frozenset()
    leading: bool = True

    def after(self, exports: Sequence[Bound]) -> Scope:
        return replace(self, seen=(*self.seen, *exports))


Made = tuple[str, tuple[Bound, ...]]
"""The text of a goal, and what it exports."""


@cache
def _numbers(size: int) -> st.SearchStrategy[int]:
    return st.integers(0, size - 1)


def _filled(form: str, given: Mapping[str, Callable[[], str]]) -> str:
    """A form with each of its places filled, which are not drawn if it has none of them."""
    return re.sub(r"\{\w+\}", lambda place: given[place.group()](), form)


# --- expressions ------------------------------------------------------------------------------------------------------


class Expressions:
    """Expressions and conditions over what is seen; without a clock, times are numbers, which have no parts."""

    def __init__(self, draw: st.DrawFn, clock: bool = True) -> None:
        self.draw, self.clock = draw, clock

    def one_of(self, values: Sequence[T]) -> T:
        """One of some, in the smallest case the first."""
        return values[self.draw(_numbers(len(values)))]

    def chance(self, one_in: int) -> bool:
        """Now and then; never in the smallest case."""
        return self.draw(_numbers(one_in)) == one_in - 1

    def terms(self, wanted: str, scope: Scope) -> list[str]:
        """What is of a type and needs no computing."""
        found = [term for each in scope.seen for term in each.terms(wanted)]
        for each in scope.seen:
            if wanted == ("time" if self.clock else "int"):
                found.append(f"{each.name}.Timestamp")
            found += self.aggregates(wanted, each, scope)
        return found

    def aggregates(self, wanted: str, bound: Bound, scope: Scope) -> list[str]:
        """Aggregates of a variable that give a type."""
        if bound.star is None:
            return []
        functions = ["bool_and", "bool_or"] if wanted == "bool" else ["Min", "Max"]
        functions += ["First", "Last"] * 2 if bound.star not in scope.barred else []
        if wanted in ("int", "float", "decimal"):
            functions.append("Sum")
        found = [f"{function}({term})" for function in functions for term in bound.terms(wanted)[:2]]
        if wanted == "int":
            found += [f"Count({bound.name})"] * 2 + [f"Count({term})" for term in bound.terms("text")[:1]]
        if wanted == "float":
            found += [f"{function}({term})" for term in bound.terms("int")[:1] for function in ("Avg", "StdDev")]
        if wanted == ("time" if self.clock else "int") and bound.star not in scope.barred:
            found += [f"{function}({bound.name}.Timestamp)" for function in ("First", "Last")]
        if wanted == "int" and bound.terms("int"):
            found.append(f"Sum({bound.terms('int')[0]} * 2 - 1)")
        return found

    def value(self, wanted: str, scope: Scope, depth: int = 1) -> str:
        """An expression of a type."""
        terms = self.terms(wanted, scope)
        if not terms:
            return self.one_of(CONSTANTS[wanted])
        form = self.one_of(["term"] * 6 + ["constant"] + (["computed"] * 2 if depth else []))
        if form == "constant":
            return self.one_of(CONSTANTS[wanted])
        if form == "computed":
            return self.computed(wanted, scope)
        return self.one_of(terms)

    def computed(self, wanted: str, scope: Scope) -> str:
        """What is computed of one or two values; `{0}` and `{1}` are of the type, `{n}` is a number."""
        parts = {"int": ["{part}", "{part}", "{unit}"], "text": ["asctime({time})"], "date": ["{date}"]}
        forms = {
            "int": ["{0} + 1", "{0} - {1}", "{0} * {1}", "{0} % 2", "-{0}", "abs({0})", "nullif({0}, {1})"],
            "float": ["{0} / {1}", "{0} * 2", "{n} / 2", "{0} + {n}", "sqrt({0})"],
            "text": ["{0} || {1}", "upper({0})"],
            "decimal": ["{0} + 1", "{0} * {1}", "-{0}", "abs({0})"],
        }
        listed = ["coalesce({0}, {1})", *forms.get(wanted, ()), *(parts.get(wanted, ()) if self.clock else ())]
        form = self.one_of(listed)
        given = {
            "{0}": lambda: self.value(wanted, scope, 0),
            "{1}": lambda: self.value(wanted, scope, 0),
            "{n}": lambda: self.value("int", scope, 0),
            "{time}": lambda: self.value("time", scope, 0),
            "{date}": lambda: f"{self.one_of(scope.seen).name}.Date",
            "{part}": lambda: f"{self.one_of(scope.seen).name}.{self.one_of(PARTS)}",
            "{unit}": lambda: f"{self.one_of(UNITS)}({self.value('time', scope, 0)})",
        }
        return _filled(form, given)

    # conditions

    def condition(self, scope: Scope, own: Bound | None = None, depth: int = 1) -> str:
        """One conjunct, mostly about the variable at hand."""
        if depth and self.chance(8):
            form = self.one_of(["({0} OR {1})", "NOT ({0})", "({0} AND {1})"])
            return _filled(form, dict.fromkeys(("{0}", "{1}"), lambda: self.condition(scope, own, 0)))
        if own is None and not scope.seen:
            return self.one_of(["1 = 1", "1 = 0", "NULL IS NULL"])
        about = own or self.one_of(scope.seen)
        form = self.one_of(["compared", "tied", "tied", "counted", "alone", "timed"])
        makers: dict[str, Callable[[Scope, Bound], str]] = {
            "compared": self._compared,
            "tied": self._tied,
            "counted": self._counted,
            "alone": self._alone,
            "timed": self._timed,
        }
        return makers[form](scope, about)

    def _type(self, about: Bound) -> str:
        return self.one_of(list(dict.fromkeys(about.kind.attributes.values())))

    def _compared(self, scope: Scope, about: Bound) -> str:
        wanted = self._type(about)
        one, other = self.one_of(about.terms(wanted)), self.value(wanted, scope)
        return f"{one} {self.one_of(['=', '<>'] if wanted == 'bool' else COMPARISONS)} {other}"

    def _tied(self, scope: Scope, about: Bound) -> str:
        """An event tied to another, or to those before it in its star."""
        wanted = self._type(about)
        own = about.terms(wanted)
        others = [term for each in scope.seen if each != about for term in each.terms(wanted)]
        if about.star is not None and about.star not in scope.barred:
            others += [f"{function}({own[0]})" for function in ("First", "Last")]
        return f"{self.one_of(own[:2])} = {self.one_of(others)}" if others else self._compared(scope, about)

    def _counted(self, scope: Scope, about: Bound) -> str:
        starred = [each for each in scope.seen if each.star is not None]
        if not starred:
            return self._compared(scope, about)
        form = self.one_of(["Count({}) <= {}", "Count({}) = {}", "Count({}) % {} = 1"])
        return form.format(self.one_of(starred).name, self.one_of(["2", "3", "1"]))

    def _alone(self, scope: Scope, about: Bound) -> str:
        wanted = self._type(about)
        some = CONSTANTS[wanted]
        forms = [
            "{0} IS NOT NULL",
            "{0} IS NULL",
            f"{{0}} IN ({some[0]}, {some[-1]})",
            f"{{0}} NOT IN ({some[0]}, NULL)",
        ]
        forms += [f"{{0}} BETWEEN {some[1]} AND {{1}}"] if wanted != "bool" else []
        if wanted == "text":
            forms += ["{0} LIKE 'a%'", "{0} NOT LIKE '_b%'"]
        given = {
            "{0}": lambda: self.value(wanted, scope) if self.chance(3) else self.one_of(about.terms(wanted)),
            "{1}": lambda: self.value(wanted, scope),
        }
        return _filled(self.one_of(forms), given)

    def _timed(self, scope: Scope, about: Bound) -> str:
        """Times, their parts, parts that are moved, and how far times are apart."""
        if not self.clock:
            return self._compared(scope, about)
        own, other = about, self.one_of([each for each in scope.seen if each != about] or [about])
        forms = [
            "{own}.Timestamp - {other}.Timestamp <= INTERVAL {n} DAYS",
            "{own}.Timestamp - {other}.Timestamp {is} INTERVAL 12 HOURS",
            "{own}.{part} {is} {other}.{part} + {n}",
            "{own}.{part} {is} {other}.{part} - {n}",
            "{own}.{part} {is} {other}.{part}",
            "{own}.{part} {is} {other}.{part} + {v}",
            "{own}.Date {is} {other}.Date + 1",
            "{own}.Time {is} {other}.Time - 1",
            "{unit}({own}.Timestamp) {is} {unit}({time}) + 1",
            "{own}.Day {is} '30'",
        ]
        part, unit = self.one_of(PARTS), self.one_of(UNITS)
        given = {
            "{own}": lambda: own.name,
            "{other}": lambda: other.name,
            "{part}": lambda: part,
            "{unit}": lambda: unit,
            "{n}": lambda: self.one_of(["1", "2", "3"]),
            "{v}": lambda: self.value("int", scope, 0),
            "{is}": lambda: self.one_of(COMPARISONS),
            "{time}": lambda: self.value("time", scope),
        }
        return _filled(self.one_of(forms), given)

    def conditions(self, scope: Scope, own: Bound) -> list[str]:
        """The conditions of a goal, mostly one."""
        return [self.condition(scope, own) for _ in range(self.one_of([0, 1, 0, 1, 0, 2]))]


# --- goals ------------------------------------------------------------------------------------------------------------


class Goals(Expressions):
    """The event of one rule."""

    def __init__(self, draw: st.DrawFn, kinds: Sequence[Kind], clock: bool, chained: bool) -> None:
        super().__init__(draw, clock)
        self._kinds, self._chained = kinds, chained
        self._names = iter(["X", "Y", "Z", *(f"V{number}" for number in range(1, 100))])
        self._stars = iter(range(1, 100))
        self._forms = ["sequence", "star", "relaxed", "sequence", "star", "point", "either"]
        self._leading = ["both", "prior", "first"]
        if chained or self.chance(2):
            self._forms, self._leading = ["star", "sequence", "star"], []

    def goal(self, scope: Scope, depth: int) -> Made:
        """Any goal that may stand here."""
        if depth == 0:
            return self.point(scope, 1)
        forms = self._forms + (self._leading if scope.leading else [])
        return self._made(self.one_of(forms), scope, depth)

    def _made(self, form: str, scope: Scope, depth: int) -> Made:
        makers: dict[str, Callable[[Scope, int], Made]] = {
            "sequence": self._sequence,
            "relaxed": self._relaxed,
            "star": self._star,
            "point": self.point,
            "either": self._either,
            "both": self._both,
            "prior": self._prior,
            "first": self._first,
        }
        return makers[form](scope, depth)

    # points

    def point(self, scope: Scope, depth: int) -> Made:
        """What takes one stage."""
        forms = ["simple"] * 8 + ["any"]
        if depth:
            forms += ["not", "tested"] if self._chained else ["not", "not", "either", "both", "tested", "first"]
        form = self.one_of(forms)
        if form == "simple":
            return self._simple(scope)
        if form == "any":
            return "any", ()
        if form == "not":
            return self._not(scope, depth)
        if form == "tested":
            text, exports = self.point(scope, depth - 1)
            return f"({text}, {self.condition(scope.after(exports))})", exports
        if form == "first":
            text, exports = self.point(Scope(leading=False), depth - 1)
            return f"first({text})", tuple(replace(each, star=scope.star) for each in exports)
        parts = [self.point(self._beside(scope, form), depth - 1) for _ in range(2)]
        return self._joined(form, parts)

    def _simple(self, scope: Scope) -> Made:
        kind = self.one_of(self._kinds)
        if not self._chained and self.chance(8):
            return kind.alone, ()
        bound = Bound(next(self._names), kind, scope.star)
        chain = list(self._chain(bound, scope)) if self._chained else []
        return kind.written(bound.name, chain + self.conditions(scope.after([bound]), bound)), (bound,)

    def _chain(self, bound: Bound, scope: Scope) -> Iterator[str]:
        """What ties an event to the key of one before it."""
        others = [f"{each.name}.k" for each in scope.seen]
        if others:
            yield f"{bound.name}.k = {self.one_of(others)}"
        elif bound.star is not None:
            yield f"{bound.name}.k = First({bound.name}.k)"

    def _not(self, scope: Scope, depth: int) -> Made:
        if self.chance(3):
            text, _ = self.goal(Scope(), depth)
        else:
            inside = replace(scope, star=None, barred=scope.around, leading=False)
            text, _ = self.point(inside, depth - 1)
        return f"!{text}", ()

    # what is made of others

    def _sequence(self, scope: Scope, depth: int, brackets: str = "()") -> Made:
        texts, exports = [], list[Bound]()
        for number in range(self.one_of([2, 2, 3])):
            inside = scope.after(exports)
            text, more = self.goal(inside if number == 0 else replace(inside, leading=False), depth - 1)
            texts.append(text)
            exports += more
            if self.chance(4):
                texts.append(self.condition(scope.after(exports)))
        return f"{brackets[0]}{', '.join(texts)}{brackets[1]}", tuple(exports)

    def _relaxed(self, scope: Scope, depth: int) -> Made:
        return self._sequence(scope, depth, "[]")

    def _star(self, scope: Scope, depth: int) -> Made:
        star = next(self._stars)
        inside = replace(scope, star=star, around=scope.around | {star}, leading=False)
        form = self.one_of(["point", "point", "sequence", "tested", "either", "relaxed"])
        if form == "tested":
            text, exports = self._made("star" if depth > 1 and self.chance(2) else "point", inside, depth - 1)
            text = f"({text}, {self.condition(inside.after(exports))})"
        else:
            text, exports = self._made(form, inside, depth - 1 if form == "point" else depth)
        word = self.one_of(["*", "*", "*:"])
        return f"{word} {text}", tuple(each for each in exports if each.star == star)

    def _either(self, scope: Scope, depth: int) -> Made:
        return self._joined("either", [self.goal(self._beside(scope, "either"), depth - 1) for _ in range(2)])

    def _both(self, scope: Scope, depth: int) -> Made:
        return self._joined("both", [self.goal(scope, depth - 1) for _ in range(2)])

    def _prior(self, scope: Scope, depth: int) -> Made:
        (one, left), (other, right) = (self.goal(scope, depth - 1) for _ in range(2))
        return f"prior({one}, {other})", (*left, *right)

    def _first(self, scope: Scope, depth: int) -> Made:
        text, exports = self.goal(Scope(), depth - 1)
        return f"first({text})", exports

    def _beside(self, scope: Scope, form: str) -> Scope:
        return replace(scope, star=None) if form == "either" else scope

    def _joined(self, form: str, parts: Sequence[Made]) -> Made:
        if form == "either":
            return "{" + ", ".join(text for text, _ in parts) + "}", ()
        return f"({' & '.join(text for text, _ in parts)})", tuple(each for _, exports in parts for each in exports)


# --- programs ---------------------------------------------------------------------------------------------------------

SOURCES: dict[str, Kind] = {
    "p": Kind("p", ATTRIBUTES["p"], ("", "new_", "old_")),
    "q": Kind("q", ATTRIBUTES["q"], ("", "new_", "old_")),
    "insert(p)": Kind("p", ATTRIBUTES["p"], word="insert"),
    "update(q) as u": Kind("u", ATTRIBUTES["q"], ("", "new_", "old_")),
    "delete(p)": Kind("p", ATTRIBUTES["p"], ("", "old_"), "delete"),
    "delete(q) as g": Kind("g", ATTRIBUTES["q"], ("", "old_")),
    "r": Kind("r", ATTRIBUTES["r"], ("", "new_", "old_")),
    "update(p)": Kind("p", ATTRIBUTES["p"], ("", "new_", "old_"), "update"),
}
"""What may be monitored, and the events that goals can then be about."""

DERIVED = [{"k": "text", "v": "int"}, {"v": "int"}, {"k": "text", "x": "float"}, {"k": "text", "v": "int", "t": "time"}]
DERIVED += [{"k": "text", "b": "bool", "d": "date"}]


class Modules(Expressions):
    """A program in the making; `made` are the derived events of the modules so far, as others may monitor them."""

    def __init__(self, draw: st.DrawFn, most_rules: int, clock: bool, chained: int) -> None:
        super().__init__(draw, clock)
        self._most, self._chained = most_rules, chained
        self._made: dict[str, Kind] = {}

    def module(self, name: str) -> str:
        """A module of one or more rules."""
        known = {**self._made, **SOURCES}
        forms = ["p", "q", "p", "q", *self._made, *self._made, *SOURCES]
        chosen = dict.fromkeys(self.one_of(forms) for _ in range(self.one_of([1, 2, 3])))
        kinds = [known[form] for form in chosen]
        split = all("k" in kind.attributes for kind in kinds) and self.chance(3)
        chained = all("k" in kind.attributes for kind in kinds) and not split and self.chance(self._chained)
        shapes = [each for each in DERIVED if "k" in each] if chained else DERIVED
        own = [Kind(f"{name.lower()}{number}", self.one_of(shapes)) for number in range(self.one_of([0, 1, 2]))]
        rules = [self._rule(number, kinds, own, chained) for number in range(self.one_of(range(1, self._most + 1)))]
        self._made |= {f"{name}.{each.name}": each for each in own}
        declared = ", ".join(f"{each.name}({', '.join(each.attributes)})" for each in own)
        lines = [
            f"Begin Module {name}",
            f"monitor {', '.join(chosen)}{' partition by k' if split else ''};",
            *([f"derived {declared};"] if declared else []),
            *rules,
            "End Module.",
        ]
        return "\n".join(lines)

    def _rule(self, number: int, kinds: Sequence[Kind], own: Sequence[Kind], chained: bool) -> str:
        goals = Goals(self.draw, [*kinds, *kinds, *own[: number + 1]], self.clock, chained)
        text, exports = goals.goal(Scope(), self.one_of([1, 2, 2, 3]))
        scope = Scope().after(exports)
        heads = [] if not own or self.chance(4) else [self._head(scope, own[number % len(own)], chained)]
        if not heads or self.chance(3):
            heads.append(f"write({', '.join(self._shown(scope))})")
        return f"R{number}: {text}\n  -> {', '.join(heads)};"

    def _head(self, scope: Scope, event: Kind, chained: bool) -> str:
        depth = self.one_of([0, 0, 1])
        values = [self.value(wanted, scope, depth) for wanted in event.attributes.values()]
        if chained and scope.seen:
            values[0] = f"{self.one_of(scope.seen).name}.k"
        return f"{event.name}({', '.join(values)})"

    def _shown(self, scope: Scope) -> list[str]:
        return [self.value(self.one_of(list(CONSTANTS)), scope) for _ in range(self.one_of([1, 2, 3]))]


@st.composite
def programs(draw: st.DrawFn, most_modules: int = 2, most_rules: int = 3, clock: bool = True, chained: int = 3) -> str:
    """One or two modules of up to three rules each; without a clock, times are numbers.

    The rules of one of so many modules try to keep to one key.
    """
    modules = Modules(draw, most_rules, clock, chained)
    names = ["M", "N"][: min(modules.one_of([1, 1, 2]), most_modules)]
    return "\n".join(modules.module(name) for name in names)

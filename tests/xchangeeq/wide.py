"""Random programs and streams with all that terms, heads and values can be: each kind of it is one of FEATURES.

`strategies` has programs with many ways to say when; here is much to be said of what. Labels of children decide about
types, and variables are named after the types that they hold, so that most programs are accepted.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

import pyarrow as pa
from hypothesis import strategies as st

from acelera.xchangeeq import ast
from xchangeeq.strategies import RELATIONS, SHORT
from xchangeeq.streams import timed

T = TypeVar("T")

FEATURES = ("depth", "star", "optional", "without", "shape", "whole", "heads", "aggregates", "several", "types", "odd")
"""`shape`: total and ordered terms; `several`: two rules of one label; `types`: dates, decimals, small numbers; `odd`:
values, labels and times at the edge of what there is.
"""

KINDS: dict[str, pa.DataType] = {
    "k": pa.string(),
    "v": pa.int64(),
    "x": pa.float64(),
    "ok": pa.bool_(),
    "day": pa.date32(),
    "at": pa.timestamp("us"),
    "price": pa.decimal128(8, 2),
    "small": pa.int16(),
    "short": pa.float32(),
    "nest": pa.struct({"v": pa.int64(), "k": pa.string(), "deep": pa.struct({"v": pa.int64(), "ok": pa.bool_()})}),
    "item": pa.list_(pa.struct({"k": pa.string(), "v": pa.int64(), "tag": pa.list_(pa.string())})),
    "tag": pa.list_(pa.string()),
    "num": pa.list_(pa.int64()),
    'e "l"/é|': pa.string(),
}
"""The type of a child by its label, wherever it stands."""

_PLAIN = {"a": ["k", "v", "x"], "b": ["k", "v", "nest"], "c": ["k", "item", "tag", "num"]}
_TYPED = {"a": ["k", "v", "ok", "day", "small"], "b": ["k", "at", "price", "short"], "c": ["tag", "small", "x"]}
_ODD = {"a": ["k", "v", "x", 'e "l"/é|'], "b": ["v", "nest"], "c": ["k", "x", "item", 'e "l"/é|']}
"""No label has an integer beside a float and nothing else: of any child, large integers would be compared as floats."""

_DAYS = [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]
_VALUES: dict[pa.DataType, list[object]] = {
    pa.string(): ["r", "s"],
    pa.int64(): [0, 1, 2],
    pa.float64(): [0.5, 1.0, 2.0],
    pa.bool_(): [True, False],
    pa.date32(): list(_DAYS),
    pa.timestamp("us"): [datetime.datetime(2024, 2, 29, 12, 0, 0, 1), datetime.datetime(1969, 12, 31)],
    pa.decimal128(8, 2): [Decimal("0.50"), Decimal("1.00"), Decimal("-123456.78")],
    pa.int16(): [0, 1, 32767, -32768],
    pa.float32(): [0.5, 1.0, 0.1],
}
_ODD_VALUES: dict[pa.DataType, list[object]] = {
    pa.string(): ["", "'", "\\", 'é"', "$since", "a|b/c", "r"],
    pa.int64(): [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    pa.float64(): [math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 1e300],
}
_CONSTANTS = (str, bool, int, float)

VARIABLES: dict[pa.DataType, list[str]] = {
    pa.string(): ["K", "L"],
    pa.int64(): ["V", "W"],
    pa.float64(): ["X", "Y"],
    pa.bool_(): ["B"],
    pa.date32(): ["D"],
    pa.timestamp("us"): ["At"],
    pa.decimal128(8, 2): ["P"],
    pa.int16(): ["S"],
    pa.float32(): ["F"],
}
_NUMBERS = {pa.int64(), pa.float64(), pa.int16(), pa.float32()}


def is_struct(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind))


def item_of(kind: pa.DataType) -> pa.DataType:
    """The type of one child."""
    return kind.value_type if pa.types.is_list(kind) else kind


@dataclass
class Draw:
    """What is drawn, and which features are in it."""

    draw: st.DrawFn
    features: frozenset[str]

    def one(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))

    def chance(self, of: int, feature: str | None = None) -> bool:
        """One of so many times, if a feature is in it."""
        return (feature is None or feature in self.features) and self.draw(st.integers(1, of)) == of

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    @property
    def values(self) -> dict[pa.DataType, list[object]]:
        return {**_VALUES, **_ODD_VALUES} if "odd" in self.features else _VALUES


def schemas_of(features: frozenset[str]) -> dict[str, pa.Schema]:
    """The children of base events."""
    labels = _ODD if "odd" in features else _TYPED if "types" in features else _PLAIN
    return {label: pa.schema([(name, KINDS[name]) for name in names]) for label, names in labels.items()}


# --- queries ------------------------------------------------------------------------------------------------------


@dataclass
class Rule:
    """A rule in the making: its literals, and what its variables hold; a whole term has its label."""

    labels: Mapping[str, pa.StructType]
    literals: list[ast.Body] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    bound: dict[str, pa.DataType] = field(default_factory=dict)
    whole: dict[str, str] = field(default_factory=dict)
    optional: list[str] = field(default_factory=list)

    def fresh(self) -> str:
        self.identifiers.append(f"e{len(self.identifiers) + 1}")
        return self.identifiers[-1]


@dataclass
class Terms:
    """The query of one literal; `here` are the variables that it binds for certain."""

    made: Draw
    rule: Rule
    only_known: bool = False
    here: dict[str, pa.DataType] = field(default_factory=dict)

    def event(self, label: str) -> ast.Query:
        name = None if self.made.chance(12, "star") else label
        query: ast.Query = self.labelled(name, self.rule.labels[label], 2)
        if not self.only_known and self.made.chance(8, "whole"):
            query = self.whole(label, query)
        return query

    def whole(self, label: str, query: ast.Query) -> ast.Query:
        if isinstance(query, ast.Labelled) and query.label == label and label.isidentifier():
            self.rule.whole[f"T{label}"] = label
            return ast.Binds(f"T{label}", query)
        return query

    def labelled(self, label: str | None, kind: pa.DataType, depth: int) -> ast.Labelled:
        kids = [kid for _ in range(self.made.number(0, 2)) for kid in self.kid(kind, depth)]
        kids = sorted(kids, key=lambda kid: isinstance(kid, ast.Without))  # what it speaks of is bound before
        total, ordered = (self.made.chance(6, "shape") for _ in range(2))
        return ast.Labelled(label, tuple(kids), total, ordered)

    def kid(self, kind: pa.StructType, depth: int) -> list[ast.Query]:
        if not kind.num_fields:
            return []
        place = self.made.one(list(kind))
        marked = self.made.number(1, 6)
        if marked == 1 and "without" in self.made.features:
            return [ast.Without(Terms(self.made, self.rule, True, self.here).child(place, depth, "known"))]
        if marked == 2 and "optional" in self.made.features and not self.only_known:
            return [ast.Optional(self.child(place, depth, "optional"))]
        return [self.child(place, depth, "known" if self.only_known else "plain")]

    def child(self, place: pa.Field, depth: int, mode: str) -> ast.Query:
        kind = item_of(place.type)
        label = None if self.made.chance(8, "star") else place.name
        if is_struct(kind):
            inner = Terms(self.made, self.rule, mode == "known", self.here)
            query = inner.labelled(label, kind, depth - 1) if depth and mode != "optional" else ast.Labelled(label, ())
        else:
            query = ast.Labelled(label, tuple(self.value(kind, mode)), False, False)
        made: ast.Query = query
        if mode == "plain" and self.made.chance(6, "whole"):
            made = self.whole(place.name, query)
        return ast.Descendant(made) if self.made.chance(5, "depth") else made

    def value(self, kind: pa.DataType, mode: str) -> list[ast.Query]:
        constants = [each for each in self.made.values[kind] if isinstance(each, _CONSTANTS) and _writable(each)]
        choice = self.made.number(1, 8)
        if choice == 1:
            return []
        if choice == 2 and constants:
            return [ast.IsValue(self.made.one(constants))]  # type: ignore[arg-type]  # one of _CONSTANTS
        if mode == "optional" and not self.made.chance(5):
            name = f"O{len(self.rule.optional) + 1}"
            self.rule.optional.append(name)
            self.rule.bound[name] = kind
            return [ast.Binds(name)]
        known = {**self.rule.bound, **self.here} if self.only_known and mode != "without" else self.here
        names = [name for name in VARIABLES[kind] if mode == "plain" or name in known]
        if not names:
            return []
        name = self.made.one(names)
        if mode == "plain":
            self.here[name] = kind
        return [ast.Binds(name)]


def _writable(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


# --- heads --------------------------------------------------------------------------------------------------------


@dataclass
class Heads:
    """The head of a rule over what it binds; it says what is in each child."""

    made: Draw
    rule: Rule

    def head(self, label: str) -> tuple[ast.Construct, pa.StructType]:
        children, fields = self.children("h", 2 if "heads" in self.made.features else 1)
        return ast.Construct(label, tuple(children)), pa.struct(fields)

    def children(
        self, prefix: str, depth: int
    ) -> tuple[list[ast.Construct | ast.Expression | ast.All], list[pa.Field]]:
        children: list[ast.Construct | ast.Expression | ast.All] = []
        fields: dict[str, pa.DataType] = {}
        if not self.rule.bound and not self.rule.whole:
            return [ast.Construct(f"{prefix}0", (ast.Literal(True),))], [pa.field(f"{prefix}0", pa.bool_())]
        for number in range(self.made.number(1, 3)):
            label = f"{prefix}{0 if self.made.chance(6, 'heads') else number}"
            child, kind = self.child(label, depth)
            name = label if isinstance(_inside(child), ast.Construct) else self.rule.whole[_inside(child).name]  # type: ignore[union-attr]
            if fields.get(name, kind) == kind:
                children.append(child)
                fields[name] = kind
        return children, [pa.field(name, kind) for name, kind in fields.items()]

    def child(self, label: str, depth: int) -> tuple[ast.Construct | ast.Expression | ast.All, pa.DataType]:
        if self.rule.whole and (self.made.chance(3) or not self.rule.bound):
            name = self.made.one(sorted(self.rule.whole))
            whole = ast.Variable(name)
            return (ast.All(whole, (), self.order()) if self.made.chance(2) else whole), self._kind(name)
        if depth > 1 and self.made.chance(3):
            children, fields = self.children("n", depth - 1)
            made: ast.Construct | ast.All = ast.Construct(label, tuple(children))
            if self.made.chance(2):
                made = ast.All(made, self.keys(), self.order())
            return made, pa.struct(fields)
        name = self.made.one(sorted(self.rule.bound))
        kind = self.rule.bound[name]
        if self.made.chance(4, "heads"):
            return ast.All(ast.Construct(label, (ast.Variable(name),)), self.keys(), self.order()), kind
        expression, kind = self.expression(name, kind)
        return ast.Construct(label, (expression,)), kind

    def _kind(self, name: str) -> pa.DataType:
        label = self.rule.whole[name]
        return item_of(KINDS[label]) if label in KINDS else pa.null()

    def keys(self) -> tuple[ast.Variable, ...]:
        return tuple(ast.Variable(self.made.one(sorted(self.rule.bound))) for _ in range(self.few()))

    def order(self) -> tuple[ast.OrderKey, ...]:
        names = sorted(self.rule.bound)
        return tuple(
            ast.OrderKey(ast.Variable(self.made.one(names)), self.made.chance(2))
            for _ in range(self.few() + self.few())
        )

    def few(self) -> int:
        return int(bool(self.rule.bound) and self.made.chance(3))

    def expression(self, name: str, kind: pa.DataType) -> tuple[ast.Expression, pa.DataType]:
        variable = ast.Variable(name)
        if self.made.chance(2, "aggregates"):
            return self.aggregate(variable, kind)
        if not self.made.chance(4, "aggregates"):
            return variable, kind
        if kind == pa.string():
            function = self.made.one(["lower", "upper", "length", "coalesce"])
            further = (ast.Literal("x"),) if function == "coalesce" else ()
            return ast.Call(function, (variable, *further)), pa.int64() if function == "length" else kind
        if kind == pa.int64() and "odd" not in self.made.features:
            return self.computed(variable), pa.int64()
        if kind in (pa.float64(), pa.int16(), pa.int64()):
            function = self.made.one(["abs", "floor", "ceil"] if "odd" not in self.made.features else ["abs"])
            return ast.Call(function, (variable,)), pa.float64() if kind == pa.float64() == "abs" else pa.null()
        return variable, kind

    def computed(self, variable: ast.Variable) -> ast.Expression:
        others = [name for name, kind in self.rule.bound.items() if kind == pa.int64()]
        right = ast.Variable(self.made.one(others)) if self.made.chance(2) else ast.Literal(self.made.number(0, 3))
        return ast.Arithmetic(self.made.one("+-*"), variable, right)

    def aggregate(self, variable: ast.Variable, kind: pa.DataType) -> tuple[ast.Expression, pa.DataType]:
        keys = self.keys()
        if kind not in _NUMBERS or self.made.chance(4):
            what: ast.Construct | ast.Expression = variable
            if self.made.chance(2):
                what = ast.Construct("t", (ast.Construct("u", (variable,)), *self._further_children()))
            return ast.Aggregate("count", ast.All(what, keys)), pa.int64()
        function = self.made.one(["count", "avg", "min", "max"] + ["sum"] * ("odd" not in self.made.features))
        over = self.computed(variable) if kind == pa.int64() and "odd" not in self.made.features else variable
        found = {"count": pa.int64(), "avg": pa.float64()}.get(function, kind)
        made: ast.Expression = ast.Aggregate(function, ast.All(over if self.made.chance(2) else variable, keys))
        return made, found if found in (pa.int64(), pa.float64()) else pa.null()

    def _further_children(self) -> list[ast.Construct]:
        names = sorted(self.rule.bound)
        return [ast.Construct("w", (ast.Variable(self.made.one(names)),))] if self.made.chance(2) else []


def _inside(child: ast.Construct | ast.Expression | ast.All) -> ast.Construct | ast.Expression:
    return child.what if isinstance(child, ast.All) else child


# --- rules --------------------------------------------------------------------------------------------------------


def _literal(made: Draw, rule: Rule, label: str, negated: bool = False) -> ast.Query:
    terms = Terms(made, rule, negated)
    query = terms.event(label)
    if not negated:
        rule.bound.update(terms.here)
    return query


def _further(made: Draw, rule: Rule) -> None:
    """One more literal."""
    kind = made.one(["event", "collect", "collect", "collect", "timer"])
    label = made.one(list(rule.labels))
    if kind == "event":
        query = _literal(made, rule, label)
        rule.literals.append(ast.Event(rule.fresh(), query))
        return
    if kind == "timer" or made.chance(2):
        anchor, timer = (
            made.one(rule.identifiers),
            made.one(["from-end", "extend-begin", "extend", "from-end-backward"]),
        )
        rule.literals.append(ast.RelativeTimer(rule.fresh(), timer, anchor, made.draw(SHORT)))
    if kind == "collect":
        rule.literals.append(ast.While(rule.identifiers[-1], False, _literal(made, rule, label)))


def _conditions(made: Draw, rule: Rule) -> list[ast.Condition]:
    found: list[ast.Condition] = []
    one, other = (made.one(rule.identifiers) for _ in range(2))
    if len(rule.identifiers) > 2:
        found.append(ast.Within(tuple(rule.identifiers[:2]), ast.Duration(((3, "s"),))))
    if made.chance(6):
        found.append(ast.Temporal(one, made.draw(RELATIONS), other))
    names = [name for name, kind in rule.bound.items() if kind in (pa.int64(), pa.float64())]
    if names and made.chance(4):
        left, right = (ast.Variable(made.one(names)) for _ in range(2))
        found.append(ast.Comparison(made.one(["=", "!=", "<", "<=", ">", ">="]), left, right))
    return found


def _rule(made: Draw, labels: Mapping[str, pa.StructType], label: str) -> tuple[ast.Rule, pa.StructType]:
    rule = Rule(labels)
    query = _literal(made, rule, made.one(list(labels)))
    rule.literals.append(ast.Event(rule.fresh(), query))
    for _ in range(made.number(0, 2)):
        _further(made, rule)
    if made.chance(5):
        query = _literal(made, rule, made.one(list(labels)), negated=True)
        rule.literals.append(ast.While(made.one(rule.identifiers), True, query))
    body: ast.Body = ast.AllOf(tuple(rule.literals))
    conditions = _conditions(made, rule)
    head, fields = Heads(made, rule).head(label)
    return ast.Rule(head, ast.Where(body, tuple(conditions)) if conditions else body), fields


def _known(fields: pa.StructType) -> bool:
    return all(each.type in VARIABLES or (is_struct(each.type) and _known(each.type)) for each in fields)


@st.composite
def wide_programs(draw: st.DrawFn, features: frozenset[str], most_rules: int = 2) -> ast.Program:
    """One or two rules with these features."""
    made = Draw(draw, features)
    labels = {label: pa.struct(list(schema)) for label, schema in schemas_of(features).items()}
    found = []
    for number in range(made.number(1, most_rules)):
        label = "d0" if made.chance(2, "several") else f"d{number}"
        known = {each: kind for each, kind in labels.items() if each != label}
        rule, fields = _rule(made, known, label)
        if _known(fields):
            labels[label] = fields
        found.append(rule)
    return ast.Program(tuple(found))


# --- streams ------------------------------------------------------------------------------------------------------


def _cell(made: Draw, kind: pa.DataType) -> object:
    if made.chance(8):
        return None
    if pa.types.is_list(kind):
        return [_cell(made, kind.value_type) for _ in range(made.number(0, 3))]
    if is_struct(kind):
        return {each.name: _cell(made, each.type) for each in kind}
    return made.one(made.values[kind])


@st.composite
def wide_streams(draw: st.DrawFn, features: frozenset[str], most: int = 9, last: int = 10) -> dict[str, pa.Table]:
    """A table for each label; times are #begin and #end."""
    made, schemas = Draw(draw, features), schemas_of(features)
    zero = made.one([0, -5, 10**15, -(10**15)]) if "odd" in features else 0
    rows: dict[str, list[dict[str, object]]] = {label: [] for label in schemas}
    for _ in range(made.number(3, most)):
        label = made.one(list(schemas))
        begin = zero + made.number(0, last)
        data = {each.name: _cell(made, each.type) for each in schemas[label]}
        rows[label].append({**data, "#begin": begin, "#end": begin + made.one([0, 0, 1, 2, 4])})
    return {label: pa.Table.from_pylist(rows[label], timed(schema)) for label, schema in schemas.items()}


@st.composite
def wide_cases(draw: st.DrawFn) -> tuple[dict[str, pa.Schema], ast.Program, dict[str, pa.Table]]:
    """Schemas, a program and a stream that have some features in common."""
    features = frozenset(draw(st.sets(st.sampled_from(FEATURES), min_size=1, max_size=5)))
    return schemas_of(features), draw(wide_programs(features)), draw(wide_streams(features))

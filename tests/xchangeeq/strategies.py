"""Random programs: trees that need not make sense, and programs over a few labels that `check` mostly accepts."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from hypothesis import strategies as st

from acelera.xchangeeq import ast
from acelera.xchangeeq.mistakes import RESERVED
from acelera.xchangeeq.parser import negative

# --- any syntax tree ----------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["i", "j", "A", "_1", "where_", "order", "end", "before", "by", "ms", "é"])
LABELS = st.sampled_from(
    ["a", "order", "event-log", "ns:temp-1", "end", "timer:date", "timer:extend", *RESERVED, "é"]
) | st.text(min_size=1, max_size=4)
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
)
AMOUNTS = st.integers(0, 10**6) | st.floats(0, 10**6)
DURATIONS = st.lists(st.tuples(AMOUNTS, st.sampled_from(list(ast.UNITS))), min_size=1, max_size=3).map(
    lambda amounts: ast.Duration(tuple(amounts))
)
VARIABLES = NAMES.map(ast.Variable)


def tuples(inner: st.SearchStrategy[object], least: int = 0, most: int = 3) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(inner, min_size=least, max_size=most).map(tuple)


def _more_expressions(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    one_argument = [each for each in ast.FUNCTIONS if each != "coalesce"]
    return st.one_of(
        st.builds(ast.Arithmetic, st.sampled_from("+-*/"), inner, inner),
        inner.map(negative),
        st.builds(ast.Call, st.sampled_from(one_argument), st.tuples(inner)),
        st.builds(ast.Call, st.just("coalesce"), tuples(inner, 1)),
        st.builds(ast.Aggregate, st.sampled_from(ast.AGGREGATES), _alls(inner)),
    )


def _alls(inner: st.SearchStrategy[ast.Node]) -> st.SearchStrategy[ast.All]:
    keys = st.builds(ast.OrderKey, VARIABLES, st.booleans())
    return st.builds(ast.All, inner, tuples(VARIABLES, most=2), tuples(keys, most=2))


EXPRESSIONS = st.recursive(VARIABLES | VALUES.map(ast.Literal), _more_expressions, max_leaves=6)
HEADS = st.recursive(
    st.builds(ast.Construct, LABELS, tuples(EXPRESSIONS, most=2), st.booleans()),
    lambda inner: st.builds(ast.Construct, LABELS, tuples(inner | _alls(inner) | EXPRESSIONS), st.booleans()),
    max_leaves=4,
)


def _more_queries(inner: st.SearchStrategy[ast.Query]) -> st.SearchStrategy[ast.Query]:
    kids = inner | inner.map(ast.Without) | inner.map(ast.Optional)
    return st.one_of(
        st.builds(ast.Binds, NAMES, inner),
        inner.map(ast.Descendant),
        st.builds(ast.Labelled, st.none() | LABELS, tuples(kids), st.booleans(), st.booleans()),
    )


QUERIES = st.recursive(VALUES.map(ast.IsValue) | NAMES.map(ast.Binds), _more_queries, max_leaves=6)
LITERALS = st.one_of(
    st.builds(ast.Event, st.none() | NAMES, QUERIES),
    st.builds(ast.RelativeTimer, NAMES, st.sampled_from(ast.RELATIVE), NAMES, DURATIONS),
    st.builds(ast.PeriodicTimer, NAMES, DURATIONS.filter(lambda each: each.microseconds > 0)),
    st.builds(ast.While, NAMES, st.booleans(), QUERIES),
)
RELATIONS = st.sampled_from(sorted({*ast.RELATIONS, *ast.RELATIONS.values()}))
CONDITIONS = st.recursive(
    st.one_of(
        st.builds(ast.Temporal, NAMES, RELATIONS, NAMES),
        st.builds(ast.Within, tuples(NAMES, 1), DURATIONS),
        st.builds(ast.ApartBy, tuples(NAMES, 1), DURATIONS),
        st.builds(ast.Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), EXPRESSIONS, EXPRESSIONS),
    ),
    lambda inner: inner.map(ast.Not) | tuples(inner, 1).map(ast.Both) | tuples(inner, 1).map(ast.Either),
    max_leaves=4,
)
BODIES = st.recursive(
    LITERALS | st.builds(ast.Where, LITERALS, tuples(CONDITIONS, 1)),
    lambda inner: st.one_of(
        tuples(inner, 1).map(ast.AllOf),
        tuples(inner, 1).map(ast.OneOf),
        st.builds(ast.Where, tuples(inner, 1).map(ast.AllOf), tuples(CONDITIONS, 1)),
    ),
    max_leaves=4,
)
TREES = tuples(st.builds(ast.Rule, HEADS, BODIES), 1, 2).map(ast.Program)
"""Programs that parse; few of them mean anything."""


# --- programs that make sense -------------------------------------------------------------------------------------

SCHEMAS = {
    "a": pa.schema({"k": pa.string(), "v": pa.int64(), "x": pa.float64()}),
    "b": pa.schema({"k": pa.string(), "v": pa.int64(), "nest": pa.struct({"p": pa.int64(), "q": pa.string()})}),
    "c": pa.schema(
        {
            "k": pa.string(),
            "item": pa.list_(pa.struct({"sku": pa.string(), "n": pa.int64()})),
            "tag": pa.list_(pa.string()),
        }
    ),
}
"""What the base events of random programs have beside their times."""

Fields = dict[str, object]
"""Children by label: `str`, `int`, `float`, or the children of a struct; which are repeated is of no interest."""

BASE: dict[str, Fields] = {
    "a": {"k": str, "v": int, "x": float},
    "b": {"k": str, "v": int, "nest": {"p": int, "q": str}},
    "c": {"k": str, "item": {"sku": str, "n": int}, "tag": str},
}
POOL = {str: ["K", "L"], int: ["V", "W"], float: ["X"]}
CONSTANTS: dict[object, list[str | int | float]] = {str: ["r", "s"], int: [0, 1, 2], float: [0.5, 1.0]}
SHORT = st.sampled_from([(0, "s"), (1, "s"), (2, "s"), (3, "s"), (5, "s"), (1500, "ms"), (0.5, "s")]).map(
    lambda amount: ast.Duration((amount,))
)


@dataclass
class _Rule:
    """A rule in the making: its literals, the identifiers so far, and what is bound."""

    labels: dict[str, Fields]
    literals: list[ast.Body] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    bound: dict[str, object] = field(default_factory=dict)
    optional: list[str] = field(default_factory=list)

    def fresh(self) -> str:
        self.identifiers.append(f"e{len(self.identifiers) + 1}")
        return self.identifiers[-1]


def _pairs(label: str, inner: ast.Query) -> ast.Labelled:
    return ast.Labelled(label, (inner,))


def _value(draw: st.DrawFn, kind: object, known: dict[str, object], only_known: bool) -> ast.Query:
    names = [name for name in POOL[kind] if not only_known or name in known]  # type: ignore[index]  # a scalar
    if names and draw(st.integers(0, 5)):
        name = draw(st.sampled_from(names))
        known.setdefault(name, kind)
        return ast.Binds(name)
    return ast.IsValue(draw(st.sampled_from(CONSTANTS[kind])))


def _children(draw: st.DrawFn, fields: Fields, known: dict[str, object], only_known: bool) -> list[ast.Query]:
    found: list[ast.Query] = []
    chosen = draw(st.lists(st.sampled_from(list(fields)), max_size=2, unique=True)) if fields else []
    for label in chosen:
        inner = fields[label]
        if isinstance(inner, dict):
            found.append(ast.Labelled(label, tuple(_children(draw, inner, known, only_known))))
        else:
            found.append(_pairs(label, _value(draw, inner, known, only_known)))
    return found


def _term(draw: st.DrawFn, rule: _Rule, label: str, only_known: bool = False) -> ast.Query:
    """A query of a label; under `not`, variables that are bound already."""
    fields = rule.labels[label]
    known = dict(rule.bound) if only_known else rule.bound
    kids = _children(draw, fields, known, only_known)
    rest = [each for each in fields if all(not isinstance(kid, ast.Labelled) or kid.label != each for kid in kids)]
    scalar = [each for each in rest if not isinstance(fields[each], dict)]
    if scalar and not draw(st.integers(0, 5)):
        constant = ast.IsValue(draw(st.sampled_from(CONSTANTS[fields[scalar[0]]])))
        kids.append(ast.Without(_pairs(scalar[0], constant)))
    elif scalar and not only_known and not draw(st.integers(0, 5)):
        name = f"O{len(rule.optional) + 1}"
        rule.optional.append(name)
        rule.bound[name] = fields[scalar[0]]
        kids.append(ast.Optional(_pairs(scalar[0], ast.Binds(name))))
    if kids and isinstance(kids[0], ast.Labelled) and not draw(st.integers(0, 9)):
        kids[0] = ast.Descendant(kids[0])
    total, ordered = (draw(st.integers(0, 9)) == 0 for _ in range(2))
    return ast.Labelled(label, tuple(kids), total, ordered)


def _event(draw: st.DrawFn, rule: _Rule, label: str) -> None:
    name = rule.fresh()
    if label in ("a", "b") and not draw(st.integers(0, 3)):
        rule.bound.update(K=str, V=int)
        kids = (_pairs("k", ast.Binds("K")), _pairs("v", ast.Binds("V")))
        bodies = tuple(ast.Event(name, ast.Labelled(each, kids)) for each in ("a", "b"))
        rule.literals.append(ast.OneOf(bodies))
        return
    query = _term(draw, rule, label)
    unnamed = len(rule.identifiers) > 1 and not draw(st.integers(0, 7))
    if unnamed:
        rule.identifiers.pop()
    rule.literals.append(ast.Event(None if unnamed else name, query))


def _further(draw: st.DrawFn, rule: _Rule) -> None:
    """One more literal: an event, a timer, or a window."""
    kind = draw(st.sampled_from(["event", "timer", "timer", "collect", "collect", "periodic", "absolute"]))
    anchor = draw(st.sampled_from(rule.identifiers))
    if kind == "event":
        _event(draw, rule, draw(st.sampled_from(list(rule.labels))))
    elif kind == "timer":
        timer = draw(st.sampled_from(ast.RELATIVE))
        rule.literals.append(ast.RelativeTimer(rule.fresh(), timer, anchor, draw(SHORT)))
    elif kind == "periodic":
        rule.literals.append(ast.PeriodicTimer(rule.fresh(), ast.Duration(((draw(st.sampled_from([2, 5])), "s"),))))
    elif kind == "absolute":
        query = ast.Labelled("timer:datetime", (_pairs("time", ast.IsValue("00:00:05")),))
        rule.literals.append(ast.Event(rule.fresh(), query))
    else:
        query = _term(draw, rule, draw(st.sampled_from(list(rule.labels))))
        rule.literals.append(ast.While(anchor, False, query))


def _absence(draw: st.DrawFn, rule: _Rule) -> None:
    query = _term(draw, rule, draw(st.sampled_from(list(rule.labels))), only_known=True)
    place = draw(st.integers(1, len(rule.literals)))
    rule.literals.insert(place, ast.While(draw(st.sampled_from(rule.identifiers)), True, query))


def _condition(draw: st.DrawFn, rule: _Rule, depth: int = 1) -> ast.Condition:
    numbers = [name for name, kind in rule.bound.items() if kind in (int, float)]
    kinds = (
        ["temporal", "temporal", "within", "apart"]
        + (["compare"] * 2 if numbers else [])
        + (["nested"] if depth else [])
    )
    kind = draw(st.sampled_from(kinds))
    one, other = (draw(st.sampled_from(rule.identifiers)) for _ in range(2))
    if kind == "temporal":
        return ast.Temporal(one, draw(RELATIONS), other)
    if kind == "within":
        return ast.Within((one, other), draw(SHORT))
    if kind == "apart":
        return ast.ApartBy((one, other), draw(SHORT))
    if kind == "nested":
        inner = tuple(_condition(draw, rule, depth - 1) for _ in range(2))
        return draw(st.sampled_from([ast.Not(inner[0]), ast.Both(inner), ast.Either(inner)]))
    left = ast.Variable(draw(st.sampled_from(numbers)))
    right: ast.Expression = ast.Literal(draw(st.sampled_from([0, 1, 2, 1.5])))
    if draw(st.booleans()):
        right = ast.Arithmetic(draw(st.sampled_from("+-*/")), ast.Variable(draw(st.sampled_from(numbers))), right)
    return ast.Comparison(draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="])), left, right)


def _head(draw: st.DrawFn, rule: _Rule, label: str) -> tuple[ast.Construct, Fields]:
    """A head over what is bound, and its children for the rules that come after."""
    children: list[ast.Construct | ast.Expression | ast.All] = []
    fields: Fields = {}
    names = list(rule.bound)
    for number in range(draw(st.integers(1, 3)) if names else 0):
        child, name = f"h{number}", draw(st.sampled_from(names))
        variable, kind = ast.Variable(name), rule.bound[name]
        form = draw(st.sampled_from(["plain", "plain", "plain", "nested", "all", "aggregate", "computed"]))
        if form == "nested":
            children.append(ast.Construct(child, (ast.Construct("n", (variable,)),)))
            fields[child] = {"n": kind}
        elif form == "all":
            group = (ast.Variable(draw(st.sampled_from(names))),) if draw(st.booleans()) else ()
            order = (ast.OrderKey(variable, draw(st.booleans())),) if draw(st.booleans()) else ()
            children.append(ast.All(ast.Construct(child, (variable,)), group, order))
            fields[child] = kind
        elif form == "aggregate":
            functions = ast.AGGREGATES if kind in (int, float) else ("count", "min", "max")
            function = draw(st.sampled_from(functions))
            children.append(ast.Construct(child, (ast.Aggregate(function, ast.All(variable)),)))
            fields[child] = {"count": int, "avg": float}.get(function, kind)
        elif form == "computed" and kind is int:
            made = ast.Arithmetic(draw(st.sampled_from("+-*")), variable, ast.Literal(draw(st.integers(0, 3))))
            children.append(ast.Construct(child, (made,)))
            fields[child] = kind
        else:
            children.append(ast.Construct(child, (variable,)))
            fields[child] = kind
    return ast.Construct(label, tuple(children), draw(st.integers(0, 9)) == 0), fields


@st.composite
def rules(draw: st.DrawFn, labels: dict[str, Fields], label: str) -> tuple[ast.Rule, Fields]:
    """A rule of two to four literals over these labels, and the children of what it makes."""
    rule = _Rule(labels)
    _event(draw, rule, draw(st.sampled_from(list(labels)[-2:] + list(labels))))
    for _ in range(draw(st.integers(1, 2))):
        _further(draw, rule)
    if draw(st.booleans()):
        _absence(draw, rule)
    conditions = tuple(_condition(draw, rule) for _ in range(draw(st.integers(0, 2))))
    body: ast.Body = ast.AllOf(tuple(rule.literals))
    head, fields = _head(draw, rule, label)
    return ast.Rule(head, ast.Where(body, conditions) if conditions else body), fields


def _recursive(fields: Fields, label: str) -> ast.Rule:
    """A rule that makes more of a label from itself and an event: each column once as it was, numbers from the event."""
    names = {child: f"R{number}" for number, child in enumerate(fields)}
    query = ast.Labelled(label, tuple(_pairs(child, ast.Binds(name)) for child, name in names.items()))
    event = ast.Labelled("a", (_pairs("v", ast.Binds("V")),))
    made = tuple(
        ast.Construct(child, (ast.Variable("V" if fields[child] is int else name),)) for child, name in names.items()
    )
    body = ast.AllOf((ast.Event("e1", query), ast.Event("e2", event)))
    near = (ast.Temporal("e1", "before", "e2"), ast.Within(("e1", "e2"), ast.Duration(((3, "s"),))))
    return ast.Rule(ast.Construct(label, made), ast.Where(body, near))


@st.composite
def programs(draw: st.DrawFn, most_rules: int = 3, recursion: bool = True) -> ast.Program:
    """One to three rules over SCHEMAS, each of which may use what those before it make; now and then a recursive one."""
    labels = dict(BASE)
    found: list[ast.Rule] = []
    for number in range(draw(st.integers(1, most_rules))):
        rule, fields = draw(rules(dict(labels), f"d{number}"))
        labels[f"d{number}"] = fields
        found.append(rule)
    flat = [
        label
        for label in list(labels)[len(BASE) :]
        if all(not isinstance(each, dict) for each in labels[label].values())
    ]
    if recursion and flat and len(found) < most_rules and not draw(st.integers(0, 4)):
        label = draw(st.sampled_from(flat))
        found.append(_recursive(labels[label], label))
    return ast.Program(tuple(found))

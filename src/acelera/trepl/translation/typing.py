"""Types of what rules look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.expressions import type_of
from acelera.language.tree import children, fold, rebuilt
from acelera.language.types import BOOL, DATE, DURATION, INT, STRING, UNKNOWN, Type
from acelera.trepl.resolved import PARTS, TIME_FUNCTIONS, Aggregate, Field, Part, Program, Stamp

Lookup = Callable[[Field], Type]

HOLDS = "#holds"
"""A function of a condition: whether it is TRUE."""

_PARTS = {"Date": DATE, "Time": DURATION}
_CALLS = {
    **{function: STRING if function == "asctime" else INT for function in TIME_FUNCTIONS},
    **{f"#{part}": _PARTS.get(part, INT) for part in PARTS},
    HOLDS: BOOL,
}


def typed(expression: ast.Expression, program: Program, attribute: Lookup) -> Type:
    """The type of an expression that was checked; `attribute` gives those of fields."""
    types: dict[str, Type] = {}

    def placed(kind: Type) -> ast.Expression:
        types[str(len(types))] = kind
        return ast.Attribute(None, str(len(types) - 1))

    def combine(node: ast.Expression, inner: Sequence[ast.Expression]) -> ast.Expression:
        match node:
            case Field():
                return placed(attribute(node))
            case Stamp():
                return placed(program.timestamp)
            case Part(_, part, _):
                return placed(_PARTS.get(part, INT))
            case Aggregate(function, _, argument):
                given = INT if argument is None else typed(argument, program, attribute)
                return placed(aggregate_type(function, given))
            case ast.Call(function, _) if function in _CALLS:
                return placed(_CALLS[function])
        return rebuilt(node, inner)

    made = fold(expression, combine, lambda node: () if isinstance(node, Aggregate | Part) else children(node))
    return type_of(made, lambda node: types[node.name], lambda problem: None)


def aggregate_type(function: str, given: Type) -> Type:
    """The type of an aggregate of values of a type."""
    found = find_aggregate(function)
    return UNKNOWN if found is None else found.result(given) or UNKNOWN

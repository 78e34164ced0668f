"""The types of expressions and of conditions over values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from acelera.language.types import (
    FLOAT,
    INT,
    NUMBERS,
    ORDERED,
    STRING,
    UNKNOWN,
    Kind,
    Type,
    scale_of,
    unify,
    unify_decimals,
)
from acelera.programs.problems import Notes
from acelera.xchangeeq import ast
from acelera.xchangeeq.printer import nodes_below, print_node
from acelera.xchangeeq.query_terms import type_of_value
from acelera.xchangeeq.schemas import Child, Held, Shape, comparable, said


def type_of(expression: ast.Expression, variables: Mapping[str, Held], notes: Notes) -> Held:
    """What an expression gives; a variable that is not bound, which is noted elsewhere, may give anything."""

    def combine(node: ast.Node, made: Sequence[Held]) -> Held:
        return _combined(node, made, variables, notes)

    root: ast.Node = expression
    return ast.fold(root, combine, nodes_below)


def check_condition(condition: ast.Condition, variables: Mapping[str, Held], notes: Notes) -> None:
    """Note what is wrong with the comparisons in a condition."""
    for each in ast.walk(condition):
        if not isinstance(each, ast.Comparison):
            continue
        for aggregate in aggregates_in(each):
            hint = "make it a child of the head, and ask for it in a second rule"
            notes.wrong("an aggregate stands in the head of a rule only", aggregate.span, hint)
        left, right = (type_of(side, variables, notes) for side in (each.left, each.right))
        if isinstance(left, Child) or isinstance(right, Child):
            whole = left if isinstance(left, Child) else right
            assert isinstance(whole, Child)
            inner = "l {{ var X }}" if isinstance(whole.content, Shape) else "var X"
            hint = f"bind a value: {whole.label} {{{{ {inner} }}}}"
            notes.wrong(f"{print_node(each)} compares a whole term", each.span, hint)
        elif not comparable(left, right):
            notes.wrong(f"{said(left)} and {said(right)} are compared", each.span, _quotes(left, right))


def aggregates_in(node: ast.Node) -> list[ast.Aggregate]:
    """All aggregates in a part of a program."""
    found: list[ast.Aggregate] = []
    todo = [node]
    while todo:
        each = todo.pop()
        found += [each] if isinstance(each, ast.Aggregate) else []
        todo.extend(nodes_below(each))
    return found


def _quotes(left: Type, right: Type) -> str | None:
    kinds = {left.kind, right.kind}
    return "numbers are written without quotes" if kinds & NUMBERS and Kind.STRING in kinds else None


def _combined(node: ast.Node, made: Sequence[Held], variables: Mapping[str, Held], notes: Notes) -> Held:
    match node:
        case ast.Literal(value):
            return type_of_value(value)
        case ast.Variable(name):
            return variables.get(name, UNKNOWN)
        case ast.Arithmetic(operator, _, _):
            numbers = _numbers(made, operator, node, notes)
            if numbers is None:
                return UNKNOWN
            if operator == "*" and Kind.FLOAT not in {each.kind for each in numbers}:
                return _product(*numbers)
            return FLOAT if operator == "/" else _widened(unify(*numbers) or UNKNOWN)
        case ast.Negative():
            numbers = _numbers(made, "-", node, notes)
            return UNKNOWN if numbers is None else _widened(numbers[0])
        case ast.Call():
            return _call(node, made, notes)
        case ast.Aggregate():
            return _aggregate(node, made[0], notes)
        case ast.All():
            return made[0]
    return UNKNOWN  # the parts of `all` that are no expressions


def _numbers(made: Sequence[Held], name: str, node: ast.Node, notes: Notes) -> list[Type] | None:
    """The types of operands, if all are numbers."""
    for each in made:
        if isinstance(each, Child) or not (each.vague or each.kind in NUMBERS):
            notes.wrong(f"`{name}` takes numbers, not {said(each)}", node.span)
            return None
    return [each for each in made if isinstance(each, Type)]


def _call(node: ast.Call, made: Sequence[Held], notes: Notes) -> Type:
    name = node.function
    if name in ("abs", "floor", "ceil"):
        numbers = _numbers(made, name, node, notes)
        return UNKNOWN if numbers is None else _widened(numbers[0]) if name == "abs" else INT
    values = [each for each in made if isinstance(each, Type)]
    if name in ("lower", "upper", "length"):
        if len(values) < len(made) or not (values[0].vague or values[0].kind is Kind.STRING):
            notes.wrong(f"`{name}` takes a string, not {said(made[0])}", node.span)
        return INT if name == "length" else STRING
    both: Type | None = UNKNOWN
    for each in values:
        both = None if both is None else unify(both, each)
    if both is None or len(values) < len(made):
        notes.wrong("coalesce takes values of one type", node.span, ", ".join(said(each) for each in made))
    return both or UNKNOWN


def _aggregate(node: ast.Aggregate, over: Held, notes: Notes) -> Type:
    name = node.function
    if name == "count":
        return INT
    if isinstance(node.over.what, ast.Construct) or isinstance(over, Child):
        notes.wrong(f"`{name}` takes values, not terms", node.span, f"write {name}(all var X)")
        return UNKNOWN
    if name in ("min", "max"):
        if not over.vague and over.kind not in ORDERED:
            notes.wrong(f"`{name}` takes values that have an order, not {said(over)}", node.span)
        return over
    if not over.vague and over.kind not in NUMBERS:
        notes.wrong(f"`{name}` takes numbers, not {said(over)}", node.span)
        return UNKNOWN
    return FLOAT if name == "avg" else _widened(over)


def _product(left: Type, right: Type) -> Type:
    """The type of a product without floats: one of decimals has the digits of both after the point."""
    both = _widened(unify(left, right) or UNKNOWN)
    scale = scale_of(left) + scale_of(right)
    return Type(Kind.DECIMAL, pa.decimal128(38, min(scale, 38))) if both.kind is Kind.DECIMAL else both


def _widened(number: Type) -> Type:
    """The type of what is computed: 64 bits, or as many digits as there are."""
    if number.kind is Kind.DECIMAL:
        return unify_decimals(number, number)
    return {Kind.INT: INT, Kind.FLOAT: FLOAT}.get(number.kind, number)

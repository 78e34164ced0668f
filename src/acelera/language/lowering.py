"""Expressions in a small core, in which each thing is said in one way, and what the targets of it have in common.

The targets are Arrow, Spark and the instructions of the register machine. Each has one table that says how it does the
operations of the core, and refuses all else by an UnsupportedError. In the core

- NOT stands only before what has no opposite: `NOT a < b` is `a >= b`, `NOT (p AND q)` is `NOT p OR NOT q`;
- `IS NOT NULL`, `NOT IN`, `NOT BETWEEN` and `NOT LIKE` are NOT of the positive;
- `coalesce` takes two values;
- `BETWEEN` and `IN` are comparisons, joined by AND or OR, unless the target takes them whole. One that can evaluate
  their operand once, or look it up, does so.

All of these are equivalences in three-valued logic. The definition (`evaluation`) knows nothing of the core: it
evaluates the whole language as it is written, so that it can judge what is lowered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Generic, NamedTuple, TypeVar

from acelera.language import ast
from acelera.language.expressions import CASTS, FUNCTIONS
from acelera.language.tree import children, rebuilt

How = TypeVar("How")

OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""Each comparison and its negation."""

COMPOSED = ("BETWEEN", "IN")
"""Operations that are comparisons for a target that does not take them whole."""

OPERATIONS = (
    *("LITERAL", "TIMESTAMP", "DATE", "INTERVAL", "ATTRIBUTE"),
    *("NOT", "AND", "OR", *OPPOSITES, "IS NULL", "LIKE", *COMPOSED),
    *("NEGATIVE", "+", "-", "*", "/", "%", "||"),
    *FUNCTIONS,
    *(f"CAST AS {target}" for target in CASTS),
)
"""All operations of the core, by the names that they have in tables."""

_LARGEST = 200_000
"""How many nodes BETWEEN and IN may become: they repeat what stands in them, and one may stand in the other."""


class UnsupportedError(Exception):
    """A target cannot say this as the language means it; the message tells why, in words."""


@dataclass(frozen=True)
class Table(Generic[How]):
    """How a target says the operations of the core; `lacking` is why it refuses those that are not there."""

    entries: Mapping[str, How]
    lacking: str

    def how(self, node: ast.Expression) -> How:
        """How to say a node."""
        found = self.entries.get(operation_of(node))
        if found is None:
            raise self.refusal()
        return found

    def refusal(self) -> UnsupportedError:
        """What is raised for a node that the target cannot say."""
        return UnsupportedError(self.lacking)

    def lowered(self, expression: ast.Expression) -> ast.Expression:
        """An expression in the core, with what this target takes whole."""
        return lower(expression, whole=self.entries)


def operation_of(node: ast.Expression) -> str:
    """The operation of the core that a node is."""
    match node:
        case ast.Unary(operator, _):
            return "NOT" if operator == "NOT" else "NEGATIVE"
        case ast.Binary(operator, _, _):
            return operator
        case ast.IsNull():
            return "IS NULL"
        case ast.Call(function, _):
            return function
        case ast.Cast(_, target):
            return f"CAST AS {target}"
    return type(node).__name__.upper()


class _Lowered(NamedTuple):
    """An expression in the core, how many nodes it has, and what it is if NOT stands before it, if that is shorter."""

    holds: ast.Expression
    size: int
    fails: ast.Expression | None = None

    def negated_if(self, negated: bool) -> _Lowered:
        return _Lowered(self.negation(), self.size, self.holds) if negated else self

    def negation(self) -> ast.Expression:
        return ast.Unary("NOT", self.holds) if self.fails is None else self.fails


def lower(expression: ast.Expression, whole: Collection[str] = COMPOSED) -> ast.Expression:
    """The same in the core; BETWEEN and IN are kept if they are among those that the target takes `whole`."""

    def combine(node: ast.Expression, made: Sequence[_Lowered]) -> _Lowered:
        if not made:
            return _Lowered(node, 1)
        inner = [each.holds for each in made]
        size = 1 + sum([each.size for each in made])
        match node:
            case ast.Unary("NOT", _):
                return made[0].negated_if(True)
            case ast.Binary(("AND" | "OR") as operator, _, _):
                fails = ast.Binary("OR" if operator == "AND" else "AND", made[0].negation(), made[1].negation())
                return _Lowered(rebuilt(node, inner), size, fails)
            case ast.Binary(operator, _, _) if operator in OPPOSITES:
                return _Lowered(rebuilt(node, inner), size, ast.Binary(OPPOSITES[operator], *inner))
            case ast.IsNull(_, negated):
                return _Lowered(ast.IsNull(inner[0]), size).negated_if(negated)
            case ast.Like(_, pattern, negated):
                return _Lowered(ast.Like(inner[0], pattern), size).negated_if(negated)
            case ast.Between(_, _, _, negated):
                kept = ast.Between(inner[0], inner[1], inner[2])
                return (_Lowered(kept, size) if "BETWEEN" in whole else _between(*made)).negated_if(negated)
            case ast.In(_, _, negated):
                found = ast.In(inner[0], tuple(inner[1:]))
                return (_Lowered(found, size) if "IN" in whole else _in(*made)).negated_if(negated)
            case ast.Call("coalesce", (_,)):
                return made[0]
            case ast.Call("coalesce", _):
                return _Lowered(reduce(lambda left, right: ast.Call("coalesce", (left, right)), inner), size)
        return _Lowered(rebuilt(node, inner), size)

    return ast.fold(expression, combine).holds


def _between(operand: _Lowered, low: _Lowered, high: _Lowered) -> _Lowered:
    return _joined("AND", [(">=", low), ("<=", high)], operand)


def _in(operand: _Lowered, *items: _Lowered) -> _Lowered:
    return _joined("OR", [("=", item) for item in items], operand)


def _joined(join: str, compared: Sequence[tuple[str, _Lowered]], operand: _Lowered) -> _Lowered:
    """An operand that is compared with several things, joined by AND or OR."""
    size = sum(other.size for _, other in compared) + len(compared) * (operand.size + 2)
    if size > _LARGEST:
        raise UnsupportedError("BETWEEN and IN stand in each other too often")

    def chain(join: str, opposite: bool) -> ast.Expression:
        tests: list[ast.Expression] = [
            ast.Binary(OPPOSITES[symbol] if opposite else symbol, operand.holds, other.holds)
            for symbol, other in compared
        ]
        return reduce(lambda left, right: ast.Binary(join, left, right), tests)

    return _Lowered(chain(join, False), size, chain("OR" if join == "AND" else "AND", True))


def links(node: ast.Expression) -> Sequence[ast.Expression]:
    """What a node is made of; of a chain of AND, of OR or of coalesce, all links at once."""
    operation = operation_of(node)
    if operation not in ("AND", "OR", "coalesce"):
        return children(node)
    found: list[ast.Expression] = []
    todo = list(children(node))[::-1]
    while todo:
        link = todo.pop()
        if operation_of(link) == operation:
            todo += children(link)[::-1]
        else:
            found.append(link)
    return found

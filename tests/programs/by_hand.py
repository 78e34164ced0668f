"""Rules of the algebra made of checked programs, as far as components look at them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from acelera.algebra.bounds import NetworkBuilder
from acelera.algebra.construction import Child, Children, Computed, Head
from acelera.algebra.expressions import Attribute, Constant, Expression
from acelera.algebra.operators import Clock, Events
from acelera.algebra.patterns import Content, Part, Pattern
from acelera.algebra.rules import RelativeTimer, Rule
from acelera.xchangeeq import ast
from acelera.xchangeeq.checker import Checked, check
from acelera.xchangeeq.normal import NormalRule
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.schemas import Child as Column
from acelera.xchangeeq.schemas import Shape


def rules_of_text(text: str, schemas: Mapping[str, pa.Schema]) -> list[Rule]:
    return rules_of(check(parse_program(text), schemas, text))


def rules_of(checked: Checked) -> list[Rule]:
    """A rule for each alternative, with all that concerns keys and clocks; conditions are left out."""
    return [_rule(each, checked.labels) for each in checked.rules]


def _rule(rule: NormalRule, labels: Mapping[str, Shape]) -> Rule:
    network = NetworkBuilder()
    for each in (*rule.events, *rule.absolute, *rule.periodic):
        network.event(str(each.identifier))
    for timer in rule.relative:
        network.timer(timer.identifier, timer.kind, timer.anchor, int(timer.duration.microseconds))
    windows = [(each.window, f"w{number}", each) for number, each in enumerate((*rule.collects, *rule.nots))]
    for window, name, _ in windows:
        network.event(name)
        network.inside(window, name)
    clocks = [Clock(str(each.identifier), each) for each in (*rule.absolute, *rule.periodic)]
    inner = [(window, _events(name, each.query, labels), each.negated) for window, name, each in windows]
    return Rule(
        Head(rule.head.label, Children(tuple(_child(each, labels[rule.head.label]) for each in rule.head.children))),
        (*(_events(str(each.identifier), each.query, labels) for each in rule.events), *clocks),
        (),
        network.network(),
        tuple(RelativeTimer(each.identifier, each.kind, each.anchor, 0) for each in rule.relative),
        tuple((window, events) for window, events, negated in inner if not negated),
        tuple((window, events) for window, events, negated in inner if negated),
    )


def _child(child: ast.Construct | ast.Expression | ast.All, shape: Shape) -> Child:
    made: Expression = Constant("computed")
    match child:
        case ast.Construct(label, (ast.Variable(name),)):
            made = Attribute(name)
        case ast.Construct(label, _) | ast.All(ast.Construct(label, _)):
            pass
    column = shape.child(label)
    assert column is not None
    return Child(label, (Computed(made),), column.repeated)


def _events(identifier: str, query: ast.Query, labels: Mapping[str, Shape]) -> Events:
    assert isinstance(query, ast.Labelled) and query.label is not None
    return Events(query.label, identifier, (_pattern(query, labels.get(query.label, Shape())),))


def _pattern(query: ast.Labelled, shape: Shape) -> Pattern:
    return Pattern(tuple(_part(each, shape) for each in query.children), query.total, query.ordered)


def _part(kid: ast.Query, shape: Shape) -> Part:
    match kid:
        case ast.Without(inner):
            part = _part(inner, shape)
            return Part(part.column, part.content, part.repeated, forbidden=True)
        case ast.Optional(inner):
            part = _part(inner, shape)
            return Part(part.column, part.content, part.repeated, optional=True)
        case ast.Descendant(inner):  # wherever it may be
            return Part("#below", Content(inner=Pattern((_part(inner, shape),))))
        case ast.Labelled(str(label), (ast.Binds(name, None),)):
            return Part(label, Content(binds=(name,)), _repeated(shape.child(label)))
        case ast.Labelled(str(label), (ast.IsValue(value),)):
            return Part(label, Content(equal=(value,)), _repeated(shape.child(label)))
        case ast.Labelled(str(label)):
            column = shape.child(label)
            below = column.content if column is not None and isinstance(column.content, Shape) else Shape()
            return Part(label, Content(inner=_pattern(kid, below)), _repeated(column))
    raise AssertionError(f"no pattern for {kid}")


def _repeated(column: Column | None) -> bool:
    return column is not None and column.repeated

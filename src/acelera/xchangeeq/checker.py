"""Checks a program against the schemas of its labels, before any data is read, and finds out what it makes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from acelera.errors import Problem, Span
from acelera.language.schema import names_alike
from acelera.programs.problems import Notes, ProgramCheckError
from acelera.xchangeeq import ast
from acelera.xchangeeq.absolute_timers import check_timers
from acelera.xchangeeq.cautions import warn
from acelera.xchangeeq.heads import computed, head_shape
from acelera.xchangeeq.normal import NormalRule, normalize
from acelera.xchangeeq.operands import check_condition
from acelera.xchangeeq.printer import nodes_below, print_node
from acelera.xchangeeq.query_terms import Bindings, columns_read, merge, resolve
from acelera.xchangeeq.schemas import Conflict, Content, Held, Shape, arrow_schema, joined, said, shapes_of
from acelera.xchangeeq.scopes import check_identifiers, check_variables
from acelera.xchangeeq.strata import RuleGraph, Strata, graph_of, stratify

MOST_ALTERNATIVES = 1_000
DEEPEST = 100


@dataclass(frozen=True)
class Checked:
    """A program that makes sense, with what was found out about it.

    `rules` are the alternatives of all rules, and `variables` says for each of them what its variables hold. `labels`
    has the children of every label, of rows and of heads together; `outputs` of what the rules of each label make.
    """

    program: ast.Program
    rules: tuple[NormalRule, ...]
    variables: tuple[Mapping[str, Held], ...]
    labels: Mapping[str, Shape]
    outputs: Mapping[str, Shape]
    graph: RuleGraph
    strata: Strata
    warnings: tuple[Problem, ...]
    base: frozenset[str]
    """The labels of which there are rows."""

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each output, after those of time; of types that base events of the label fit into, too."""
        made = {label: frozenset(shape.labels) for label, shape in self.outputs.items()}
        return {label: arrow_schema(_restricted(self.labels[label], names)) for label, names in made.items()}

    @property
    def reads(self) -> dict[str, tuple[str, ...]]:
        """For each label that is queried, the columns that matter, in the order of its schema."""
        found: dict[str, set[str]] = {}
        for rule in self.rules:
            for _, query in rule.queries:
                for label, columns in columns_read(query, self.labels).items():
                    found.setdefault(label, set()).update(columns)
        shapes = {label: self.labels.get(label, Shape()) for label in found}
        return {label: tuple(each for each in shape.labels if each in found[label]) for label, shape in shapes.items()}


def _restricted(shape: Shape, labels: frozenset[str]) -> Shape:
    return Shape(tuple(child for child in shape.children if child.label in labels))


def check(program: ast.Program, schemas: Mapping[str, pa.Schema], text: str = "") -> Checked:
    """Check a program; raises a ProgramCheckError that lists every mistake.

    `schemas` has the columns of each label but those of time, and `text` is what the program was read from.
    """
    base, notes = shapes_of(schemas), Notes()
    rules, graph, strata = _ruled(program, text, notes)
    outputs = _outputs(rules, graph.needed_first(), base, notes)
    labels = _together(base, outputs, rules, notes)
    _check_labels(rules, labels, notes)
    variables = tuple(_variables(each, labels, notes) for each in rules)
    for each in rules:
        warn(each, labels, notes)
    if notes.problems or strata is None:
        raise ProgramCheckError(sorted(notes.problems, key=_place), text)
    warnings = tuple(sorted(notes.warnings, key=_place))
    return Checked(program, rules, variables, labels, outputs, graph, strata, warnings, frozenset(base))


def check_rules(program: ast.Program, text: str = "") -> Strata:
    """Find every mistake that can be found without schemas; the strata of the rules."""
    notes = Notes()
    _, _, strata = _ruled(program, text, notes)
    if notes.problems or strata is None:
        raise ProgramCheckError(sorted(notes.problems, key=_place), text)
    return strata


def _ruled(program: ast.Program, text: str, notes: Notes) -> tuple[tuple[NormalRule, ...], RuleGraph, Strata | None]:
    """The rules in normal form, and what they need of each other."""
    for rule in program.rules:
        _check_size(rule, notes)
    if notes.problems:
        raise ProgramCheckError(notes.problems, text)
    alternatives = [normalize(rule, number) for number, rule in enumerate(program.rules)]
    rules = tuple(each for inner in alternatives for each in inner)
    for inner in alternatives:
        check_variables(inner, notes)
    for each in rules:
        check_identifiers(each, notes)
        check_timers(each, notes)
    graph = graph_of(program, rules)
    strata = stratify(graph, notes)
    _check_recursion(program, graph, notes)
    return rules, graph, strata


def _check_labels(rules: Sequence[NormalRule], labels: Mapping[str, Shape], notes: Notes) -> None:
    """What rules make under one label, and rows have, must be told apart by more than case."""
    for rule in rules:
        both = names_alike(labels[rule.head.label].labels)
        if both is not None:
            message = f"{rule.head.label} has {both[0]} and {both[1]}, which differ in case alone"
            notes.wrong(message, rule.head.span, "most engines do not tell them apart; give one of them another label")


def _place(problem: Problem) -> Span:
    return problem.span or Span(0, 0)


def _check_size(rule: ast.Rule, notes: Notes) -> None:
    """Alternatives multiply each other, and what is nested too deep no table can hold."""

    def combine(node: ast.Body, made: Sequence[int]) -> int:
        return sum(made) if isinstance(node, ast.OneOf) else math.prod(made)

    size = ast.fold(rule.body, combine)
    if size > MOST_ALTERNATIVES:
        hint = "make rules of the alternatives, and use what they make"
        message = f"this rule has {size:,} alternatives, more than {MOST_ALTERNATIVES:,}"
        notes.wrong(message, rule.body.span, hint)
    root: ast.Node = rule
    depth = ast.fold(root, lambda _, inner: 1 + max(inner, default=0), nodes_below)
    if depth > DEEPEST:
        notes.wrong(f"this rule is nested {depth:,} deep, more than {DEEPEST}", rule.head.span)


def _check_recursion(program: ast.Program, graph: RuleGraph, notes: Notes) -> None:
    """A recursive rule that computes would make new values without end."""
    for number, rule in enumerate(program.rules):
        made = computed(rule.head)
        if made is not None and graph.is_recursive(number):
            message = f"the recursive rule {rule.head.label} computes {print_node(made)}"
            notes.wrong(message, made.span, "it need not end; compute in another rule, over what this one makes")


def _variables(rule: NormalRule, labels: Mapping[str, Shape], notes: Notes) -> Bindings:
    """What the variables of a rule hold; notes what is wrong with terms, conditions and the head."""
    found: Bindings = {}
    for _, query in rule.queries:
        merge(found, resolve(query, labels, notes), query, notes)
    for condition in rule.conditions:
        check_condition(condition, found, notes)
    head_shape(rule.head, found, notes)
    return found


def _outputs(
    rules: Sequence[NormalRule], order: Sequence[int], base: Mapping[str, Shape], notes: Notes
) -> dict[str, Shape]:
    """What the rules of each label make: rules are looked at until nothing new is found."""
    outputs: dict[str, Shape] = {}
    before: dict[str, pa.Schema] = {}
    grown: list[str] = []
    for _ in range(len(rules) + 2):
        own = Notes()
        outputs = _made_by(rules, order, _together(base, outputs, rules, Notes()), own)
        known = {label: arrow_schema(shape) for label, shape in outputs.items()}
        grown = [label for label in known if known[label] != before.get(label)]
        if not grown:
            notes.add(own)
            return outputs
        before = known
    rule = next(rule for rule in rules if rule.head.label in grown)
    hint = "it need not end; put the children that are wanted into its head"
    notes.wrong(f"the recursive rule {rule.head.label} puts what it made into itself", rule.head.span, hint)
    return outputs


def _made_by(
    rules: Sequence[NormalRule], order: Sequence[int], labels: Mapping[str, Shape], notes: Notes
) -> dict[str, Shape]:
    """What each label is made of, as far as what its rules query is known; mistakes in terms are noted later."""
    known = dict(labels)
    shapes: dict[int, Shape] = {}
    rank = {number: place for place, number in enumerate(order)}
    for place in sorted(range(len(rules)), key=lambda place: rank[rules[place].number]):
        rule, own = rules[place], Notes()
        variables: Bindings = {}
        for _, query in rule.queries:
            merge(variables, resolve(query, known, own), query, own)
        shapes[place] = head_shape(rule.head, variables, own)
        before = known.get(rule.head.label, Shape())
        known[rule.head.label] = joined(before, shapes[place], _conflict(rule.head, "", "", own))
    found: dict[str, Shape] = {}
    for place, rule in enumerate(rules):
        conflict = _conflict(rule.head, "in one rule", "in another", notes)
        found[rule.head.label] = joined(found.get(rule.head.label, Shape()), shapes[place], conflict)
    return found


def _together(
    base: Mapping[str, Shape], outputs: Mapping[str, Shape], rules: Sequence[NormalRule], notes: Notes
) -> dict[str, Shape]:
    """The children of labels of which there are rows, heads or both."""
    found = dict(base)
    heads = {rule.head.label: rule.head for rule in reversed(rules)}
    for label, shape in outputs.items():
        conflict = _conflict(heads[label], "in its rows", "in a rule", notes)
        found[label] = joined(found[label], shape, conflict) if label in found else shape
    return found


def _conflict(made: ast.Construct, here: str, there: str, notes: Notes) -> Conflict:
    """Notes that what is made under one label does not go together."""

    def conflict(label: str, one: Content, other: Content) -> None:
        message = f"{made.label} has {label} as {said(one)} {here}, as {said(other)} {there}"
        notes.wrong(message, made.span, "give one of them another label")

    return conflict

"""Checks a query against a schema, before any data is read, and finds out what its result looks like.

The same checks run without a schema: then attributes are not known, and everything that depends on them passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa

from acelera.errors import Problem, QueryCheckError, Span, did_you_mean, listing
from acelera.language import ast
from acelera.language.absence import (
    ONE_EVENT,
    absences_of,
    asked_from_outside,
    bound_within,
    chosen_names,
    independent_parts,
    longest_wait,
    outside_of,
    speaks_of_the_match,
    why_unknown,
)
from acelera.language.aggregates import DISTINCT, as_written, find_aggregate, name_and_number
from acelera.language.expressions import check_predicate, type_of
from acelera.language.fields import find_field, why_unknown_field
from acelera.language.item_checker import ItemChecker
from acelera.language.looking_back import looks_back
from acelera.language.order_errors import no_time
from acelera.language.printer import name as written
from acelera.language.printer import print_operand, print_within
from acelera.language.result import (
    AttributeValues,
    Column,
    EventRows,
    Result,
)
from acelera.language.schema import Schema
from acelera.language.summary import Summarized
from acelera.language.summary_checker import check_summary
from acelera.language.types import INT, ORDERED, STRING, UNKNOWN, Kind, Type
from acelera.language.unknown_aggregates import why_no_aggregate
from acelera.language.variables import EMPTY, NONE, ONE, Bindings, Bounds, Origin, Variable, names_of

BagUnion = Literal["once", "additive"]
BoundsOperation = Callable[[Bounds, Bounds], Bounds]


@dataclass(frozen=True)
class Checked:
    """The clauses of a query that makes sense, with what was found out about it.

    Its pattern is told by its variables alone: whatever has variables can stand there. A query that summarizes has a
    summary, and no columns of its own; one that gives `rows` of events has the columns of `*` for what they show.
    A match may still be ruled out so long after its end as it `waits`, in nanoseconds; what it has `afterwards` is
    compared with events that come later.
    """

    clauses: ast.Clauses
    schema: Schema | None
    variables: Mapping[str, Variable]
    result: Result
    summary: Summarized | None = None
    rows: EventRows | None = None
    waits: int | None = None
    afterwards: tuple[Column, ...] = ()

    @property
    def schema_of_result(self) -> pa.Schema:
        """The schema of the table that the query gives; asks for one that was checked against a schema."""
        if self.rows is not None:
            return self.rows.schema
        return self.result.schema if self.summary is None else self.summary.schema


def check(query: ast.Query, schema: Schema | None, bag_union: BagUnion = "once", text: str = "") -> Checked:
    """Check a query; raises a QueryCheckError that lists every mistake."""
    checker = _Checker(schema, bag_union, query.formula)
    bindings = ast.fold(query.formula, checker.formula, independent_parts)
    checker.absences(query.formula)
    return checker.checked(query.clauses, bindings, query.formula, text)


def check_clauses(clauses: ast.Clauses, schema: Schema | None, variables: Mapping[str, Variable]) -> Checked:
    """Check what stands around a pattern with these variables."""
    return _Checker(schema).checked(clauses, Bindings(variables, NONE))


def with_other_clauses(checked: Checked, clauses: ast.Clauses) -> Checked:
    """The same pattern with other clauses around it."""
    assert checked.schema is not None
    made = check_clauses(clauses, checked.schema, checked.variables)
    return replace(made, waits=checked.waits, afterwards=checked.afterwards)


class _Checker:
    def __init__(self, schema: Schema | None, bag_union: BagUnion = "once", formula: ast.Formula | None = None) -> None:
        self.schema = schema
        self.bag_union = bag_union
        self.whole = formula
        self.around = Bindings({}, NONE)  # what stands around a formula, and what its conditions may name as well
        self.problems: list[Problem] = []

    def checked(
        self, clauses: ast.Clauses, bindings: Bindings, formula: ast.Formula | None = None, text: str = ""
    ) -> Checked:
        """What was found out, if nothing is wrong."""
        self.clauses(clauses)
        waits = None if formula is None else longest_wait(formula)
        afterwards = () if formula is None else self.afterwards(formula, bindings)
        summary: Summarized | None = None
        columns: tuple[Column, ...] = ()
        if clauses.summary is None:
            columns = ItemChecker(self).columns(clauses, bindings)
        else:
            self.whole_matches_of_summary(clauses, formula)
            summary = check_summary(self, clauses, clauses.summary, bindings)
        if self.problems:
            raise QueryCheckError(self.problems, text)
        variables = dict(bindings.variables)
        return Checked(clauses, self.schema, variables, Result(columns), summary, waits=waits, afterwards=afterwards)

    def wrong(self, message: str, span: Span | None, hint: str | None = None) -> None:
        problem = Problem(message, span, hint)
        if problem not in self.problems:
            self.problems.append(problem)

    # --- formulas -------------------------------------------------------------------------------------------------

    def formula(self, node: ast.Formula, made: Sequence[Bindings]) -> Bindings:
        """What a formula binds, given what its parts bind."""
        match node:
            case ast.EventType(name):
                self.event_type(name, node.span)
                return Bindings({name: self.stream_variable(name, ONE)}, ONE)
            case ast.AnyEvent():
                return Bindings({"ANY": self.stream_variable(None, ONE)}, ONE)
            case ast.As(_, variable):
                return self.collect(made[0], variable, node.span)
            case ast.Filter(_, condition):
                around = self.around.variables
                self.condition(condition, replace(made[0], variables={**around, **made[0].variables}))
                return made[0]
            case ast.Then() | ast.Contiguous():
                return self.combine(made, Bounds.__add__, node.span)
            case ast.All():
                merge = Bounds.merged if self.bag_union == "once" else Bounds.__add__
                return self.combine(made, merge, node.span, support=Bounds.merged)
            case ast.Or():
                return self.combine(made, Bounds.either, node.span, empty=made[0].empty or made[1].empty)
            case ast.And():  # its events are those of the left side
                return self.combine(made, Bounds.both, node.span, support=lambda left, _: left)
            case ast.Iteration() | ast.ContiguousIteration():
                return made[0].counted(Bounds.repeated, made[0].empty)
            case ast.Optional():
                return made[0].counted(Bounds.perhaps, True)
            case ast.Repeated(_, low, high):
                return made[0].counted(lambda bounds: bounds.times(low, high), made[0].empty or low == 0)
            case ast.Next(inner):
                self.one_event(inner)
                return made[0]
            case ast.Windowed(_, within):
                self.window(within)
                return made[0]
            case ast.Unless(_, right) | ast.UnlessFor(_, right):
                if len(made) == 1:
                    self.of_the_match(right, made[0])
                return made[0]
            case ast.Start() | ast.Strict():
                return made[0]
            case ast.Project():
                return self.project(node, made[0])
            case ast.Agg():
                return self.agg(node, made[0])
        raise AssertionError(f"unknown formula {type(node).__name__}")

    def event_type(self, name: str, span: Span | None) -> None:
        known = self.other_types(name)
        if known:
            near = did_you_mean(name, known)
            self.wrong(f"there is no event type `{name}`{near}", span, f"event types: {listing(known)}")

    def other_types(self, name: str | None) -> tuple[str, ...]:
        """The event types of the stream, if this is none of them."""
        known = None if self.schema is None or name is None else self.schema.event_types
        return () if known is None or name in known else tuple(known)

    def one_event(self, formula: ast.Formula) -> None:
        """What NEXT waits for must be told from one event alone."""
        for node in ast.walk(formula):
            if not isinstance(node, ONE_EVENT):
                self.wrong(
                    "NEXT takes a formula of one event",
                    node.span,
                    "event types, ANY, OR, AS and FILTER can stand in it: NEXT(A OR B FILTER A.price > 100)",
                )
            elif isinstance(node, ast.Filter):
                for condition in ast.walk(node.condition):
                    running = isinstance(condition, ast.Each) and looks_back(condition.predicate)
                    if running or not isinstance(condition, ast.Each | ast.Both | ast.Either):
                        self.wrong(
                            "in NEXT a condition can speak of one event alone",
                            condition.span or node.span,
                            "such as NEXT(A FILTER A.price > 100); compare it with others outside: … FILTER x.a < y.b",
                        )

    def stream_variable(self, event_type: str | None, bounds: Bounds) -> Variable:
        source = Origin(event_type or "any event")
        if self.schema is None or self.other_types(event_type):
            return Variable(bounds, {}, (source,), complete=False, from_stream=True)
        return Variable(bounds, self.schema.attributes(event_type), (source,), from_stream=True)

    def collect(self, inner: Bindings, name: str, span: Span | None) -> Bindings:
        """AS: the variable holds the events of all variables."""
        bounds = inner.support
        if self.bag_union == "additive":
            bounds = NONE
            for each in inner.variables.values():
                bounds = bounds + each.bounds
        together = EMPTY
        for each in inner.variables.values():
            if each.bounds.high:
                self.refuse_clash(name, together, each, span)
                together = together.joined(each, bounds)
        return Bindings({**inner.variables, name: together}, inner.support, inner.empty)

    def combine(
        self,
        made: Sequence[Bindings],
        bounds: BoundsOperation,
        span: Span | None,
        support: BoundsOperation | None = None,
        empty: bool | None = None,
    ) -> Bindings:
        """What two formulas bind together; unless told otherwise it may be left out if both may."""
        left, right = made
        variables = {}
        for name in names_of(left, right):
            one, two = left.get(name), right.get(name)
            self.refuse_clash(name, one, two, span)
            variables[name] = one.joined(two, bounds(one.bounds, two.bounds))
        may_be_empty = left.empty and right.empty if empty is None else empty
        return Bindings(variables, (support or bounds)(left.support, right.support), may_be_empty)

    def refuse_clash(self, name: str, left: Variable, right: Variable, span: Span | None) -> None:
        clash = left.clash(right)
        if clash is not None:
            attribute, here, there = clash
            self.wrong(
                f"`{name}` would hold events whose `{attribute}` is {here} and others whose `{attribute}` is {there}",
                span,
                "rename one of the attributes",
            )

    def project(self, node: ast.Project, inner: Bindings) -> Bindings:
        variables = {name: variable if node.everything else EMPTY for name, variable in inner.variables.items()}
        seen: set[str] = set()
        stripped = NONE
        for item in node.kept:
            if item.variable in seen:
                self.wrong(f"`{item.variable}` stands twice in PROJECT", item.span)
            seen.add(item.variable)
            held = self.variable(item.variable, inner, item.span)
            if item.attributes is not None:
                held = self.strip(item, held)
                stripped = stripped + Bounds(0, held.bounds.high)
            variables[item.variable] = held
        held_bounds = [variable.bounds for variable in variables.values()]
        low = max((bounds.low for bounds in held_bounds), default=0)
        high = min(inner.support.high + stripped.high, sum(bounds.high for bounds in held_bounds))
        return Bindings(variables, Bounds(low, high), inner.empty)

    def strip(self, item: ast.Kept, held: Variable) -> Variable:
        assert item.attributes is not None
        kept = {name: self.attribute(held, item.variable, name, item.span) for name in item.attributes}
        if self.schema is not None:
            for name in set(kept) & set(self.schema.fields):
                whole = written(self.schema.fields[name].path[0])
                self.wrong("PROJECT keeps whole attributes", item.span, f"write {written(item.variable)}({whole})")
            kept |= {name: held.attributes[name] for name in self.schema.whole(kept) if name in held.attributes}
        pseudo = {"type", "position", "time"}
        attributes = {name: kind for name, kind in kept.items() if name in held.attributes or name not in pseudo}
        typed = held.from_stream and bool({"type", self.schema.type_column if self.schema else "type"} & set(kept))
        sources = tuple(replace(each, label=f"{each.label} after PROJECT") for each in held.sources)
        return Variable(held.bounds, attributes, sources, True, typed)

    def agg(self, node: ast.Agg, inner: Bindings) -> Bindings:
        if inner.empty:
            self.wrong(
                "AGG makes an event at the end of its match, but what stands to its left may match nothing at all",
                node.span,
                "make AGG part of what is optional: (A+ AGG m[n <- count(A)])? ; B",
            )
        created: dict[str, Type] = {}
        for item in node.created:
            if item.attribute in created:
                self.wrong(f"`{item.attribute}` is assigned twice", item.span)
            if item.attribute in ("type", "position", "time"):
                self.wrong(
                    f"an attribute cannot be called `{item.attribute}`, which every event has",
                    item.span,
                    "choose another name",
                )
            if self.schema is not None and item.attribute in self.schema.fields:
                self.wrong(f"`{item.attribute}` is a field of what events have", item.span, "choose another name")
            if self.schema is not None and self.schema.time is not None and item.attribute == self.schema.order_by[0]:
                self.wrong(
                    f"`{item.attribute}` is the time of events, so AGG cannot create it",
                    item.span,
                    "choose another name",
                )
            _, created[item.attribute] = self.aggregation(item.value, inner)
        fresh = Variable(ONE, created, (Origin(f"AGG {node.variable}", made=True),))
        before = inner.get(node.variable)
        self.refuse_clash(node.variable, before, fresh, node.span)
        together = before.joined(fresh, before.bounds + ONE)
        return Bindings({**inner.variables, node.variable: together}, inner.support + ONE)

    # --- absence --------------------------------------------------------------------------------------------------

    def of_the_match(self, formula: ast.Formula, around: Bindings) -> None:
        """What UNLESS forbids, where its conditions name variables of the match."""
        self.around = Bindings({name: each for name, each in around.variables.items() if each.bounds.high}, NONE)
        ast.fold(formula, self.formula)
        self.around = Bindings({}, NONE)
        for node in ast.walk(formula):
            conditions = ast.walk(node.condition) if isinstance(node, ast.Filter) else ()
            for condition in conditions:
                if isinstance(condition, ast.Each) and looks_back(condition.predicate):
                    self.wrong(
                        "what UNLESS forbids may speak of the match, but not of the events so far",
                        condition.span or node.span,
                        "such as (order AS o ; ship) UNLESS (cancel AS c FILTER c.id = o.id)",
                    )

    def absences(self, formula: ast.Formula) -> None:
        """UNLESS … FOR stands at the outside, and what it asks of the match is still there in the end."""
        allowed = absences_of(formula)
        for node in ast.walk(formula):
            if isinstance(node, ast.UnlessFor):
                self.time(node.span, "UNLESS … FOR")
                if not any(node is each for each in allowed):
                    self.wrong(
                        "UNLESS … FOR must stand around the whole formula: only when the time has passed it is known "
                        "whether there is a match",
                        node.span,
                        "FILTER, AGG, PROJECT and AS may follow it; within a formula, UNLESS is without FOR",
                    )
        around = list(outside_of(formula))
        for index, node in enumerate(around):
            if speaks_of_the_match(node):
                self.still_there(node, around[:index])

    def still_there(self, absence: ast.Formula, around: Sequence[ast.Formula]) -> None:
        """What events that come later are compared with is in the match as it is in the end."""
        assert isinstance(absence, ast.UnlessFor)
        for variable, attribute in asked_from_outside(absence.right):
            for node in around:
                word, changes = "", False
                match node:
                    case ast.As(_, name):
                        word, changes = "AS", name == variable
                    case ast.Agg(_, name):
                        word, changes = "AGG", name == variable
                    case ast.Project(_, everything, kept):
                        found = next((each for each in kept if each.variable == variable), None)
                        stripped = found is not None and found.attributes is not None
                        left = (found.attributes if found is not None else None) or ()
                        lost = stripped and not any(f"{attribute}.".startswith(f"{each}.") for each in left)
                        word, changes = "PROJECT", (found is None and not everything) or lost
                if changes:
                    self.wrong(
                        f"UNLESS … FOR compares what comes later with {variable}.{attribute}, and {word} changes that",
                        node.span,
                        "use another name" if word != "PROJECT" else f"keep {variable}, and leave it out in SELECT",
                    )

    def afterwards(self, formula: ast.Formula, bindings: Bindings) -> tuple[Column, ...]:
        """The attributes of the match that events which come later are compared with."""
        if self.schema is None:
            return ()
        asked = [key for node in absences_of(formula) for key in asked_from_outside(node.right)]
        found = []
        for variable, attribute in dict.fromkeys(asked):
            kind = self.attribute(bindings.get(variable), variable, attribute, None)
            found.append(
                Column(f"{variable}.{attribute}", AttributeValues(variable, attribute), False, pa.list_(kind.arrow))
            )
        return tuple(found)

    # --- names and types ------------------------------------------------------------------------------------------

    def variable(
        self,
        name: str,
        bindings: Bindings,
        span: Span | None,
        to_the_left: bool = True,
        with_attribute: bool = False,
    ) -> Variable:
        """A variable that must be able to hold something."""
        found = bindings.get(name)
        if name not in bindings.variables:
            near = did_you_mean(name, bindings.bound())
            hint = f"variables there: {', '.join(bindings.bound()) or 'none'}"
            if not to_the_left and not with_attribute:
                own = "x" if name != "x" else "y"
                hint += f"; an attribute is written with its variable, as in {own}.{written(name)}"
            if self.whole is not None and name in bound_within(self.whole):
                hint = f"`{name}` is bound elsewhere; FILTER, AGG and PROJECT see what is left of them in their bracket"
                hint = why_unknown(self.whole, name) or hint
            self.wrong(f"the formula{' to the left' if to_the_left else ''} never binds `{name}`{near}", span, hint)
            return Variable(Bounds(0, 1), {}, (), complete=False, from_stream=True)
        if not found.bounds.high:
            why = "a PROJECT that does not keep it, or an AND whose sides cannot agree"
            self.wrong(f"`{name}` is always empty here, because of what stands to the left: {why}", span)
            return Variable(Bounds(0, 1), {}, (), complete=False, from_stream=True)
        return found

    def attribute(self, held: Variable, variable: str, name: str, span: Span | None) -> Type:
        """The type of an attribute of a variable's events."""
        if isinstance(name, ast.Computed):
            return self.computed(held, variable, name)
        if name in held.attributes:
            return held.attributes[name]
        if name == "position":
            return INT if self.schema is not None else UNKNOWN
        if name == "type" and held.from_stream:
            return STRING
        if name == "time":
            return self.time(span, f"`{variable}.time`")
        if not held.complete or (self.schema is None and find_field(name, held.attributes)):
            return UNKNOWN
        fault = why_unknown_field(name, held.attributes)
        if fault is not None:
            self.wrong(fault[0], span, fault[1])
            return UNKNOWN
        near = did_you_mean(name, held.attributes)
        known = listing(held.attributes) or "none"
        self.wrong(f"no attribute `{name}` in {held.where}{near}", span, None if near else f"attributes: {known}")
        return UNKNOWN

    def computed(self, held: Variable, variable: str, computed: ast.Computed) -> Type:
        """The type of what is computed from attributes of a variable's events."""

        def lookup(attribute: ast.Attribute) -> Type:
            return self.attribute(held, variable, attribute.name, attribute.span)

        return type_of(computed.expression, lookup, self.problems.append)

    def time(self, span: Span | None, what: str) -> Type:
        if self.schema is None:
            return UNKNOWN
        if self.schema.time is None:
            self.wrong(f"{what} needs a stream with time", span, no_time(self.schema))
            return UNKNOWN
        return self.schema.time

    def aggregation(
        self, node: ast.Aggregation, bindings: Bindings, to_the_left: bool = True
    ) -> tuple[Type | None, Type]:
        """The type of what is aggregated, None if events are counted, and the type of the aggregate."""
        held = self.variable(node.variable, bindings, node.span, to_the_left, node.attribute is not None)
        function = find_aggregate(node.function)
        if function is None:
            self.no_aggregate(node.function, node.span)
            return UNKNOWN, UNKNOWN
        if node.attribute is None:
            if node.function == DISTINCT and node.variable in bindings.variables:
                self.wrong(
                    "values are told apart, and events are different anyway",
                    node.span,
                    f"write count(DISTINCT {written(node.variable)}.attribute), or count({written(node.variable)})",
                )
            elif node.function != "count" and node.variable in bindings.variables:
                self.wrong(
                    f"`{name_and_number(node.function)[0]}` needs an attribute",
                    node.span,
                    f"write {as_written(node.function, f'{node.variable}.attribute')}",
                )
            return None, INT
        given = self.attribute(held, node.variable, node.attribute, node.span)
        result = function.result(given)
        if result is None:
            durations = node.function == "avg" and given.kind is Kind.DURATION
            shown = print_operand(node.variable, node.attribute)
            self.wrong(
                f"`{name_and_number(node.function)[0]}` takes {function.takes}, but {shown} is of type {given}",
                node.span,
                "sum and count them, and divide the one by the other in the resulting table" if durations else None,
            )
            return UNKNOWN, UNKNOWN
        return given, result

    def no_aggregate(self, function: str, span: Span | None) -> None:
        """Report an aggregate function that is not there."""
        message, hint = why_no_aggregate(function)
        self.wrong(message, span, hint)

    # --- conditions -----------------------------------------------------------------------------------------------

    def condition(self, condition: ast.Condition, bindings: Bindings) -> None:
        for node in ast.walk(condition):
            match node:
                case ast.Each(variable, predicate):
                    held = self.variable(variable, bindings, node.span)

                    def lookup(attribute: ast.Attribute, held: Variable = held, variable: str = variable) -> Type:
                        itself = attribute.name == variable and held.complete and variable not in held.attributes
                        if itself and looks_back(predicate):
                            hint = f"count() counts the events of {variable} so far"
                            self.wrong(f"no attribute `{variable}` in {held.where}", attribute.span, hint)
                            return UNKNOWN
                        if self.names_variable(attribute, held, variable, bindings):
                            return UNKNOWN
                        return self.attribute(held, variable, attribute.name, attribute.span)

                    check_predicate(predicate, lookup, self.problems.append)
                case ast.Across(predicate):

                    def lookup_any(attribute: ast.Attribute) -> Type:
                        assert attribute.variable is not None
                        held = self.variable(attribute.variable, bindings, attribute.span)
                        return self.attribute(held, attribute.variable, attribute.name, attribute.span)

                    check_predicate(predicate, lookup_any, self.problems.append)
                case ast.Same(variable, attributes):
                    held = self.variable(variable, bindings, node.span)
                    for name in attributes:
                        found = self.attribute(held, variable, name, node.span)
                        if found.kind is Kind.OPAQUE:
                            self.wrong(f"values of type {found} cannot be compared", node.span)
                case ast.Increasing(variable, name) | ast.Decreasing(variable, name):
                    held = self.variable(variable, bindings, node.span)
                    found = self.attribute(held, variable, name, node.span)
                    if found.kind not in ORDERED and not found.vague:
                        self.wrong(f"values of type {found} have no order", node.span)

    def names_variable(self, attribute: ast.Attribute, held: Variable, variable: str, bindings: Bindings) -> bool:
        """Report what stands inside x[…] with a variable, and is no field of an attribute of that name.

        That of an event type may be called like an attribute, so that it is told from a field by the schema alone.
        """
        first, _, rest = attribute.name.partition(".")
        chosen = self.whole is not None and first in chosen_names(self.whole)
        if not rest or attribute.name in held.attributes or first not in bindings.variables:
            return False
        span = attribute.span
        if span is not None and span.end - span.start != len(attribute.name):  # it is in backticks, or behind its x
            return False
        if not chosen and (not held.complete or first in held.attributes):
            return False
        if first == variable:
            self.wrong(f"inside {variable}[…] an attribute stands alone", attribute.span, f"write {rest}")
        else:
            self.wrong(
                f"{variable}[…] can speak only of one event of {variable}",
                attribute.span,
                f"to compare variables, write the condition without brackets, as in {variable}.a < {first}.b",
            )
        return True

    # --- clauses and the result -----------------------------------------------------------------------------------

    def clauses(self, clauses: ast.Clauses) -> None:
        seen: set[str] = set()
        for key in clauses.partition_by:
            if key.name in seen:
                self.wrong(f"`{key.name}` stands twice in PARTITION BY", key.span)
            seen.add(key.name)
            if self.schema is not None and key.name not in self.schema.columns:
                fault = why_unknown_field(key.name, self.schema.columns)
                near = did_you_mean(key.name, self.schema.columns)
                first, _, rest = key.name.partition(".")
                stands = self.whole is not None and first in bound_within(self.whole) and rest in self.schema.columns
                hint = f"attributes of PARTITION BY stand alone: PARTITION BY {rest}" if stands else None
                message, hint = fault or (f"there is no attribute `{key.name}`{near}", hint)
                self.wrong(message, key.span, hint)
            elif self.schema is not None and self.schema.columns[key.name].kind is Kind.OPAQUE:
                self.wrong(f"values of type {self.schema.columns[key.name]} cannot be a key", key.span)
        if clauses.within is not None:
            self.window(clauses.within)

    def whole_matches_of_summary(self, clauses: ast.Clauses, formula: ast.Formula | None) -> None:
        """A summary adds matches up when they end, without looking at any one of them."""
        for node in [] if formula is None else absences_of(formula)[:1]:
            self.wrong(
                "SUMMARIZE adds matches up when they end, and UNLESS … FOR tells of each of them only later",
                node.span,
                "SELECT what is to be summarized, and summarize the resulting table",
            )
        if clauses.keep is not None:
            self.wrong(
                "KEEP looks at matches one by one, and SUMMARIZE adds them up without listing any",
                clauses.keep.span,
                "leave out KEEP; or SELECT what is to be summarized, with KEEP, and summarize the resulting table",
            )

    def window(self, within: ast.Within) -> None:
        """A window that is measured in time needs one."""
        if within.unit != "events":
            self.time(within.span, print_within(within))

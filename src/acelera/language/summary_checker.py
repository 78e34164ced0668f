"""Checks SUMMARIZE, BY, OVER and HAVING, and finds out what must be computed for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from acelera.errors import Problem, Span, did_you_mean, listing
from acelera.language import ast
from acelera.language.aggregates import as_written, find_aggregate, name_and_number
from acelera.language.expressions import FUNCTIONS, check_predicate, type_of
from acelera.language.fields import as_column_name
from acelera.language.item_checker import ItemChecker, key_of
from acelera.language.printer import amount, print_expression, print_over
from acelera.language.printer import name as written
from acelera.language.result import AttributeValues, Column, name_of_aggregate
from acelera.language.scope import Scope
from acelera.language.summary import ItemColumn, Summarized, TotalValue, Windows
from acelera.language.totals import COUNT_OF_MATCHES
from acelera.language.tree import assert_never, rebuilt
from acelera.language.types import FLOAT, INT, UNKNOWN, Kind, Type, from_arrow
from acelera.language.variables import ONE, Bindings, Bounds

WINDOW = ("window_start", "window_end")
"""The columns of OVER."""

_LONGEST = 2**63 - 1
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_OF_OVER = "OVER 10 MINUTES gives the columns window_start and window_end"
_TOTALS = "totals are count(*), count(x) and aggregates such as sum(x.price)"
_KEY_ALREADY = "it is a key of BY, and so a column already: leave it out here"
_UNITS = ("second", "minute", "hour", "day")
_LOGARITHMS = ("log", "log2", "ln", "log10")


def check_summary(scope: Scope, clauses: ast.Clauses, summary: ast.Summary, bindings: Bindings) -> Summarized:
    """What a summary shows; what is wrong in it is reported."""
    if clauses.select not in ((), (ast.Star(),)):
        scope.wrong("a query has either SELECT or SUMMARIZE", clauses.select[0].span, "leave one of them out")
    by = tuple(key_of(key, clauses.partition_by, bindings) for key in summary.by)
    summary = replace(summary, by=by)
    checker = _SummaryChecker(scope, clauses, summary, bindings)
    items = tuple(checker.item(item) for item in summary.items)
    keys = tuple(checker.key(key) for key in summary.by)
    windows, window_type = (None, None) if summary.over is None else checker.windows(summary.over)
    names = [*(key.name if checker.is_known(node) else "" for key, node in zip(keys, summary.by, strict=True))]
    names += [item.name for item in items]
    checker.names(names, [node.span for node in (*summary.by, *summary.items)])
    if summary.having is not None:
        checker.having(summary.having, keys, items, window_type)
    return Summarized(tuple(checker.totals.values()), keys, items, windows, window_type, summary.having)


class _SummaryChecker:
    def __init__(self, scope: Scope, clauses: ast.Clauses, summary: ast.Summary, bindings: Bindings) -> None:
        self.scope, self.summary, self.bindings = scope, summary, bindings
        self.items = ItemChecker(scope)
        self.partition_by = [key.name for key in clauses.partition_by]
        self.totals: dict[ast.Total, TotalValue] = {}

    # --- items ----------------------------------------------------------------------------------------------------

    def item(self, item: ast.SummaryItem) -> ItemColumn:
        nodes, before = list(ast.walk(item.expression)), len(self.scope.problems)
        name = item.alias or _name_of(item.expression) or ""
        self.refuse_assignment(item)
        self.refuse_calls(nodes)
        if len(self.scope.problems) == before:
            self.refuse_attributes(nodes)
        if len(self.scope.problems) > before:
            return ItemColumn(name, item.expression, UNKNOWN)
        if not any(isinstance(node, ast.Total) for node in nodes):
            self.scope.wrong("this item speaks of no match: it is the same for every group", item.span, _TOTALS)
        elif not name:
            self.scope.wrong("this item needs a name", item.span, f"write {_shown(item.expression)} AS name")

        def combine(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
            if isinstance(node, ast.Total):
                return ast.Attribute(None, self.total(node).name, span=node.span)
            return rebuilt(node, made)

        expression = ast.fold(item.expression, combine)
        types = {total.name: total.type for total in self.totals.values()}
        found = type_of(expression, lambda attribute: types[attribute.name], self.scope.problems.append)
        return ItemColumn(name, expression, found)

    def refuse_assignment(self, item: ast.SummaryItem) -> None:
        """`n = count(*)`, as some name what they compute."""
        match item.expression:
            case ast.Binary("=", ast.Attribute(None, name), made) if item.alias is None and not self.is_column(name):
                hint = f"write {_shown(made)} AS {written(name)}"
                self.scope.wrong("an item is named with AS", item.span, hint)

    def is_column(self, name: str) -> bool:
        """Whether a key or an item has this name, so that it can be compared with something."""
        return name in self.keys_of_partitions or any(name == item.alias for item in self.summary.items)

    def refuse_calls(self, nodes: Sequence[ast.Expression]) -> None:
        """Aggregate functions that are over something else than the events of a variable."""
        for node in nodes:
            if not isinstance(node, ast.Call):
                continue
            if find_aggregate(node.function) is not None:
                self.scope.wrong(_what_is_wrong(node), node.span, _how_to_aggregate(node))
            elif node.function in _LOGARITHMS and node.function not in FUNCTIONS:
                hint = "log2_count(*) is the logarithm of the number of matches, to the base 2"
                self.scope.wrong(f"there is no function `{node.function}`", node.span, hint)
            elif node.function not in FUNCTIONS and any(map(_is_of_events, node.arguments)):
                self.scope.no_aggregate(node.function, node.span)

    def refuse_attributes(self, nodes: Sequence[ast.Expression]) -> None:
        """All that is said of events is said by totals."""
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.variable is not None:
                shown = print_expression(node)
                hint = f"write a total over all matches, such as sum({shown}), or make it a key: BY {shown}"
                if (node.variable, node.name) in self.keys_of_events:
                    hint = _KEY_ALREADY
                self.scope.wrong(f"{shown} is an attribute of events, and no total", node.span, hint)
            elif isinstance(node, ast.Attribute):
                shown, hint = written(node.name), _TOTALS
                named = [each for each in self.summary.items if each.alias == node.name]
                if node.name in self.keys_of_partitions or node.name.lower() in self.bounds:
                    hint = _KEY_ALREADY
                elif named:
                    total = _shown(named[0].expression)
                    hint = f"an item speaks of totals, not of other items: write {total} in the place of {shown}"
                elif node.name in self.partition_by or node.name.lower() in ast.BOUNDS:
                    hint = f"make it a key, which is a column as well: BY {shown}"
                elif node.name in self.bindings.variables:
                    hint = f"count({shown}) counts the events of {shown}"
                elif node.name in WINDOW:
                    hint = f"{_OF_OVER}; they need not be items"
                self.scope.wrong(f"`{node.name}` is no total", node.span, hint)

    def total(self, node: ast.Total) -> TotalValue:
        """A total, under a name that expressions use; equal ones are computed once."""
        if node not in self.totals:
            given, found = self.types(node)
            self.totals[node] = TotalValue(f"t{len(self.totals)}", node, given, found)
        return self.totals[node]

    def types(self, node: ast.Total) -> tuple[Type | None, Type]:
        """The type of the attribute, and of the total."""
        function = node.function
        if node.variable is None:
            if function not in COUNT_OF_MATCHES:
                hint = "count(*) and log2_count(*) count matches; other functions take an attribute, as in sum(x.price)"
                self.scope.wrong(f"`{function}` takes no `*`", node.span, hint)
            return None, FLOAT if function == "log2_count" else INT
        aggregate = find_aggregate(function)
        if node.attribute is None and node.variable in ast.BOUNDS and node.variable not in self.bindings.variables:
            of_events = "time" if node.variable.endswith("_time") else "position"
            hint = f"BY {node.variable} gives a row for each; of events it is {function}(x.{of_events})"
            self.scope.wrong(f"`{node.variable}` is of a match, and no attribute of events", node.span, hint)
            return UNKNOWN, UNKNOWN
        if aggregate is None and function == "log2_count":
            self.scope.wrong("`log2_count` counts matches", node.span, "write log2_count(*)")
            return None, FLOAT
        single = ast.Aggregation(function, node.variable, node.attribute, node.ignore_nulls, span=node.span)
        types = self.scope.aggregation(single, self.bindings, to_the_left=False)
        missing = [name for name in dict.fromkeys(self.partition_by) if name not in self.keys_of_partitions]
        called, _ = name_and_number(function)
        if aggregate is not None and aggregate.place is not None and missing:
            self.scope.wrong(
                f"`{called}` goes by position, and positions of different partitions cannot be compared",
                node.span,
                f"give each partition a row of its own: BY {', '.join(map(written, missing))}",
            )
        return types

    @property
    def keys_of_partitions(self) -> set[str]:
        return {key.variable for key in self.summary.by if isinstance(key, ast.SelectVariable)}

    @property
    def keys_of_events(self) -> set[tuple[str, str]]:
        return {(key.variable, key.attribute) for key in self.summary.by if isinstance(key, ast.SelectAttribute)}

    @property
    def bounds(self) -> set[str]:
        return {key.bound for key in self.summary.by if isinstance(key, ast.SelectBound)}

    def is_known(self, key: ast.GroupKey) -> bool:
        """Whether there is such a key."""
        return not isinstance(key, ast.SelectVariable) or key.variable in self.partition_by

    # --- keys and windows -----------------------------------------------------------------------------------------

    def key(self, key: ast.GroupKey) -> Column:
        match key:
            case ast.SelectBound(bound, alias):
                if alias is None and bound in self.partition_by:
                    self.scope.wrong(
                        f"`{bound}` may be the attribute of PARTITION BY, or the {bound} of a match",
                        key.span,
                        f"write BY `{bound}` for the attribute, BY {bound} AS match_{bound} for the other",
                    )
                return self.items.bound(key)
            case ast.SelectVariable(name, alias):
                if name not in self.partition_by:
                    self.refuse_key(name, key.span)
                return self.items.key(name, alias)
            case ast.SelectAttribute(variable, attribute, alias):
                scope = self.scope
                held = scope.variable(variable, self.bindings, key.span, to_the_left=False, with_attribute=True)
                found = scope.attribute(held, variable, attribute, key.span)
                bounds = self.bindings.get(variable).bounds
                if bounds.high and bounds != ONE:
                    self.scope.wrong(
                        f"`{variable}` holds {_events(bounds)}, and a key is an attribute of exactly one",
                        key.span,
                        f"aggregate it in each match: … AGG m[k <- max({variable}.{written(attribute)})] … BY m.k",
                    )
                if found.kind is Kind.OPAQUE:
                    self.scope.wrong(f"values of type {found} cannot be a key", key.span)
                kind = None if self.scope.schema is None else found.arrow
                name = alias or as_column_name(variable, attribute)
                return Column(name, AttributeValues(variable, attribute), True, kind)
            case _:
                return assert_never(key)

    def refuse_key(self, name: str, span: Span | None) -> None:
        """A name alone that is no attribute of PARTITION BY."""
        if name in self.bindings.variables:
            hint = f"a key is an attribute of its event: {written(name)}.price"
            self.scope.wrong(f"`{name}` is a variable, and no key", span, hint)
            return
        if name in WINDOW:
            self.scope.wrong(
                f"`{name}` is a column of OVER, and no key", span, f"{_OF_OVER}; they need not stand in BY"
            )
            return
        if name in (item.alias or _name_of(item.expression) for item in self.summary.items):
            hint = "keys are known of each match; rows are chosen by their items with HAVING"
            self.scope.wrong(f"`{name}` is an item, and no key", span, hint)
            return
        near = did_you_mean(name, [*self.partition_by, *ast.BOUNDS])
        hint = f"write x.{written(name)} with a variable that holds exactly one event, or PARTITION BY {written(name)}"
        if name.lower() in _UNITS:
            hint = f"windows of time are written OVER 1 {name.upper()}; for a column of this name {hint}"
        self.scope.wrong(f"`{name}` is no attribute of PARTITION BY{near}", span, hint)

    def windows(self, over: ast.Over) -> tuple[Windows | None, pa.DataType | None]:
        """The windows, and the type of where they begin and end."""
        problems = len(self.scope.problems)
        number = over.amount if over.every is None else over.every
        unit = over.unit if over.every_unit is None else over.every_unit
        timed = over.unit != "events"
        if timed != (unit != "events"):
            self.scope.wrong(
                f"OVER {amount(over.amount, over.unit)} and EVERY {amount(number, unit)} do not fit together",
                over.span,
                "give both as times, or both in EVENTS",
            )
        if over.amount < 1:
            self.scope.wrong("windows of OVER 0 hold no match", over.span, "OVER takes a number from 1 on")
        elif number < 1:
            self.scope.wrong("windows of EVERY 0 never move on", over.span, "EVERY takes a number from 1 on")
        length, every = over.amount * ast.UNITS.get(over.unit, 1), number * ast.UNITS.get(unit, 1)
        if max(length, every) > _LONGEST:
            self.scope.wrong("this window is too long", over.span, "a window is at most 292 years long")
        if not timed:
            return Windows(length, every, False), pa.int64()
        found = self.scope.time(over.span, print_over(over))
        if self.scope.schema is None or len(self.scope.problems) > problems:
            return Windows(length, every, True), None
        tick = _NANOSECONDS[found.arrow.unit]
        if length % tick or every % tick:
            self.scope.wrong(
                f"times of type {found} cannot tell the bounds of these windows",
                over.span,
                "give OVER and EVERY as whole seconds",
            )
        return Windows(length, every, True), found.arrow

    def names(self, names: Sequence[str], spans: Sequence[Span | None]) -> None:
        """No two columns have the same name."""
        seen: set[str] = set()
        for name, span in zip(names, spans, strict=True):
            if name in WINDOW and self.summary.over is not None:
                self.scope.wrong(f"`{name}` is a column of OVER", span, "name this one otherwise: … AS name")
            elif name in seen:
                hint = "name one of them otherwise: … AS name"
                self.scope.wrong(f"two columns of the result are called `{name}`", span, hint)
            if name:
                seen.add(name)

    # --- HAVING ---------------------------------------------------------------------------------------------------

    def having(
        self,
        condition: ast.Expression,
        keys: Sequence[Column],
        items: Sequence[ItemColumn],
        window_type: pa.DataType | None,
    ) -> None:
        columns = {name: _type(window_type) for name in (WINDOW if self.summary.over is not None else ())}
        columns |= {key.name: _type(key.type) for key in keys}
        columns |= {item.name: item.type for item in items if item.name}
        problems = list(self.refused_in_having(condition, columns))
        for problem in problems:
            self.scope.wrong(problem.message, problem.span, problem.hint)
        if not problems:
            check_predicate(condition, lambda attribute: columns[attribute.name], self.scope.problems.append)

    def refused_in_having(self, condition: ast.Expression, columns: Mapping[str, Type]) -> Iterator[Problem]:
        """What HAVING cannot speak of."""
        known = f"columns: {listing(columns)}"
        for node in ast.walk(condition):
            match node:
                case ast.Total(function) | ast.Call(function, _) if (
                    find_aggregate(function) is not None or function in COUNT_OF_MATCHES
                ):
                    hint = self.how_to_name(node)
                    if isinstance(node, ast.Total) and node.variable in columns and node.attribute is None:
                        hint = f"{node.variable} is a column already: write HAVING {node.variable} > 2"
                    yield Problem("HAVING speaks of columns, and not of totals", node.span, hint)
                case ast.Total(function):
                    near = did_you_mean(function, FUNCTIONS)
                    yield Problem(f"there is no function `{function}`{near}", node.span)
                case ast.Attribute(str(), _):
                    shown = print_expression(node)
                    yield Problem(f"HAVING speaks of columns, and {shown} is an attribute of events", node.span, known)
                case ast.Attribute(None, name) if name not in columns:
                    hint = self.how_it_is_called(name) or (_OF_OVER if name in WINDOW else known)
                    yield Problem(f"there is no column `{name}`{did_you_mean(name, columns)}", node.span, hint)

    def how_it_is_called(self, name: str) -> str | None:
        """The hint for a column that AS has given another name."""
        for item in self.summary.items:
            if item.alias is not None and _name_of(item.expression) == name:
                return f"{_shown(item.expression)} is called {written(item.alias)} here"
        return None

    def how_to_name(self, node: ast.Expression) -> str:
        """The hint for a total in HAVING: its column, or how it becomes one."""
        for item in self.summary.items:
            name = item.alias or _name_of(item.expression)
            if item.expression == node and name is not None:
                return f"write {written(name)}, as its column is called"
        return f"make it an item, and use its name: SUMMARIZE {_shown(node)} AS n … HAVING n > 2"


def _name_of(expression: ast.Expression) -> str | None:
    """What a total is called without AS."""
    return name_of_aggregate(expression) if isinstance(expression, ast.Total) else None


def _what_is_wrong(node: ast.Call) -> str:
    """What is said of an aggregate function that is over something else than the events of a variable."""
    name, _ = name_and_number(node.function)
    inner = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and each.variable is not None]
    if len({each.variable for each in inner}) > 1:
        first, second = (written(each.variable or "") for each in _of_two_variables(inner))
        return f"`{name}` goes over the events of one variable, and this speaks of {first} and {second}"
    return f"`{name}` takes an attribute of a variable, or what is computed from its attributes"


def _how_to_aggregate(node: ast.Call) -> str:
    """The hint for the same."""
    total = as_written(node.function, "x.price")
    inner = [each for each in ast.walk(node) if isinstance(each, ast.Attribute)]
    nested = [each for each in ast.walk(node) if isinstance(each, ast.Total)]
    if node.function == "count":
        return "count(*) counts matches, count(x) the events of the variable x"
    if nested and nested[0].variable is not None:
        return (
            f"aggregate in each match first, then over matches: … AGG m[k <- {_shown(nested[0])}] …, and write "
            f"{as_written(node.function, 'm.k')}"
        )
    if {each.name for each in inner} == {"time"}:
        return (
            "how far events of a match are apart is told by range: … (A ; B) AS x AGG m[d <- range(x.time)] …, and "
            f"write {as_written(node.function, 'm.d')}"
        )
    if len({each.variable for each in inner}) > 1:
        first, second = (as_written(node.function, print_expression(each)) for each in _of_two_variables(inner))
        return f"compute with totals outside of it, as in {first} - {second}"
    return f"write {total}, or {as_written(node.function, 'x.price * x.volume')}"


def _of_two_variables(attributes: Sequence[ast.Attribute]) -> tuple[ast.Attribute, ast.Attribute]:
    first = attributes[0]
    return first, next(each for each in attributes if each.variable != first.variable)


def _is_of_events(expression: ast.Expression) -> bool:
    return any(isinstance(each, ast.Attribute) and each.variable is not None for each in ast.walk(expression))


def _shown(expression: ast.Expression) -> str:
    """An expression in a hint, if it is not too long for it."""
    text = print_expression(expression)
    return text if len(text) <= 40 else "…"


def _events(bounds: Bounds) -> str:
    return f"{bounds} of events" if str(bounds) == "any number" else f"{bounds} event"


def _type(arrow: pa.DataType | None) -> Type:
    return UNKNOWN if arrow is None else from_arrow(arrow)

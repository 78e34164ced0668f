"""Which columns of the stream a query needs: while it runs, and for what is shown of its matches."""

from __future__ import annotations

from collections.abc import Sequence

from acelera.automata.terms import Attr, Earlier, subterms
from acelera.engine.frames import columns_of
from acelera.engine.plan import Plan
from acelera.language.checker import Checked
from acelera.language.result import Result


def columns_kept(checked: Checked, plan: Plan) -> list[str]:
    """The columns that must be kept of every row: those that are shown, or aggregated when matches are listed."""
    schema = checked.schema
    assert schema is not None
    wanted = checked.result.attributes | {key.name for key in checked.clauses.partition_by}
    if checked.waits is not None:
        wanted |= {schema.order_by[0], *Result(checked.afterwards).attributes}
    if checked.summary is not None:
        wanted |= checked.summary.attributes
    given = (term for edge in plan.edges for step in edge.action.folds for term in step.given)
    wanted |= {term.name for term in given if isinstance(term, Attr)}
    kept = columns_of(wanted, schema)
    return [name for name in schema.columns if name in kept]


def columns_read(checked: Checked, plan: Plan, given_tests: Sequence[int] = ()) -> list[str]:
    """The columns that a session looks at; those of tests that are made elsewhere need not be there."""
    schema = checked.schema
    assert schema is not None
    terms = [test for number, test in enumerate(plan.tests) if number not in given_tests]
    terms += [term for each in (plan, *plan.guards) for term in each.terms()]
    names = {part.name for term in terms for part in subterms(term) if isinstance(part, Attr | Earlier)}
    names |= {name for absence in plan.absences for name in absence.of_event}
    columns = columns_of(names, schema) | {*columns_kept(checked, plan), *schema.order_by, *plan.split_by}
    if plan.by_value and schema.type_column is not None:
        columns.add(schema.type_column)
    needed = [name for name in schema.columns if name in columns]
    return needed or list(schema.columns)[:1]  # a batch without columns would have no rows

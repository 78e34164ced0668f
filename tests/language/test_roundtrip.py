"""Text and tree say the same: what is printed parses back to an equal tree, whatever the tree."""

import pytest
from hypothesis import given

import acelera as ac
from acelera.language import ast
from acelera.language.parser import parse_condition, parse_query
from acelera.language.printer import print_condition, print_query
from cases import load_cases
from strategies import CONDITIONS, QUERIES


@pytest.mark.property
@given(QUERIES)
def test_printed_queries_parse_back(query: ast.Query) -> None:
    text = print_query(query)
    parsed = parse_query(text)
    assert parsed == query
    assert hash(parsed) == hash(query)
    assert repr(parsed) == repr(query)
    assert print_query(parsed) == text


@pytest.mark.property
@given(CONDITIONS)
def test_printed_conditions_parse_back(condition: ast.Condition) -> None:
    assert parse_condition(print_condition(condition)) == condition


@pytest.mark.parametrize("text", sorted({case.data["query"] for case in load_cases() if "error" not in case.data}))
def test_the_corpus_prints_and_parses_back(text: str) -> None:
    query = ac.query(text)
    assert ac.query(str(query)) == query
    assert str(ac.query(str(query))) == str(query)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("match a", "MATCH a"),
        ("MATCH ((A))", "MATCH A"),
        ("SELECT * MATCH A", "MATCH A"),
        ("MATCH A AS x+", "MATCH (A AS x)+"),
        ("MATCH A+ AS x", "MATCH A+ AS x"),
        ("MATCH A:+ : B", "MATCH A:+ : B"),
        ("MATCH A ; (B ; C)", "MATCH A ; (B ; C)"),
        ("MATCH (A ; B) ; C", "MATCH A ; B ; C"),
        ("MATCH A : B ; C OR D AND E", "MATCH A : B ; C OR D AND E"),
        ("MATCH A ALL B UNLESS C", "MATCH A ALL B UNLESS C"),
        ("MATCH A ALL (B UNLESS C)", "MATCH A ALL (B UNLESS C)"),
        ("MATCH A FILTER A.v > 1", "MATCH A FILTER A[v > 1]"),
        ("MATCH A FILTER A.v != 1", "MATCH A FILTER A[v <> 1]"),
        ("MATCH A FILTER A.v<-1", "MATCH A FILTER A[v < -1]"),
        ("MATCH A FILTER A.v > 1 OR A.v < 0 AND A.v = 2", "MATCH A FILTER A[v > 1] OR A[v < 0] AND A[v = 2]"),
        ("MATCH A FILTER (A.v > 1 OR A.v < 0) AND A.v = 2", "MATCH A FILTER (A[v > 1] OR A[v < 0]) AND A[v = 2]"),
        ("MATCH A FILTER NOT (A.v > 1 OR A.u < 0)", "MATCH A FILTER A[NOT (v > 1 OR u < 0)]"),
        ("MATCH (A ; B) FILTER A.v*2 > (B.v+1)", "MATCH A ; B FILTER A.v * 2 > B.v + 1"),
        ("MATCH A FILTER A.`my v` = 'it''s'", "MATCH A FILTER A[`my v` = 'it''s']"),
        ("MATCH (A FILTER A.v = 1) ; B", "MATCH (A FILTER A[v = 1]) ; B"),
        ("MATCH ANY FILTER any.v = 1", "MATCH ANY FILTER ANY[v = 1]"),
        ("SELECT `start`, start MATCH A AS `start`", "SELECT `start`, start\nMATCH A AS start"),
        ("match Start ; End -- a comment", "MATCH Start ; End"),
        ("MATCH A WITHIN 1 minute", "MATCH A\nWITHIN 1 MINUTE"),
        ("summarize COUNT( * ) match A", "SUMMARIZE count(*)\nMATCH A"),
        (
            "summarize (sum(x.a))/count(*) as m, Max(x.a ignore nulls), log2_count(*) from s match A as x+ "
            "partition by k within 1 minute by k, x.a as b, End_Time over 60 minute every 1 minutes having (m>1)and b=2",
            "SUMMARIZE sum(x.a) / count(*) AS m, max(x.a IGNORE NULLS), log2_count(*)\nFROM s\nMATCH (A AS x)+\n"
            "PARTITION BY k\nWITHIN 1 MINUTE\nBY k, x.a AS b, end_time\nOVER 60 MINUTES EVERY 1 MINUTE\n"
            "HAVING m > 1 AND b = 2",
        ),
        ("SUMMARIZE count(ANY) MATCH ANY OVER 1 event", "SUMMARIZE count(ANY)\nMATCH ANY\nOVER 1 EVENT"),
        ("SUMMARIZE abs(sum(x.a)) AS s MATCH A AS x", "SUMMARIZE abs(sum(x.a)) AS s\nMATCH A AS x"),
        (
            "SUMMARIZE count(by) AS over MATCH summarize AS by ; over ; every ; having PARTITION BY by BY by HAVING over > 1",
            "SUMMARIZE count(by) AS over\nMATCH summarize AS by ; over ; every ; having\nPARTITION BY by\nBY by\n"
            "HAVING over > 1",
        ),
        ("MATCH A FILTER A.t > interval 5 minute", "MATCH A FILTER A[t > INTERVAL 5 MINUTES]"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert print_query(parse_query(text)) == canonical


def test_spans_do_not_take_part_in_equality() -> None:
    assert parse_query("MATCH A;B") == parse_query("MATCH   A  ;  B")
    assert parse_query("MATCH A;B").formula.span != parse_query("MATCH   A  ;  B").formula.span


def test_literals_of_different_types_are_different() -> None:
    assert parse_condition("x.v = 1") != parse_condition("x.v = 1.0")
    assert parse_condition("x.v = 1") != parse_condition("x.v = TRUE")

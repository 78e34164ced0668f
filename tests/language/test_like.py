"""LIKE: what it means, and that its work does not explode."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.language.evaluation import evaluate
from acelera.language.like import matches, parts_of
from acelera.language.parser import parse_expression

CHARACTERS = "ab%_\\é𝄞\n"


def matches_plainly(text: str, parts: list[str]) -> bool:
    """LIKE as it is defined: `%` is any text, `_` any character, all else is itself."""
    if not parts:
        return not text
    if parts[0] == "%":
        return any(matches_plainly(text[at:], parts[1:]) for at in range(len(text) + 1))
    return bool(text) and parts[0] in ("_", text[0]) and matches_plainly(text[1:], parts[1:])


def escaped(part: str) -> str:
    return f"\\{part}" if len(part) == 1 and part in "%_\\" else part


PARTS = st.lists(st.sampled_from(["%", "%", "_", "_", "a", "b", "é", "𝄞", "\n"]), max_size=7)


@pytest.mark.property
@given(PARTS, st.text("abé𝄞\n", max_size=8))
def test_wildcards_mean_what_they_say(parts: list[str], text: str) -> None:
    assert matches(text, "".join(parts)) == matches_plainly(text, parts)


@pytest.mark.property
@given(st.lists(st.sampled_from([*CHARACTERS, "any", "one"]), max_size=6), st.text(CHARACTERS, max_size=8))
def test_a_backslash_takes_the_next_character_as_it_is(drawn: list[str], text: str) -> None:
    wild = {"any": "%", "one": "_"}
    pattern = "".join(wild.get(each, escaped(each)) for each in drawn)
    plain = str.maketrans("%_", "XY")  # so that the plain reading has wildcards alone
    parts = [wild.get(each, each.translate(plain)) for each in drawn]
    assert matches(text, pattern) == matches_plainly(text.translate(plain), parts)


@pytest.mark.property
@given(st.text(CHARACTERS, max_size=8))
def test_a_pattern_has_all_its_characters(pattern: str) -> None:
    assert "".join(parts_of(pattern)) == pattern


class Counted(str):
    """A text that counts how often it is looked at."""

    looks = 0

    def find(self, *given: Any) -> int:
        self.looks += 1
        return super().find(*given)

    def startswith(self, *given: Any) -> bool:
        self.looks += 1
        return super().startswith(*given)


@pytest.mark.parametrize(
    "pattern", ["%a" * 12 + "%b", "%a" * 12 + "%b%", "%a_" * 12 + "b%", "%é%a_a_a_a_b%", "%_" * 12 + "b"]
)
def test_no_choice_is_taken_back(pattern: str) -> None:
    text = Counted("é" + "a" * 5000)
    assert not matches(text, pattern)
    assert 0 < text.looks <= len(text) * len(pattern)
    ended = Counted(text + "b")
    matches(ended, pattern)
    assert ended.looks <= len(ended) * len(pattern)


def test_a_long_text_that_is_no_number() -> None:
    """Whoever tries all ways to divide these digits in two is not done today."""
    text = "1" * 1_000_000
    assert evaluate(parse_expression("CAST(v AS float)"), lambda _: text + "x") is None
    assert evaluate(parse_expression("CAST(v AS int)"), lambda _: text + "x") is None
    assert evaluate(parse_expression("CAST(v AS float)"), lambda _: f"1.{text}") == pytest.approx(1 + 1 / 9)

"""Expressions said in plain words."""

import numpy as np
import pytest

from alphaswarm.dsl import operators, parse, random_expr
from alphaswarm.dsl.words import PHRASES, in_words


def test_every_operator_has_its_phrase():
    assert set(PHRASES) == {row.name for row in operators().values() if row.expands is None}


@pytest.mark.parametrize("name", PHRASES)
def test_a_phrase_names_every_slot_of_its_operator(name):
    row = operators()[name]
    missing = {slot.name for slot in row.slots if f"{{{slot.name}}}" not in PHRASES[name]}
    assert missing <= {"g"}
    assert missing == set() or "{g}" in PHRASES[name]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cs_rank(-ts_sum(returns, 5))", "the rank within the day of minus the 5-day sum of returns"),
        ("(close - open) / (high - low + 0.001)", "(close minus open) divided by (high minus low plus 0.001)"),
        (
            "ts_corr(cs_rank(close), cs_rank(volume), 10)",
            "the 10-day correlation of (the rank within the day of close) with the rank within the day of volume",
        ),
        ("ts_mean(close, 5) - close", "(the 5-day mean of close) minus close"),
        ("close - ts_mean(close, 5)", "close minus the 5-day mean of close"),
        ("ts_mean(close - open, 5)", "the 5-day mean of (close minus open)"),
        ("delay(close - open, 5)", "(close minus open) 5 days ago"),
        ("max(open, close, high)", "the largest of open, close and high"),
        ("ts_count(returns > 0, 20)", "the number of the last 20 days on which returns is above 0"),
        (
            "if_else(close > open and volume > adv(20), returns, -returns)",
            "returns where close is above open and volume is above the 20-day mean of dollar volume, "
            "else minus returns",
        ),
        ("(close > open or low > 5) and high > 6", "(close is above open or low is above 5) and high is above 6"),
        ("group_neutralize(returns, sector)", "returns less the mean of its sector"),
        ("cs_resid(returns, log(volume), close)", None),
        ("ts_mean(close, 20, min_obs=5)", "the 20-day mean of close (min_obs 5)"),
        ("cs_scale(returns, a=2)", "returns scaled within the day (a 2)"),
        ("-(close - open) ** 2", "minus ((close minus open) to the power 2)"),
        ("close * -0.5", "close times -0.5"),
    ],
)
def test_reads_well(text, words):
    said = in_words(parse(text))
    assert "{" not in said
    assert words is None or said == words


def test_every_expression_can_be_said_with_its_names_and_brackets():
    rng = np.random.default_rng(5)
    for _ in range(300):
        expr = random_expr(rng, ["close", "volume"], ["sector"], max_depth=6)
        said = in_words(expr)
        assert all(name in said for name in (*expr.fields, *expr.groups))
        assert said.count("(") == said.count(")")
        assert "{" not in said
        assert said.isascii()


def test_different_expressions_are_said_differently():
    rng = np.random.default_rng(6)
    said = {}
    for _ in range(400):
        expr = random_expr(rng, ["close", "volume"], ["sector"], max_depth=4)
        other = said.setdefault(in_words(expr), expr)
        assert str(other) == str(expr)

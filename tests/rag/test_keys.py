from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl import parse
from alphaswarm.dsl.fingerprint import fingerprint
from alphaswarm.rag.keys import document_terms, question_terms, skeleton, spoken, unscaled


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cs_rank(ts_mean(close, 5))", "cs_rank(ts_mean(close, 60))"),
        ("close * volume", "volume * close"),
        ("close - open", "open - close"),
        ("cs_rank(-ts_sum(returns, 5))", "3 - 2 * cs_rank(ts_sum(returns, 9))"),
        ("-(close - open) / 4", "open - close"),
    ],
)
def test_one_form(one: str, other: str) -> None:
    assert skeleton(parse(one)) == skeleton(parse(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cs_rank(delta(close, 5))", "delta(cs_rank(close), 5)"),
        ("close / open", "open / close"),
        ("ts_mean(close, 5)", "ts_sum(close, 5)"),
        ("ts_mean(close, 5)", "ts_mean(open, 5)"),
        ("max(close, -open)", "max(close, open)"),
        ("1 / close", "close"),
    ],
)
def test_other_forms(one: str, other: str) -> None:
    assert skeleton(parse(one)) != skeleton(parse(other))


@pytest.mark.parametrize(
    "text",
    [
        "2 - cs_rank(-ts_sum(returns, 5))",
        "-group_zscore(-ts_std(returns, 20), sector) * 3",
        "ts_zscore(-decay_linear(close - open, 8) / 2, 20)",
        "-ema(-delta(close, 3), 5)",
        "cs_rank01(-close) + 1",
        "-ts_rank(-close, 9)",
        "sma_cn(-close, 5, 2)",
        "-tanh(-sign(-ts_median(-close, 5)))",
    ],
)
def test_what_is_taken_away_leaves_the_order_or_turns_it_round(text: str) -> None:
    tree = parse(text)
    short = unscaled(tree)
    assert short.nodes < tree.nodes
    assert fingerprint(short).key == fingerprint(tree).key


def test_terms_are_words_names_and_spans() -> None:
    have = set(document_terms(parse("cs_rank(ts_std(returns, 21))"), "a quiet one").tolist())
    for word in ("quiet", "volatility", "month", "std"):
        assert set(question_terms(word).tolist()) & have
    assert not set(question_terms("zxqv").tolist()) & have
    assert question_terms("the of and").size == 0
    assert question_terms("").dtype == np.uint32


def test_what_a_model_is_shown() -> None:
    assert spoken(None, "words") == "words"
    assert spoken(parse("ts_mean(close, 5)"), "slow").startswith("slow the 5-day mean of close. ts mean average moving")

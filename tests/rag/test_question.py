from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl import canonical, parse
from alphaswarm.rag.embedder import HashedWords
from alphaswarm.rag.orders import Document
from alphaswarm.rag.question import Question

WORDS = HashedWords()


def of(text: str) -> Question:
    return Question.of(text, WORDS)


def test_a_formula_is_asked_for_by_its_form_only() -> None:
    question = of("cs_rank(close)")
    assert question.sides == ("structure",)
    assert question.keys == ("digest", "skeleton", "structure")
    assert question.terms.size == 0
    assert np.linalg.norm(question.vector("structure")) == pytest.approx(1.0, abs=1e-6)


def test_words_are_asked_for_as_words() -> None:
    question = of("calm stocks")
    assert question.expression is None
    assert question.keys == ("text", "words")
    assert np.linalg.norm(question.vector("text")) == pytest.approx(1.0, abs=1e-6)


def test_what_is_both_is_asked_both_ways() -> None:
    assert of("mean-reversion").keys == ("digest", "skeleton", "structure", "text", "words")


def test_other_dialects_are_read() -> None:
    native = canonical(parse("cs_rank(ts_std(returns, 20))"))
    assert of("rank(ts_std_dev(returns, 20))").expression is native
    assert of("Std($close, 5)").expression is not None


@pytest.mark.parametrize("text", ["", "the of", "((((", "\ud800", "\x00", "λ ∑", "close", "x" * 50_000])
def test_odd_texts_are_read_too(text: str) -> None:
    question = of(text)
    assert question.expression is None
    assert set(question.keys) <= {"text", "words"}


@pytest.mark.parametrize(
    ("asked", "kept", "why"),
    [
        ("cs_rank(close)", "cs_rank(close)", "the same canonical expression"),
        ("cs_rank(close)", "-2 * cs_rank(close)", "the same up to sign, scale or a constant"),
        ("ts_mean(close, 5)", "ts_mean(close, 9)", "the same form with other numbers"),
        ("cs_rank(close + open)", "cs_rank(open)", "shares cs_rank, open"),
        ("monthly volatility", "ts_std(returns, 21)", "shares volatility"),
        ("bread", "ts_std(returns, 21)", "shares no name or word; near by form or meaning"),
    ],
)
def test_what_is_shared(asked: str, kept: str, why: str) -> None:
    tree = canonical(parse(kept))
    document = Document("alpha_factors", "1", str(tree), tree.digest)
    assert of(asked).shared(document) == why

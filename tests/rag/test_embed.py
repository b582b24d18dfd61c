from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from alphaswarm.dsl import canonical, parse
from alphaswarm.rag.embed import BLOCK, STRUCTURE_SIZE, VECTOR_SIZE, embed, embed_question, names, prose

HASH = """
import hashlib
from alphaswarm.dsl import canonical, parse
from alphaswarm.rag.embed import embed
vector = embed(canonical(parse("ts_corr(cs_rank(close), cs_rank(volume), 10) * 2")), "volume leads price")
print(hashlib.sha256(vector.tobytes()).hexdigest())
"""


def structure(text: str) -> np.ndarray:
    return embed_question(canonical(parse(text)), "")[:STRUCTURE_SIZE] / BLOCK


def cosine(a: str, b: str) -> float:
    return float(structure(a) @ structure(b))


def test_the_same_vector_in_every_process() -> None:
    here = embed(canonical(parse("ts_corr(cs_rank(close), cs_rank(volume), 10) * 2")), "volume leads price")
    expected = hashlib.sha256(here.tobytes()).hexdigest()
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", HASH], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        )
        assert run.stdout.decode().strip() == expected


def test_blocks_have_their_length_or_are_empty() -> None:
    expression = parse("cs_rank(close)")
    both, words, nothing = embed(expression, "a reason"), embed(None, "a reason"), embed(None, "")
    assert both.shape == (VECTOR_SIZE,)
    assert both.dtype == np.float32
    assert np.linalg.norm(both) == pytest.approx(1.0, abs=1e-6)
    assert np.linalg.norm(words[STRUCTURE_SIZE:]) == pytest.approx(BLOCK, abs=1e-6)
    assert not words[:STRUCTURE_SIZE].any()
    assert not nothing.any()
    assert not embed_question(expression, "")[STRUCTURE_SIZE:].any()


def test_equal_formulas_have_equal_structure() -> None:
    assert cosine("close * volume", "volume * close") == pytest.approx(1.0, abs=1e-6)
    assert cosine("max(close, open)", "max(open, close)") == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cs_rank(ts_mean(close, 5))", "-cs_rank(ts_mean(close, 5))"),
        ("cs_rank(delta(close, 5))", "delta(cs_rank(close), 5)"),
        ("close - open", "open - close"),
        ("close / open", "open / close"),
    ],
)
def test_what_text_models_confuse_lies_apart(one: str, other: str) -> None:
    assert cosine(one, other) < 0.9


def test_a_changed_window_stays_the_nearest(formulas: tuple[str, ...]) -> None:
    known = np.stack([structure(text) for text in formulas])
    for place, text in enumerate(formulas):
        moved = text
        for window in ("120", "60", "30", "20", "14", "10", "9", "8", "5", "3"):
            if f", {window})" in moved:
                moved = moved.replace(f", {window})", f", {int(window) + 3})")
                break
        assert moved != text
        assert int(np.argmax(known @ structure(moved))) == place


def test_numbers_count_for_a_little() -> None:
    same = cosine("ts_mean(close, 5)", "ts_mean(close, 6)")
    far = cosine("ts_mean(close, 5)", "ts_mean(close, 250)")
    assert far < same < 1.0


def test_names_and_prose_of_an_expression() -> None:
    expression = parse("cs_rank(-ts_std(returns, 20)) + 1")
    assert names(expression) == ["add", "cs_rank", "neg", "ts_std", "returns"]
    assert "volatility" in prose(expression).split()


def test_words_find_a_formula_by_what_it_is_called() -> None:
    risk = embed(canonical(parse("cs_rank(ts_std(returns, 20))")), "")
    size = embed(canonical(parse("cs_rank(ts_mean(volume, 20))")), "")
    question = embed_question(None, "low volatility")
    assert risk @ question > size @ question

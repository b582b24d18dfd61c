from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.rag.bm25 import K1, MOST_CHUNKS, B, Bm25

TEXTS = st.lists(st.lists(st.integers(0, 8), max_size=12), min_size=1, max_size=12)


def obvious(documents: list[list[int]], question: list[int]) -> list[float]:
    """The formula, one document and term after the other."""
    average = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for term in question:
            df = sum(term in other for other in documents)
            tf = document.count(term)
            idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            if tf:
                score += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(document) / average))
        scores.append(score)
    return scores


def terms(document: list[int]) -> np.ndarray:
    return np.array(document, np.uint32)


@settings(deadline=None, max_examples=60)
@given(TEXTS, st.sets(st.integers(0, 9), max_size=4))
def test_scores_are_those_of_the_formula(texts: list[list[int]], question: set[int]) -> None:
    index = Bm25()
    index.add([terms(text) for text in texts])
    np.testing.assert_allclose(index.scores(terms(sorted(question))), obvious(texts, sorted(question)), rtol=1e-12)


@settings(deadline=None, max_examples=60)
@given(TEXTS, TEXTS)
def test_what_was_dropped_counts_no_more(texts: list[list[int]], more: list[list[int]]) -> None:
    index, fresh = Bm25(), Bm25()
    index.add([terms(text) for text in texts])
    for place in range(len(texts)):
        index.drop(place)
    for text in more:
        index.add([terms(text)])
    fresh.add([terms(text) for text in more])
    question = terms(list(range(9)))
    scores = index.scores(question)
    assert not scores[: len(texts)].any()
    np.testing.assert_allclose(scores[len(texts) :], fresh.scores(question), rtol=1e-12)


def test_many_small_additions_are_merged() -> None:
    index = Bm25()
    for number in range(3 * MOST_CHUNKS):
        index.add([terms([7, number + 10])])
    assert len(index.scores(terms([7])).nonzero()[0]) == 3 * MOST_CHUNKS
    assert max(len(chunks) for chunks in index._postings.values()) <= MOST_CHUNKS


def test_nothing_has_no_score() -> None:
    index = Bm25()
    assert index.scores(terms([1])).size == 0
    index.add([])
    index.add([terms([])])
    assert index.scores(terms([1])).tolist() == [0.0]

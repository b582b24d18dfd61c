from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from alphaswarm.core import Store
from alphaswarm.rag import Document
from alphaswarm.rag.embed import embed_question
from alphaswarm.rag.exact import BATCH, ExactIndex, day_number
from alphaswarm.rag.store import put, rows_of

Make = Callable[..., Document]


def test_days_as_numbers() -> None:
    assert day_number("2012-03-04") == 20120304
    assert day_number("9998-12-31") < day_number(None)


def test_the_nearest_are_those_of_a_full_sort(store: Store, document: Make) -> None:
    size = 2 * BATCH + 7  # several batches, arrays that grow
    with store.write() as connection:
        for number in range(size):
            text = f"word{number % 50} word{number % 31} word{number}"
            put(connection, document(f"{number:04d}", text=text, as_of=f"2012-01-{1 + number % 28:02d}"))
        rows = rows_of(connection, "alpha_factors", [f"{number:04d}" for number in range(size)])
    index = ExactIndex(store)
    for word, day in (("word7", None), ("word30 word12", 20120107), ("absent", 20120101)):
        question = embed_question(None, word)
        scores = {
            row.document.id: float(np.dot(row.vector, question))
            for row in rows
            if day is None or day_number(row.document.as_of) <= day
        }
        best = sorted(scores, key=lambda identifier: (-scores[identifier], identifier))
        found = index.candidates("alpha_factors", question, 9, day)
        assert set(best[:9]) <= set(found) <= set(scores)


def test_changes_and_dates_are_seen(store: Store, document: Make) -> None:
    index = ExactIndex(store)
    question = embed_question(None, "pears")
    one = document("1", text="apples", as_of=None)
    with store.write() as connection:
        put(connection, one)
        put(connection, document("2", text="apples", as_of="2012-01-01"))
    assert index.candidates("alpha_factors", question, 5, 20130101) == ["2"]
    with store.write() as connection:
        put(connection, replace(one, text="pears", as_of="2012-06-01"))
    assert sorted(index.candidates("alpha_factors", question, 5, 20130101)) == ["1", "2"]
    assert index.candidates("alpha_factors", question, 1, None) == ["1"]
    assert index.candidates("backtest_summaries", question, 5, None) == []


@pytest.mark.parametrize("n", [1, 3])
def test_equals_at_the_edge_are_all_let_through(store: Store, document: Make, n: int) -> None:
    with store.write() as connection:
        for identifier in "dcba":
            put(connection, document(identifier, text="the same"))
    found = ExactIndex(store).candidates("alpha_factors", embed_question(None, "same"), n, None)
    assert sorted(found) == ["a", "b", "c", "d"]

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from alphaswarm.core import Store
from alphaswarm.rag import Document
from alphaswarm.rag.embedder import HashedWords
from alphaswarm.rag.exact import BATCH, ExactIndex
from alphaswarm.rag.shelf import Filters, Shelf, day_number
from alphaswarm.rag.store import put, rows_of

Make = Callable[..., Document]
WORDS = HashedWords()


@pytest.fixture
def shelf(store: Store) -> Shelf:
    return Shelf(store, "alpha_factors")


@pytest.fixture
def index(store: Store) -> ExactIndex:
    return ExactIndex(store, "alpha_factors", WORDS)


def ask(index: ExactIndex, shelf: Shelf, text: str, n: int, day: int | None = None) -> list[str]:
    shelf.catch_up()
    return index.candidates(shelf, "text", WORDS.question(text), n, shelf.allowed(Filters(day)))


def test_the_nearest_are_those_of_a_full_sort(store: Store, document: Make, shelf: Shelf, index: ExactIndex) -> None:
    size = 2 * BATCH + 7  # several batches, arrays that grow
    with store.write() as connection:
        for number in range(size):
            text = f"word{number % 50} word{number % 31} word{number}"
            put(connection, document(f"{number:04d}", text=text, as_of=f"2012-01-{1 + number % 28:02d}"))
        rows = rows_of(connection, "alpha_factors", [f"{number:04d}" for number in range(size)])
    vectors = dict(zip((row.document.id for row in rows), WORDS.texts(store, rows), strict=True))
    days = {row.document.id: day_number(row.document.as_of) for row in rows}
    for word, day in (("word7", None), ("word30 word12", 20120107), ("absent", 20120101)):
        question = WORDS.question(word)
        scores = {
            name: float(np.dot(vector, question))
            for name, vector in vectors.items()
            if day is None or days[name] <= day
        }
        best = sorted(scores, key=lambda identifier: (-scores[identifier], identifier))
        found = ask(index, shelf, word, 9, day)
        assert set(best[:9]) <= set(found) <= set(scores)


def test_changes_and_dates_are_seen(store: Store, document: Make, shelf: Shelf, index: ExactIndex) -> None:
    one = document("1", text="apples", as_of=None)
    with store.write() as connection:
        put(connection, one)
        put(connection, document("2", text="apples", as_of="2012-01-01"))
    assert ask(index, shelf, "pears", 5, 20130101) == ["2"]
    with store.write() as connection:
        put(connection, replace(one, text="pears", as_of="2012-06-01"))
    assert sorted(ask(index, shelf, "pears", 5, 20130101)) == ["1", "2"]
    assert ask(index, shelf, "pears", 1) == ["1"]
    assert ask(index, shelf, "apples", 1) == ["2"]

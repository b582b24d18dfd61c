from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from alphaswarm.core import Store
from alphaswarm.rag import Document
from alphaswarm.rag.keys import question_terms, skeleton
from alphaswarm.rag.shelf import Filters, Shelf, day_number
from alphaswarm.rag.store import expression_of, put

Make = Callable[..., Document]


def names(shelf: Shelf, **how) -> list[str]:
    return [name for name, passes in zip(shelf.ids, shelf.allowed(Filters(**how)), strict=True) if passes]


def test_days_as_numbers() -> None:
    assert day_number("2012-03-04") == 20120304
    assert day_number("9998-12-31") < day_number(None)


@pytest.fixture
def shelf(store: Store, document: Make) -> Shelf:
    with store.write() as connection:
        for name, panel, horizon, verdict, judged in (
            ("a", "us431", 5, "search evidence only, not judged", None),
            ("b", "us431", 10, "confirmed: it holds", "2014-12-31"),
            ("c", "us500", 5, "rejected: within reach of luck", "2012-12-31"),
        ):
            summary = {"panel": panel, "universe": "us431", "horizon": horizon}
            if judged:
                summary["judged_as_of"] = judged
            given = document(name, f"ts_mean(close, {horizon})", f"about {name}", verdict=verdict, summary=summary)
            put(connection, given)
    shelf = Shelf(store, "alpha_factors")
    shelf.catch_up()
    return shelf


def test_each_filter_alone_and_together(shelf: Shelf) -> None:
    assert not Filters().active
    assert names(shelf) == ["a", "b", "c"]
    assert names(shelf, panel="us431") == ["a", "b"]
    assert names(shelf, universe="us431") == ["a", "b", "c"]
    assert names(shelf, horizon=5) == ["a", "c"]
    assert names(shelf, verdict="confirmed") == ["b"]
    assert names(shelf, verdict="not judged") == ["a"]
    assert names(shelf, panel="us431", horizon=5) == ["a"]
    assert names(shelf, panel="eu50") == []
    assert names(shelf, day=20121230) == []


def test_a_verdict_that_came_later_is_none(shelf: Shelf) -> None:
    assert names(shelf, verdict="confirmed", day=20141230) == []
    assert names(shelf, verdict="confirmed", day=20141231) == ["b"]
    assert names(shelf, verdict="not judged", day=20141230) == ["a", "b"]
    assert names(shelf, verdict="rejected", day=20121231) == ["c"]


def test_a_changed_document_stands_at_a_new_place_only(store: Store, document: Make, shelf: Shelf) -> None:
    with store.write() as connection:
        put(connection, document("a", "cs_rank(volume)", "pears"))
    shelf.catch_up()
    assert names(shelf) == ["b", "c", "a"]
    assert shelf.place("a") == 3
    form = skeleton(expression_of("ts_mean(close, 99)"))
    assert [shelf.ids[place] for place in shelf.with_skeleton(form)] == ["b", "c"]
    assert shelf.with_digest(document("x", "ts_mean(close, 5)").digest) == [shelf.place("c")]
    assert [shelf.ids[place] for place in shelf.words.scores(question_terms("pears")).nonzero()[0]] == ["a"]


def test_documents_of_an_earlier_version_have_the_same_keys(store: Store, document: Make, shelf: Shelf) -> None:
    from sqlalchemy import update

    from alphaswarm.rag.store import documents

    with store.write() as connection:
        connection.execute(update(documents).values(skeleton=None, terms=None, embedder="ast-words-1"))
    old = Shelf(store, "alpha_factors")
    old.catch_up()
    assert old.with_digest(document("x", "ts_mean(close, 5)").digest) == [0, 2]
    question = question_terms("about b")
    assert old.words.scores(question).tolist() == shelf.words.scores(question).tolist()
    assert names(old, verdict="confirmed") == ["b"]


def test_replaced_twice_counts_once(store: Store, document: Make) -> None:
    given = document("1", text="apples")
    with store.write() as connection:
        put(connection, given)
    shelf = Shelf(store, "alpha_factors")
    for text in ("pears", "plums"):
        shelf.catch_up()
        with store.write() as connection:
            put(connection, replace(given, text=text))
    shelf.catch_up()
    assert names(shelf) == ["1"]
    assert not shelf.words.scores(question_terms("apples pears")).any()
    assert shelf.words.scores(question_terms("plums"))[shelf.place("1")] > 0

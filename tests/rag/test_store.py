from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import update

from alphaswarm.core import Store, StoreError
from alphaswarm.rag import Document
from alphaswarm.rag.embed import EMBEDDER, VECTOR_SIZE
from alphaswarm.rag.store import documents, ids_until, put, rows_after, rows_of, rows_with_digest, sizes, vector_of

Make = Callable[..., Document]


def test_a_document_comes_back_as_it_was(store: Store, document: Make) -> None:
    given = document("1", "cs_rank(close)", "Größe & 'quotes' \n <b>", summary={"ic": 0.1, "none": None, "l": [1]})
    with store.write() as connection:
        assert put(connection, given)
        (row,) = rows_of(connection, "alpha_factors", ["1"])
    assert row.document == given
    assert row.embedder == EMBEDDER
    np.testing.assert_array_equal(row.vector, vector_of(given))


def test_the_same_again_writes_nothing_and_a_change_moves_to_the_end(store: Store, document: Make) -> None:
    one, two = document("1", text="first"), document("2", text="second")
    with store.write() as connection:
        assert put(connection, one)
        assert put(connection, two)
        assert not put(connection, one)
        assert ids_until(connection, "alpha_factors", 10) == ["1", "2"]
        assert put(connection, replace(one, text="changed"))
        assert ids_until(connection, "alpha_factors", 10) == ["2", "1"]
        count, last = sizes(connection, "alpha_factors")
        assert (count, last) == (2, 3)
        assert [row.document.text for row in rows_after(connection, "alpha_factors", 2, 10)] == ["changed"]


def test_a_number_in_the_order_is_never_given_twice(store: Store, document: Make) -> None:
    with store.write() as connection:
        put(connection, document("1", text="a"))
        put(connection, document("1", text="b"))
        assert sizes(connection, "alpha_factors") == (1, 2)


def test_a_rolled_back_transaction_keeps_nothing(store: Store, document: Make) -> None:
    with pytest.raises(StoreError), store.write() as connection:
        _put_then_fail(connection, document("1"))
    with store.read() as connection:
        assert sizes(connection, "alpha_factors") == (0, 0)


def _put_then_fail(connection, given: Document) -> None:
    put(connection, given)
    connection.exec_driver_sql("SELECT absent FROM documents")


def test_find_by_digest_in_any_spelling(store: Store, document: Make) -> None:
    with store.write() as connection:
        put(connection, document("1", "close * volume"))
        put(connection, document("2", "volume * close", corpus="backtest_summaries"))
        put(connection, document("3", "close * open"))
        digest = document("4", "volume*close").digest
        found = rows_with_digest(connection, digest, ["alpha_factors", "backtest_summaries"])
    assert [row.document.id for row in found] == ["1", "2"]


def test_a_vector_of_another_embedder_is_made_anew(store: Store, document: Make) -> None:
    given = document("1", "cs_rank(close)")
    with store.write() as connection:
        put(connection, given)
        connection.execute(update(documents).values(embedder="old", vector=b"\x00" * 16))
        (row,) = rows_of(connection, "alpha_factors", ["1"])
    assert row.stale
    assert row.vector.shape == (VECTOR_SIZE,)
    np.testing.assert_array_equal(row.vector, vector_of(given))

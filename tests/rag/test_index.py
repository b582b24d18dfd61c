from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core import Store
from alphaswarm.rag import Document, Memory
from alphaswarm.rag.chroma import ChromaIndex
from alphaswarm.rag.embed import STRUCTURE_SIZE
from alphaswarm.rag.embedder import HashedWords
from alphaswarm.rag.index import FOLD, _folded, _where
from alphaswarm.rag.shelf import Filters

Make = Callable[..., Document]


def test_folding_is_linear_and_keeps_near_things_near() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((50, STRUCTURE_SIZE)).astype(np.float32)
    folded = _folded(vectors)
    assert folded.shape == (50, STRUCTURE_SIZE // FOLD)
    np.testing.assert_allclose(_folded(vectors[:1] + vectors[1:2]), folded[:1] + folded[1:2], atol=1e-5)
    near = vectors[0] + 0.1 * rng.standard_normal(STRUCTURE_SIZE).astype(np.float32)
    assert int(np.argmax(folded @ _folded(near[None])[0])) == 0


def test_filters_as_chroma_reads_them() -> None:
    assert _where(Filters()) is None
    assert _where(Filters(verdict="confirmed")) is None  # asked of the shelf
    assert _where(Filters(day=20121231)) == {"day": {"$lte": 20121231}}
    assert _where(Filters(panel="p", horizon=5)) == {"$and": [{"panel": {"$eq": "p"}}, {"horizon": {"$eq": 5}}]}


@pytest.fixture
def filled(store: Store, memory: Memory, document: Make, formulas) -> Store:
    for place, formula in enumerate(formulas):
        summary = {"panel": ("a", "b")[place % 2], "universe": "u", "horizon": 1 + place % 3}
        memory.remember(document(str(place), formula, as_of=f"2012-01-{1 + place:02d}", summary=summary))
    return store


def test_the_index_itself_filters(filled: Store, tmp_path: Path) -> None:
    index = ChromaIndex(filled, tmp_path / "rag", HashedWords())
    vector = np.ones(STRUCTURE_SIZE, np.float32)

    def ids(**how) -> set[str]:
        return set(index.candidates("alpha_factors", "structure", vector, 50, Filters(**how)))

    every = {str(place) for place in range(12)}
    assert ids() == ids(universe="u") == every
    assert ids(panel="a") == {place for place in every if int(place) % 2 == 0}
    assert ids(horizon=1, panel="b") == {"3", "9"}
    assert ids(day=20120103) == {"0", "1", "2"}
    assert ids(panel="c") == set()
    index.close()


def test_answers_with_and_without_the_index_agree_under_filters(filled: Store, memory: Memory, tmp_path: Path) -> None:
    assert memory.stats()["index"] == "chroma"
    other = Memory(filled, tmp_path / "rag")
    for how in ({"panel": "a"}, {"horizon": 2}, {"universe": "u", "as_of": "2012-01-06"}, {"verdict": "not judged"}):
        for question in ("cs_rank(volume)", "volume", "ts_mean(close, 9)"):
            mine, theirs = memory.query(question, **how), other.query(question, **how)
            assert (mine.index, theirs.index) == ("chroma", "exact")
            assert mine.results == theirs.results
    other.close()

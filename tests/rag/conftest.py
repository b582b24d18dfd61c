from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from alphaswarm.core import Store
from alphaswarm.dsl import parse
from alphaswarm.rag import Document, Memory

FORMULAS = (
    "cs_rank(-ts_sum(returns, 5))",
    "ts_corr(cs_rank(close), cs_rank(volume), 10)",
    "ts_mean(volume, 20) / ts_mean(volume, 60)",
    "cs_zscore(ts_std(returns, 60))",
    "cs_rank(delta(close, 3))",
    "ts_sum(close - open, 9)",
    "ts_mean((close - low) / (high - low), 14)",
    "ts_rank(close, 120)",
    "decay_linear(cs_rank(volume), 8)",
    "ts_skew(returns, 60)",
    "ts_max(high, 30) / close",
    "ts_argmax(close, 20)",
)


@pytest.fixture(scope="session")
def formulas() -> tuple[str, ...]:
    """Formulas that differ in more than a window."""
    return FORMULAS


@pytest.fixture(scope="session")
def document() -> Callable[..., Document]:
    """Makes a document from few words."""

    def make(identifier: str, expression: str = "", text: str = "", **more: Any) -> Document:
        digest = parse(expression).digest if expression else ""
        more = {"as_of": "2012-12-31", "corpus": "alpha_factors", **more}
        return Document(id=identifier, expression=expression, digest=digest, text=text, **more)

    return make


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    store = Store(tmp_path / "ledger.db")
    yield store
    store.close()


@pytest.fixture
def memory(store: Store, tmp_path: Path) -> Iterator[Memory]:
    """A memory that has the index to itself."""
    memory = Memory(store, tmp_path / "rag")
    yield memory
    memory.close()

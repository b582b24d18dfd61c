from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from alphaswarm.core import FixedClock, Store
from alphaswarm.research.finalists import Finalists, finalist_key


def entry(name: str, **changed: Any) -> dict[str, Any]:
    return {"digest": name, "horizon": 5, "fill": "close_t1", "sign": 1, "body": {"said": name}, **changed}


@pytest.fixture
def finalists(tmp_path: Path) -> Finalists:
    return Finalists(Store(tmp_path / "ledger.db"), FixedClock())


def test_k_counts_every_finalist_before_and_all_sent_together(finalists: Finalists) -> None:
    first = finalists.send("p", 1, [entry("a"), entry("b")])
    assert [one.k for one in first.values()] == [2, 2]
    second = finalists.send("p", 1, [entry("b", sign=-1), entry("c"), entry("a", horizon=1)])
    assert {(one.digest, one.horizon): one.k for one in second.values()} == {("a", 1): 4, ("b", 5): 2, ("c", 5): 4}
    kept = second[finalist_key("p", 1, entry("b"))]
    assert (kept.sign, kept.body) == (1, {"said": "b"})  # as it was first sent
    assert finalists.count("p", 1) == 4


def test_each_window_and_lineage_counts_for_itself(finalists: Finalists) -> None:
    finalists.send("p", 1, [entry("a")])
    assert [one.k for one in finalists.send("p", 2, [entry("a")]).values()] == [1]
    assert [one.k for one in finalists.send("q", 1, [entry("a")]).values()] == [1]
    assert finalists.send("p", 1, []) == {}
    assert list(finalists.find([finalist_key("p", 1, entry("a")), "0" * 64])) == [finalist_key("p", 1, entry("a"))]


def test_of_many_at_once_each_gets_its_own_k(tmp_path: Path) -> None:
    stores = [Store(tmp_path / "ledger.db") for _ in range(8)]

    def send(place: int) -> int:
        register = Finalists(stores[place], FixedClock())
        (one,) = register.send("p", 1, [entry(f"digest{place}")]).values()
        return one.k

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(send, range(8))) == list(range(1, 9))
    for store in stores:
        store.close()

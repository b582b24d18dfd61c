"""What the truth table is made with: truths, counts, results on disk, a proposer that is handed formulas."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from alphaswarm.agents import ProposalRequest
from alphaswarm.agents.proposers.known import known_formulas
from alphaswarm.agents.proposers.search import SearchProposer
from alphaswarm.core import UnknownName
from alphaswarm.data import synthetic_market
from alphaswarm.dsl import evaluate, parse
from benchmarks.truth import __main__ as command
from benchmarks.truth import keep, rows
from benchmarks.truth.counts import interval, upper_bound
from benchmarks.truth.markets import MemoryCatalog, white_noise
from benchmarks.truth.research import Injected
from benchmarks.truth.truths import UNLIKE, likeness, planted_market, rank_correlation


def test_bounds_are_those_of_the_binomial() -> None:
    assert upper_bound(0, 187) == pytest.approx(0.0159, abs=1e-4)  # the rule of three
    for hits, trials in ((0, 50), (1, 50), (7, 40)):
        assert binom.cdf(hits, trials, upper_bound(hits, trials)) == pytest.approx(0.05)
        low, high = interval(hits, trials)
        assert binom.cdf(hits, trials, high) == pytest.approx(0.025)
        assert low == 0.0 if hits == 0 else binom.sf(hits - 1, trials, low) == pytest.approx(0.025)
    assert upper_bound(3, 3) == interval(3, 3)[1] == 1.0


def test_truths_are_unlike_what_the_search_begins_with() -> None:
    size = {"days": 700, "names": 80}
    drawn = set()
    for seed in range(3):
        panel = planted_market(seed, ic=0.05, **size)
        truth = parse(panel.meta["planted"]["expression"])
        null = synthetic_market("null", seed=seed, **size)
        known = [evaluate(formula.expression, null) for formula in known_formulas(null.fields, 700)]
        assert truth.depth <= 3
        assert likeness(evaluate(truth, null), known) < UNLIKE
        drawn.add(truth.digest)
    assert len(drawn) == 3


def test_rank_correlation() -> None:
    values = np.random.default_rng(1).standard_normal((300, 50))
    assert rank_correlation(values, np.exp(values)) == pytest.approx(1.0)
    assert rank_correlation(values, -values) == pytest.approx(-1.0)
    assert rank_correlation(values, np.full_like(values, np.nan)) == 0.0
    assert likeness(values, []) == 0.0


def test_white_noise_is_white() -> None:
    panel = white_noise(4, days=500, names=80)
    returns = panel["returns"][1:]
    assert abs(np.corrcoef(returns[1:].ravel(), returns[:-1].ravel())[0, 1]) < 0.02
    assert abs(np.corrcoef(returns.T)[np.triu_indices(80, 1)].mean()) < 0.01
    assert (panel["high"] >= np.maximum(panel["open"], panel["close"])).all()
    assert (panel["low"] <= np.minimum(panel["open"], panel["close"])).all()


def test_a_catalog_in_memory(tmp_path: Path) -> None:
    catalog = MemoryCatalog({"market": white_noise(4, days=100, names=40)}, tmp_path)
    assert catalog.names() == ["market"]
    assert catalog.adopt("market") == "market"
    assert catalog.describe("market").rows == 100
    assert catalog.open("market").meta["name"] == "market"
    with pytest.raises(UnknownName):
        catalog.open("us431")


def test_formulas_of_somebody_else_come_first() -> None:
    proposer = Injected(SearchProposer(), ["ts_mean(volume, 7)"])
    request = {"seed": 1, "count": 5, "fields": ("close", "returns", "volume"), "groups": (), "rows": 900, "horizon": 5}
    first = asyncio.run(proposer.propose(ProposalRequest(round=0, **request)))
    assert [one.source.split(":")[0] for one in first] == ["injected", *["known"] * 4]
    later = asyncio.run(proposer.propose(ProposalRequest(round=1, **request)))
    assert len(later) == 5
    assert all(one.source != "injected" for one in later)


def test_results_are_kept_whole_and_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[int] = []

    def one(seed: int, scale: rows.Scale) -> dict[str, float]:
        ran.append(seed)
        return {"pbo": 0.5}

    row = rows.Row("a market", "a demand", 3, one, lambda records: (f"{len(records)} seeds", True))
    monkeypatch.setattr(rows, "ROWS", {"pbo-noise": row})
    for seed in (2, 0):
        keep.run_one("pbo-noise", seed, str(tmp_path / "A" / "pbo-noise" / f"{seed}.json"))
    assert ran == [2, 0]
    assert [one["seed"] for one in keep.records(tmp_path / "A", "pbo-noise")] == [0, 2]
    assert set(json.loads((tmp_path / "A/pbo-noise/0.json").read_text())) == {"row", "seed", "pbo", "seconds", "cpu"}
    assert not list(tmp_path.rglob("*.half"))
    page = tmp_path / "page.md"
    page.write_text(f"above\n{command.BEGIN}\nold\n{command.END}\nbelow\n", "utf-8")
    monkeypatch.setattr("sys.argv", ["truth", "--out", str(tmp_path), "--show", "--docs", str(page)])
    command.main()
    assert page.read_text("utf-8").startswith(f"above\n{command.BEGIN}\nSeeds of set A.\n\n| market")
    assert page.read_text("utf-8").endswith(f"| 0.0 |\n{command.END}\nbelow\n")
    assert "| a market | 2 | a demand | 2 seeds | yes |" in capsys.readouterr().out


def test_only_what_is_missing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(40):
        if seed != 7:
            place = tmp_path / "A" / "pbo-noise" / f"{seed}.json"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps({"row": "pbo-noise", "seed": seed, "pbo": 0.5, "cpu": 0.0}))
    monkeypatch.setattr("sys.argv", ["truth", "--out", str(tmp_path), "--rows", "pbo-noise", "--jobs", "1"])
    command.main()
    said = capsys.readouterr().out
    assert said.startswith("1/1 pbo-noise 7: ")
    assert "| PBO of 100 x 1000 noise | 40 |" in said
    found = {one["seed"]: one["pbo"] for one in keep.records(tmp_path / "A", "pbo-noise")}
    assert found.pop(7) != 0.5
    assert set(found.values()) == {0.5}

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from alphaswarm.evaluation import FactorSeries, hurdle
from alphaswarm.evaluation.gates import (
    LEAK_IC,
    MIN_ROWS,
    SIGN_T,
    BookFigures,
    GateResult,
    Thresholds,
    all_passed,
    book_figures,
    confirmation_gate,
    deflated,
    economic_gates,
    search_gates,
    selection_gates,
)
from alphaswarm.evaluation.multiple import confirmation_hurdle
from alphaswarm.evaluation.sharpe import SharpeMoments, deflated_sharpe_ratio

N = 60
REAL: dict[str, Any] = {
    "ic": 0.02,
    "rank_ic": 0.03,
    "evidence": 0.02,
    "evidence_z": 5.0,
    "residual_rank_ic_t": 4.0,
    "ann_return": 0.1,
}


def by_name(gates: list[GateResult]) -> dict[str, GateResult]:
    return {gate.name: gate for gate in gates}


def search(*, rows: int = 1500, synthetic: bool = False, **changed: Any) -> dict[str, GateResult]:
    return by_name(search_gates({**REAL, **changed}, rows=rows, n_trials=N, synthetic=synthetic))


def test_a_real_factor_passes_all_of_search() -> None:
    gates = search()
    assert list(gates) == ["history", "leak", "evidence", "residual_rank_ic", "agreement"]
    assert all(gate.passed for gate in gates.values())
    assert {gate.tier for gate in gates.values()} == {1}
    assert {gate.window for gate in gates.values()} == {"search"}


@pytest.mark.parametrize(("rows", "passed"), [(MIN_ROWS - 1, False), (MIN_ROWS, True), (MIN_ROWS + 1, True)])
def test_history(rows: int, passed: bool) -> None:
    gate = search(rows=rows)["history"]
    assert (gate.value, gate.threshold, gate.passed) == (rows, MIN_ROWS, passed)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("off", "passed"), [(-1e-9, False), (0.0, True), (1e-9, True)])
def test_evidence_is_held_against_the_hurdle_on_both_sides(sign: int, off: float, passed: bool) -> None:
    gate = search(evidence_z=sign * (hurdle(N) + off))["evidence"]
    assert (gate.threshold, gate.passed) == (hurdle(N), passed)


def test_no_evidence_says_why() -> None:
    gate = search(evidence_z=None, missing={"evidence_z": "needs 252 rows of history"})["evidence"]
    assert (gate.value, gate.passed, gate.reason) == (None, False, "needs 252 rows of history")


@pytest.mark.parametrize(
    ("t", "ranks", "passed"), [(5, 2.0, True), (5, 1.999, False), (-5, -2.0, True), (5, -9, False)]
)
def test_residual_ranks_confirm_the_sign(t: float, ranks: float, passed: bool) -> None:
    gate = search(evidence_z=t, residual_rank_ic_t=ranks)["residual_rank_ic"]
    assert (gate.value, gate.threshold, gate.passed) == (ranks, SIGN_T, passed)


def test_low_risk_is_a_contradiction() -> None:
    """Positive RankIC, negative profit: as the low-volatility factors of real stocks."""
    gate = search(ann_return=-0.02)["agreement"]
    assert not gate.passed
    assert gate.reason == "contradiction: RankIC +, mean evidence +, profit before costs -"
    assert search(rank_ic=-0.03, evidence=-0.02, ann_return=-0.1)["agreement"].passed
    assert not search(rank_ic=None)["agreement"].passed


@pytest.mark.parametrize(("ic", "passed"), [(LEAK_IC - 1e-9, True), (LEAK_IC, True), (LEAK_IC + 1e-9, False)])
def test_too_much_is_a_leak(ic: float, passed: bool) -> None:
    assert search(ic=-ic)["leak"].passed is passed
    assert search(rank_ic=ic)["leak"].passed is passed
    assert search(ic=ic, synthetic=True)["leak"].passed


@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize("sign", [1, -1])
def test_confirmation_counts_every_finalist_and_shows_a_bit(k: int, sign: int) -> None:
    least = confirmation_hurdle(k)
    at, under = (confirmation_gate(sign * (least + off), sign, k) for off in (0.0, -1e-9))
    assert (at.passed, under.passed) == (True, False)
    assert (at.threshold, at.value, under.value, at.window) == (least, None, None, "selection")
    assert not confirmation_gate(-sign * 9.0, sign, k).passed
    assert confirmation_gate(None, sign, k).passed is False


def moments(sharpe: float, n: int = 1500) -> SharpeMoments:
    return SharpeMoments(sharpe, n, -0.2, 6.0)


GOOD = BookFigures(
    sharpe=3.0, net_sharpe=2.5, breakeven_bp=20.0, turnover=0.3, gross=moments(0.19), net=moments(2.5 / 252**0.5)
)


def economy(changed: dict[str, Any] | None = None, thresholds: Thresholds | None = None, **given: Any) -> Any:
    asked = {"weight": 0.01, "capacity": 1e7, "likeness": None, "n_trials": N, **given}
    book = BookFigures(**{**vars(GOOD), **(changed or {})})
    return by_name(economic_gates(book, thresholds or Thresholds(), **asked))


def test_a_book_that_pays_passes_tier_2() -> None:
    gates = economy()
    assert all(gate.passed for gate in gates.values())
    assert {gate.tier for gate in gates.values()} == {2}
    assert all_passed(list(gates.values()), 2)
    assert gates["net_dsr"].value == deflated_sharpe_ratio(2.5 / 252**0.5, 1500, N, 1 / 1500, -0.2, 6.0)


@pytest.mark.parametrize(
    ("gate", "field", "at", "off"),
    [
        ("net_sharpe", "net_sharpe", 1.0, -1e-9),
        ("breakeven", "breakeven_bp", 7.5, -1e-9),
        ("min_turnover", "turnover", 0.01, -1e-9),
        ("max_turnover", "turnover", 0.70, 1e-9),
    ],
)
def test_each_threshold_is_included(gate: str, field: str, at: float, off: float) -> None:
    assert economy({field: at})[gate].passed
    failed = economy({field: at + off})[gate]
    assert (failed.passed, failed.value) == (False, at + off)
    assert failed.reason
    undefined = economy({field: None})[gate]
    assert (undefined.passed, undefined.value) == (False, None)


def test_weight_and_capacity() -> None:
    assert economy(weight=0.0999)["max_weight"].passed
    assert not economy(weight=0.10)["max_weight"].passed
    assert not economy(weight=None)["max_weight"].passed
    assert economy(capacity=1.0)["capacity"].passed
    assert "dollar volume" in economy(capacity=None)["capacity"].reason


def test_luck_deflates_the_net_sharpe_ratio() -> None:
    weak = {"net": moments(1.2 / 252**0.5), "net_sharpe": 1.2}
    assert economy(weak, n_trials=1)["net_dsr"].passed
    assert not economy(weak, n_trials=1000)["net_dsr"].passed
    assert not economy({"net": None})["net_dsr"].passed


def test_like_a_member_of_the_pool_unless_better() -> None:
    assert economy(likeness=(0.699, 9.0))["self_correlation"].passed
    assert not economy(likeness=(0.7, 2.5))["self_correlation"].passed
    assert economy(likeness=(0.7, 2.5 / 1.1))["self_correlation"].passed
    assert not economy(likeness=(0.7, 2.5 / 1.1 + 1e-9))["self_correlation"].passed
    assert not economy(likeness=(0.9, None))["self_correlation"].passed
    assert economy()["self_correlation"].reason == "the pool is empty"


def test_the_selection_window_gives_bits() -> None:
    gates = selection_gates(GOOD, Thresholds())
    assert [(gate.name, gate.value, gate.passed) for gate in gates] == [
        ("breakeven_selection", None, True),
        ("net_sharpe_selection", None, True),
    ]
    poor = BookFigures(**{**vars(GOOD), "breakeven_bp": 7.4, "net_sharpe": 0.0})
    assert [gate.passed for gate in selection_gates(poor, Thresholds())] == [False, False]
    assert all("sealed" in gate.reason for gate in selection_gates(poor, Thresholds()))
    nothing = BookFigures(None, None, None, None, None, None)
    assert [gate.passed for gate in selection_gates(nothing, Thresholds())] == [False, False]


def test_thresholds_are_settings_that_are_checked() -> None:
    easy = Thresholds(net_sharpe=0.2, cost_bp=2.0)
    assert economy({"net_sharpe": 0.2, "breakeven_bp": 3.0}, easy)["net_sharpe"].passed
    assert economy({"breakeven_bp": 3.0}, easy)["breakeven"].passed
    for wrong in ({"cost_bp": -1.0}, {"hurdle": 2.0}, {"net_sharpe": float("nan")}, {"max_weight": 0.0}):
        with pytest.raises(ValidationError):
            Thresholds(**wrong)


def series(gross: np.ndarray, traded: np.ndarray) -> FactorSeries:
    nothing = np.full(gross.size, np.nan)
    active = np.isfinite(gross)
    return FactorSeries(
        dates=np.arange(gross.size).astype("datetime64[D]"),
        decision=active,
        ic=nothing,
        rank_ic=nothing,
        evidence=nothing,
        residual_rank_ic=nothing,
        neutral=nothing,
        decay={},
        quantiles=np.empty((gross.size, 5)),
        coverage=nothing,
        rank_autocorr=nothing,
        active=active,
        gross=gross,
        turnover=traded,
        missing_returns=0,
        horizon=5,
        fill="close_t1",
        cost_bp=5.0,
        periods=252.0,
        min_names=30,
    )


def test_the_book_of_a_sign_by_hand(rng_values: np.ndarray) -> None:
    gross, traded = rng_values[0] * 0.01, 0.2 + 0.1 * np.abs(rng_values[1])
    gross[-2:] = np.nan
    book = book_figures(series(gross, traded), -1, 5.0)
    kept, moved = -gross[:-2], traded[:-2]
    net = kept - 5e-4 * moved
    assert book.sharpe == pytest.approx(kept.mean() / kept.std(ddof=1) * 252**0.5)
    assert book.net_sharpe == pytest.approx(net.mean() / net.std(ddof=1) * 252**0.5)
    assert book.breakeven_bp == pytest.approx(kept.mean() / moved.mean() * 1e4)
    assert book.turnover == pytest.approx(moved[1:].mean())
    assert book.net is not None
    assert book.net.n_obs == kept.size
    assert deflated(book.net, 10, 0.01) == deflated_sharpe_ratio(
        book.net.sharpe, kept.size, 10, 0.01, book.net.skew, book.net.kurtosis
    )
    assert deflated(None, 10) is None


@pytest.fixture
def rng_values() -> np.ndarray:
    return np.random.default_rng(5).standard_normal((2, 300))

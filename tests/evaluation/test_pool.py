from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from alphaswarm.backtest import rank_rows
from alphaswarm.core import EvidenceInvalid, UnknownName
from alphaswarm.evaluation.pool import (
    blend,
    combine,
    decorrelate,
    marginal_contributions,
    result_correlation,
    value_correlation,
)


def draws(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def test_greedy_by_strength() -> None:
    base = draws(1, 6, 500)
    twin = -base[0] + 0.1 * base[1]
    results = [base[0], twin, base[2], base[3], base[4], base[5]]
    found = decorrelate(results, [4.0, 5.0, 3.9, 6.0, 3.8, 3.7], most=4)
    assert found.kept == (3, 1, 2, 4)
    assert found.rivals[0][0] == 1
    assert found.rivals[0][1] == pytest.approx(abs(np.corrcoef(base[0], twin)[0, 1]))
    assert found.rivals[5] is None  # only the places were spent
    assert set(found.kept) | set(found.rivals) == set(range(6))


def test_the_limit_belongs_to_the_same_bet() -> None:
    a = np.array([1.0, -1.0, 1.0, -1.0])
    b = np.array([1.0, -1.0, -1.0, 1.0])
    mixed = 0.6 * a + 0.8 * b
    assert result_correlation(a, mixed) == pytest.approx(0.6)
    assert len(decorrelate([a, mixed], [2.0, 1.0], limit=0.6 + 1e-9).kept) == 2
    assert len(decorrelate([a, mixed], [2.0, 1.0], limit=0.6 - 1e-9).kept) == 1
    assert decorrelate([], []).kept == ()
    assert decorrelate([a, b], [1.0, 1.0]).kept == (0, 1)  # equals in the order given


def test_result_correlation_over_common_days() -> None:
    a, b = draws(2, 2, 100)
    a[::7], b[5] = np.nan, np.nan
    both = np.isfinite(a) & np.isfinite(b)
    assert result_correlation(a, b) == pytest.approx(np.corrcoef(a[both], b[both])[0, 1])
    assert result_correlation(a, np.ones(100)) == 0.0
    assert result_correlation(np.full(3, np.nan), np.ones(3)) == 0.0
    with pytest.raises(EvidenceInvalid, match="share their days"):
        result_correlation(a, b[:-1])


def test_value_correlation_is_the_mean_by_day() -> None:
    a, b = draws(3, 2, 20, 40)
    b += a
    expected = np.mean([spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)])
    assert value_correlation(rank_rows(a), rank_rows(b)) == pytest.approx(expected)
    assert value_correlation(rank_rows(a[:, :10]), rank_rows(b[:, :10])) is None


def test_ridge_weights_solve_their_equation() -> None:
    evidence = 0.1 * draws(4, 3, 800) + np.array([[0.02], [0.03], [0.01]])
    covariance = np.cov(evidence)
    raw = np.linalg.inv(covariance + 0.1 * np.trace(covariance) / 3 * np.eye(3)) @ evidence.mean(axis=1)
    assert combine(evidence) == pytest.approx(raw / raw.sum())
    ratio = evidence.mean(axis=1) / evidence.std(axis=1, ddof=1)
    assert combine(evidence, "icir") == pytest.approx(ratio / ratio.sum())
    assert combine(evidence[:1]) == pytest.approx([1.0])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from(["ridge", "icir"]))
def test_weights_are_shares_and_no_factor_is_turned(seed: int, count: int, method: str) -> None:
    weights = combine(draws(seed, count, 60), method)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0.0).all()


def test_a_loser_gets_nothing_and_only_losers_share() -> None:
    good, bad = 0.1 * draws(5, 400) + 0.05, 0.1 * draws(6, 400) - 0.05
    assert combine([good, bad]) == pytest.approx([1.0, 0.0])
    assert combine([bad, bad]) == pytest.approx([0.5, 0.5])
    with pytest.raises(UnknownName, match="method of combining"):
        combine([good], "equal")  # type: ignore[arg-type]
    with pytest.raises(EvidenceInvalid, match="share at least two days"):
        combine([[1.0, np.nan], [np.nan, 1.0]])


def test_what_each_adds() -> None:
    good, other = 0.1 * draws(7, 2, 2000) + 0.03
    twin = good + 0.001 * draws(8, 2000)
    adds = marginal_contributions([good, twin, other])
    assert adds[2] > 5 * abs(adds[0])  # a twin adds nothing, an independent factor does
    assert marginal_contributions([good]) == [pytest.approx(good.mean() / good.std(ddof=1))]


def test_blend_is_the_weighted_mean_of_centred_ranks() -> None:
    a, b = draws(9, 2, 3, 35)
    b[0, :5] = np.nan
    b[1, :10] = np.nan  # 25 names: no cross-section
    a[2, 0], b[2, 0] = np.nan, 1.0
    mixed = blend([a, b], [1, -1], [0.7, 0.3])

    def unit(row: np.ndarray) -> np.ndarray:
        known = np.isfinite(row)
        out = np.full(row.size, np.nan)
        out[known] = (rankdata(row[known]) - (known.sum() + 1) / 2) / known.sum()
        return out

    expected = 0.7 * unit(a[0]) - 0.3 * unit(b[0])
    expected[:5] = unit(a[0])[:5]
    assert mixed[0] == pytest.approx(expected)
    assert mixed[1] == pytest.approx(unit(a[1]))
    assert np.isnan(mixed[2, 0])  # 0.3 of the weight backs it
    with pytest.raises(EvidenceInvalid, match="as many signs"):
        blend([a, b], [1], [0.5, 0.5])
    with pytest.raises(EvidenceInvalid, match="0 factors"):
        blend([], [], [])

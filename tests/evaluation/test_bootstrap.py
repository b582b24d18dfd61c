import math

import numpy as np
import pytest

from alphaswarm.core import EvidenceInvalid, make_rng
from alphaswarm.evaluation import block_length, bootstrap_interval


def autoregressive(rng, n, phi):
    """A mean of 0, a variance of 1."""
    values = np.empty(n)
    values[0] = rng.standard_normal()
    for t in range(1, n):
        values[t] = phi * values[t - 1] + math.sqrt(1 - phi**2) * rng.standard_normal()
    return values


def reference(values, statistic, rng, level, n, block):
    """One resample at a time, one value at a time."""
    size = len(values)
    blocks = math.ceil(size / block)
    figures = []
    for starts in rng.integers(size, size=(n, blocks)):
        drawn = [values[(start + step) % size] for start in starts for step in range(block)][:size]
        mean = np.mean(drawn)
        figures.append(mean if statistic == "mean" else mean / np.std(drawn, ddof=1))
    return tuple(np.quantile(figures, [(1 - level) / 2, (1 + level) / 2]))


@pytest.mark.parametrize("statistic", ["mean", "sharpe"])
@pytest.mark.parametrize(("size", "block"), [(40, 1), (40, 8), (41, 8), (17, 8), (50, 7)])
def test_it_is_the_obvious_procedure(statistic, size, block):
    values = 0.3 + make_rng(size).standard_normal(size)
    found = bootstrap_interval(values, statistic, rng=make_rng(1), level=0.9, n=200, block=block)
    assert found == pytest.approx(reference(values, statistic, make_rng(1), 0.9, 200, block), rel=1e-10)


def coverage(phi, statistic, block=None):
    held, truth = 0, {"mean": 0.0, "sharpe": 0.2}[statistic]
    for seed in range(300):
        values = autoregressive(make_rng(seed, "series"), 600, phi) + truth
        low, high = bootstrap_interval(values, statistic, rng=make_rng(seed, "starts"), n=400, block=block)
        held += low <= truth <= high
    return held / 300


@pytest.mark.parametrize("statistic", ["mean", "sharpe"])
def test_it_covers_the_truth_of_a_series_that_correlates(statistic):
    # 95 % nominal; one standard error of 300 trials is 1.3 points
    assert coverage(0.3, statistic) >= 0.90


def test_single_days_would_not():
    assert coverage(0.5, "mean", block=1) < 0.85 < coverage(0.5, "mean")


def test_independent_values_get_the_interval_of_the_textbook():
    values = make_rng(5).standard_normal(2000)
    low, high = bootstrap_interval(values, rng=make_rng(6), n=4000)
    error = 1.96 * values.std() / math.sqrt(2000)
    assert low == pytest.approx(values.mean() - error, abs=0.12 * error)
    assert high == pytest.approx(values.mean() + error, abs=0.12 * error)


def test_overlapping_labels_widen_it():
    steps = make_rng(7).standard_normal(1000)
    overlapping = np.convolve(steps, np.ones(20), "valid")

    def width(**settings):
        low, high = bootstrap_interval(overlapping, rng=make_rng(8), **settings)
        return high - low

    assert width(block=1) < 0.4 * width(horizon=20)


def test_the_same_seed_gives_the_same_interval():
    values = make_rng(9).standard_normal(100)
    assert bootstrap_interval(values, rng=make_rng(1)) == bootstrap_interval(values, rng=make_rng(1))
    assert bootstrap_interval(values, rng=make_rng(1)) != bootstrap_interval(values, rng=make_rng(2))


def test_missing_values_are_dropped_first():
    values = make_rng(10).standard_normal(60)
    gapped = np.insert(values, [0, 20, 20, 60], np.nan)
    assert bootstrap_interval(gapped, rng=make_rng(1)) == bootstrap_interval(values, rng=make_rng(1))


def test_a_large_level_loses_nothing():
    values = 1e6 + make_rng(11).standard_normal(200)
    moved = bootstrap_interval(values, rng=make_rng(1))
    base = bootstrap_interval(values - 1e6, rng=make_rng(1))
    assert moved == pytest.approx((base[0] + 1e6, base[1] + 1e6), rel=1e-14)


def test_a_resample_without_variation_has_no_sharpe_ratio():
    values = np.zeros(40)
    values[20] = 1.0
    low, high = bootstrap_interval(values, "sharpe", rng=make_rng(1), block=2)
    assert low == 0.0
    assert math.isfinite(high)


@pytest.mark.parametrize(
    ("n", "horizon", "rows"), [(1000, 1, 10), (1001, 1, 11), (1500, 5, 12), (1500, 20, 20), (8, 1, 2)]
)
def test_the_rule_for_blocks(n, horizon, rows):
    assert block_length(n, horizon) == rows


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0], [0.1] * 50, [np.nan] * 50])
def test_too_little_to_say(values):
    assert bootstrap_interval(values, rng=make_rng(1)) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"statistic": "median"}, "mean, sharpe"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"n": 0}, "at least 1"),
        ({"block": 0}, "at least 1"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(EvidenceInvalid, match=message):
        bootstrap_interval(np.arange(50.0), rng=make_rng(1), **settings)

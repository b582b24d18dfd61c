import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, norm

from alphaswarm.core import EvidenceInvalid, make_rng
from alphaswarm.evaluation import bh_fdr, confirmation_hurdle, effective_trials, hurdle


@pytest.mark.parametrize(("trials", "expected"), [(1, 3.0), (10, 3.0), (60, 3.34), (300, 3.76), (1000, 4.06)])
def test_the_published_hurdles(trials, expected):
    assert hurdle(trials) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("trials", [19, 60, 10_000, 10**9])
def test_all_trials_together_err_in_five_percent(trials):
    assert 2 * trials * norm.sf(hurdle(trials)) == pytest.approx(0.05, rel=1e-9)


def test_it_never_falls_below_three_and_grows_with_trials():
    hurdles = [hurdle(n) for n in range(1, 500)]
    assert min(hurdles) == 3.0
    assert hurdles == sorted(hurdles)


def test_no_trial_has_no_hurdle():
    with pytest.raises(EvidenceInvalid, match="at least 1 trial"):
        hurdle(0)


@pytest.mark.parametrize(("finalists", "expected"), [(1, 1.645), (5, 2.326), (50, 3.090)])
def test_confirmation_of_finalists(finalists, expected):
    assert confirmation_hurdle(finalists) == pytest.approx(expected, abs=0.001)
    assert finalists * norm.sf(confirmation_hurdle(finalists)) == pytest.approx(0.05, rel=1e-9)


def test_no_finalist_has_no_confirmation():
    with pytest.raises(EvidenceInvalid, match="at least 1 finalist"):
        confirmation_hurdle(0)


def test_false_discoveries_by_hand():
    # the fifteen p-values of Benjamini and Hochberg (1995): four are rejected at 5 %
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1,
    ]
    assert bh_fdr(p).tolist() == [True] * 4 + [False] * 11
    assert bh_fdr(p[::-1]).tolist() == [False] * 11 + [True] * 4
    # the last p passes at its own place and takes the earlier ones with it
    assert bh_fdr([0.04, 0.045, 0.05]).all()
    assert bh_fdr([]).tolist() == []


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.01, 0.5))
def test_false_discoveries_are_those_of_scipy(p, q):
    adjusted = false_discovery_control(p)
    clear = np.abs(adjusted - q) > 1e-9  # a tie with the bound falls by rounding
    assert (bh_fdr(p, q) == (adjusted <= q))[clear].all()


@pytest.mark.parametrize("p", [[0.1, np.nan], [-0.1], [1.1], [[0.1]]])
def test_p_values_lie_between_zero_and_one(p):
    with pytest.raises(EvidenceInvalid, match="p-values must"):
        bh_fdr(p)
    with pytest.raises(EvidenceInvalid, match="q must"):
        bh_fdr([0.1], 0.0)


def families(sizes, rho, days=600, seed=0):
    """Trials whose returns share a factor by family, correlation `rho` inside."""
    rng = make_rng(seed)
    blocks = []
    for size in sizes:
        own = rng.standard_normal((days, size))
        blocks.append(math.sqrt(rho) * rng.standard_normal((days, 1)) + math.sqrt(1 - rho) * own)
    return np.hstack(blocks)


def test_variants_are_one_trial():
    assert effective_trials(families([5, 3, 1, 4], 0.8)) == 4
    assert effective_trials(families([1] * 20, 0.0)) == 20
    assert effective_trials(families([6], 0.3)) == 6


def test_signs_and_scale_do_not_make_a_new_trial():
    returns = families([3, 3], 0.8)
    assert effective_trials(returns * np.array([1, -1, 1e-9, -1e9, 1, -1])) == 2
    assert effective_trials(np.repeat(returns[:, :1], 7, axis=1)) == 1
    assert effective_trials(returns[:, :1]) == 1


def test_average_linkage_by_hand():
    # correlations of exactly .8 (1, 2) and .3 (1, 3), .24 (2, 3): the mean distance to {1, 2} is .73
    basis = np.linalg.qr(make_rng(1).standard_normal((300, 4)))[0]
    basis = np.linalg.qr(basis - basis.mean(axis=0))[0]
    target = np.array([[1, 0.8, 0.3], [0.8, 1, 0.24], [0.3, 0.24, 1]])
    returns = basis[:, :3] @ np.linalg.cholesky(target).T
    assert effective_trials(returns) == 2
    assert effective_trials(1e6 + returns) == 2


def test_correlations_are_over_common_days():
    returns = families([2, 2], 0.9)
    gapped = returns.copy()
    gapped[:200, 0] = np.nan
    gapped[400:, 1] = np.nan
    gapped[:200, 2] = np.inf
    gapped[0] = 1e3  # seen by the last trial alone, were the days not common
    gapped[0, :3] = np.nan
    assert effective_trials(gapped) == 2
    disjoint = returns.copy()
    disjoint[:295, 0] = np.nan
    disjoint[305:, 1] = np.nan
    assert effective_trials(disjoint) == 3  # ten common days say nothing


def test_what_does_not_vary_is_a_trial_of_its_own():
    returns = np.hstack([families([2], 0.9), np.zeros((600, 2)), np.full((600, 1), 0.1), np.full((600, 1), np.nan)])
    assert effective_trials(returns) == 5


@pytest.mark.parametrize("shape", [(10,), (10, 0)])
def test_trials_come_as_columns(shape):
    with pytest.raises(EvidenceInvalid, match=r"\[T, S\]"):
        effective_trials(np.zeros(shape))

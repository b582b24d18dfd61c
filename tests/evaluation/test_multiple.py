import pytest
from scipy.stats import norm

from alphaswarm.core import EvidenceInvalid
from alphaswarm.evaluation import hurdle


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

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import linregress, rankdata

from alphaswarm.core import EvidenceInvalid, make_rng
from alphaswarm.evaluation import Overfitting, pbo


def noise(seed, rows=1000, strategies=100):
    return make_rng(seed, "noise").standard_normal((rows, strategies))


def reference(returns, n_splits):
    """The same, one combination at a time."""
    length = len(returns) // n_splits
    blocks = np.split(returns[len(returns) - length * n_splits :], n_splits)
    inside, outside, logits = [], [], []
    for chosen in combinations(range(n_splits), n_splits // 2):
        past = np.concatenate([blocks[b] for b in chosen])
        future = np.concatenate([blocks[b] for b in range(n_splits) if b not in chosen])
        before, after = (half.mean(axis=0) / half.std(axis=0, ddof=1) for half in (past, future))
        best = before.argmax()
        rank = rankdata(after)[best] / (returns.shape[1] + 1)
        inside.append(before[best])
        outside.append(after[best])
        logits.append(math.log(rank / (1 - rank)))
    return {
        "probability": np.mean(np.array(logits) <= 0),
        "slope": linregress(inside, outside).slope,
        "loss_probability": np.mean(np.array(outside) < 0),
        "n_combinations": len(logits),
    }


@pytest.mark.parametrize(
    ("rows", "strategies", "splits"), [(40, 5, 4), (43, 2, 4), (67, 9, 6), (120, 7, 8), (9, 3, 4), (8, 4, 2)]
)
def test_it_is_the_obvious_procedure(rows, strategies, splits):
    returns = noise(rows, rows, strategies) * 0.01 + 0.001
    found = pbo(returns, splits)
    for name, value in reference(returns, splits).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-9), name


def test_by_hand():
    # two strategies, two blocks: whoever wins one block loses the other
    first, second = [1.0, 2.0, -1.0, -2.0], [-1.0, -2.0, 1.0, 2.0]
    found = pbo(np.array([first, second]).T, 2)
    assert found.probability == 1.0
    assert found.loss_probability == 1.0
    assert found.n_combinations == 2
    assert found.slope is None  # both winners had the same past
    same = np.array([[1.0, 2.0, 1.0, 2.0], [-1.0, -2.0, -1.0, -2.0]]).T
    assert pbo(same, 2).probability == 0.0
    assert pbo(same, 2).loss_probability == 0.0


def test_noise_is_a_coin_and_scatters():
    found = np.array([pbo(noise(seed)) for seed in range(12)], float)
    assert abs(found.mean() - 0.5) < 3 * 0.17 / math.sqrt(12)
    assert 0.05 < found.std() < 0.3


def test_sixteen_blocks_have_12870_halves():
    assert pbo(noise(0)).n_combinations == math.comb(16, 8) == 12_870


@pytest.mark.parametrize("seed", range(4))
def test_one_true_strategy_is_found(seed):
    returns = noise(100 + seed) * 0.01
    returns[:, 37] += 0.01 * 3 / math.sqrt(252)
    found = pbo(returns)
    assert found < 0.15
    assert found.loss_probability < 0.15


def test_overfitting_turns_the_slope_down():
    # a strategy's whole past sums to the same, so a better half leaves a worse one
    returns = noise(7, 400, 20)
    found = pbo(returns - returns.mean(axis=0), 8)
    assert found.slope < 0
    assert found.probability > 0.9


def test_it_is_a_number():
    found = pbo(noise(1, 100, 5), 4)
    assert isinstance(found, Overfitting)
    assert float(found) == found == found.probability
    assert f"{found:.3f}" == f"{found.probability:.3f}"
    with pytest.raises(AttributeError):
        found.probability = 0.0


def test_names_and_scale_do_not_matter():
    returns = noise(2, 160, 12)
    base = pbo(returns, 8)
    assert pbo(returns[:, ::-1], 8).probability == base.probability
    assert pbo(returns * 1e-9, 8).probability == base.probability
    assert pbo(returns[::-1], 8).probability == base.probability


def test_rows_with_a_missing_value_are_left_out():
    returns = noise(3, 80, 6)
    gapped = np.insert(returns, [0, 40], np.nan, axis=0)
    gapped[0, 1:] = 0.0
    assert pbo(gapped, 4).probability == pbo(returns, 4).probability


def test_a_flat_strategy_has_no_sharpe_ratio_and_wins_only_among_losers():
    returns = np.abs(noise(4, 80, 3))
    flat = np.zeros((80, 1))
    assert pbo(np.hstack([returns, flat]), 4) == pbo(np.hstack([returns, flat + 0.25 - 0.25]), 4)
    assert pbo(np.hstack([-returns, flat]), 4).probability == 0.0
    assert pbo(np.zeros((80, 3)), 4).slope is None


def test_chunks_do_not_matter(monkeypatch):
    returns = noise(5, 160, 12)
    whole = pbo(returns, 8)
    monkeypatch.setattr("alphaswarm.evaluation.overfitting.CHUNK_CELLS", 50)
    chunked = pbo(returns, 8)
    assert (chunked.probability, chunked.loss_probability) == (whole.probability, whole.loss_probability)
    assert chunked.slope == pytest.approx(whole.slope, rel=1e-12)


@pytest.mark.parametrize(
    ("returns", "splits", "message"),
    [
        (np.zeros((100, 3)), 5, "even"),
        (np.zeros((100, 3)), 0, "even"),
        (np.zeros((100, 3)), 22, "between 2 and 20"),
        (np.zeros((100, 1)), 4, "at least 2 strategies"),
        (np.zeros(100), 4, r"\(100,\)"),
        (np.zeros((31, 3)), 16, "at least 32 rows"),
        (np.full((50, 3), np.nan), 4, "got 0"),
    ],
)
def test_refusals(returns, splits, message):
    with pytest.raises(EvidenceInvalid, match=message):
        pbo(returns, splits)

"""What any strategy has to beat: weights [T, N] that take one call.

Row t is decided at close t from rows up to t. Only names that are in the universe and have a price on that row get
a weight. A row is 0 where the rule can't say anything yet, and NaN throughout where it leaves positions alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, optimize

from alphaswarm.backtest.liquidity import VOLATILITY_ROWS, last_known, trailing_volatility
from alphaswarm.backtest.ranking import MIN_NAMES
from alphaswarm.backtest.weights import quantile_weights
from alphaswarm.core import Panel, Registry, SpecInvalid, WeightsInvalid, make_rng

__all__ = [
    "BASELINES",
    "buy_and_hold",
    "equal_weight",
    "inverse_volatility",
    "minimum_variance",
    "quantile_long_short",
    "random_weights",
    "shrunk_covariance",
]

Array = NDArray[np.float64]

BASELINES: Registry[Callable[..., Array]] = Registry("baseline")

# A year of days behind a covariance, and a month between two of them.
COVARIANCE_ROWS = 252
REFIT_ROWS = 21


@BASELINES.register("equal_weight")
def equal_weight(panel: Panel) -> Array:
    """The same weight in every name, together 1; brought back to that on every row."""
    return _together_one(_members(panel).astype(np.float64))


@BASELINES.register("buy_and_hold")
def buy_and_hold(panel: Panel) -> Array:
    """The same weight in every name of the first row that has any, and nothing traded after that."""
    weights = np.full(panel.shape, np.nan)
    rows = np.flatnonzero(_members(panel).any(axis=1))
    if rows.size:
        weights[rows[0]] = equal_weight(panel)[rows[0]]
    return weights


@BASELINES.register("inverse_volatility")
def inverse_volatility(panel: Panel, rows: int = VOLATILITY_ROWS) -> Array:
    """Weights in proportion to 1 / volatility of the last `rows` returns, together 1.

    A name needs half of the returns, and returns that vary.

    Raises:
        SpecInvalid: fewer than two rows.
    """
    _at_least("rows", rows, 2)
    volatility = trailing_volatility(_returns(panel), rows)
    inverse = np.divide(1.0, volatility, out=np.zeros(panel.shape), where=_members(panel) & (volatility > 1e-12))
    return _together_one(inverse)


@BASELINES.register("minimum_variance")
def minimum_variance(
    panel: Panel, rows: int = COVARIANCE_ROWS, every: int = REFIT_ROWS, *, long_only: bool = True
) -> Array:
    """The weights, together 1, of least variance by the `shrunk_covariance` of the last `rows` returns.

    Decided on row `rows`, and on every `every`-th after it; nothing is traded in between. A name needs half of the
    returns (missing ones count as its mean), and returns that vary.

    Args:
        panel: must hold `close`.
        rows: behind a covariance.
        every: rows from one decision to the next.
        long_only: no weight below 0.

    Raises:
        SpecInvalid: fewer than two rows, or `every` below 1.
    """
    _at_least("rows", rows, 2)
    _at_least("every", every, 1)
    returns, members = _returns(panel), _members(panel)
    weights = np.full(panel.shape, np.nan)
    weights[:rows] = 0.0
    for row in range(rows, panel.shape[0], every):
        window = returns[row + 1 - rows : row + 1]
        known = np.isfinite(window)
        enough = members[row] & (2 * known.sum(axis=0) >= rows)
        names = np.flatnonzero(enough)
        away = window[:, names] - np.nanmean(window[:, names], axis=0)
        away[~known[:, names]] = 0.0
        varies = np.abs(away).max(axis=0, initial=0.0) > 1e-12
        weights[row] = 0.0
        if varies.any():
            weights[row, names[varies]] = _least_variance(shrunk_covariance(away[:, varies]), long_only=long_only)
    return weights


@BASELINES.register("quantile_long_short")
def quantile_long_short(panel: Panel, factor: ArrayLike, n: int = 5, *, min_names: int = MIN_NAMES) -> Array:
    """`quantile_weights` of a factor [T, N] among the names that can be held: top of `n` quantiles against bottom.

    A row with fewer than `min_names` of them is 0.

    Raises:
        WeightsInvalid: the factor has another shape than the panel, or fewer than two quantiles.
    """
    values = np.asarray(factor, np.float64)
    if values.shape != panel.shape:
        raise WeightsInvalid(f"the factor must have the panel's shape {panel.shape}, got {values.shape}")
    return quantile_weights(np.where(_members(panel), values, np.nan), n, min_names=min_names)


@BASELINES.register("random_weights")
def random_weights(panel: Panel, seed: int = 0) -> Array:
    """Weights of 0 or more, together 1, drawn anew on each row: every such portfolio is as likely as any other."""
    return _together_one(make_rng(seed, "random weights").standard_exponential(panel.shape) * _members(panel))


def shrunk_covariance(returns: Array) -> Array:
    """Covariance [N, N] of `returns` [T, N] with mean 0, pulled toward a multiple of the identity.

    By as much as makes the expected squared error least (Ledoit and Wolf 2004, "A well-conditioned estimator
    for large-dimensional covariance matrices"). Always invertible unless every return is 0.
    """
    rows, names = returns.shape
    sample = returns.T @ returns / rows
    level = float(np.trace(sample)) / names
    away = float((sample**2).sum()) / names - level**2
    squares = returns**2
    # sum over rows of the squared distance of each row's outer product to the sample covariance
    noise = (float((squares.sum(axis=1) ** 2).sum()) / rows - float((sample**2).sum())) / (rows * names)
    share = min(max(noise, 0.0) / away, 1.0) if away > 0.0 else 1.0
    shrunk: Array = (1.0 - share) * sample
    shrunk[np.diag_indices(names)] += share * level
    return shrunk


def _least_variance(covariance: Array, *, long_only: bool) -> Array:
    """Weights that sum to 1. Those of 0 or more: where ``w' C w / 2 - sum(w)`` is least, brought to a sum of 1."""
    unit = covariance / np.trace(covariance)  # free of the scale of returns
    factor = linalg.cholesky(unit, lower=True)
    ahead = linalg.solve_triangular(factor, np.ones(len(unit)), lower=True)
    if long_only:
        found, _ = optimize.nnls(factor.T, ahead)
    else:
        found = linalg.solve_triangular(factor.T, ahead)
    weights: Array = found / found.sum()
    return weights


def _together_one(parts: Array) -> Array:
    """Each row of values of 0 or more divided by its sum; 0 where that is 0."""
    total = parts.sum(axis=1, keepdims=True)
    shares: Array = np.divide(parts, total, out=np.zeros(parts.shape), where=total > 0.0)
    return shares


def _members(panel: Panel) -> NDArray[np.bool_]:
    """Where [T, N] a name can get a weight."""
    return panel.universe & (panel["close"] > 0.0)


def _returns(panel: Panel) -> Array:
    """From the last known close to each close [T, N]; NaN where there is none of the two."""
    close = np.where(panel["close"] > 0.0, panel["close"], np.nan)
    moves = np.full(close.shape, np.nan)
    moves[1:] = close[1:] / last_known(close)[:-1] - 1.0
    return moves


def _at_least(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or value < least:
        raise SpecInvalid(f"{name} must be a whole number from {least} on, got {value!r}")

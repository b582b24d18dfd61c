"""From factor to weights: the only rule, used by evidence, backtests, paper and live alike."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest.ranking import MIN_NAMES, RankedRows, rank_rows
from alphaswarm.core import Panel, TargetWeights, WeightsInvalid

__all__ = ["quantile_weights", "rank_weights", "stagger", "target_weights", "weights_of_ranks"]


def rank_weights(factor: ArrayLike, *, min_names: int = MIN_NAMES) -> NDArray[np.float64]:
    """Long the high ranks, short the low ones, in proportion to the rank.

    ``w = (rank - (n + 1) / 2) / sum(abs(.))`` over the n finite values of the row, average ranks:
    gross 1, net 0. Other names have weight 0. A row with fewer than `min_names` finite values, or
    with all values equal, is undefined: all its weights are 0.

    Args:
        factor: [T, N], NaN where undefined; row t is known at close t.
        min_names: the smallest cross-section that is ranked.

    Returns:
        float64 [T, N], fractions of equity; row t is decided at close t.
    """
    return weights_of_ranks(rank_rows(factor), min_names=min_names)


def weights_of_ranks(ranked: RankedRows, *, min_names: int = MIN_NAMES) -> NDArray[np.float64]:
    """`rank_weights` of a factor that is ranked already."""
    middle = 0.5 * (ranked.count[:, None] + 1.0)
    centred = np.asarray(ranked.ranks - middle, np.float64)
    centred[np.isnan(centred)] = 0.0
    gross = np.abs(centred).sum(axis=1)
    gross[(ranked.count < min_names) | (gross == 0.0)] = np.inf
    centred /= gross[:, None]
    return centred


def quantile_weights(
    factor: ArrayLike, n: int = 5, long_short: bool = True, *, min_names: int = MIN_NAMES
) -> NDArray[np.float64]:
    """Equal weights in the top of `n` quantiles, against the bottom one if `long_short`.

    A name's quantile is ``ceil(n * rank / count)``. Long-short: +1/2 and -1/2, gross 1, net 0.
    Long only: the top quantile sums to 1. Rows with fewer than `min_names` finite values, or where
    ties leave a needed quantile empty, are all 0.

    Args:
        factor: [T, N], NaN where undefined.
        n: number of quantiles, 2 or more.
        long_short: short the bottom quantile.
        min_names: the smallest cross-section that is ranked.

    Returns:
        float64 [T, N].

    Raises:
        WeightsInvalid: fewer than two quantiles.
    """
    if n < 2:
        raise WeightsInvalid(f"quantile weights need at least 2 quantiles, got {n}")
    ranked = rank_rows(factor)
    quantile = np.ceil(n * ranked.ranks / np.maximum(ranked.count, 1)[:, None])
    top = (quantile == n).astype(np.float64)
    bottom = (quantile == 1).astype(np.float64) if long_short else np.zeros_like(top)
    longs = top.sum(axis=1, keepdims=True)
    shorts = bottom.sum(axis=1, keepdims=True)
    side = 0.5 if long_short else 1.0
    defined = (ranked.count[:, None] >= min_names) & (longs > 0) & ((shorts > 0) | (not long_short))
    weights = side * (top / np.maximum(longs, 1.0) - bottom / np.maximum(shorts, 1.0))
    return np.where(defined, weights, 0.0)


def stagger(weights: ArrayLike, tranches: int) -> NDArray[np.float64]:
    """Hold each row for `tranches` periods, a part of the capital each: ``W_t = mean(w_t .. w_{t-k+1})``.

    Rows before the first count as flat, so the book is built up over the first `tranches` rows.
    This cuts turnover by about `tranches`, and no result hangs on the day one happens to start.

    Args:
        weights: [..., T, N], finite.
        tranches: how many periods a row is held, 1 or more.

    Returns:
        float64, the same shape; gross is at most that of the rows averaged.

    Raises:
        WeightsInvalid: `tranches` below 1.
    """
    if tranches < 1:
        raise WeightsInvalid(f"a staggered book needs at least 1 tranche, got {tranches}")
    rows = np.asarray(weights, np.float64)
    total = rows.copy()
    for lag in range(1, min(tranches, rows.shape[-2])):
        total[..., lag:, :] += rows[..., :-lag, :]
    total /= tranches
    return total


def target_weights(
    factor: ArrayLike,
    panel: Panel,
    as_of: np.datetime64 | str | None = None,
    *,
    tranches: int = 1,
    provenance: Mapping[str, str] = MappingProxyType({}),
) -> TargetWeights:
    """w_t: the staggered rank weights decided at the last row on or before `as_of`.

    The same numbers as that row of ``stagger(rank_weights(factor), tranches)``.

    Args:
        factor: [T, N] on the panel's dates and symbols.
        panel: gives dates and symbols.
        as_of: a date (the last row on or before it) or the exact moment of a row; the last row when absent.
        tranches: how many periods a row is held.
        provenance: hashes of what made the weights.

    Returns:
        Weights dated with the row they were decided on.

    Raises:
        WeightsInvalid: `as_of` lies outside the panel, the factor has another shape, or the row has
            too few names or no differences: the caller holds what it has.
    """
    values = np.asarray(factor, np.float64)
    if values.shape != panel.shape:
        raise WeightsInvalid(f"the factor must have the panel's shape {panel.shape}, got {values.shape}")
    row = _row_at(panel, as_of)
    first = max(0, row - max(tranches, 1) + 1)
    decided = rank_weights(values[first : row + 1])
    if not decided[-1].any():
        names = int(np.isfinite(values[row]).sum())
        raise WeightsInvalid(
            f"weights need at least {MIN_NAMES} names with values that differ, got {names} finite values "
            f"on {_day(panel.dates[row])}; hold what you have"
        )
    return TargetWeights(panel.dates[row], panel.symbols, stagger(decided, tranches)[-1], provenance)


def _row_at(panel: Panel, as_of: np.datetime64 | str | None) -> int:
    if as_of is None:
        return int(panel.dates.size - 1)
    offered = f"{_day(panel.dates[0])} to {_day(panel.dates[-1])}"
    try:
        moment = np.datetime64(as_of)
    except ValueError:
        moment = np.datetime64("NaT")
    unit = np.datetime_data(moment.dtype)[0]
    if np.isnat(moment) or unit in {"Y", "M", "W"}:
        raise WeightsInvalid(f"as_of must be a date like {_day(panel.dates[-1])} from {offered}, got {as_of}")
    # Rows are stamped with a day, or with a moment, at whose end they are known. Which row 10:00 on
    # a day means would be a guess, and might be one that is not known yet.
    stamps = panel.dates.astype("datetime64[D]") if unit == "D" else panel.dates
    row = int(np.searchsorted(stamps, moment, side="right")) - 1
    if row < 0 or moment > stamps[-1]:
        raise WeightsInvalid(f"as_of must lie within the panel's dates, {offered}, got {as_of}")
    if unit != "D" and moment != stamps[row]:
        raise WeightsInvalid(f"as_of must be a date, or a moment that the panel has a row for, got {as_of}")
    return row


def _day(moment: np.datetime64) -> str:
    return str(np.datetime_as_string(moment, "D"))

"""`Exposures`: what of a return common risks explain, so that evidence can be about the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import EvidenceInvalid, Panel
from alphaswarm.core.jit import jit
from alphaswarm.evaluation.components import principal_components

__all__ = ["HISTORY", "Exposures"]

# Rows behind beta, volatility and size, and how many of them a name must have: all of them in a panel
# without gaps, and a gap does not take a name out for the quarter after it.
WINDOW = 60
ENOUGH = 30
# Principal components: how many, of how many rows, found anew after how many.
COMPONENTS = 5
HISTORY = 252
REFIT = 21
# Names below which a regression on nine columns leaves nothing worth having.
REGRESSION_NAMES = 60

_NO_SIZE = "the panel has neither dollar_volume nor volume: size is not among the exposures"


@dataclass(frozen=True, eq=False)
class Exposures:
    """What each name is exposed to at each close; row t is known at close t and needs no later row.

    The style exposures of row t, from rows t - 59 to t:

    - `beta`: slope of the name's returns on the mean return of the names in the universe;
    - `volatility`: log of the standard deviation of its returns;
    - `size`: log of its mean dollar volume.

    And 5 principal components of returns (see `principal_components`), found from 252 rows at row 252,
    273, 294, ... (the first row is 0) and held until the next. A regression with an intercept leaves the
    same residual for any linear scale of the exposures, so they are not standardised here.

    Attributes:
        dates: datetime64[ns] [T].
        symbols: N names.
        universe: bool [T, N]; names outside take no part in the regression of that date.
        market: [T], mean return of the universe's names that have one.
        names: of the style exposures, in order.
        styles: [K, T, N]; NaN where undefined.
        volatility: [T, N], standard deviation (ddof 1) of the returns of 60 rows; NaN where it is 0.
        components: [R, 5, N], loadings of each refit.
        missing: exposure to reason, where it is left out.
    """

    dates: NDArray[np.datetime64]
    symbols: tuple[str, ...]
    universe: NDArray[np.bool_]
    market: NDArray[np.float64]
    names: tuple[str, ...]
    styles: NDArray[np.float64]
    volatility: NDArray[np.float64]
    components: NDArray[np.float64]
    missing: MappingProxyType[str, str]

    @classmethod
    def of(cls, panel: Panel) -> Exposures:
        """The exposures of `panel` on all of its rows.

        Reads `returns` (from `close` where absent) and `dollar_volume` (``close * volume`` where absent).

        Raises:
            FieldNotFound: the panel has neither `returns` nor `close`.
        """
        returns, universe = _returns(panel), np.ascontiguousarray(panel.universe)
        market = _universe_mean(returns, universe)
        beta, volatility = _beta_and_volatility(returns, market, WINDOW, ENOUGH)
        styles = {"beta": beta, "volatility": np.log(volatility)}
        dollars = _dollar_volume(panel)
        if dollars is not None:
            mean = _rolling_mean(dollars, WINDOW, ENOUGH)
            styles["size"] = np.log(np.where(mean > 0.0, mean, np.nan))
        refits = range(HISTORY, returns.shape[0], REFIT)
        components = [principal_components(returns[t - HISTORY + 1 : t + 1], COMPONENTS) for t in refits]
        found = cls(
            dates=panel.dates,
            symbols=panel.symbols,
            universe=universe,
            market=market,
            names=tuple(styles),
            styles=np.stack(list(styles.values())),
            volatility=volatility,
            components=np.array(components).reshape(len(refits), COMPONENTS, returns.shape[1]),
            missing=MappingProxyType({} if "size" in styles else {"size": _NO_SIZE}),
        )
        for array in (found.market, found.styles, found.volatility, found.components):
            array.setflags(write=False)
        return found

    def residuals(self, labels: Sequence[NDArray[np.float64]], first: int = 0) -> list[NDArray[np.float64]]:
        """What the exposures of each date leave of labels, by ordinary least squares with an intercept.

        Date by date over the names of the universe whose label and exposures are finite; a date with
        fewer than 60 of them, and every date before row 252, has no residual.

        Args:
            labels: each [D, N], for the same D dates.
            first: the row of their first date.

        Returns:
            One [D, N] for each label; NaN where there is none.

        Raises:
            EvidenceInvalid: labels of another shape, or beyond the last row.
        """
        days, names = self.volatility.shape
        for label in labels:
            if label.ndim != 2 or label.shape[1] != names or not 0 <= first <= days - label.shape[0]:
                raise EvidenceInvalid(
                    f"labels must have {names} symbols and lie within {days} rows, "
                    f"got shape {label.shape} from row {first}"
                )
        if not labels:
            return []
        stacked = np.ascontiguousarray(np.stack(labels))
        stop = first + stacked.shape[1]
        rows = np.arange(first, stop)
        refit = np.where(rows >= HISTORY, (rows - HISTORY) // REFIT, -1)
        # a copy, since kernels are compiled anew for another layout in memory
        styles, universe = np.array(self.styles[:, first:stop]), self.universe[first:stop]
        return list(_residuals(stacked, styles, self.components, refit, universe, REGRESSION_NAMES))

    def per_risk(self, residual: NDArray[np.float64], first: int = 0) -> NDArray[np.float64]:
        """Residuals [D, N] from row `first` on in units of each name's own volatility: what evidence is measured on."""
        return np.asarray(residual / self.volatility[first : first + residual.shape[0]], np.float64)


def _returns(panel: Panel) -> NDArray[np.float64]:
    if "returns" in panel.fields:
        return panel["returns"]
    close = panel["close"]
    returns = np.full(close.shape, np.nan)
    np.divide(close[1:], close[:-1], out=returns[1:], where=(close[1:] > 0) & (close[:-1] > 0))
    returns[1:] -= 1.0
    return returns


def _dollar_volume(panel: Panel) -> NDArray[np.float64] | None:
    if "dollar_volume" in panel.fields:
        return panel["dollar_volume"]
    if "volume" in panel.fields and "close" in panel.fields:
        return np.asarray(panel["close"] * panel["volume"], np.float64)
    return None


@jit
def _universe_mean(returns: NDArray[np.float64], universe: NDArray[np.bool_]) -> NDArray[np.float64]:
    """[T]: mean return of the universe's names that have one."""
    days, names = returns.shape
    out = np.full(days, np.nan)
    for t in range(days):
        total = 0.0
        n = 0
        for i in range(names):
            if universe[t, i] and np.isfinite(returns[t, i]):
                total += returns[t, i]
                n += 1
        if n > 0:
            out[t] = total / n
    return out


@jit
def _beta_and_volatility(
    returns: NDArray[np.float64], market: NDArray[np.float64], window: int, enough: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Slope on `market` and standard deviation (ddof 1), both [T, N], each window summed on its own."""
    days, names = returns.shape
    beta = np.full((days, names), np.nan)
    volatility = np.full((days, names), np.nan)
    for t in range(enough - 1, days):
        n = np.zeros(names)
        mean = np.zeros(names)
        mean_market = np.zeros(names)
        square = np.zeros(names)
        for s in range(max(0, t - window + 1), t + 1):
            if np.isnan(market[s]):
                continue
            for i in range(names):
                x = returns[s, i]
                there = 0.0 if np.isnan(x) else 1.0
                x = 0.0 if np.isnan(x) else x
                n[i] += there
                mean[i] += x
                square[i] += x * x
                mean_market[i] += there * market[s]
        mean /= n
        mean_market /= n
        xx = np.zeros(names)
        mm = np.zeros(names)
        xm = np.zeros(names)
        for s in range(max(0, t - window + 1), t + 1):
            if np.isnan(market[s]):
                continue
            for i in range(names):
                x = returns[s, i] - mean[i]
                m = market[s] - mean_market[i]
                m = 0.0 if np.isnan(x) else m
                x = 0.0 if np.isnan(x) else x
                xx[i] += x * x
                mm[i] += m * m
                xm[i] += x * m
        for i in range(names):
            # a name that stands still, but for rounding, has no volatility to divide by
            if n[i] >= enough and xx[i] > 1e-24 * square[i]:
                volatility[t, i] = np.sqrt(xx[i] / (n[i] - 1.0))
                if mm[i] > 0.0:
                    beta[t, i] = xm[i] / mm[i]
    return beta, volatility


@jit
def _rolling_mean(values: NDArray[np.float64], window: int, enough: int) -> NDArray[np.float64]:
    """Mean of the finite values of the last `window` rows, [T, N], each window summed on its own."""
    days, names = values.shape
    out = np.full((days, names), np.nan)
    for t in range(enough - 1, days):
        n = np.zeros(names)
        total = np.zeros(names)
        for s in range(max(0, t - window + 1), t + 1):
            for i in range(names):
                x = values[s, i]
                n[i] += 0.0 if np.isnan(x) else 1.0
                total[i] += 0.0 if np.isnan(x) else x
        for i in range(names):
            if n[i] >= enough:
                out[t, i] = total[i] / n[i]
    return out


@jit
def _residuals(
    labels: NDArray[np.float64],
    styles: NDArray[np.float64],
    components: NDArray[np.float64],
    refit: NDArray[np.int64],
    universe: NDArray[np.bool_],
    least: int,
) -> NDArray[np.float64]:
    """[H, D, N]: each label less its projection on the exposures of its date; labels of equal names share a basis."""
    horizons, days, names = labels.shape
    out = np.full(labels.shape, np.nan)
    exposed = np.empty(names, np.bool_)
    chosen = np.empty(names, np.int64)
    before = np.empty(names, np.int64)
    basis = np.empty((1 + styles.shape[0] + components.shape[1], names))
    target = np.empty(names)
    for t in range(days):
        if refit[t] < 0:
            continue
        loadings = components[refit[t]]
        for i in range(names):
            exposed[i] = universe[t, i] and np.isfinite(styles[:, t, i].sum() + loadings[:, i].sum())
        n_before = 0
        rank = 0
        for h in range(horizons):
            n = 0
            same = True
            for i in range(names):
                if exposed[i] and np.isfinite(labels[h, t, i]):
                    chosen[n] = i
                    same = same and n < n_before and before[n] == i
                    n += 1
            if n < least:
                continue
            if not (same and n == n_before):
                n_before = n
                before[:n] = chosen[:n]
                rank = _orthonormal(styles[:, t], loadings, chosen, n, basis)
            for j in range(n):
                target[j] = labels[h, t, chosen[j]]
            whole = _dot(target, target, n)
            for k in range(rank):
                _remove(target, basis[k], n)
            # what the exposures explain but for rounding leaves nothing to rank
            left = 0.0 if _dot(target, target, n) <= 1e-26 * whole else 1.0
            for j in range(n):
                out[h, t, chosen[j]] = left * target[j]
    return out


@jit
def _orthonormal(
    styles: NDArray[np.float64],
    loadings: NDArray[np.float64],
    chosen: NDArray[np.int64],
    n: int,
    basis: NDArray[np.float64],
) -> int:
    """Fill rows of `basis` [., :n] that span a constant, `styles` and `loadings` of the chosen names; how many.

    Gram and Schmidt's process, done twice; a column in the span of those before it adds nothing.
    """
    kinds = styles.shape[0]
    rank = 0
    for column in range(1 + kinds + loadings.shape[0]):
        for j in range(n):
            if column == 0:
                basis[rank, j] = 1.0
            elif column <= kinds:
                basis[rank, j] = styles[column - 1, chosen[j]]
            else:
                basis[rank, j] = loadings[column - 1 - kinds, chosen[j]]
        whole = _dot(basis[rank], basis[rank], n)
        for _ in range(2):
            for k in range(rank):
                _remove(basis[rank], basis[k], n)
        size = _dot(basis[rank], basis[rank], n)
        if size > 1e-20 * whole:
            for j in range(n):
                basis[rank, j] /= np.sqrt(size)
            rank += 1
    return rank


@jit
def _dot(a: NDArray[np.float64], b: NDArray[np.float64], n: int) -> float:
    # four sums side by side: the processor need not wait for one to add the next
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    whole = n - n % 4
    for j in range(0, whole, 4):
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
    for j in range(whole, n):
        s0 += a[j] * b[j]
    return (s0 + s1) + (s2 + s3)


@jit
def _remove(vector: NDArray[np.float64], unit: NDArray[np.float64], n: int) -> None:
    """Take from `vector` its part along `unit`."""
    along = _dot(vector, unit, n)
    for j in range(n):
        vector[j] -= along * unit[j]

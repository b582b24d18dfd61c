"""A small market with gaps, and the whole of the evidence once more in plain pandas."""

import math

import numpy as np
import pandas as pd
import pytest

from alphaswarm.core import Panel


@pytest.fixture(scope="session")
def market():
    """180 days by 45 names, a common factor, fat tails, gaps, late starts, and a universe."""
    rng = np.random.default_rng(11)
    days, names = 180, 45
    returns = rng.normal(0, 0.01, (days, 1)) + 0.01 * rng.standard_t(4, (days, names))
    close = 20 * np.exp(np.cumsum(returns, axis=0)).round(4)
    opened = close * np.exp(rng.normal(0, 0.004, close.shape))
    gaps = rng.random(close.shape) < 0.01
    gaps[:30, :3] = True
    universe = rng.random(close.shape) < 0.97
    dates = np.busday_offset("2020-01-01", np.arange(days))
    fields = {"close": np.where(gaps, np.nan, close), "open": np.where(gaps, np.nan, opened)}
    return Panel.from_arrays(fields, dates, [f"S{i:02}" for i in range(names)], universe)


@pytest.fixture(scope="session")
def factor(market):
    """Five-day reversal with rounded values (so, ties), missing values, a thin and a constant day."""
    close = market["close"]
    values = np.full(close.shape, np.nan)
    values[5:] = -np.round(close[5:] / close[:-5] - 1, 2)
    values += 0.02 * np.random.default_rng(12).standard_normal(close.shape).round(1)
    values[60, 20:] = np.nan
    values[70] = 1.0
    return np.where(market.universe, values, np.nan)


@pytest.fixture(scope="session")
def wide():
    """330 days by 75 names with common factors, gaps, a late start, a name that stands still, and a universe."""
    rng = np.random.default_rng(21)
    days, names = 330, 75
    loadings = np.vstack([1 + 0.4 * rng.standard_normal(names), rng.standard_normal((6, names))])
    factors = 0.008 * rng.standard_normal((days, 7)) * np.linspace(1, 0.4, 7)
    risk = 0.01 * np.exp(0.4 * rng.standard_normal(names))
    close = 20 * np.cumprod(1 + factors @ loadings + risk * rng.standard_t(4, (days, names)), axis=0)
    volume = np.exp(10 + rng.standard_normal(names) + 0.3 * rng.standard_normal((days, names))).round()
    close[:200, 4] = np.nan
    close[100:200, 5] = 11.0
    close[rng.random(close.shape) < 0.003] = np.nan
    volume[40:60, 7] = np.nan
    universe = rng.random(close.shape) < 0.98
    universe[:, 8] = False
    dates = np.busday_offset("2020-01-01", np.arange(days))
    fields = {"close": close, "open": close * 1.001, "dollar_volume": close * volume}
    return Panel.from_arrays(fields, dates, [f"W{i:02}" for i in range(names)], universe)


def _residual_by_hand(panel, *labels):
    """The residual of each label [T, N] date by date, with numpy's least squares and singular values only."""
    close = panel["close"]
    returns = np.full(close.shape, np.nan)
    returns[1:] = close[1:] / close[:-1] - 1
    members = np.where(panel.universe, returns, np.nan)
    market = np.array([row[np.isfinite(row)].mean() if np.isfinite(row).any() else np.nan for row in members])
    out, risk = [np.full(close.shape, np.nan) for _ in labels], np.full(close.shape, np.nan)
    loadings = np.full((5, close.shape[1]), np.nan)
    for t in range(252, close.shape[0]):
        if (t - 252) % 21 == 0:
            year = returns[t - 251 : t + 1]
            loadings[:] = np.nan
            often = np.flatnonzero((np.isfinite(year).sum(axis=0) >= 126) & (np.nanstd(year, axis=0) > 1e-12))
            block = (year[:, often] - np.nanmean(year[:, often], axis=0)) / np.nanstd(year[:, often], axis=0)
            loadings[:, often] = np.linalg.svd(np.nan_to_num(block), full_matrices=False)[2][:5]
        columns = np.full((3, close.shape[1]), np.nan)
        for i in range(close.shape[1]):
            r, m, v = returns[t - 59 : t + 1, i], market[t - 59 : t + 1], panel["dollar_volume"][t - 59 : t + 1, i]
            known = np.isfinite(r)
            if known.sum() >= 30 and r[known].std() > 1e-12:
                risk[t, i] = r[known].std(ddof=1)
                market_move = m[known] - m[known].mean()
                columns[:2, i] = market_move @ r[known] / (market_move @ market_move), math.log(risk[t, i])
            if np.isfinite(v).sum() >= 30:
                columns[2, i] = math.log(v[np.isfinite(v)].mean())
        for label, residual in zip(labels, out, strict=True):
            used = panel.universe[t] & np.isfinite(np.vstack([label[t], columns, loadings])).all(axis=0)
            if used.sum() < 60:
                continue
            z = (columns[:, used].T - columns[:, used].mean(axis=1)) / columns[:, used].std(axis=1, ddof=1)
            x = np.column_stack([np.ones(used.sum()), z, loadings[:, used].T])
            residual[t, used] = label[t, used] - x @ np.linalg.lstsq(x, label[t, used], rcond=None)[0]
    return *out, risk


@pytest.fixture(scope="session")
def residual_by_hand():
    """``residual_by_hand(panel, *labels)``: the residual [T, N] of each, and the volatility of 60 rows."""
    return _residual_by_hand


def newey_west(series, horizon):
    series = series.dropna().to_numpy()
    n = len(series)
    lags = max(horizon - 1, math.floor(4 * (n / 100) ** (2 / 9)))
    if n < lags + 2:
        return None
    errors = series - series.mean()
    total = (errors**2).sum() / n
    for lag in range(1, lags + 1):
        total += 2 * (1 - lag / (lags + 1)) * (errors[lag:] * errors[:-lag]).sum() / n
    return series.mean() / math.sqrt(total / n)


def by_row(a, b):
    """Pearson correlation of two tables row by row; missing below 30 common names or without differences."""
    both = a.notna() & b.notna()
    a, b = a.where(both), b.where(both)
    a, b = a.sub(a.mean(axis=1), axis=0), b.sub(b.mean(axis=1), axis=0)
    size = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return ((a * b).sum(axis=1) / size).where((both.sum(axis=1) >= 30) & (size > 1e-18))


def rank_by_row(a, b):
    both = a.notna() & b.notna()
    ranks = (table.where(both).round(12).rank(axis=1) for table in (a, b))
    return by_row(*ranks)


def _recompute(panel, factor, start, stop, horizon, fill="close_t1", periods=252):
    price = pd.DataFrame(panel["close" if fill == "close_t1" else "open"][:stop])
    values = pd.DataFrame(factor[:stop])
    inside = slice(start, stop)

    def label(h):
        step = price.shift(-1) / price - 1  # from row t to t+1, missing across a gap
        whole = sum(step.shift(-1 - k).notna() for k in range(h)) == h
        return (price.shift(-1 - h) / price.shift(-1) - 1).where(whole)

    ic = by_row(values, label(horizon))[inside]
    rank_ics = {h: rank_by_row(values, label(h))[inside] for h in (1, 2, 5, 10, 20, horizon)}
    rank_ic = rank_ics[horizon]
    ic = ic.where(rank_ic.notna())

    n = values.notna().sum(axis=1)
    centred = values.round(12).rank(axis=1).sub((n + 1) / 2, axis=0)
    gross_size = centred.abs().sum(axis=1).where(n >= 30)
    weights = centred.div(gross_size.where(gross_size > 0), axis=0).fillna(0)
    book = sum(weights.shift(k).fillna(0) for k in range(horizon)) / horizon
    earned = label(1)
    gross = (book * earned.fillna(0)).sum(axis=1)
    traded = (book - book.shift(1).fillna(0)).abs().sum(axis=1)
    active = ((book != 0).any(axis=1) | (traded > 0)) & (np.arange(stop) < stop - 2) & (np.arange(stop) >= start)
    gross, traded = gross[active], traded[active]

    def sharpe(x):
        return x.mean() / x.std() * math.sqrt(periods)

    one = earned.where(values.notna() & earned.notna())
    ranks = values.where(one.notna()).round(12).rank(axis=1)
    count = one.notna().sum(axis=1)
    bucket = np.ceil(ranks.mul(5).div(count, axis=0)).where((count >= 30) & (ranks.std(axis=1) > 0), axis=0)
    quantiles = pd.DataFrame({q: one.where(bucket == q).mean(axis=1) for q in range(1, 6)})[inside]

    decision = slice(start, stop - horizon - 1)
    priced = pd.DataFrame(panel["close"][:stop]).notna() & panel.universe[:stop]
    coverage = ((values.notna() & priced).sum(axis=1) / priced.sum(axis=1))[decision].mean()
    autocorr = rank_by_row(values, values.shift(1))[decision].mean()
    net = {bp: gross - bp / 1e4 * traded for bp in (0, 1, 2, 5, 10)}
    equity = (1 + net[5]).cumprod()
    return {
        "n_days": int(rank_ic.count()),
        "ic": ic.mean(),
        "ic_t": newey_west(ic, horizon),
        "icir": ic.mean() / ic.std(),
        "rank_ic": rank_ic.mean(),
        "rank_ic_t": newey_west(rank_ic, horizon),
        "rank_icir": rank_ic.mean() / rank_ic.std(),
        "decay": {str(h): {"rank_ic": rank_ics[h].mean(), "t": newey_west(rank_ics[h], h)} for h in (1, 2, 5, 10, 20)},
        "quantiles": list(quantiles.mean()),
        "spread": (quantiles[5] - quantiles[1]).mean(),
        "coverage": coverage,
        "rank_autocorr": autocorr,
        "turnover": traded.iloc[1:].mean(),
        "breakeven_bp": gross.mean() / traded.mean() * 1e4,
        "sharpe": sharpe(gross),
        "net_sharpe": {f"{bp:g}": sharpe(net[bp]) for bp in net},
        "ann_return": gross.mean() * periods,
        "max_drawdown": min(0, (equity / equity.cummax().clip(lower=1) - 1).min()),
        "missing_returns": int(((book != 0) & earned.isna())[active].sum().sum()),
    }


@pytest.fixture(scope="session")
def recompute():
    """``recompute(panel, factor, start, stop, horizon, fill)``: what `Evidence.to_dict` must hold."""
    return _recompute


@pytest.fixture(scope="session")
def agrees():
    """``agrees(got, expected, tolerance)`` for nested plain values."""

    def check(got, expected, tolerance=1e-12, path=""):
        if isinstance(expected, dict):
            for key, value in expected.items():
                check(got[key], value, tolerance, f"{path}.{key}")
        elif isinstance(expected, list):
            assert len(got) == len(expected), path
            for place, value in enumerate(expected):
                check(got[place], value, tolerance, f"{path}.{place}")
        elif expected is None or isinstance(expected, int):
            assert got == expected, path
        else:
            assert got == pytest.approx(expected, rel=tolerance, abs=tolerance), path

    return check

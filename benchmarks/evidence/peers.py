"""alphalens-reloaded on the same data. Runs in an environment of its own and knows nothing of ours.

    python peers.py IN.npz OUT.npz figures    # what it makes of them
    python peers.py IN.npz OUT.npz seconds    # how long the data path of its full tear sheet takes

IN holds `factor` [T, N], `prices` [T, N] (what a decision of row t is filled at), `dates` [T], `periods` and,
for figures, `groups` [N].
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")

from alphalens import performance, utils  # noqa: E402

QUANTILES = 5


def tables(asked: Any) -> tuple[pd.Series, pd.DataFrame]:
    """Factor and prices as it wants them."""
    dates = pd.DatetimeIndex(asked["dates"].astype("datetime64[ns]"))
    names = [f"s{n:04}" for n in range(asked["prices"].shape[1])]
    prices = pd.DataFrame(asked["prices"], dates, names)
    index = pd.MultiIndex.from_product([dates, names], names=["date", "asset"])
    return pd.Series(asked["factor"].ravel(), index).dropna(), prices


def clean(
    factor: pd.Series, prices: pd.DataFrame, periods: list[int], groups: dict[str, int] | None = None
) -> pd.DataFrame:
    """Its table of factor, forward returns and quantiles; no return is cut for being large."""
    return utils.get_clean_factor_and_forward_returns(
        factor, prices, groupby=groups, quantiles=QUANTILES, periods=periods, filter_zscore=None, max_loss=1.0
    )


def data_path(data: pd.DataFrame, periods: list[int]) -> None:
    """What `create_full_tear_sheet` computes before it draws, with its defaults."""
    returns = performance.factor_returns(data, True, False)
    mean, _ = performance.mean_return_by_quantile(data, demeaned=True)
    mean.apply(utils.rate_of_return, axis=0, base_period=mean.columns[0])
    daily, error = performance.mean_return_by_quantile(data, by_date=True, demeaned=True)
    rate = daily.apply(utils.rate_of_return, axis=0, base_period=daily.columns[0])
    error = error.apply(utils.std_conversion, axis=0, base_period=error.columns[0])
    performance.factor_alpha_beta(data, returns, True, False)
    performance.compute_mean_returns_spread(rate, QUANTILES, 1, std_err=error)
    performance.factor_information_coefficient(data)
    performance.mean_information_coefficient(data, by_time=pd.offsets.MonthEnd())
    for period in periods:
        for quantile in range(1, QUANTILES + 1):
            performance.quantile_turnover(data["factor_quantile"], quantile, period)
        performance.factor_rank_autocorrelation(data, period)


def figures(data: pd.DataFrame, dates: np.ndarray) -> dict[str, np.ndarray]:
    """Daily figures on all `dates`, NaN where it has none; weights are those of average ranks."""
    days = pd.DatetimeIndex(dates.astype("datetime64[ns]"))

    def by_day(table: Any) -> np.ndarray:
        return table.reindex(days).to_numpy(float)

    ranked = data.assign(factor=data.groupby(level="date")["factor"].rank())
    weights = performance.factor_weights(ranked).unstack().reindex(days).fillna(0.0)
    quantiles, _ = performance.mean_return_by_quantile(data, by_date=True, demeaned=False)
    first = quantiles.iloc[:, 0].unstack("factor_quantile")
    return {
        "ic": by_day(performance.factor_information_coefficient(data)),
        "ic_by_year": performance.mean_information_coefficient(data, by_time=pd.offsets.YearEnd()).to_numpy(),
        "ic_by_group": performance.mean_information_coefficient(data, by_group=True).to_numpy(),
        "quantiles": by_day(first),
        "quantile_means": performance.mean_return_by_quantile(data, demeaned=False)[0].iloc[:, 0].to_numpy(),
        "gross": by_day(performance.factor_returns(ranked).iloc[:, 0]),
        "turnover": weights.diff().abs().sum(axis=1, min_count=1).to_numpy(),
        "autocorrelation": by_day(performance.factor_rank_autocorrelation(data, 1)),
        "names": by_day(data.groupby(level="date").size()),
    }


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main() -> None:
    given, wanted, mode = sys.argv[1:]
    with np.load(given) as asked:
        factor, prices = tables(asked)
        dates, periods = asked["dates"], asked["periods"].tolist()
        if mode == "figures":
            groups = dict(zip(prices.columns, asked["groups"].tolist(), strict=True))
            np.savez(wanted, **figures(clean(factor, prices, periods, groups), dates))
            return
    spent = {"clean": seconds(lambda: clean(factor, prices, periods))}
    data = clean(factor, prices, periods)
    spent["performance"] = seconds(lambda: data_path(data, periods))
    np.savez(wanted, **spent)


if __name__ == "__main__":
    main()

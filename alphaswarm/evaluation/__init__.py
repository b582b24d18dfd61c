"""Evidence: what a factor is worth, on a window that is stated, with conventions that are stated."""

from alphaswarm.evaluation.book import turnover
from alphaswarm.evaluation.evaluator import DECAY_HORIZONS, Evaluator
from alphaswarm.evaluation.evidence import DecayPoint, Evidence
from alphaswarm.evaluation.ic import ic_series, information_ratio, newey_west_lags, newey_west_t, rank_ic_series
from alphaswarm.evaluation.labels import forward_returns
from alphaswarm.evaluation.multiple import hurdle
from alphaswarm.evaluation.quantiles import quantile_return_series, quantile_returns
from alphaswarm.evaluation.series import FactorSeries
from alphaswarm.evaluation.windows import Window, Windows, default_windows

__all__ = [
    "DECAY_HORIZONS",
    "DecayPoint",
    "Evaluator",
    "Evidence",
    "FactorSeries",
    "Window",
    "Windows",
    "default_windows",
    "forward_returns",
    "hurdle",
    "ic_series",
    "information_ratio",
    "newey_west_lags",
    "newey_west_t",
    "quantile_return_series",
    "quantile_returns",
    "rank_ic_series",
    "turnover",
]

"""From factor to weights, and from weights to money."""

from alphaswarm.backtest.ranking import RankedRows, rank_rows
from alphaswarm.backtest.result import BacktestResult
from alphaswarm.backtest.vector import Fill, VectorEngine
from alphaswarm.backtest.weights import quantile_weights, rank_weights, stagger, target_weights

__all__ = [
    "BacktestResult",
    "Fill",
    "RankedRows",
    "VectorEngine",
    "quantile_weights",
    "rank_rows",
    "rank_weights",
    "stagger",
    "target_weights",
]

"""From factor to weights, and from weights to money."""

from alphaswarm.backtest.base import ENGINES, BaseBacktestEngine, Session, StepResult
from alphaswarm.backtest.event import EventEngine, Order
from alphaswarm.backtest.ranking import RankedRows, rank_rows
from alphaswarm.backtest.result import BacktestResult, Fills
from alphaswarm.backtest.vector import Fill, VectorEngine
from alphaswarm.backtest.weights import quantile_weights, rank_weights, stagger, target_weights

__all__ = [
    "ENGINES",
    "BacktestResult",
    "BaseBacktestEngine",
    "EventEngine",
    "Fill",
    "Fills",
    "Order",
    "RankedRows",
    "Session",
    "StepResult",
    "VectorEngine",
    "quantile_weights",
    "rank_rows",
    "rank_weights",
    "stagger",
    "target_weights",
]

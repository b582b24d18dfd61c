"""From factor to weights, and from weights to money."""

from alphaswarm.backtest.agent import AGENT, Moment, WeightAgent
from alphaswarm.backtest.base import ENGINES, BaseBacktestEngine, Session
from alphaswarm.backtest.event import EventEngine, Order
from alphaswarm.backtest.fills import Fills
from alphaswarm.backtest.ranking import RankedRows, rank_rows
from alphaswarm.backtest.result import BacktestResult, StepResult
from alphaswarm.backtest.vector import Fill, VectorEngine
from alphaswarm.backtest.weights import quantile_weights, rank_weights, stagger, target_weights

__all__ = [
    "AGENT",
    "ENGINES",
    "BacktestResult",
    "BaseBacktestEngine",
    "EventEngine",
    "Fill",
    "Fills",
    "Moment",
    "Order",
    "RankedRows",
    "Session",
    "StepResult",
    "VectorEngine",
    "WeightAgent",
    "quantile_weights",
    "rank_rows",
    "rank_weights",
    "stagger",
    "target_weights",
]

"""Evidence: what a factor is worth, on a window that is stated, with conventions that are stated."""

from alphaswarm.evaluation.book import turnover
from alphaswarm.evaluation.bootstrap import block_length, bootstrap_interval
from alphaswarm.evaluation.brain import BrainLabel, SubUniverse, brain_labels
from alphaswarm.evaluation.breakdown import Part, by_group, by_regime, by_year, market_regimes
from alphaswarm.evaluation.capacity import Capacity, CostPoint, book_capacity, cost_curve, liquidity
from alphaswarm.evaluation.evaluator import DECAY_HORIZONS, Evaluator, RankedFactor
from alphaswarm.evaluation.evidence import DecayPoint, Evidence
from alphaswarm.evaluation.gates import GateResult, Thresholds
from alphaswarm.evaluation.ic import ic_series, information_ratio, newey_west_lags, newey_west_t, rank_ic_series
from alphaswarm.evaluation.known import KnownFormula, KnownFormulas
from alphaswarm.evaluation.labels import forward_returns
from alphaswarm.evaluation.mean_test import mean_z
from alphaswarm.evaluation.multiple import bh_fdr, confirmation_hurdle, effective_trials, hurdle
from alphaswarm.evaluation.neutral import ExposureSet, Left, correlations_left, residual_ranks, what_is_left
from alphaswarm.evaluation.overfitting import Overfitting, pbo
from alphaswarm.evaluation.quantiles import quantile_return_series, quantile_returns
from alphaswarm.evaluation.residual import Exposures
from alphaswarm.evaluation.series import FactorSeries
from alphaswarm.evaluation.sharpe import (
    SharpeMoments,
    deflated_sharpe_ratio,
    expected_max_sharpe,
    minimum_backtest_length,
    minimum_track_record_length,
    probabilistic_sharpe_ratio,
    sharpe_moments,
)
from alphaswarm.evaluation.sheet import SharpeFigures, TearSheet, TearSheets
from alphaswarm.evaluation.splits import Split, combinatorial, date_range, purge, segments, walk_forward
from alphaswarm.evaluation.verdict import Verdict
from alphaswarm.evaluation.windows import Window, Windows, default_windows

__all__ = [
    "DECAY_HORIZONS",
    "BrainLabel",
    "Capacity",
    "CostPoint",
    "DecayPoint",
    "Evaluator",
    "Evidence",
    "ExposureSet",
    "Exposures",
    "FactorSeries",
    "GateResult",
    "KnownFormula",
    "KnownFormulas",
    "Left",
    "Overfitting",
    "Part",
    "RankedFactor",
    "SharpeFigures",
    "SharpeMoments",
    "Split",
    "SubUniverse",
    "TearSheet",
    "TearSheets",
    "Thresholds",
    "Verdict",
    "Window",
    "Windows",
    "bh_fdr",
    "block_length",
    "book_capacity",
    "bootstrap_interval",
    "brain_labels",
    "by_group",
    "by_regime",
    "by_year",
    "combinatorial",
    "confirmation_hurdle",
    "correlations_left",
    "cost_curve",
    "date_range",
    "default_windows",
    "deflated_sharpe_ratio",
    "effective_trials",
    "expected_max_sharpe",
    "forward_returns",
    "hurdle",
    "ic_series",
    "information_ratio",
    "liquidity",
    "market_regimes",
    "mean_z",
    "minimum_backtest_length",
    "minimum_track_record_length",
    "newey_west_lags",
    "newey_west_t",
    "pbo",
    "probabilistic_sharpe_ratio",
    "purge",
    "quantile_return_series",
    "quantile_returns",
    "rank_ic_series",
    "residual_ranks",
    "segments",
    "sharpe_moments",
    "turnover",
    "walk_forward",
    "what_is_left",
]

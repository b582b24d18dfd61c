"""What the figures of a backtest are called, in which unit they are shown, and how they are defined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["METRICS", "Metric", "shown"]


@dataclass(frozen=True)
class Metric:
    """One figure for people: r are daily returns, `periods` the rows in a year."""

    name: str
    title: str
    unit: Literal["%", "", "days", "times"]
    definition: str


METRICS: tuple[Metric, ...] = (
    Metric("sharpe", "Sharpe", "", "mean(r) / std(r) * sqrt(periods), after costs, no risk-free rate"),
    Metric("ann_return", "Yearly return", "%", "compound, from the first trade on"),
    Metric("volatility", "Volatility", "%", "std(r) * sqrt(periods)"),
    Metric("total_return", "Total return", "%", "last equity over the starting capital, less 1"),
    Metric("max_drawdown", "Max drawdown", "%", "worst fall from a high; the starting capital is one"),
    Metric("max_drawdown_duration", "Longest drawdown", "days", "most rows in a row below a high, recovered or not"),
    Metric("sortino", "Sortino", "", "mean(r) / sqrt(mean(min(r, 0)^2)) * sqrt(periods)"),
    Metric("calmar", "Calmar", "", "yearly return / size of the max drawdown"),
    Metric("hit_rate", "Hit rate", "%", "gains among the returns that are not 0"),
    Metric("profit_factor", "Profit factor", "", "sum of gains / sum of losses"),
    Metric("profit_factor_low", "Profit factor, low", "", "2.5 % end of its bootstrap interval"),
    Metric("profit_factor_high", "Profit factor, high", "", "97.5 % end of its bootstrap interval"),
    Metric("var_95", "Value at risk", "%", "the daily return that one day in twenty falls below"),
    Metric("cvar_95", "Expected shortfall", "%", "mean of the returns no better than that"),
    Metric("turnover", "Turnover a day", "%", "traded / equity, both sides, drift and entry included"),
    Metric("cost", "Costs in all", "%", "all that was paid, of the starting capital"),
    Metric("gross", "Gross exposure", "%", "mean of the sum of absolute positions / equity"),
    Metric("net", "Net exposure", "%", "mean of the sum of positions / equity"),
    Metric("invested", "Days invested", "%", "rows that end with a position"),
    Metric("days", "Days", "days", "from the first trade on"),
    Metric("missing_returns", "Missing closes", "times", "a held name had no close that day"),
    Metric("untraded", "Orders not done", "times", "no price, or no volume, at the fill"),
)


def shown(metric: Metric, value: float | None) -> str:
    """The value with its unit; a dash where it is undefined."""
    if value is None:
        return "-"
    if metric.unit == "%":
        return f"{100 * value:z.2f}%"
    if metric.unit == "":
        return f"{value:z.2f}"
    return f"{value:,.0f}" + (" days" if metric.unit == "days" else "")

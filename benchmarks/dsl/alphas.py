"""Sixteen of the 101 formulaic alphas (Kakushadze, 2016): those that need no group and exist in every peer."""

from __future__ import annotations

ALPHAS = {
    "a001": "cs_rank(ts_argmax(signed_power(if_else(returns < 0, ts_std(returns, 20), close), 2), 5)) - 0.5",
    "a002": "-ts_corr(cs_rank(delta(log(volume), 2)), cs_rank((close - open) / open), 6)",
    "a003": "-ts_corr(cs_rank(open), cs_rank(volume), 10)",
    "a004": "-ts_rank(cs_rank(low), 9)",
    "a005": "cs_rank(open - ts_sum(vwap, 10) / 10) * -abs(cs_rank(close - vwap))",
    "a006": "-ts_corr(open, volume, 10)",
    "a007": "if_else(adv(20) < volume, -ts_rank(abs(delta(close, 7)), 60) * sign(delta(close, 7)), -1)",
    "a012": "sign(delta(volume, 1)) * -delta(close, 1)",
    "a013": "-cs_rank(ts_cov(cs_rank(close), cs_rank(volume), 5))",
    "a017": "-cs_rank(ts_rank(close, 10)) * cs_rank(delta(delta(close, 1), 1)) * cs_rank(ts_rank(volume / adv(20), 5))",
    "a021": "if_else(ts_sum(close, 8) / 8 + ts_std(close, 8) < ts_sum(close, 2) / 2, -1, "
    "if_else(ts_sum(close, 2) / 2 < ts_sum(close, 8) / 8 - ts_std(close, 8), 1, "
    "if_else(1 < volume / adv(20) or volume / adv(20) == 1, 1, -1)))",
    "a028": "cs_scale(ts_corr(adv(20), low, 5) + (high + low) / 2 - close)",
    "a034": "cs_rank(1 - cs_rank(ts_std(returns, 2) / ts_std(returns, 5)) + (1 - cs_rank(delta(close, 1))))",
    "a050": "-ts_max(cs_rank(ts_corr(cs_rank(volume), cs_rank(vwap), 5)), 5)",
    "a053": "-delta((close - low - (high - close)) / (close - low), 9)",
    "a101": "(close - open) / (high - low + 0.001)",
}

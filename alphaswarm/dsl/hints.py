"""What to write instead of an operator name that this language does not have."""

from __future__ import annotations

from alphaswarm.core.errors import near
from alphaswarm.dsl.operators import OPERATORS

__all__ = ["instead_of"]

# How other systems, and people used to them, spell what the table holds under another name.
_SPELLED: dict[str, str] = {
    "argmax": "ts_argmax(x, d)",
    "argmin": "ts_argmin(x, d)",
    "backfill": "ts_backfill(x, d)",
    "correlation": "ts_corr(x, y, d)",
    "corr": "ts_corr(x, y, d)",
    "cov": "ts_cov(x, y, d)",
    "covariance": "ts_cov(x, y, d)",
    "decay": "decay_linear(x, d)",
    "delta_pct": "pct_change(x, d)",
    "demean": "cs_demean(x)",
    "diff": "delta(x, d)",
    "ewm": "ema(x, span)",
    "ifelse": "if_else(c, x, y)",
    "indneutralize": "group_neutralize(x, g)",
    "isnan": "is_nan(x)",
    "lag": "delay(x, d)",
    "ln": "log(x)",
    "ma": "ts_mean(x, d)",
    "mad": "ts_mad(x, d)",
    "mean": "ts_mean(x, d)",
    "median": "ts_median(x, d)",
    "neutralize": "group_neutralize(x, g)",
    "normalize": "cs_demean(x)",
    "power": "x ** y",
    "product": "ts_product(x, d)",
    "quantile": "ts_quantile(x, d, q)",
    "rank": "cs_rank(x) or ts_rank(x, d)",
    "ref": "delay(x, d)",
    "regression": "ts_resid(y, x, d)",
    "roc": "pct_change(x, d)",
    "scale": "cs_scale(x)",
    "shift": "delay(x, d)",
    "signedpower": "signed_power(x, y)",
    "slope": "ts_slope(y, d)",
    "sma": "ts_mean(x, d)",
    "std": "ts_std(x, d)",
    "stddev": "ts_std(x, d)",
    "sum": "ts_sum(x, d)",
    "ts_decay_linear": "decay_linear(x, d)",
    "ts_delay": "delay(x, d)",
    "ts_delta": "delta(x, d)",
    "ts_pct_change": "pct_change(x, d)",
    "ts_shift": "delay(x, d)",
    "ts_std_dev": "ts_std(x, d)",
    "ts_stddev": "ts_std(x, d)",
    "var": "ts_var(x, d)",
    "where": "if_else(c, x, y)",
    "winsorize": "cs_winsorize(x, k)",
    "wma": "decay_linear(x, d)",
    "zscore": "cs_zscore(x) or ts_zscore(x, d)",
}


def instead_of(name: str) -> str:
    """A hint for the unknown operator `name`: its other spelling, else the nearest name, else where they are listed."""
    if name in _SPELLED:
        return f"write {_SPELLED[name]}"
    return near(name, OPERATORS) or "alphaswarm alpha operators lists them"

"""Trees to SymPy and back, in this process."""

import signal
import sys

import numpy as np
import pytest

from alphaswarm.dsl import algebra, canonical, parse, random_expr
from alphaswarm.dsl.fingerprint import same_values

EXPLAIN = sys.modules["alphaswarm.dsl.explain"]
ORDER_ONLY = ["cs_rank"]


def forms(text, **changes):
    algebra.prepare()
    answer = algebra.work({"nodes": EXPLAIN._nodes(parse(text)), "order_only": ORDER_ONLY} | changes)
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0
    return [EXPLAIN._tree(form) for form in answer["forms"]], answer["late"]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("close + open - close", "open"),
        ("2 * close + 3 * close", "5 * close"),
        ("close * close", "close ** 2"),
        ("close ** 0.5 * 1", "sqrt(close)"),
        ("1 / (close * open)", "1 / close / open"),
        ("close / 3 + close / 3", "2 / 3 * close"),
        ("close * 0.125", "0.125 * close"),
        ("abs(-close)", "abs(close)"),
        ("-close - open", "-close - open"),
        ("inv(close) * close * open", "open"),
        ("cs_rank(3 * close - 7)", "cs_rank(close)"),
        ("cs_rank(-3 * close)", "cs_rank(-close)"),
        ("ts_corr(close + 0 * open, volume, 20, min_obs=5)", "ts_corr(close, volume, 20, min_obs=5)"),
        ("ts_quantile(close, 20, 0.9)", "ts_quantile(close, 20, 0.9)"),
        ("group_rank(close * 1, sector)", "group_rank(close, sector)"),
        ("if_else(close > open, volume, -volume)", "if_else(close > open, volume, -volume)"),
    ],
)
def test_a_form_is_among_them(text, form):
    found, late = forms(text)
    assert not late
    assert canonical(parse(form)) in [one and canonical(one) for one in found]


def test_the_first_form_of_any_expression_means_the_same():
    """Without cancelling anything, the way there and back keeps the values wherever SymPy's arithmetic does."""
    rng = np.random.default_rng(3)
    kept = 0
    for _ in range(25):
        expr = random_expr(rng, ["close", "open", "returns"], ["sector"], max_depth=3)
        found, _ = forms(str(expr))
        kept += bool(found) and found[0] is not None and same_values(expr, found[0])
    assert kept >= 20


def test_time_runs_out(monkeypatch):
    monkeypatch.setattr(algebra, "SECONDS", 1e-6)
    monkeypatch.setattr(algebra, "_write", lambda root: [sum(range(10_000)) for _ in range(10_000)])
    _, late = forms("close + open")
    assert late

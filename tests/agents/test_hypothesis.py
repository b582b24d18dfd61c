"""What a hypothesis says is held against its formula, and only where the formula tells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.agents.hypothesis import mismatches, slope
from alphaswarm.core import Panel, make_rng
from alphaswarm.data import synthetic_market
from alphaswarm.dsl import Expr, evaluate, parse, random_expr

FIELDS = ("close", "dollar_volume", "high", "low", "open", "returns", "size_z", "volume")


def said_of(text: str, expression: str, sign: int = 1) -> tuple[str, ...]:
    return mismatches(text, parse(expression), sign, FIELDS)


@pytest.mark.parametrize(
    ("text", "expression", "sign"),
    [
        ("Losers rebound: short-term reversal.", "-ts_sum(returns, 5)", 1),
        ("Losers rebound: short-term reversal.", "ts_sum(returns, 5)", -1),
        ("Reversal after a move away from the mean", "ts_mean(close, 20) / close", 1),
        ("Reversal of the day's move, scaled by volatility", "(open - close) / (high - low)", 1),
        ("Reversal, scaled by what is usual", "-returns / ts_std(returns, 20)", 1),
        ("Momentum: winners keep winning", "delay(pct_change(close, 230), 21)", 1),
        ("Momentum", "close - ts_mean(close, 100)", 1),
        ("High volume earns less: attention is paid for. ", "volume / ts_mean(volume, 20)", -1),
        ("Stocks with low volatility outperform.", "-ts_std(returns, 60)", 1),
        ("High values earn less.", "cs_rank(close)", -1),
        ("Stocks with higher past returns earn less", "-returns", 1),
        ("High size_z stocks underperform", "-size_z", 1),
        ("Reversal, not momentum", "-returns", 1),
        ("Volume shows attention", "cs_rank(dollar_volume)", 1),
        ("Close to its high values it has a low risk and open questions", "returns", 1),  # everyday words
        ("Reversal regardless of volume", "-returns", 1),
        ("Later returns follow, and future returns too", "volume", 1),
        ("Reversal", "ts_corr(returns, volume, 10)", 1),  # no sure slope: nothing is said
        ("Reversal or momentum, who knows", "returns", 1),
        ("", "returns", 1),
        # As models write them.
        (
            "Stocks that fell sharply on high volume tend to bounce back as liquidity providers are compensated; "
            "short-term reversal is stronger when volume is elevated.",
            "-ts_sum(returns, 5) * cs_rank(volume / ts_mean(volume, 20))",
            1,
        ),
        ("Closing near the high of the day signals buying pressure; momentum", "(close - low) / (high - low)", 1),
        (
            "High volatility is overpriced by those who seek lotteries and such stocks earn less.",
            "ts_std(returns, 20)",
            -1,
        ),
        ("Volume surges without a change of price predict higher returns.", "ts_zscore(volume, 20) - abs(returns)", 1),
        ("Stocks whose price moves a lot per dollar volume carry a premium.", "abs(returns) / dollar_volume", 1),
        ("When close and volume go together, subsequent returns are low.", "ts_corr(close, volume, 10)", -1),
        ("A gap up from the previous close to the open reverts.", "open / delay(close, 1) - 1", -1),
        ("A rally on declining volume has weak momentum and will reverse.", "ts_sum(returns, 20) / volume", -1),
        ("Stocks with high recent maximum daily returns underperform.", "ts_max(returns, 20)", -1),
    ],
)
def test_what_agrees_is_left_alone(text: str, expression: str, sign: int) -> None:
    assert said_of(text, expression, sign) == ()


@pytest.mark.parametrize(
    ("text", "expression", "sign", "told"),
    [
        ("Volume confirms the move", "-returns", 1, "names volume"),
        ("Dollar volume stands for attention", "-returns", 1, "names dollar_volume"),
        ("The closing price matters", "volume", 1, "names close"),
        ("Moves from the open to the daily high", "volume", 1, "names high"),
        ("Past returns predict", "volume", 1, "names returns"),
        ("A large `low` is good", "volume", 1, "names low"),
        ("The size z is a premium", "returns", 1, "names size_z"),
        ("Losers rebound: short-term reversal", "ts_sum(returns, 5)", 1, "reversal, but with sign +1"),
        ("Mean reversion", "close / ts_mean(close, 20)", 1, "favours what has risen"),
        ("Past winners outperform", "ts_sum(returns, 5)", -1, "favours what has fallen"),
        ("Momentum, not reversal", "-returns", 1, "momentum, but with sign +1"),
        ("High volume earns less", "volume", 1, 'of "high volume" the opposite'),
        ("Stocks with low volatility outperform", "ts_std(returns, 60)", 1, "a high volatility earns more"),
        ("High values of it earn more", "returns", -1, "a high value of the expression earns less"),
        ("Higher past returns earn less", "returns", 1, "a high past return earns more"),
        ("Calm; high size_z stocks underperform", "size_z", 1, "a high size_z earns more"),
    ],
)
def test_what_disagrees_is_told(text: str, expression: str, sign: int, told: str) -> None:
    (fault,) = [fault for fault in said_of(text, expression, sign) if told in fault]
    assert len(fault) < 200


def test_without_a_sign_no_direction_is_judged() -> None:
    assert said_of("Short-term reversal", "returns", 0) == ()
    assert said_of("Volume matters", "returns", 0) != ()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("returns", 1),
        ("-cs_rank(returns)", -1),
        ("delay(close, 5) - close", -1),
        ("delay(close, 5) / close", -1),
        ("close - open", 1),
        ("high - low", None),  # both ends of the day
        ("-1 * returns", -1),
        ("returns * cs_rank(volume)", 1),
        ("returns * delta(volume, 1)", None),
        ("inv(close)", -1),
        ("signed_power(returns, -1)", -1),
        ("if_else(volume > 5, returns, -returns)", None),
        ("abs(returns)", None),
        ("volume", None),
    ],
)
def test_slopes(expression: str, expected: int | None) -> None:
    prices = {"open", "high", "low", "close", "returns"}
    assert slope(parse(expression), lambda node: node.kind == "field" and node.name in prices) == expected


MARKET = synthetic_market("planted", seed=3, days=90, names=30)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10_000))
def test_a_sure_slope_is_one(seed: int) -> None:
    """A field that stands once in a formula is raised today for one stock: the value goes where the slope says."""
    rng = make_rng(seed, "slope")
    expression = random_expr(rng, ("close", "volume", "returns"), max_depth=3)
    for name in expression.fields:
        found = slope(expression, only(name))
        once = sum(node.name == name for node in every(expression)) == 1
        if found is None or not once:
            continue
        raised = MARKET[name].copy()
        stock = int(rng.integers(raised.shape[1]))
        raised[-1, stock] += 0.01 * abs(raised[-1, stock]) + 1e-4
        before, after = (value_of(expression, fields, stock) for fields in ({}, {name: raised}))
        if np.isfinite(before) and np.isfinite(after):
            assert found * (after - before) >= -1e-7 * max(1.0, abs(before)), str(expression)


def only(name: str) -> Callable[[Expr], bool]:
    return lambda node: node.kind == "field" and node.name == name


def every(node: Expr) -> list[Expr]:
    """All nodes, with their repetitions."""
    return [node, *(below for arg in node.args for below in every(arg))]


def value_of(expression: Expr, changed: dict[str, np.ndarray], stock: int) -> float:
    fields = {name: changed.get(name, MARKET[name]) for name in ("close", "volume", "returns")}
    panel = Panel.from_arrays(fields, MARKET.dates, MARKET.symbols)
    return float(evaluate(expression, panel)[-1, stock])

"""Typical forms of factors, filled with the fields that a panel has.

They are the search's common sense: prices are compared with their own past, volume with its usual
level, a bar's parts with its range; levels that mean nothing across stocks are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

__all__ = ["combined", "fresh_idea"]

T = TypeVar("T")

# Trading weeks, months, a quarter; the short ones are drawn more often.
WINDOWS = (2, 3, 5, 5, 8, 10, 10, 15, 20, 20, 30, 40, 60)
# Fields whose level is a price or an amount; every other field is compared with its own past too.
PRICES = frozenset({"open", "high", "low", "close", "vwap"})
AMOUNTS = frozenset({"volume", "dollar_volume"})

OF_RETURNS = (
    "-ts_sum(returns, {d})",
    "-decay_linear(returns, {d})",
    "-ts_std(returns, {d})",
    "-ts_max(returns, {d})",
    "-ts_min(returns, {d})",
    "-ts_skew(returns, {long})",
    "-ts_zscore(returns, {long})",
    "-ts_rank(returns, {long})",
    "-returns / ts_std(returns, {long})",
    "delay(ts_sum(returns, {long}), {d})",
    "ts_sum(abs(returns), {d}) / ts_sum(abs(returns), {long})",
)
OF_PRICE = (
    "-{p} / ts_mean({p}, {d})",
    "{p} / ts_max({p}, {long})",
    "-ts_zscore({p}, {long})",
    "-ts_rank({p}, {long})",
    "-ts_scale({p}, {long})",
)
OF_AMOUNT = (
    "{v} / ts_mean({v}, {long})",
    "ts_zscore({v}, {long})",
    "-ts_mean({v}, {d}) / ts_mean({v}, {long})",
    "-ts_std({v}, {long}) / ts_mean({v}, {long})",
)
OF_BOTH = (
    "-ts_corr(returns, {v}, {long})",
    "-ts_corr(abs(returns), {v}, {long})",
    "ts_mean(abs(returns) / {v}, {d})",
    "-ts_sum(returns * {v}, {d}) / ts_sum({v}, {d})",
)
OF_BAR = (
    "(close - open) / (high - low)",
    "(high - close) / (high - low)",
    "-ts_mean((close - low) / (high - low), {d})",
    "-ts_mean(high / low, {d})",
    "open / delay(close, 1)",
    "-ts_sum(close / open - 1, {d})",
)
OF_OTHER = ("-{f}", "-{f} / ts_mean({f}, {long})", "-ts_zscore({f}, {long})", "-ts_mean({f}, {d})")

# {a} is the formula at hand, {b} another idea.
TOGETHER = (
    ("cs_rank({a}) * cs_rank({b})", "times another idea"),
    ("cs_rank({a}) + cs_rank({b})", "plus another idea"),
    ("cs_rank({a}) - cs_rank({b})", "less another idea"),
    ("cs_resid({a}, {b})", "without what another idea explains"),
    ("if_else({b} > ts_mean({b}, {long}), {a}, -({a}))", "turned round where another idea is low"),
)
ALONE = (
    ("decay_linear({a}, {d})", "smoothed"),
    ("ts_rank({a}, {long})", "against its own past"),
    ("ts_mean({a}, {d})", "averaged"),
    ("{a} - delay({a}, {d})", "as a change"),
)
IN_GROUP = (("group_neutralize({a}, {g})", "inside its group"), ("group_rank({a}, {g})", "ranked inside its group"))


def fresh_idea(rng: np.random.Generator, fields: Sequence[str]) -> str:
    """The text of a simple factor over `fields`."""
    offered = set(fields) | ({"returns"} if "close" in fields else set())
    amounts = sorted(AMOUNTS & offered)
    prices = sorted(PRICES & offered)
    others = sorted(offered - AMOUNTS - PRICES - {"returns"})
    kinds: list[Sequence[str]] = []
    if "returns" in offered:
        kinds += [OF_RETURNS, OF_RETURNS]
    kinds += [OF_PRICE] if prices else []
    kinds += [OF_AMOUNT] if amounts else []
    kinds += [OF_BOTH] if amounts and "returns" in offered else []
    kinds += [OF_BAR] if {"open", "high", "low", "close"} <= offered else []
    kinds += [OF_OTHER] if others else []
    form = _pick(rng, _pick(rng, kinds))
    return _filled(
        form,
        rng,
        p=_pick(rng, prices) if prices else "",
        v=_pick(rng, amounts) if amounts else "",
        f=_pick(rng, others) if others else "",
    )


def combined(text: str, rng: np.random.Generator, fields: Sequence[str], groups: Sequence[str]) -> tuple[str, str]:
    """`text` with another idea, or in a form of its own; and how, in words."""
    forms = [*TOGETHER, *ALONE, *(IN_GROUP if groups else ())]
    form, how = forms[int(rng.integers(len(forms)))]
    other = fresh_idea(rng, fields)
    group = _pick(rng, sorted(groups)) if groups else ""
    return _filled(form, rng, a=f"({text})", b=f"({other})", g=group), how


def _filled(form: str, rng: np.random.Generator, **parts: str) -> str:
    first, second = _pick(rng, WINDOWS), _pick(rng, WINDOWS)
    # The long window is at least a week, and longer than the short one.
    longer = max(first, second, 5) if first != second else max(2 * first, 5)
    return form.format(d=min(first, second), long=longer, **parts)


def _pick(rng: np.random.Generator, items: Sequence[T]) -> T:
    return items[int(rng.integers(len(items)))]

"""A drawn market: base returns with common factors and fat tails, and the bars that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import Panel, make_rng

__all__ = ["Market", "draw_market"]

Array = NDArray[np.float64]

# Daily standard deviations, set so that IC sd of return signals, correlation of names (about 0.25)
# and volatilities (16 % index, 32 % a name, per year) look like those of US large caps.
MARKET, STYLE, SECTOR, INDUSTRY, OWN = 0.0095, 0.0035, 0.0028, 0.0021, 0.0112
STYLES, SECTORS, INDUSTRIES_EACH = 7, 10, 4
BETA_SPREAD, OWN_SPREAD, BETA_OWN = 0.4, 0.35, 0.5
TAIL = 4.5  # degrees of freedom of Student's t
VOLATILITY_MEMORY, VOLATILITY_SPREAD = 0.98, 0.35
DRIFT = 0.0003
LARGEST_RETURN = 0.4
OVERNIGHT = 0.35  # share of a day's variance
WICK = 0.35
VOLUME_MEMORY, VOLUME_SPREAD, VOLUME_ON_MOVES = 0.9, 0.35, 0.6
# Returns and the factors between prices are rounded: a last bit that differs between processors almost never
# changes a panel. Prices are not, or each would carry every earlier rounding into the next return.
DECIMALS = 8

# name: drift of the market a day, volatility, mean days it lasts
REGIMES: dict[str, tuple[float, float, float]] = {
    "rising": (0.0010, 0.75, 120.0),
    "flat": (0.0, 1.0, 80.0),
    "falling": (-0.0020, 1.7, 50.0),
}


@dataclass(frozen=True, eq=False)
class Market:
    """What a market is made of: base returns, and the draws that turn returns into bars.

    Attributes:
        returns: simple close-to-close returns [T, N] before anything is planted; the first row is not used.
        scale: each name's daily volatility [T, N].
        overnight: what the opening gap adds to its share of the day's move, in logs [T, N].
        above, below: high over the higher, low over the lower of open and close [T, N].
        quiet: log volume of a day without a move [T, N].
        first: first closes [N].
    """

    dates: NDArray[np.datetime64]
    symbols: tuple[str, ...]
    groups: dict[str, list[str]]
    meta: dict[str, Any]
    returns: Array
    scale: Array
    overnight: Array
    above: Array
    below: Array
    quiet: Array
    first: Array

    def panel(self, planted: Array | None = None) -> Panel:
        """The bars, with `planted` [T, N] added to the base returns."""
        returns = np.round(self.returns if planted is None else self.returns + planted, DECIMALS)
        returns[0] = 0.0
        close = self.first * np.cumprod(1 + returns, axis=0)
        moves = np.log1p(returns)
        before = np.vstack([close[:1], close[:-1]])
        start = before * np.round(np.exp(OVERNIGHT * moves + self.overnight), DECIMALS)
        volume = np.rint(np.exp(self.quiet + VOLUME_ON_MOVES * np.log1p(np.abs(moves) / self.scale))) + 1
        returns[0] = np.nan
        fields = {
            "open": start,
            "high": np.maximum(start, close) * self.above,
            "low": np.minimum(start, close) * self.below,
            "close": close,
            "volume": volume,
            "returns": returns,
            "dollar_volume": close * volume,
        }
        return Panel.from_arrays(fields, self.dates, self.symbols, groups=self.groups, meta=self.meta)


def draw_market(dates: NDArray[np.datetime64], names: int, *, seed: int, regimes: bool, meta: dict[str, Any]) -> Market:
    """Draw everything that is random; with `regimes`, drift and volatility follow a hidden state."""
    days = dates.size
    rng = make_rng(seed, "synthetic", "market")
    beta = rng.standard_normal(names)
    own = OWN * np.exp(OWN_SPREAD * (BETA_OWN * beta + np.sqrt(1 - BETA_OWN**2) * rng.standard_normal(names)))
    beta = 1 + BETA_SPREAD * beta
    loadings = rng.standard_normal((STYLES, names))
    industry = rng.integers(0, SECTORS * INDUSTRIES_EACH, names)
    first = np.round(40 * np.exp(0.6 * rng.standard_normal(names)), 2)
    size = 13.5 + 1.2 * rng.standard_normal(names)

    volatility = _volatility(make_rng(seed, "synthetic", "volatility"), days)
    drift = np.full(days, DRIFT)
    if regimes:
        states = list(_states(make_rng(seed, "synthetic", "regimes"), days))
        drift = np.array([REGIMES[state][0] for state in states])
        volatility = volatility * np.array([REGIMES[state][1] for state in states])
        meta = meta | {"regimes": _spells(states, dates)}

    rng = make_rng(seed, "synthetic", "returns")
    common = (
        MARKET * beta * _tailed(rng, days, 1)
        + STYLE * _tailed(rng, days, STYLES) @ loadings
        + SECTOR * _tailed(rng, days, SECTORS)[:, industry // INDUSTRIES_EACH]
        + INDUSTRY * _tailed(rng, days, SECTORS * INDUSTRIES_EACH)[:, industry]
    )
    moves = volatility[:, None] * (common + own * _tailed(rng, days, names))
    # a drift that is the same for all names, and a symmetric bound: neither can be predicted by any expression
    returns = LARGEST_RETURN * np.tanh(moves / LARGEST_RETURN) + (beta if regimes else 1.0) * drift[:, None]
    variance = MARKET**2 * beta**2 + STYLE**2 * (loadings**2).sum(axis=0) + SECTOR**2 + INDUSTRY**2 + own**2
    scale = volatility[:, None] * np.sqrt(variance)
    night, above, below, traffic = make_rng(seed, "synthetic", "bars").standard_normal((4, days, names))
    return Market(
        dates=dates,
        symbols=tuple(f"S{number:04d}" for number in range(names)),
        groups={
            "sector": [f"sector {number // INDUSTRIES_EACH}" for number in industry.tolist()],
            "industry": [f"industry {number}" for number in industry.tolist()],
        },
        meta=meta,
        returns=returns,
        scale=scale,
        overnight=math.sqrt(OVERNIGHT * (1 - OVERNIGHT)) * scale * night,
        above=np.round(np.exp(WICK * scale * np.abs(above)), DECIMALS),
        below=np.round(np.exp(-WICK * scale * np.abs(below)), DECIMALS),
        quiet=size + VOLUME_SPREAD * _remembered(traffic, VOLUME_MEMORY),
        first=first,
    )


def _tailed(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """Student's t of variance 1."""
    draws: Array = rng.standard_t(TAIL, (rows, columns))
    return draws * math.sqrt((TAIL - 2) / TAIL)


def _volatility(rng: np.random.Generator, days: int) -> Array:
    """The market's volatility [T]: exp of an AR(1), mean square 1."""
    logs = VOLATILITY_SPREAD * _remembered(rng.standard_normal(days), VOLATILITY_MEMORY)
    volatility: Array = np.exp(logs - VOLATILITY_SPREAD**2)
    return volatility


def _remembered(shocks: Array, memory: float) -> Array:
    """AR(1) over rows of variance 1, from standard normal shocks."""
    state = shocks.copy()
    state[1:] *= np.sqrt(1 - memory**2)
    for row in range(1, len(state)):
        state[row] += memory * state[row - 1]
    return state


def _states(rng: np.random.Generator, days: int) -> Iterator[str]:
    """A Markov chain over the regimes: each lasts its mean, then goes to one of the others."""
    names = list(REGIMES)
    state = names[int(rng.integers(len(names)))]
    for leave, choice in zip(rng.random(days), rng.integers(len(names) - 1, size=days), strict=True):
        yield state
        if leave < 1 / REGIMES[state][2]:
            state = [name for name in names if name != state][int(choice)]


def _spells(states: list[str], dates: NDArray[np.datetime64]) -> list[list[str]]:
    row, spells = 0, []
    for state, spell in groupby(states):
        spells.append([str(dates[row].astype("datetime64[D]")), state])
        row += len(list(spell))
    return spells

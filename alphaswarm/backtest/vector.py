"""`VectorEngine`: weights to equity in one pass over the days."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest import vector_days as days
from alphaswarm.backtest.base import ENGINES, BaseBacktestEngine, Session, aligned
from alphaswarm.backtest.fills import Fills
from alphaswarm.backtest.liquidity import VOLUME_ROWS, dollar_volume, tradable, trailing_mean, trailing_volatility
from alphaswarm.backtest.metrics import DEFAULT_PERIODS_PER_YEAR, periods_per_year
from alphaswarm.backtest.result import BacktestResult, StepResult
from alphaswarm.core import DataInvalid, EvidenceInvalid, Panel, SpecInvalid, TargetWeights, WeightsInvalid
from alphaswarm.trading.costs import Costs, ProportionalCosts, TradedNames, largest

__all__ = ["FILLS", "Fill", "VectorEngine", "VectorSession"]

# When a decision made at close t is carried out: at close t+1 or at open t+1.
Fill = Literal["close_t1", "open_t1"]
FILLS: tuple[Fill, ...] = ("close_t1", "open_t1")
Width = Literal["float64", "float32"]

Array = NDArray[np.float64]


@ENGINES.register("vector")
@dataclass(frozen=True)
class VectorEngine(BaseBacktestEngine):
    """Holds fractions of equity, without lots or cash limits.

    Row t of the weights is decided at close t and filled one session later, at its close
    (`close_t1`) or open (`open_t1`); nothing later than the fill moves what is traded there. At a
    fill, each target is that fraction of the equity just before it; positions then drift with
    their returns until the next fill. The cost of what is traded is paid from cash at once.

    - A row that is NaN throughout is no decision: positions drift on.
    - A name without a price at the fill, or with a volume of 0 that day, can't be traded: its position
      stays (counted).
    - A held name without a close stays at its last known price that day (counted); its next price
      brings the whole move since then. Plain returns know no price: a missing one is 0 (counted).
    - Equity of 0 or less ends the run: all is sold, and equity stays where it is.

    Args:
        costs: what trading costs. Other models than `ProportionalCosts` are asked day by day, which is
            slower by far; the `cap` of a square-root impact limits what is traded in a name on a day.
        fill: when decisions are carried out.
        capital: money that the account begins with; matters where costs depend on the size of an order.
        cash_rate: what cash earns in a year, as a fraction; owed where cash is below 0.
        every: decisions are carried out on every such row only, from the first on.
        band: orders for less than this fraction of equity are not placed, unless the target is 0.
        long_only: negative weights are refused.
        dtype: of positions and returns; equity and sums are float64 always.
        threads: over strategies.

    Raises:
        SpecInvalid: a value that can't be.
    """

    name: ClassVar[str] = "vector"

    costs: Costs = field(default_factory=ProportionalCosts)
    fill: Fill = "close_t1"
    capital: float = 1.0
    cash_rate: float = 0.0
    every: int = 1
    band: float = 0.0
    long_only: bool = False
    dtype: Width = "float64"
    threads: int = 1

    def __post_init__(self) -> None:
        if self.fill not in FILLS:
            raise SpecInvalid(f"fill must be one of {', '.join(FILLS)}, got {self.fill!r}")
        if self.dtype not in ("float64", "float32"):
            raise SpecInvalid(f"dtype must be float64 or float32, got {self.dtype!r}")
        if not (math.isfinite(self.capital) and self.capital > 0):
            raise SpecInvalid(f"capital must be a positive amount, got {self.capital!r}")
        if not (math.isfinite(self.cash_rate) and self.cash_rate > -1.0):
            raise SpecInvalid(f"cash_rate must be a fraction a year above -1, got {self.cash_rate!r}")
        if not 0.0 <= self.band < 1.0:
            raise SpecInvalid(f"band must be a fraction from 0 to below 1, got {self.band!r}")
        for name in ("every", "threads"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise SpecInvalid(f"{name} must be a whole number from 1 on, got {getattr(self, name)!r}")

    def start(self, panel: Panel, window: slice | None = None) -> VectorSession:
        """An account at the first close of `panel` or `window`.

        Raises:
            FieldNotFound: the panel lacks a price that the fill needs.
            EvidenceInvalid: no row lies in the window.
        """
        rows = range(*(window or slice(None)).indices(panel.shape[0]))
        if not rows or rows.step != 1:
            raise EvidenceInvalid(f"a backtest needs at least one row of the panel, got {window}")
        return VectorSession(self, panel, rows)

    def run(
        self,
        panel: Panel | None = None,
        weights: ArrayLike | None = None,
        *,
        returns: ArrayLike | None = None,
        periods: float | None = None,
        positions: bool | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> BacktestResult:
        """Trade `weights` on a panel, or on plain returns.

        Args:
            panel: must hold `close`, and `open` for `open_t1`.
            weights: [T, N] or [S, T, N] fractions of equity, row t decided at close t.
            returns: [T, N] close-to-close returns instead of a panel (`close_t1` only); a missing
                one counts as 0 and means that the name can't be traded at that close.
            periods: rows in a year; the panel's own by default, 252 for plain returns.
            positions: keep them in the result; by default for one strategy, not for a batch, whose
                positions would take as much memory as all its weights.
            context: see `BaseBacktestEngine.run`.

        Returns:
            A result with arrays [T] and [T, N], or [S, T] and [S, T, N].

        Raises:
            WeightsInvalid: a wrong shape, infinity, NaN in part of a row, or a short in a long-only
                account; the message names the place.
            DataInvalid: both or neither of panel and returns, or returns that are infinite.
            FieldNotFound: the panel lacks a price that the fill needs.
        """
        if (panel is None) == (returns is None):
            raise DataInvalid("a backtest needs a panel or returns, exactly one of them")
        if weights is None:
            if panel is None:
                raise WeightsInvalid("a backtest needs weights [T, N] or [S, T, N], got none")
            return self.run_agent(panel, context)
        if panel is not None:
            market = _panel_market(panel, self)
            year = periods_per_year(panel) if periods is None else periods
        else:
            market = _return_market(returns, self)
            year = DEFAULT_PERIODS_PER_YEAR if periods is None else periods
        if not 0 < year < math.inf:
            raise DataInvalid(f"periods must be a positive number of rows in a year, got {year!r}")
        targets = _checked(weights, market, self)
        batch = targets if targets.ndim == 3 else targets[None]
        keep = targets.ndim == 2 if positions is None else positions
        account = _Account(self, market, batch.shape[0], float(year), keep=keep)
        account.advance(batch, 0, batch.shape[1] - 1)
        for strategy, row in enumerate(batch[:, -1]):  # never filled, but it must be weights all the same
            if not np.isfinite(row).all() and not np.isnan(row).all():
                raise _not_finite(batch, strategy, batch.shape[1] - 1, 0, market.symbols)
        result = account.result()
        return result if targets.ndim == 3 else result[0]


class VectorSession(Session):
    """The account of a `VectorEngine` in progress."""

    def __init__(self, engine: VectorEngine, panel: Panel, rows: range) -> None:
        self.panel = panel
        self.row = rows.start
        self._engine = engine
        self._rows = rows
        market = _panel_market(panel, engine).between(rows)
        self._account = _Account(engine, market, 1, periods_per_year(panel), keep=True)

    def step(self, target: ArrayLike | TargetWeights | None) -> StepResult:
        """Decide `target` [N] at this close and go on to the next one; NaN throughout holds."""
        decided = aligned(target, self.panel.symbols)
        if self.row + 1 >= self._rows.stop:
            raise EvidenceInvalid(f"the backtest is at its last row, {self.row}: there is no later close")
        batch = _checked(decided[None], self._account.market, self._engine, rows=1)[None]
        self._account.advance(batch, self.row - self._rows.start, 1)
        self.row += 1
        equity, weights, cost = self._account.now()
        return StepResult(equity, weights, Fills.none(), cost)

    def result(self) -> BacktestResult:
        """The backtest up to this close."""
        return self._account.result()[0]


@dataclass(frozen=True, eq=False)
class _Market:
    """Each day's return cut at the fill, and what else the days need.

    Attributes:
        before, after: returns up to and from the fill [T, N]; `after` [0, 0]: the fill is the close.
        whole: [T], where every name has a return before the fill.
        tradable: [T, N]; [0, 0]: wherever there is a return before the fill.
        symbols: of the columns, where they have names.
        price: at the fill [T, N], where the panel has prices.
        volume, volatility: see `TradedNames`; known when the day before decided.
    """

    before: Array
    whole: NDArray[np.bool_]
    after: Array
    tradable: NDArray[np.bool_]
    symbols: tuple[str, ...] | None = None
    price: Array | None = None
    volume: Array | None = None
    volatility: Array | None = None

    def between(self, rows: range) -> _Market:
        """Only these rows."""
        here = slice(rows.start, rows.stop)

        def cut(values: Any) -> Any:
            return values if values is None or values.shape[0] == 0 else values[here]

        own = {name: cut(getattr(self, name)) for name in ("before", "whole", "after", "tradable", "price", "volume")}
        return _Market(**own, symbols=self.symbols, volatility=cut(self.volatility))


class _Account:
    """S accounts that trade side by side."""

    def __init__(self, engine: VectorEngine, market: _Market, strategies: int, periods: float, *, keep: bool) -> None:
        rows, names = market.before.shape
        self.market = market
        self._engine = engine
        self._periods = periods
        self._interest = (1.0 + engine.cash_rate) ** (1.0 / periods) - 1.0
        self._row = 0
        self._held = np.zeros((strategies, names), engine.dtype)
        self._cash = np.full(strategies, engine.capital)
        self._daily = np.zeros((strategies, days.FIGURES, rows))
        self._daily[:, days.EQUITY, 0] = engine.capital
        self._counts = np.zeros((strategies, 2), np.int64)
        self._positions = np.zeros((strategies, rows, names) if keep else (0, 0, 0), engine.dtype)

    def advance(self, weights: Array, base: int, count: int) -> None:
        """`count` more days; row 0 of `weights` [S, R, N] is row `base` of the market."""
        first = self._row
        if isinstance(self._engine.costs, ProportionalCosts):
            self._advance_compiled(weights, base, count, self._engine.costs.rate)
        else:
            for row in range(first, first + count):
                for s in range(weights.shape[0]):
                    self._advance_asked(s, row, weights[s, row - base] if row % self._engine.every == 0 else None)
        self._row = first + count

    def now(self) -> tuple[float, Array, float]:
        """Equity, weights [N] and cost of the first account's last day."""
        row = self._row
        weights = np.array(self._positions[0, row], np.float64)
        return float(self._daily[0, days.EQUITY, row]), weights, float(self._daily[0, days.PAID, row])

    def result(self) -> BacktestResult:
        """Everything up to the last day."""
        equity, turnover, paid, gross, net = np.moveaxis(self._daily, 1, 0)[:, :, : self._row + 1].copy()
        returns = np.zeros_like(equity)
        np.divide(equity[:, 1:], equity[:, :-1], out=returns[:, 1:], where=equity[:, :-1] > 0.0)
        returns[:, 1:] -= equity[:, :-1] > 0.0
        engine = self._engine
        setup: dict[str, Any] = {"engine": engine.name, "fill": engine.fill, "costs": repr(engine.costs)}
        usual = VectorEngine()
        for name in ("capital", "cash_rate", "every", "band", "long_only", "dtype"):
            if getattr(engine, name) != getattr(usual, name):
                setup[name] = getattr(engine, name)
        return BacktestResult(
            equity=equity,
            returns=returns,
            turnover=turnover,
            costs=paid,
            gross=gross,
            net=net,
            positions=self._kept(),
            missing_returns=self._counts[:, 0].copy(),
            untraded=self._counts[:, 1].copy(),
            periods=self._periods,
            setup=setup,
            capital=engine.capital,
        )

    def _kept(self) -> Array | None:
        """Positions up to here; a copy, unless no day is left that could change them."""
        if not self._positions.size:
            return None
        rows = self._positions[:, : self._row + 1]
        return rows if rows.shape == self._positions.shape else rows.copy()

    def _advance_compiled(self, weights: Array, base: int, count: int, rate: float) -> None:
        engine, market = self._engine, self.market
        parts = np.array_split(np.arange(weights.shape[0]), min(engine.threads, weights.shape[0]))

        def work(part: NDArray[np.intp]) -> tuple[int, int]:
            own = slice(int(part[0]), int(part[-1]) + 1)
            strategy, row = days.batch(
                weights[own],
                base,
                self._row,
                count,
                market.before,
                market.whole,
                market.after,
                market.tradable,
                engine.every,
                rate,
                self._interest,
                engine.band,
                self._held[own],
                self._cash[own],
                self._daily[own],
                self._counts[own],
                self._positions[own] if self._positions.size else self._positions,
            )
            return strategy + own.start, row

        if len(parts) == 1:
            found = [work(parts[0])]
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                found = list(pool.map(work, parts))
        for strategy, row in found:
            if row >= 0:
                raise _not_finite(weights, strategy, row - base, base, market.symbols)

    def _advance_asked(self, s: int, row: int, target: Array | None) -> None:
        """One day of one account whose costs have to be asked for."""
        engine, market, t = self._engine, self.market, row + 1
        daily = self._daily[s]
        if daily[days.EQUITY, row] <= 0.0:
            daily[days.EQUITY, t] = daily[days.EQUITY, row]
            return
        held = self._held[s]
        self._counts[s, 0] += days.moved(held, market.before[t])
        cash = self._cash[s] * (1.0 + self._interest)
        value = cash + float(held.sum(dtype=np.float64))
        start = held.astype(np.float64)
        bought = traded = 0.0
        if target is not None and not np.isnan(target).all() and value > 0.0:
            if not np.isfinite(target).all():
                raise _not_finite(target[None, None], 0, 0, row, market.symbols)
            can = market.tradable[t] if market.tradable.shape[0] else np.isfinite(market.before[t])
            names = self._names(row, start)
            orders = np.abs(target * value - start)
            can = can & ~np.isnan(engine.costs.charge(orders, names))  # of unknown cost: not traded
            cap = largest(engine.costs, names)
            most = np.empty(0) if cap is None else cap
            bought, traded, refused = days.filled(held, target, can, most, value, engine.band)
            self._counts[s, 1] += refused
        paid = float(engine.costs.charge(np.abs(held - start), self._names(row, held.astype(np.float64))).sum())
        cash -= bought + paid
        self._cash[s] = cash
        if market.after.shape[0]:
            self._counts[s, 0] += days.moved(held, market.after[t])
        invested = float(held.sum(dtype=np.float64))
        equity = cash + invested
        daily[:3, t] = equity, traded / value if value > 0.0 else 0.0, paid
        if equity > 0.0:
            daily[days.GROSS, t] = float(np.abs(held).sum(dtype=np.float64)) / equity
            daily[days.NET, t] = invested / equity
            if self._positions.size:
                self._positions[s, t] = held / equity

    def _names(self, row: int, held: Array) -> TradedNames:
        market = self.market

        def at(values: Array | None, place: int) -> Array | None:
            return None if values is None else values[place]

        return TradedNames(
            price=at(market.price, row + 1),
            dollar_volume=at(market.volume, row),
            volatility=at(market.volatility, row),
            held=held,
        )


# Preparing the returns of a panel takes longer than trading on them: kept as long as the panel is.
_PREPARED: WeakKeyDictionary[Panel, dict[tuple[Any, ...], _Market]] = WeakKeyDictionary()


def _panel_market(panel: Panel, engine: VectorEngine) -> _Market:
    kept = _PREPARED.setdefault(panel, {})
    key = (engine.fill, engine.dtype, isinstance(engine.costs, ProportionalCosts))
    if key not in kept:
        kept[key] = _prepared(panel, engine)
    return kept[key]


def _prepared(panel: Panel, engine: VectorEngine) -> _Market:
    close = _prices(panel, "close")
    price = close if engine.fill == "close_t1" else _prices(panel, "open")
    can = tradable(panel, price)
    wide = np.dtype(engine.dtype)
    if engine.fill == "close_t1":
        before, after = _moves(close), np.zeros((0, 0))
    else:
        in_turn = np.empty((2 * close.shape[0], close.shape[1]))
        in_turn[::2], in_turn[1::2] = price, close
        moves = _moves(in_turn)
        # without an open the whole day comes after the fill: the close is not known there
        before, after = np.where(np.isnan(price), 0.0, moves[::2]), moves[1::2]
    usual = engine.fill == "close_t1" and bool((can == np.isfinite(before))[1:].all())
    asked: dict[str, Any] = {}
    if not isinstance(engine.costs, ProportionalCosts):
        volume = dollar_volume(panel)
        asked = {
            "price": price,
            "volume": None if volume is None else trailing_mean(volume, VOLUME_ROWS),
            "volatility": trailing_volatility(_moves(close)),
        }
    before = np.ascontiguousarray(before, wide)
    whole = np.empty(before.shape[0], np.bool_)
    days.whole_rows(before, whole)
    return _Market(
        before=before,
        whole=whole,
        after=np.ascontiguousarray(after, wide),
        tradable=np.zeros((0, 0), np.bool_) if usual else can,
        symbols=panel.symbols,
        **asked,
    )


def _moves(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each price [T, N] against the last known one before it, minus 1; NaN where there is none of the two."""
    known = np.where(np.isfinite(prices), np.arange(prices.shape[0])[:, None], 0)
    last = np.take_along_axis(prices, np.maximum.accumulate(known, axis=0), axis=0)
    moves = np.full_like(prices, np.nan)
    moves[1:] = prices[1:] / last[:-1] - 1.0
    return moves


def _return_market(returns: ArrayLike | None, engine: VectorEngine) -> _Market:
    if engine.fill != "close_t1":
        raise DataInvalid(
            f"returns from close to close can't be filled at the open; fill {engine.fill!r} needs a panel"
        )
    moves = np.ascontiguousarray(returns, np.dtype(engine.dtype))
    whole = np.empty(moves.shape[0], np.bool_)
    if moves.ndim != 2 or days.whole_rows(moves, whole) >= 0:
        raise DataInvalid(f"returns must be [T, N], finite or NaN, got shape {moves.shape}")
    none = np.zeros((0, 0), moves.dtype)
    return _Market(before=moves, whole=whole, after=none, tradable=np.zeros((0, 0), np.bool_))


def _prices(panel: Panel, name: str) -> Array:
    prices = panel[name]
    return np.where(prices > 0, prices, np.nan)


def _checked(weights: ArrayLike, market: _Market, engine: VectorEngine, rows: int | None = None) -> Array:
    """Shape and sign; what is not finite is found on the way."""
    array = np.ascontiguousarray(weights, np.dtype(engine.dtype))
    shape = (market.before.shape[0] if rows is None else rows, market.before.shape[1])
    if array.ndim not in (2, 3) or array.shape[-2:] != shape:
        raise WeightsInvalid(f"weights must have shape {shape} or (S, {shape[0]}, {shape[1]}), got {array.shape}")
    if engine.long_only and (array < 0.0).any():
        place = tuple(int(at) for at in np.argwhere(array < 0.0)[0])
        raise WeightsInvalid(f"weights of a long-only account must be 0 or more, got {array[place]:g} at {place}")
    return array


def _not_finite(weights: Array, strategy: int, row: int, first: int, symbols: tuple[str, ...] | None) -> WeightsInvalid:
    values = weights[strategy, row]
    row += first
    column = int(np.flatnonzero(~np.isfinite(values))[0])
    name = symbols[column] if symbols else f"column {column}"
    where = f"strategy {strategy}, " if weights.shape[0] > 1 else ""
    return WeightsInvalid(
        f"weights must be finite, or NaN for the whole row to hold what is there; "
        f"got {values[column]} at {where}row {row}, {name}"
    )

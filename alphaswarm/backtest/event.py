"""`EventEngine`: an account in money and shares, filled order by order.

Row t of the targets is decided at close t. What then happens depends on the mode:

- `next_open` (where the panel has an open): at the open of t+1, sized by cash, positions and opens of
  that moment; whole lots toward zero, sells first, buys cut alike to the cash there is.
- `close_to_close` (where it has none): at the close of t+1, fractions of shares, no cash limit. With
  no lots it is the vector engine's arithmetic in shares.
- `backtrader`: what that package does with ``order_target_percent`` in ``next``: sized by close t, cash
  checked at close t, filled at open t+1 in the order of the symbols.
- `backtrader_coo`: the same in ``next_open`` with cheat-on-open. The size comes from close t+1, which nobody
  knows at that open (`size_price` "close"), or from the open with positions still valued at that close
  ("open"). For comparison only.
- `cheat_on_close`: sized and filled at close t, which decided it. For comparison only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest import event_bars as bars
from alphaswarm.backtest.base import ENGINES, BaseBacktestEngine, Session, aligned
from alphaswarm.backtest.fills import FillColumns, Fills
from alphaswarm.backtest.liquidity import (
    VOLUME_ROWS,
    dollar_volume,
    last_known,
    tradable,
    trailing_mean,
    trailing_volatility,
)
from alphaswarm.backtest.metrics import periods_per_year
from alphaswarm.backtest.result import BacktestResult, StepResult
from alphaswarm.core import EvidenceInvalid, Panel, SpecInvalid, TargetWeights, UnknownName, WeightsInvalid
from alphaswarm.trading.costs import Costs, TradedNames

__all__ = ["EVENT_MODES", "EventEngine", "EventSession", "Mode", "Order"]

Mode = Literal["next_open", "close_to_close", "backtrader", "backtrader_coo", "cheat_on_close"]
EVENT_MODES: tuple[Mode, ...] = get_args(Mode)
PEER_MODES = ("backtrader", "backtrader_coo", "cheat_on_close")
Kind = Literal["market", "limit", "stop"]
DEFAULT_CASH = 1e6

# How often buys are cut to the cash before fees alone must be too much.
MOST_CUTS = 8

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Order:
    """An order that waits in a session until it is filled or cancelled.

    Attributes:
        symbol: of the panel.
        size: shares, negative to sell.
        kind: market: at the next open. limit: at the next open that is no worse than `price`, else at `price`
            once the bar reaches it. stop: at the next open beyond `price`, else at `price` once the bar
            reaches it.
        price: of a limit or stop.

    Raises:
        SpecInvalid: a size of 0, a kind there is not, or a price that is missing or not positive.
    """

    symbol: str
    size: float
    kind: Kind = "market"
    price: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.size) and self.size != 0.0):
            raise SpecInvalid(f"an order must be for a finite number of shares other than 0, got {self.size!r}")
        if self.kind not in get_args(Kind):
            raise SpecInvalid(f"an order must be one of {', '.join(get_args(Kind))}, got {self.kind!r}")
        if self.kind != "market" and not (self.price is not None and math.isfinite(self.price) and self.price > 0):
            raise SpecInvalid(f"a {self.kind} order needs a positive price, got {self.price!r}")
        if self.kind == "market" and self.price is not None:
            raise SpecInvalid(f"a market order takes no price, got {self.price!r}")


@ENGINES.register("event")
@dataclass(frozen=True)
class EventEngine(BaseBacktestEngine):
    """Orders, fills and cash.

    Args:
        mode: see the module; by default `next_open` where the panel has an open, else `close_to_close`.
        cash: what the account begins with.
        commission: fraction of the value traded.
        costs: any cost model on top of it; honest modes only.
        lot: shares that are traded together; whole shares by default. Not used by `close_to_close`.
        volume_share: the largest part of a bar's volume that one order may take; all of it if None.
        size_price: of `backtrader_coo`.

    Raises:
        SpecInvalid: a value that can't be.
    """

    name: ClassVar[str] = "event"

    mode: Mode | None = None
    cash: float = DEFAULT_CASH
    commission: float = 0.0
    costs: Costs | None = None
    lot: float = 1.0
    volume_share: float | None = None
    size_price: Literal["close", "open"] = "close"

    def __post_init__(self) -> None:
        if self.mode is not None and self.mode not in EVENT_MODES:
            raise SpecInvalid(f"mode must be one of {', '.join(EVENT_MODES)}, got {self.mode!r}")
        if not (math.isfinite(self.cash) and self.cash > 0):
            raise SpecInvalid(f"cash must be a positive amount, got {self.cash!r}")
        if not 0.0 <= self.commission < 1.0:
            raise SpecInvalid(f"commission must be a fraction from 0 to below 1, got {self.commission!r}")
        if not (math.isfinite(self.lot) and self.lot > 0):
            raise SpecInvalid(f"lot must be a positive number of shares, got {self.lot!r}")
        if self.volume_share is not None and not 0.0 < self.volume_share <= 1.0:
            raise SpecInvalid(f"volume_share must be above 0 and at most 1, got {self.volume_share!r}")
        if self.size_price not in ("close", "open"):
            raise SpecInvalid(f"size_price must be close or open, got {self.size_price!r}")
        if self.mode in PEER_MODES and (self.costs is not None or self.volume_share is not None or self.lot != 1.0):
            raise SpecInvalid(
                f"mode {self.mode!r} repeats another package: it knows commission and whole shares, but no costs, "
                "lot or volume_share"
            )

    def start(self, panel: Panel, window: slice | None = None) -> EventSession:
        """An account at the first close of `panel` or `window`.

        Raises:
            FieldNotFound: the panel lacks a price that the mode needs.
            EvidenceInvalid: no row lies in the window.
        """
        return EventSession(self, panel, window)

    def run(
        self, panel: Panel, weights: ArrayLike | None = None, *, context: Mapping[str, Any] | None = None
    ) -> BacktestResult:
        """Trade target percents [T, N]; NaN is no order for that name that day.

        Raises:
            WeightsInvalid: a wrong shape, or infinity.
            SpecInvalid: neither weights nor an agent.
            FieldNotFound: the panel lacks a price that the mode needs.
        """
        if weights is None:
            return self.run_agent(panel, context)
        targets = np.ascontiguousarray(weights, np.float64)
        if targets.shape != panel.shape:
            raise WeightsInvalid(f"targets must have the panel's shape {panel.shape}, got {targets.shape}")
        if np.isinf(targets).any():
            row, name = (int(place) for place in np.argwhere(np.isinf(targets))[0])
            raise WeightsInvalid(
                f"targets must be finite, or NaN for no order; got {targets[row, name]} at row {row}, "
                f"{panel.symbols[name]}"
            )
        session = self.start(panel)
        session.decide(targets[:-1])
        return session.result()

    def mode_on(self, panel: Panel) -> Mode:
        """The mode in which this engine trades `panel`."""
        if self.mode is not None:
            return self.mode
        return "next_open" if "open" in panel.fields else "close_to_close"


class EventSession(Session):
    """The account of an `EventEngine` in progress."""

    def __init__(self, engine: EventEngine, panel: Panel, window: slice | None) -> None:
        rows = range(*(window or slice(None)).indices(panel.shape[0]))
        if not rows or rows.step != 1:
            raise EvidenceInvalid(f"a backtest needs at least one row of the panel, got {window}")
        self.panel = panel
        self.row = rows.start
        self.mode = engine.mode_on(panel)
        self._engine = engine
        self._first, self._last = rows.start, rows.stop - 1
        self._market = _market(panel, self.mode, engine).between(rows)
        days, names = len(rows), panel.shape[1]
        self._sizes, self._held = np.zeros((days, names)), np.zeros((days, names))
        self._entry = np.zeros(names)
        self._daily = np.zeros((bars.FIGURES, days))
        self._daily[[bars.CASH, bars.EQUITY], 0] = engine.cash
        self._counts = np.zeros(4, np.int64)
        self._waiting: list[Order] = []
        self._asked: dict[int, tuple[Array, Array]] = {}  # row: prices and costs [N] that were not the usual ones

    # Orders

    def submit(self, order: Order) -> None:
        """Have `order` wait from the next bar on, until it is filled or cancelled; `next_open` mode only.

        Raises:
            SpecInvalid: another mode, or a size that is no whole number of lots.
            UnknownName: no such symbol.
            FieldNotFound: a limit or stop on a panel without high and low.
        """
        if self.mode != "next_open":
            raise SpecInvalid(f"orders can be submitted in mode next_open only, this session trades in {self.mode}")
        self._place(order.symbol)
        if order.size % self._engine.lot:
            raise SpecInvalid(f"an order must be for whole lots of {self._engine.lot:g} shares, got {order.size:g}")
        if order.kind != "market":
            _ = self.panel["high"], self.panel["low"]
        self._waiting.append(order)

    def cancel(self, order: Order) -> bool:
        """Take back a waiting order; False when it is not there any more."""
        if order not in self._waiting:
            return False
        self._waiting.remove(order)
        return True

    @property
    def waiting(self) -> tuple[Order, ...]:
        """Orders that are not filled yet, the oldest first."""
        return tuple(self._waiting)

    @property
    def cash(self) -> float:
        """Money that is not in positions."""
        return float(self._daily[bars.CASH, self._here])

    @property
    def shares(self) -> dict[str, float]:
        """Shares held by symbol; shorts are negative."""
        held = self._sizes[self._here].tolist()
        return {name: size for name, size in zip(self.panel.symbols, held, strict=True) if size}

    def order_target_percent(self, symbol: str, percent: float) -> StepResult:
        """Decide one symbol's target, hold the rest, and go on to the next close."""
        target = np.full(len(self.panel.symbols), np.nan)
        target[self._place(symbol)] = percent
        return self.step(target)

    # Time

    def step(self, target: ArrayLike | TargetWeights | None) -> StepResult:
        """Decide `target` [N] at this close and go on to the next one; NaN is no order for that name."""
        decided = aligned(target, self.panel.symbols)
        if self.row >= self._last:
            raise EvidenceInvalid(f"the backtest is at its last row, {self.row}: there is no later close")
        self.decide(decided[None])
        here = self._here
        equity, costs = self._daily[[bars.EQUITY, bars.COSTS], here].tolist()
        return StepResult(equity, self._held[here].copy(), self._fills(here, here + 1), costs)

    def decide(self, targets: Array) -> None:
        """`step` through R rows of checked targets [R, N]."""
        if self._engine.costs is not None or self._waiting:
            for target in targets:
                self._trade_asked(target)
            return
        market, count = self._market, targets.shape[0]
        rate, lot = self._engine.commission, self._market.lot
        account = self._sizes, self._held, self._daily, self._counts
        if self.mode in PEER_MODES:
            prices = market.fill, market.mark, market.check, market.size_by, market.known, market.gone
            bars.peer_rows(targets, self._here, count, *prices, rate, self._entry, *account)
        else:
            known = market.fill, market.known, market.gone, market.most
            bars.honest_rows(targets, self._here, count, *known, rate, lot, *account)
        self.row += count

    def result(self) -> BacktestResult:
        """The backtest up to this close."""
        stop = self._here + 1
        _, equity, turnover, costs, gross, net = self._daily[:, :stop].copy()
        returns = np.zeros(stop)
        np.divide(equity[1:], equity[:-1], out=returns[1:], where=equity[:-1] > 0.0)
        returns[1:] -= equity[:-1] > 0.0
        engine = self._engine
        setup: dict[str, Any] = {
            "engine": engine.name,
            "mode": self.mode,
            "cash": engine.cash,
            "commission": engine.commission,
            "costs": None if engine.costs is None else repr(engine.costs),
            "lot": self._market.lot,
            "volume_share": engine.volume_share,
        }
        if self.mode == "backtrader_coo":
            setup["size_price"] = engine.size_price
        return BacktestResult(
            equity=equity,
            returns=returns,
            turnover=turnover,
            costs=costs,
            gross=gross,
            net=net,
            positions=self._settled(self._held[:stop]),
            missing_returns=self._counts[bars.MISSING],
            untraded=self._counts[bars.UNPRICED],
            periods=periods_per_year(self.panel),
            setup=setup,
            capital=engine.cash,
            fills=self._fills(0, stop),
        )

    @property
    def _here(self) -> int:
        return self.row - self._first

    def _settled(self, rows: Array) -> Array:
        """What is handed out of the account: a copy, unless no bar is left that could change it."""
        return rows if self.row == self._last else rows.copy()

    def _trade_asked(self, target: Array) -> None:
        """One row of an honest mode, where a cost model or waiting orders have to be asked."""
        here, market = self._here, self._market
        price, size = market.fill[here].copy(), self._sizes[here]
        after = self._sizes[here + 1]
        after[:] = size
        cash = self.cash
        equity = cash + bars.value_of(size, market.worth(here))
        if equity > 0.0:
            self._counts[bars.UNPRICED] += bars.wanted(target, equity, price, size, market.lot, after)
            if market.most.shape[0]:
                self._counts[bars.CUT_TO_VOLUME] += bars.cut_to_volume(size, market.most[here], market.lot, after)
            self._join_waiting(size, after, price)
        paid = self._afford(size, after, price)
        value = np.where(after == size, 0.0, (after - size) * price)
        cash -= float(value.sum() + paid.sum())
        turnover = float(np.abs(value).sum()) / equity if equity > 0.0 else 0.0
        account = self._sizes, self._held, self._daily, self._counts
        bars.close_row(here + 1, cash, turnover, float(paid.sum()), market.known, market.gone, *account)
        self._asked[here + 1] = price, paid
        self.row += 1

    def _join_waiting(self, size: Array, after: Array, price: Array) -> None:
        """Add the waiting orders that this bar fills; a name has one price a bar, so a target goes first."""
        market, left = self._market, []
        for order in self._waiting:
            i = self._place(order.symbol)
            at = price[i] if order.kind == "market" else self._reached(order, i)
            room = market.most[self._here, i] // market.lot * market.lot if market.most.shape[0] else math.inf
            shares = math.copysign(min(abs(order.size), room), order.size)
            if math.isnan(at) or math.isnan(price[i]) or after[i] != size[i] or shares == 0.0:
                left.append(order)
                continue
            after[i], price[i] = size[i] + shares, at
            if shares != order.size:
                left.append(replace(order, size=order.size - shares))
        self._waiting = left

    def _reached(self, order: Order, i: int) -> float:
        """The price at which the next bar fills a limit or stop; NaN where it does not."""
        opened, high, low = (self.panel[name][self.row + 1, i] for name in ("open", "high", "low"))
        buys, price = order.size > 0.0, float(order.price or 0.0)
        below = buys == (order.kind == "limit")  # it fills at its price or below, else at its price or above
        if (opened <= price) if below else (opened >= price):
            return float(opened)
        if (low <= price) if below else (high >= price):
            return price
        return math.nan

    def _afford(self, size: Array, after: Array, price: Array) -> Array:
        """Cut the buys that lead to `after` to the cash there is; what each name's trade costs, [N]."""
        paid = self._charge(size, after, price)
        unknown = np.isnan(paid)
        if unknown.any():  # what a trade would cost is not known: it is not made
            self._counts[bars.UNPRICED] += np.count_nonzero(unknown)
            after[unknown] = size[unknown]
            paid = self._charge(size, after, price)
        lot = self._market.lot
        if lot == 0.0:
            return paid
        for _ in range(MOST_CUTS):
            value = np.where(after == size, 0.0, (after - size) * price)
            buys = after > size
            need = float(value[buys].sum() + paid[buys].sum())
            there = self.cash - float(value[~buys].sum() + paid[~buys].sum())
            if need <= there or need == 0.0:
                return paid
            self._counts[bars.CUT_TO_CASH] += 1
            bars.cut_to_cash(size, max(there, 0.0) / need, lot, after)
            paid = self._charge(size, after, price)
        after[after > size] = size[after > size]  # fees alone are more than there is
        return self._charge(size, after, price)

    def _charge(self, size: Array, after: Array, price: Array) -> Array:
        engine, market = self._engine, self._market
        traded = np.where(after == size, 0.0, np.abs(after - size) * price)
        paid = engine.commission * traded
        if engine.costs is None:
            return paid
        last = np.where(np.isnan(price), market.known[self._here], price)
        return paid + engine.costs.charge(traded, market.names(self._here, last, after * last))

    def _place(self, symbol: str) -> int:
        if symbol not in self.panel.symbols:
            raise UnknownName.of("symbol", symbol, self.panel.symbols)
        return self.panel.symbols.index(symbol)

    def _fills(self, start: int, stop: int) -> Fills:
        """What was traded from the close of row `start` - 1 to that of `stop` - 1; sells of a bar first."""
        ahead = max(start - 1, 0)
        sizes, prices = self._settled(self._sizes[ahead:stop]), self._market.fill[ahead : stop - 1]
        asked = {row: found for row, found in self._asked.items() if ahead < row < stop}
        rate, sells_first = self._engine.commission, self.mode not in PEER_MODES
        bar = self._first + ahead + (self.mode != "cheat_on_close")

        def columns() -> FillColumns:
            count = bars.count_trades(sizes)
            found = FillColumns(*(np.empty(count, kind) for kind in (int, int, float, float, float)))
            bars.list_trades(sizes, prices, rate, bar, sells_first, *found)
            for after, (other, costs) in asked.items():
                here = np.flatnonzero(found.bar == after - 1 - ahead + bar)
                found.price[here], found.commission[here] = other[found.name[here]], costs[found.name[here]]
            return found

        return Fills(columns, self.panel.symbols)


@dataclass(frozen=True, eq=False)
class _Market:
    """Prices [T, N] beside the row whose decision they concern, and what is known at each close.

    Attributes:
        fill, known, gone, most: see `honest_rows`.
        mark, check, size_by: see `peer_rows`.
        lot: shares that are traded together; 0 for any fraction.
        volume, volatility: of `TradedNames`, known at each row.
    """

    fill: Array
    known: Array
    gone: NDArray[np.bool_]
    most: Array
    mark: Array
    check: Array
    size_by: Array
    lot: float
    volume: Array | None
    volatility: Array | None

    @classmethod
    def of(cls, panel: Panel, mode: Mode, engine: EventEngine) -> _Market:
        close = panel["close"]
        at = close if mode in ("close_to_close", "cheat_on_close") else panel["open"]
        can = np.where(tradable(panel, at), at, np.nan)
        fill = can if mode == "cheat_on_close" else _next(can)
        known = np.nan_to_num(last_known(close))
        looked = _next(close) if mode == "backtrader_coo" else close
        most = np.zeros((0, 0))
        if engine.volume_share is not None:
            most = _next(np.nan_to_num(panel["volume"]) * engine.volume_share)
        volume = volatility = None
        if engine.costs is not None:
            traded = dollar_volume(panel)
            volume = None if traded is None else trailing_mean(traded, VOLUME_ROWS)
            moves = np.full(close.shape, np.nan)
            moves[1:] = close[1:] / close[:-1] - 1.0
            volatility = trailing_volatility(moves)
        return cls(
            fill=fill,
            known=known,
            gone=np.isnan(close),
            most=most,
            mark=np.nan_to_num(_next(known)) if mode == "backtrader_coo" else known,
            check=fill if mode == "backtrader_coo" else close,
            size_by=fill if mode == "backtrader_coo" and engine.size_price == "open" else looked,
            lot=0.0 if mode == "close_to_close" else engine.lot,
            volume=volume,
            volatility=volatility,
        )

    def between(self, rows: range) -> _Market:
        """Only these rows."""
        here = slice(rows.start, rows.stop)
        cut: dict[str, Any] = {
            name: values[here]
            for name, values in vars(self).items()
            if isinstance(values, np.ndarray) and values.shape[0]
        }
        return replace(self, **cut)

    def worth(self, row: int) -> Array:
        """The prices [N] that value positions just before the fill of that row's decision."""
        fill = self.fill[row]
        worth: Array = np.where(np.isnan(fill), self.known[row], fill)
        return worth

    def names(self, row: int, price: Array, held: Array) -> TradedNames:
        """What is known of the names when row `row` decides; `price` and `held` at the fill."""
        volume = None if self.volume is None else self.volume[row]
        volatility = None if self.volatility is None else self.volatility[row]
        return TradedNames(price=price, dollar_volume=volume, volatility=volatility, held=held)


# Preparing the prices of a panel takes longer than trading on it: kept as long as the panel is.
_PREPARED: WeakKeyDictionary[Panel, dict[tuple[Any, ...], _Market]] = WeakKeyDictionary()


def _market(panel: Panel, mode: Mode, engine: EventEngine) -> _Market:
    kept = _PREPARED.setdefault(panel, {})
    key = (mode, engine.lot, engine.volume_share, engine.size_price, engine.costs is None)
    if key not in kept:
        kept[key] = _Market.of(panel, mode, engine)
    return kept[key]


def _next(values: Array) -> Array:
    """Each row's next row; NaN after the last."""
    return np.vstack([values[1:], np.full((1, values.shape[1]), np.nan)])

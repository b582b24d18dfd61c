"""Runs target percents through an installed backtrader; a script of its own, for another environment.

    python backtrader_peer.py CASES.npz TRACES.npz

CASES holds, for case k: ``bars_k`` [T, N, 4] (open, high, low, close), ``targets_k`` [T, N] (NaN: no order) and
``setup_k`` (mode 0 next, 1 next_open sized by close, 2 next_open sized by open, 3 cheat on close; cash; commission).
TRACES gets ``fills_k`` [F, 5] (row, name, size, price, commission) and ``account_k`` [T, 2] (cash, value).
"""

import datetime
import sys

import backtrader as bt
import numpy as np


class Feed(bt.feed.DataBase):
    """Daily bars from an array [T, 4]."""

    params = (("bars", None),)

    def start(self):
        super().start()
        self.place = 0

    def _load(self):
        if self.place >= len(self.p.bars):
            return False
        day = datetime.datetime(2000, 1, 1) + datetime.timedelta(days=self.place)
        self.lines.datetime[0] = bt.date2num(day)
        for line, value in zip(("open", "high", "low", "close"), self.p.bars[self.place], strict=True):
            getattr(self.lines, line)[0] = value
        self.lines.volume[0] = 1e12
        self.lines.openinterest[0] = 0.0
        self.place += 1
        return True


class Targets(bt.Strategy):
    """Orders the target percents of the row: in `next` of that row, or in `next_open` of the one after."""

    params = (("targets", None), ("mode", 0))

    def start(self):
        self.fills, self.account = [], []
        for data in self.datas:
            self.getposition(data)

    def next_open(self):
        bar = len(self.data) - 1  # the strategy's own length still is that of the bar before
        if self.p.mode in (1, 2) and bar >= 1:
            self.order_row(bar - 1)

    def next(self):
        self.account.append((self.broker.get_cash(), self.broker.get_value()))
        if self.p.mode in (0, 3):
            self.order_row(len(self) - 1)

    def order_row(self, row):
        for data, target in zip(self.datas, self.p.targets[row], strict=True):
            if not np.isnan(target):
                price = {"price": data.open[0]} if self.p.mode == 2 else {}
                self.order_target_percent(data, target=float(target), **price)

    def notify_order(self, order):
        if order.status != order.Completed and not (order.status == order.Margin and order.executed.size):
            return
        for bit in order.executed.exbits:
            day = bt.num2date(bit.dt) - datetime.datetime(2000, 1, 1)
            commission = bit.closedcomm + bit.openedcomm
            name = next(place for place, data in enumerate(self.datas) if data is order.data)
            self.fills.append((day.days, name, bit.size, bit.price, commission))


def trace(bars, targets, mode, cash, commission):
    """Fills [F, 5] and account [T, 2] of one case."""
    cerebro = bt.Cerebro(stdstats=False, cheat_on_open=mode in (1, 2))
    cerebro.broker.setcash(cash)
    cerebro.broker.setcommission(commission=commission)
    cerebro.broker.set_coc(mode == 3)
    for name in range(bars.shape[1]):
        cerebro.adddata(Feed(bars=bars[:, name]))
    cerebro.addstrategy(Targets, targets=targets, mode=mode)
    (run,) = cerebro.run()
    return np.array(run.fills).reshape(-1, 5), np.array(run.account)


def main(cases, traces):
    """Trace every case of the file."""
    found = {}
    with np.load(cases) as given:
        for k in range(sum(name.startswith("bars_") for name in given)):
            mode, cash, commission = given[f"setup_{k}"]
            fills, account = trace(given[f"bars_{k}"], given[f"targets_{k}"], int(mode), float(cash), float(commission))
            found[f"fills_{k}"], found[f"account_{k}"] = fills, account
    np.savez_compressed(traces, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])

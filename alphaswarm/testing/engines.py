"""What every backtest engine must do: subclass in a test file, and pytest runs it.

from alphaswarm.testing.engines import EngineContract

class TestMyEngine(EngineContract):
def make_engine(self):
return MyEngine()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from alphaswarm.backtest import BaseBacktestEngine, Moment
from alphaswarm.core import EvidenceInvalid, Panel, TargetWeights, WeightsInvalid, make_rng

__all__ = ["EngineContract"]

DAYS, NAMES = 30, 6

Array = NDArray[np.float64]


class EngineContract(ABC):
    """Tests of one engine.

    Attributes:
        fills_before_the_next_row: it trades at the price that decided, as some do for comparison; the tests
            of what it must not know are then left out.
        order_of_names_matters: whoever comes first gets the cash, as in some engines made for comparison.
    """

    fills_before_the_next_row: bool = False
    order_of_names_matters: bool = False

    @abstractmethod
    def make_engine(self) -> BaseBacktestEngine:
        """The engine under test, the same whenever it is asked for."""

    def make_panel(self, seed: int = 1) -> Panel:
        """Whole bars of a few names; prices of tens."""
        rng = make_rng(seed, "engine contract")
        close = 50.0 * np.exp(np.cumsum(0.02 * rng.standard_normal((DAYS, NAMES)), axis=0))
        opened = close * np.exp(0.01 * rng.standard_normal((DAYS, NAMES)))
        fields = {
            "open": opened,
            "high": np.maximum(opened, close) * 1.01,
            "low": np.minimum(opened, close) * 0.99,
            "close": close,
            "volume": np.full((DAYS, NAMES), 1e7),
        }
        return Panel.from_arrays(fields, np.datetime64("2024-01-01") + np.arange(DAYS), list("ABCDEF"))

    def make_weights(self, seed: int = 2) -> Array:
        """[T, N], long and short, gross 0.8; some rows hold."""
        weights = make_rng(seed, "engine contract").standard_normal((DAYS, NAMES))
        weights *= 0.8 / np.abs(weights).sum(axis=1, keepdims=True)
        weights[[5, 6, 17]] = np.nan
        return weights

    def test_run_is_the_loop_of_steps(self) -> None:
        panel, weights = self.make_panel(), self.make_weights()
        whole = self.make_engine().run(panel, weights)
        session = self.make_engine().start(panel)
        steps = [session.step(row) for row in weights[:-1]]
        _equal([step.equity for step in steps], whole.equity[1:])
        _equal([step.cost for step in steps], whole.costs[1:])
        if whole.positions is not None:
            _equal([step.weights for step in steps], whole.positions[1:])
        assert [fill for step in steps for fill in step.fills] == list(whole.fills)
        _equal(session.result().equity, whole.equity)

    def test_the_same_run_has_the_same_digest(self) -> None:
        panel, weights = self.make_panel(), self.make_weights()
        assert self.make_engine().run(panel, weights).digest == self.make_engine().run(panel, weights).digest

    def test_nothing_later_moves_what_was(self) -> None:
        if self.fills_before_the_next_row:
            pytest.skip("trades at the price that decided")
        panel, weights = self.make_panel(), self.make_weights()
        before = self.make_engine().run(panel, weights)
        for row in (4, 12, DAYS - 2):
            fields = {name: values.copy() for name, values in panel.fields.items()}
            for name in ("open", "high", "low", "close"):
                fields[name][row + 1 :] *= 3.0
            later = weights.copy()
            later[row:] = 0.0  # the decision of `row` is filled later
            after = self.make_engine().run(Panel.from_arrays(fields, panel.dates, panel.symbols), later)
            np.testing.assert_array_equal(after.equity[: row + 1], before.equity[: row + 1])

    def test_a_window_ends_where_it_says(self) -> None:
        """And begins with nothing held, whatever came before."""
        panel, weights = self.make_panel(), self.make_weights()
        session = self.make_engine().start(panel, slice(10, 20))
        cut = self.make_engine().start(panel.head(20), slice(10, None))
        for row in weights[10:19]:
            assert session.step(row).equity == pytest.approx(cut.step(row).equity, rel=1e-12)
        with pytest.raises(EvidenceInvalid):
            session.step(weights[0])
        with pytest.raises(EvidenceInvalid):
            self.make_engine().start(panel, slice(20, 20))

    def test_permuting_names_permutes_positions(self) -> None:
        if self.order_of_names_matters:
            pytest.skip("whoever comes first gets the cash")
        panel, weights = self.make_panel(), self.make_weights()
        turn = [3, 0, 5, 1, 4, 2]
        fields = {name: values[:, turn] for name, values in panel.fields.items()}
        turned = Panel.from_arrays(fields, panel.dates, [panel.symbols[place] for place in turn])
        before, after = self.make_engine().run(panel, weights), self.make_engine().run(turned, weights[:, turn])
        _equal(after.equity, before.equity, 1e-9)

    def test_weights_are_keyed_by_symbol(self) -> None:
        panel = self.make_panel()
        plain = self.make_engine().start(panel).step([0.3, 0.0, 0.0, -0.2, 0.0, 0.0])
        named = TargetWeights(panel.dates[0], ["D", "A", "B"], [-0.2, 0.3, 0.0])
        keyed = self.make_engine().start(panel).step(named)
        assert keyed.equity == plain.equity
        np.testing.assert_array_equal(keyed.weights, plain.weights)

    def test_a_bad_target_changes_nothing(self) -> None:
        panel, weights = self.make_panel(), self.make_weights()
        session, untroubled = self.make_engine().start(panel), self.make_engine().start(panel)
        session.step(weights[0])
        untroubled.step(weights[0])
        for bad in ([0.1] * (NAMES - 1), [np.inf] + [0.0] * (NAMES - 1)):
            with pytest.raises(WeightsInvalid):
                session.step(bad)
        with pytest.raises(WeightsInvalid):
            session.step(TargetWeights(panel.dates[0], ["NOBODY"], [1.0]))
        assert session.step(weights[1]).equity == untroubled.step(weights[1]).equity

    def test_none_and_nan_hold(self) -> None:
        panel, weights = self.make_panel(), self.make_weights()
        one, other = self.make_engine().start(panel), self.make_engine().start(panel)
        for session in (one, other):
            session.step(weights[0])
        held, nothing = one.step(None), other.step(np.full(NAMES, np.nan))
        assert held.equity == nothing.equity
        assert len(held.fills) == held.cost == 0

    def test_an_agent_decides(self) -> None:
        engine = self.make_engine()
        if not engine.supports_rl_injection:
            pytest.skip("takes no agent")
        panel, weights = self.make_panel(), self.make_weights()
        found = engine.run(panel, context={"rl_agent": _Scripted(weights)})
        _equal(found.equity, engine.run(panel, weights).equity)
        assert found.alarms == 0

    def test_an_agent_that_fails_holds(self) -> None:
        engine = self.make_engine()
        if not engine.supports_rl_injection:
            pytest.skip("takes no agent")
        panel, weights = self.make_panel(), self.make_weights()
        failing, holding = weights.copy(), weights.copy()
        failing[3, 0] = np.inf
        holding[3] = np.nan
        found = engine.run(panel, context={"rl_agent": _Scripted(failing)})
        _equal(found.equity, engine.run(panel, holding).equity)
        assert found.alarms == 1

    def test_an_agent_sees_nothing_later(self) -> None:
        engine = self.make_engine()
        if not engine.supports_rl_injection:
            pytest.skip("takes no agent")
        watcher = _Watcher()
        engine.run(self.make_panel(), context={"rl_agent": watcher})
        assert watcher.rows == [(row, row + 1) for row in range(DAYS - 1)]

    def test_neither_weights_nor_agent_is_refused(self) -> None:
        with pytest.raises(WeightsInvalid):
            self.make_engine().run(self.make_panel())


class _Scripted:
    """Decides what is written."""

    def __init__(self, weights: Array) -> None:
        self._weights = weights

    def decide(self, moment: Moment) -> Array:
        row: Array = self._weights[moment.row]
        return row


class _Watcher:
    """Holds, and keeps what it was shown: row, and rows of the panel."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int]] = []

    def decide(self, moment: Moment) -> None:
        self.rows.append((moment.row, moment.panel.shape[0]))


def _equal(found: Any, right: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(found, right, rtol=tolerance, atol=tolerance)

"""`BaseBacktestEngine`: what every engine is asked, whole or bar by bar."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest.agent import AGENT, Moment, WeightAgent
from alphaswarm.backtest.result import BacktestResult, StepResult
from alphaswarm.core import AlphaSwarmError, Panel, Registry, SpecInvalid, TargetWeights, WeightsInvalid

__all__ = ["ENGINES", "BaseBacktestEngine", "Session", "aligned"]

ENGINES: Registry[type[BaseBacktestEngine]] = Registry("engine")


class Session(ABC):
    """A backtest in progress, at the close of `row`."""

    panel: Panel
    row: int

    @abstractmethod
    def step(self, target: ArrayLike | TargetWeights | None) -> StepResult:
        """Decide `target` at the close of `row`, and go on to the next close.

        Args:
            target: weights [N] on the panel's symbols, or None to hold what is there. NaN throughout
                means the same.

        Raises:
            WeightsInvalid: a wrong length, infinity, or symbols that the panel lacks; the session then
                stays where it is.
            EvidenceInvalid: there is no later close.
        """

    @abstractmethod
    def result(self) -> BacktestResult:
        """The backtest up to here."""


class BaseBacktestEngine(ABC):
    """Trades target weights on a panel. Row t is decided at close t and never filled at a price before.

    Attributes:
        name: in `ENGINES`.
        supports_rl_injection: an agent may decide the weights, see `run`.
    """

    name: ClassVar[str]
    supports_rl_injection: ClassVar[bool] = True

    @abstractmethod
    def start(self, panel: Panel, window: slice | None = None) -> Session:
        """A session at the first close of `panel`, or of those of its rows that lie in `window`."""

    @abstractmethod
    def run(
        self, panel: Panel, weights: ArrayLike | None = None, *, context: Mapping[str, Any] | None = None
    ) -> BacktestResult:
        """Trade every row of `weights` [T, N]; equal to the loop of `Session.step` over them.

        Without weights, ``context["rl_agent"]`` decides row by row, see `WeightAgent`; what it gets wrong
        holds the positions and is counted in the result's `alarms`.
        """

    def run_agent(self, panel: Panel, context: Mapping[str, Any] | None) -> BacktestResult:
        """The loop in which the agent of `context` decides.

        Raises:
            WeightsInvalid: there is no agent.
            SpecInvalid: the engine takes none.
        """
        agent: WeightAgent | None = (context or {}).get(AGENT)
        if agent is None:
            raise WeightsInvalid(f"a backtest needs weights [T, N], or an agent as context[{AGENT!r}]; got neither")
        if not self.supports_rl_injection:
            raise SpecInvalid(f"engine {self.name!r} lets no agent decide; give it weights")
        session = self.start(panel)
        weights = np.zeros(panel.shape[1])
        equity = session.result().capital
        alarms = 0
        while session.row < panel.shape[0] - 1:
            moment = Moment(session.row, panel.head(session.row + 1), equity, weights)
            try:
                after = session.step(agent.decide(moment))
            except AlphaSwarmError:  # a bad decision is no decision: nothing is sold because a model failed
                alarms += 1
                after = session.step(None)
            equity, weights = after.equity, after.weights
        return session.result().with_alarms(alarms)


def aligned(target: ArrayLike | TargetWeights | None, symbols: tuple[str, ...]) -> NDArray[np.float64]:
    """`target` as weights [N] in the order of `symbols`; NaN throughout means hold.

    A symbol that a `TargetWeights` does not name has target 0, as one that was dropped.

    Raises:
        WeightsInvalid: a wrong length, infinity, or a held symbol that is not there.
    """
    if target is None:
        return np.full(len(symbols), np.nan)
    if isinstance(target, TargetWeights):
        unknown = [name for name in target.symbols if name not in set(symbols) and target[name] != 0.0]
        if unknown:
            raise WeightsInvalid(f"target weights must name symbols of the panel, got {', '.join(unknown[:5])}")
        named = dict(zip(target.symbols, target.weights.tolist(), strict=True))
        return np.array([named.get(name, 0.0) for name in symbols])
    values = np.array(target, np.float64)
    if values.shape != (len(symbols),):
        raise WeightsInvalid(f"a target must have one weight for each of {len(symbols)} symbols, got {values.shape}")
    if np.isinf(values).any():
        raise WeightsInvalid(f"weights must be finite, or NaN to hold, got {values[np.isinf(values)][0]}")
    return values

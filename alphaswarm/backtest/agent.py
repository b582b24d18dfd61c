"""What an agent that decides the weights of a backtest gets to see, and what it must answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.core import Panel, TargetWeights

__all__ = ["AGENT", "Moment", "WeightAgent"]

# The key of a run's context under which an agent is handed in.
AGENT = "rl_agent"


@dataclass(frozen=True, eq=False)
class Moment:
    """What an agent may know when it decides: the panel up to and including this close.

    Attributes:
        row: of the panel that is traded.
        panel: its rows up to `row`, nothing later.
        equity: after this close.
        weights: [N], held after this close.
    """

    row: int
    panel: Panel
    equity: float
    weights: NDArray[np.float64]


class WeightAgent(Protocol):
    """Whoever decides the weights of a run; engines know no more of it."""

    def decide(self, moment: Moment) -> ArrayLike | TargetWeights | None:
        """Target weights [N] on the panel's symbols, or None to hold."""
        ...

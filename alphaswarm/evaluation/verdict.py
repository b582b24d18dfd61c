"""`Verdict`: what was decided about one factor, gate by gate, and in one plain sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from alphaswarm.evaluation.gates import GateResult, Thresholds, all_passed

__all__ = ["Status", "Verdict", "search_status", "sentence"]

Status = Literal[
    "in-sample", "too short", "held", "withheld", "rejected", "redundant", "unconfirmed", "confirmed"
]  # fmt: skip
STATUSES: tuple[Status, ...] = get_args(Status)


class Verdict(BaseModel):
    """One factor under the rule of acceptance. No figure in it was computed after the search window.

    `status` says how far it came: "in-sample" and "too short" can't be judged; "held" (leak alarm) and
    "withheld" (contradiction) were not; "rejected" failed on search; "redundant" moves with a
    stronger finalist; "unconfirmed" failed on the selection window, "confirmed" is statistically real. Whether
    it also pays is `tradable`.
    """

    model_config = ConfigDict(frozen=True)

    expression: str
    digest: str
    panel: str
    panel_digest: str
    lineage: str = Field(description="whose windows and counts apply: the first panel that held these data")
    horizon: int
    fill: str
    sign: Literal[-1, 0, 1] = Field(description="which way to hold it, chosen on search; 0 where there is no evidence")
    status: Status
    tradable: bool
    words: str = Field(description="the verdict in one sentence")
    gates: list[GateResult]
    reported: dict[str, Any] = Field(default={}, description="figures that decide nothing")
    thresholds: Thresholds = Field(description="of tier 2, as they were")
    n_trials: int = Field(description="N, every distinct trial on these data when it was judged")
    k: int | None = Field(default=None, description="K, every finalist sent to the same selection window by then")
    selection: int = Field(default=1, description="number of the selection window")
    trial: str = Field(description="id of the trial it is about")

    def gate(self, name: str) -> GateResult | None:
        """The gate of that name, if it was asked."""
        return next((gate for gate in self.gates if gate.name == name), None)


def search_status(gates: Sequence[GateResult]) -> Status | None:
    """Where the search window alone ends the matter; None for a candidate that may become a finalist.

    The order counts: a leak is held whatever its evidence, and a contradiction is told before weak ranks are.
    """
    passed = {gate.name: gate.passed for gate in gates}
    undefined = any(gate.name == "evidence" and gate.value is None for gate in gates)
    if not passed["history"] or undefined:
        return "too short"
    if not passed["leak"]:
        return "held"
    if not passed["evidence"]:
        return "rejected"
    if not passed["agreement"]:
        return "withheld"
    return None if passed["residual_rank_ic"] else "rejected"


def sentence(
    status: Status,
    gates: Sequence[GateResult],
    *,
    n_trials: int,
    k: int | None,
    thresholds: Thresholds,
    biased: bool,
) -> str:
    """The verdict in plain words.

    Args:
        status: what was decided.
        gates: all that were asked.
        n_trials: N.
        k: K, for those that reached the selection window.
        thresholds: of tier 2.
        biased: whether the panel holds survivors only.
    """
    told = {gate.name: gate for gate in gates}
    if status == "in-sample":
        return "in-sample: this workspace was made unsealed, nothing can be confirmed here"
    if status == "too short":
        short = told["history"] if not told["history"].passed else told["evidence"]
        return f"too short for a verdict: {short.reason}"
    if status == "held":
        return f"held, leak alarm: {told['leak'].reason}"
    if status == "withheld":
        return f"verdict withheld, {told['agreement'].reason}"
    if status == "redundant":
        return f"not sent to the selection window: {told['distinct'].reason}"
    evidence = told["evidence"]
    z = f"evidence z {evidence.value or 0.0:+.2f}"
    if status == "rejected":
        if not evidence.passed:
            least = f"{evidence.threshold:.2f} for {_many(n_trials, 'trial')}"
            return f"rejected: {z} is within reach of luck (hurdle {least})"
        return f"rejected: {z}, but {told['residual_rank_ic'].reason}"
    real = f"{z} beats the hurdle {evidence.threshold:.2f} of {_many(n_trials, 'trial')}"
    bets = _many(k or 0, "bet")
    if status == "unconfirmed":
        return f"not confirmed: {real}, but it fails on rows that the search never saw ({bets} made there)"
    confirmed = f"statistically real: {real} and holds on rows that the search never saw ({bets} made there)"
    cost = f"at {thresholds.cost_bp:g} bp"
    if all_passed(gates, 2):
        return f"{confirmed}; tradable on a biased panel {cost}" if biased else f"{confirmed}; tradable {cost}"
    failed = [_failure(gate) for gate in gates if gate.tier == 2 and not gate.passed]
    return f"{confirmed}; not tradable {cost}: {', '.join(failed)}"


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


_NAMES: Mapping[str, str] = {
    "net_sharpe": "net Sharpe ratio",
    "net_dsr": "deflated Sharpe ratio",
    "breakeven": "break-even in bp",
    "min_turnover": "turnover",
    "max_turnover": "turnover",
    "max_weight": "weight of one name",
    "self_correlation": "correlation to the pool",
    "breakeven_selection": "break-even fails on the selection window",
    "net_sharpe_selection": "net result fails on the selection window",
}


def _failure(gate: GateResult) -> str:
    if gate.name == "capacity":
        return gate.reason
    if gate.window == "selection":
        return _NAMES[gate.name]
    if gate.value is None:
        return f"{_NAMES[gate.name]} undefined"
    side = "over" if gate.name.startswith(("max_", "self_")) else "under"
    return f"{_NAMES[gate.name]} {gate.value:.2f} {side} {gate.threshold:g}"

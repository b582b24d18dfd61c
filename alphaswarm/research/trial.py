"""`Trial`: one evaluation of one expression on one panel, as everybody gets to see it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import RowMapping

from alphaswarm.core import content_key

__all__ = ["Trial", "TrialWindow", "trial_key"]

Status = Literal["evaluated", "refused", "invalid"]


class TrialWindow(BaseModel):
    """The dates that were looked at, both included."""

    model_config = ConfigDict(frozen=True)

    role: str
    start: str
    end: str


class Trial(BaseModel):
    """A row of the ledger with what was said about it.

    `status` is "evaluated"; "refused" when the factor covers too few names to be measured; or
    "invalid" when the text is no expression that the panel can carry. The last two have a
    `reason` and a `message`, and count as trials like any other.
    """

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="key of what was tried: expression, panel, horizon and fill")
    trial: str = Field(description="the same as id")
    status: Status
    expression: str = Field(description="standard spelling; the given text, escaped, where it is invalid")
    digest: str = Field(description="sha256 of the canonical expression, or of the invalid text")
    panel: str
    panel_digest: str
    window: TrialWindow
    as_of: str = Field(description="last market date that was looked at: the evidence is known from then on")
    horizon: int
    fill: str
    ic: float | None = None
    ic_t: float | None = None
    icir: float | None = None
    rank_ic: float | None = None
    rank_ic_t: float | None = Field(None, description="Newey-West t of the daily RankIC")
    rank_icir: float | None = None
    evidence: float | None = Field(
        None, description="mean daily correlation of the factor's rank with what common risks leave of the label"
    )
    evidence_t: float | None = Field(None, description="its Newey-West t")
    evidence_z: float | None = Field(None, description="its z, which noise keeps to: what is held against the hurdle")
    evidence_days: int = 0
    residual_rank_ic: float | None = Field(None, description="rank IC with what common risks leave of the label")
    residual_rank_ic_t: float | None = None
    turnover: float | None = Field(None, description="per day, both sides")
    coverage: float | None = Field(None, description="share of the priced names that have a value")
    breakeven_bp: float | None = Field(None, description="cost per traded dollar at which nothing is left")
    n_days: int = 0
    decay: dict[str, dict[str, float | None]] = Field({}, description="horizon to RankIC and t")
    quantiles: list[float | None] = []
    spread: float | None = None
    monotonicity: float | None = Field(None, description="rank correlation of a quantile's number and its mean")
    sharpe: float | None = Field(None, description="yearly, before costs")
    net_sharpe: dict[str, float | None] = Field({}, description="cost in basis points to yearly Sharpe ratio")
    fitness: float | None = Field(None, description="sharpe * sqrt(2 * abs(ann_return) / max(turnover, 0.125))")
    ann_return: float | None = None
    max_drawdown: float | None = None
    rank_autocorr: float | None = None
    missing: dict[str, str] = Field({}, description="why a figure is null")
    trials_total: int = Field(description="N: how many distinct trials these data have seen, whatever the panel's name")
    known: bool = Field(False, description="it was in the ledger before this call")
    first_run: str | None = Field(None, description="the run that first recorded it")
    source: str = ""
    rationale: str = ""
    parents: list[str] = []
    critique: str = ""
    reason: str | None = None
    message: str | None = None
    column: int | None = None
    warnings: list[str] = []

    @classmethod
    def of(cls, row: RowMapping, note: Mapping[str, Any], *, trials_total: int, known: bool) -> Trial:
        """From a row of `trials` and what its notes say together."""
        evidence: dict[str, Any] = json.loads(row["evidence"]) if row["evidence"] else {}
        return cls(
            **{name: value for name, value in evidence.items() if name in EVIDENCE_FIELDS},
            id=row["id"],
            trial=row["id"],
            status=row["status"],
            expression=row["expression"],
            digest=row["digest"],
            panel=row["panel"],
            panel_digest=row["panel_digest"],
            window=TrialWindow(role=row["role"], start=row["start"], end=row["end"]),
            as_of=row["as_of"],
            horizon=row["horizon"],
            fill=row["fill"],
            trials_total=trials_total,
            known=known,
            first_run=row["first_run"],
            reason=row["reason"],
            message=row["message"],
            column=row["place"],
            warnings=json.loads(row["warnings"]),
            **note,
        )


EVIDENCE_FIELDS = frozenset(
    {
        "ann_return",
        "breakeven_bp",
        "coverage",
        "decay",
        "evidence",
        "evidence_days",
        "evidence_t",
        "evidence_z",
        "fitness",
        "ic",
        "ic_t",
        "icir",
        "max_drawdown",
        "missing",
        "monotonicity",
        "n_days",
        "net_sharpe",
        "quantiles",
        "rank_autocorr",
        "rank_ic",
        "rank_ic_t",
        "rank_icir",
        "residual_rank_ic",
        "residual_rank_ic_t",
        "sharpe",
        "spread",
        "turnover",
    }
)


def trial_key(*, digest: str, panel: str, panel_digest: str, horizon: int, fill: str) -> str:
    """The content key of a trial: equal questions have equal keys, in every workspace."""
    body = {"digest": digest, "fill": fill, "horizon": horizon, "panel": panel, "panel_digest": panel_digest}
    return content_key(body)

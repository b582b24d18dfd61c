"""What a report shows, gathered from a workspace."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

import numpy as np

from alphaswarm.core import DataInvalid, EvidenceInvalid, Panel, ProviderError, UnknownName
from alphaswarm.research.pictures import NEAR
from alphaswarm.research.trial import Trial, TrialWindow
from alphaswarm.trading import DEFAULT_COST_BP

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill
    from alphaswarm.evaluation import FactorSeries
    from alphaswarm.research.runs import Run
    from alphaswarm.research.workspace import Workspace

__all__ = ["FactorSheet", "PanelFacts", "ReportData", "collect"]

SHEETS_SHOWN = 8
SHEETS_AT_LEAST = 3  # where nothing is even near
PACKAGES = ("alphaswarm", "numba", "numpy", "scipy")


@dataclass(frozen=True)
class PanelFacts:
    """What a reader must know of the data; all but the name is empty where the panel is not at hand."""

    name: str
    digest: str = ""
    source: str = ""
    licence: str = ""
    caveats: tuple[str, ...] = ()
    survivorship_biased: bool | None = None
    rows: int = 0
    symbols: int = 0
    start: str = ""
    end: str = ""

    @classmethod
    def of(cls, name: str, panel: Panel) -> PanelFacts:
        """The facts of `panel`, used as `name`."""
        days = np.datetime_as_string(panel.dates[[0, -1]], "D")
        meta = panel.meta
        return cls(
            name=name,
            digest=panel.digest,
            source=str(meta.get("source", "")),
            licence=str(meta.get("licence", "")),
            caveats=tuple(str(caveat) for caveat in meta.get("caveats", ())),
            survivorship_biased=meta.get("survivorship_biased"),
            rows=panel.shape[0],
            symbols=panel.shape[1],
            start=str(days[0]),
            end=str(days[1]),
        )


@dataclass(frozen=True)
class FactorSheet:
    """One factor with the daily series that its pictures need."""

    trial: Trial
    series: FactorSeries


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows; no clock, no path, so equal data give equal bytes.

    Attributes:
        run: what was asked.
        panel: the data.
        window: the only window that was read; None before the first trial.
        hurdle: c(N) for `trials_total`.
        trials_total: N, every distinct trial ever made on this panel.
        trials: all candidates of the run, best |t| first; invalid and refused ones too.
        sheets: the factors shown at length.
        versions: name to version of what computed it.
        cost_bp: default cost of the net figures.
    """

    run: Run
    panel: PanelFacts
    window: TrialWindow | None
    hurdle: float
    trials_total: int
    trials: tuple[Trial, ...]
    sheets: tuple[FactorSheet, ...]
    versions: Mapping[str, str]
    cost_bp: float = DEFAULT_COST_BP

    @property
    def measured(self) -> list[Trial]:
        """The candidates that have evidence."""
        return [trial for trial in self.trials if trial.status == "evaluated"]

    @property
    def command(self) -> str:
        """What repeats the run."""
        run = self.run
        words = ["alphaswarm", "agent", "run", "--panel", run.panel, "--proposer", run.proposer]
        words += ["--budget", str(run.budget), "--seed", str(run.seed), "--horizon", str(run.horizon)]
        return shlex.join([*words, *(("--intent", run.intent) if run.intent else ())])


def collect(workspace: Workspace, run_id: str) -> ReportData:
    """What the workspace knows of a run. Only the search window is read.

    A panel that can't be opened any more, or has changed, costs the daily pictures, not the report.

    Raises:
        UnknownName: no such run.
    """
    run = workspace.run(run_id)
    body = workspace.run_summary(run_id).body
    trials = tuple(workspace.trials(run=run_id, limit=None, status=None))
    sheets: tuple[FactorSheet, ...] = ()
    try:
        panel = PanelFacts.of(run.panel, workspace.panel(run.panel))
    except (UnknownName, ProviderError, DataInvalid, EvidenceInvalid) as error:
        panel = PanelFacts(run.panel, caveats=(f"the panel can't be opened now: {error}",))
    if panel.digest == run.panel_digest:
        finalists = {finalist["trial"] for finalist in body["finalists"]}
        sheets = _sheets(workspace, run, _shown(trials, finalists))
    return ReportData(
        run=run,
        panel=panel,
        window=trials[0].window if trials else None,
        hurdle=body["hurdle"],
        trials_total=body["trials_total"],
        trials=trials,
        sheets=sheets,
        versions={"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    )


def _shown(trials: Sequence[Trial], finalists: Container[str]) -> Sequence[Trial]:
    """The finalists, else the near misses, else the best of the rest."""
    best = [trial for trial in trials if trial.id in finalists]
    measured = [trial for trial in trials if trial.rank_ic_t is not None]
    near = [trial for trial in measured if abs(trial.rank_ic_t or 0.0) >= NEAR]
    return (best or near or measured[:SHEETS_AT_LEAST])[:SHEETS_SHOWN]


def _sheets(workspace: Workspace, run: Run, shown: Sequence[Trial]) -> tuple[FactorSheet, ...]:
    from alphaswarm.dsl import evaluate
    from alphaswarm.evaluation import Evaluator

    seen, window = workspace.seen(run.panel), workspace.window(run.panel)
    try:
        evaluator = Evaluator(seen, window, horizon=run.horizon, fill=cast("Fill", run.fill))
    except EvidenceInvalid:  # the window is shorter than the run's label
        return ()
    factors = evaluate([trial.expression for trial in shown], seen)
    return tuple(FactorSheet(trial, evaluator.series(factor)) for trial, factor in zip(shown, factors, strict=True))

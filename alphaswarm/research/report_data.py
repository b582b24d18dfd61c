"""What a report shows, gathered from a workspace."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from alphaswarm.core import DataInvalid, EvidenceInvalid, Panel, ProviderError, UnknownName
from alphaswarm.research.held import Held
from alphaswarm.research.pictures import NEAR
from alphaswarm.research.trial import Trial, TrialWindow
from alphaswarm.trading import DEFAULT_COST_BP

if TYPE_CHECKING:
    from alphaswarm.evaluation import FactorSeries
    from alphaswarm.evaluation.sheet import TearSheet
    from alphaswarm.evaluation.verdict import Verdict
    from alphaswarm.research.runs import Run
    from alphaswarm.research.workspace import Workspace

__all__ = ["FactorSheet", "PanelFacts", "ReportData", "collect"]

SHEETS_SHOWN = 6  # one more than a run may send to the selection window
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
    """One factor with all there is to say of it on the search window.

    Attributes:
        trial: as it was written.
        sign: the side it is held on; `sheet` is that of ``sign`` times the factor.
        sheet: what its pictures show.
        verdict: on it, if it was judged.
    """

    trial: Trial
    sign: int
    sheet: TearSheet
    verdict: Verdict | None = None

    @property
    def series(self) -> FactorSeries:
        """The daily series."""
        return self.sheet.series


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows; no clock, no path, so equal data give equal bytes.

    Attributes:
        run: what was asked.
        panel: the data.
        window: the only window that was read; None before the first trial.
        hurdle: c(N) for `trials_total`.
        trials_total: N, every distinct trial ever made on these data.
        line: what the run amounts to, as its summary says it.
        trials: all candidates of the run, the strongest first; invalid and refused ones last.
        sheets: the factors shown at length.
        versions: name to version of what computed it.
        verdicts: digest to what was decided, of a run that has ended.
        cost_bp: default cost of the net figures.
    """

    run: Run
    panel: PanelFacts
    window: TrialWindow | None
    hurdle: float
    trials_total: int
    line: str
    trials: tuple[Trial, ...]
    sheets: tuple[FactorSheet, ...]
    versions: Mapping[str, str]
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    cost_bp: float = DEFAULT_COST_BP

    @cached_property
    def measured(self) -> list[Trial]:
        """The candidates that have evidence."""
        return [trial for trial in self.trials if trial.status == "evaluated"]

    @cached_property
    def held(self) -> dict[str, Held]:
        """Trial id to its figures on the side that it is held on."""
        return {trial.id: Held.of(trial, self.cost_bp) for trial in self.measured}

    @property
    def beat(self) -> list[Trial]:
        """The candidates over the hurdle."""
        return [trial for trial in self.measured if (self.held[trial.id].z or 0.0) >= self.hurdle]

    @property
    def bets(self) -> list[Verdict]:
        """What was decided of those that were sent to the selection window, the strongest first."""
        found = [self.verdicts.get(trial.digest) for trial in self.measured]
        return [verdict for verdict in found if verdict is not None and verdict.k is not None]

    @property
    def has_residuals(self) -> bool:
        """Whether the evidence is that on residual returns; on short panels it is the RankIC."""
        return not self.measured or any(trial.evidence_z is not None for trial in self.measured)

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
    # until the run has ended it may go on searching: what was decided meanwhile is not shown
    verdicts = {verdict.digest: verdict for verdict in workspace.verdicts(run_id)} if run.finished else {}
    place = {trial: rank for rank, trial in enumerate(body["ranked"])}
    found = workspace.trials(run=run_id, limit=None, status=None)
    data = ReportData(
        run=run,
        panel=PanelFacts(run.panel),
        window=found[0].window if found else None,
        hurdle=body["hurdle"],
        trials_total=body["trials_total"],
        line=body["verdict"],
        trials=tuple(sorted(found, key=lambda trial: place.get(trial.id, len(place)))),
        sheets=(),
        versions={"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        verdicts=verdicts,
    )
    try:
        panel = PanelFacts.of(run.panel, workspace.panel(run.panel))
    except (UnknownName, ProviderError, DataInvalid, EvidenceInvalid) as error:
        panel = PanelFacts(run.panel, caveats=(f"the panel can't be opened now: {error}",))
    data = replace(data, panel=panel)
    if panel.digest == run.panel_digest:
        data = replace(data, sheets=_sheets(workspace, data, _shown(data)))
    return data


def _shown(data: ReportData) -> Sequence[Trial]:
    """The bets and what else beat the hurdle on its own, else the near misses, else the best of the rest."""
    bets = {verdict.digest for verdict in data.bets}
    redundant = {verdict.digest for verdict in data.verdicts.values() if verdict.status == "redundant"}
    beat = sorted(data.beat, key=lambda trial: trial.digest not in bets)
    near = [trial for trial in data.measured if (data.held[trial.id].z or 0.0) >= NEAR]
    found = [trial for trial in beat if trial.digest not in redundant]
    return (found or beat or near or data.measured[:SHEETS_AT_LEAST])[:SHEETS_SHOWN]


def _sheets(workspace: Workspace, data: ReportData, shown: Sequence[Trial]) -> tuple[FactorSheet, ...]:
    from alphaswarm.dsl import evaluate
    from alphaswarm.evaluation.sheet import TearSheets

    if not shown:
        return ()
    run = data.run
    try:
        maker = TearSheets(workspace.evaluator(run.panel, run.horizon, run.fill))
    except EvidenceInvalid:  # the window is shorter than the run's label
        return ()
    factors = evaluate([trial.expression for trial in shown], maker.evaluator.panel)
    sheets = []
    for trial, factor in zip(shown, factors, strict=True):
        verdict, sign = data.verdicts.get(trial.digest), data.held[trial.id].sign
        n_trials = max(1, data.trials_total if verdict is None else verdict.n_trials)
        sheets.append(FactorSheet(trial, sign, maker.sheet(sign * factor, n_trials=n_trials), verdict))
    return tuple(sheets)

"""`Judge`: from trials to verdicts, by the rule of acceptance.

Everything that the search window says comes first: the gates of tier 1, which candidates differ, and the
economic figures. Then the finalists are written down with their count K. Only then is the selection window
read, and pass or fail is all that is kept of it. Whoever is killed in between finds the finalists again, with
the same K, and completes the same verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from sqlalchemy import select

from alphaswarm.core import Clock, EvidenceInvalid, SpecInvalid, Store, canonical_json, content_key
from alphaswarm.core.spec import load_spec
from alphaswarm.research.appraise import Appraiser, last_read
from alphaswarm.research.examine import checked, factor_values
from alphaswarm.research.finalists import Finalist, Finalists, finalist_key
from alphaswarm.research.ledger import Ledger
from alphaswarm.research.multiplicity import Multiplicity
from alphaswarm.research.panels import OpenPanel, Panels
from alphaswarm.research.tables import insert_once, verdicts
from alphaswarm.research.trial import Trial

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill
    from alphaswarm.evaluation import Evaluator, FactorSeries
    from alphaswarm.evaluation.gates import GateResult, Thresholds
    from alphaswarm.evaluation.verdict import Status, Verdict
    from alphaswarm.research.pool import Pool

__all__ = ["Judge", "thresholds_in"]

SETTINGS = "gates.yaml"


@dataclass(frozen=True)
class _Case:
    """What holds for all trials that are judged together."""

    opened: OpenPanel
    n_trials: int
    number: int  # of the selection window
    thresholds: Thresholds
    run: str | None
    cutoff: np.datetime64 | None


@dataclass(frozen=True)
class _Draft:
    """What the search window says of a trial. `status` None: it may be sent to the selection window."""

    trial: Trial
    sign: int
    gates: tuple[GateResult, ...]
    status: Status | None
    reported: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entry(self) -> dict[str, Any]:
        """By what it is counted."""
        trial = self.trial
        return {"digest": trial.digest, "horizon": trial.horizon, "fill": trial.fill, "sign": self.sign}


class Judge:
    """Judges trials for a workspace and keeps its verdicts.

    Args:
        store: of trials, finalists and verdicts.
        clock: where times come from.
        panels: what measures on each window.
        ledger: of the trials.
        pool: what a candidate is compared with.
        directory: whose ``gates.yaml``, if it is there, says what counts as tradable.
        unsealed: nothing is sealed here, so nothing can be confirmed.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        panels: Panels,
        ledger: Ledger,
        pool: Pool,
        *,
        directory: Path,
        unsealed: bool,
    ) -> None:
        self._store = store
        self._clock = clock
        self._panels = panels
        self._ledger = ledger
        self._finalists = Finalists(store, clock)
        self._appraiser = Appraiser(panels, pool)
        self._directory = directory
        self._unsealed = unsealed
        self._evaluator: tuple[tuple[Any, ...], Evaluator] | None = None

    def judge(
        self,
        opened: OpenPanel,
        trials: Sequence[Trial],
        *,
        run: str | None = None,
        n_trials: int | None = None,
        cutoff: str | None = None,
    ) -> list[Verdict]:
        """The verdicts on `trials`, in their order; those that were measured only.

        What was sent to the present selection window before is recalled with its own N and K. The others
        compete: they must pass on search, differ from stronger ones, and be among the five strongest.

        Args:
            opened: the panel that they were measured on.
            trials: each once.
            run: whose candidates they are.
            n_trials: N; counted now where it is not given.
            cutoff: last date that a language model may have read about; its candidates also get figures after it.

        Raises:
            EvidenceInvalid: a trial of another panel, or of data that have changed since.
            SpecInvalid: a ``gates.yaml`` that can't be read.
        """
        measured = [trial for trial in trials if trial.status == "evaluated"]
        for trial in measured:
            if trial.panel_digest != opened.panel.digest:
                raise EvidenceInvalid(
                    f"trial {trial.id[:12]} was measured on other data than panel {opened.name!r} holds now: "
                    "evaluate it again, then submit it"
                )
        if n_trials is None:
            with self._store.read() as connection:
                n_trials = self._ledger.count(connection, opened.lineage)
        self._evaluator = None  # what was seen elsewhere since the last call is asked anew
        number = 0 if self._unsealed else len(self._panels.selections.all(opened.lineage))
        case = _Case(opened, n_trials, number, thresholds_in(self._directory), run, last_read(cutoff))
        drafts = [self._on_search(case, trial) for trial in measured]
        if self._unsealed:
            return self._keep(drafts, [self._verdict(case, draft) for draft in drafts], run)
        drafts = self._distinct(case, self._sendable(case, drafts))
        sent = self._send(case, drafts)
        found = []
        for draft in drafts:
            finalist = sent.get(finalist_key(opened.lineage, number, draft.entry))
            if finalist is None or not _is_of(finalist, draft):
                found.append(self._verdict(case, draft if finalist is None else _namesake(draft, finalist)))
            else:
                found.append(self._settled(opened, finalist))
        return self._keep(drafts, found, run)

    def of_run(self, run: str) -> list[Verdict]:
        """The verdicts that were kept for a run, in order."""
        return self._read(verdicts.c.run == run)

    def of_trial(self, trial: str) -> Verdict | None:
        """The latest verdict on a trial."""
        return next(reversed(self._read(verdicts.c.trial == trial)), None)

    # What the search window says

    def _on_search(self, case: _Case, trial: Trial) -> _Draft:
        from alphaswarm.evaluation.gates import search_gates
        from alphaswarm.evaluation.verdict import search_status

        figures: Mapping[str, Any] = trial.model_dump()
        if trial.evidence_z is None and "evidence_z" not in trial.missing:  # measured by an earlier version
            figures, _ = self._measured(case.opened, trial)
        rows, synthetic = case.opened.days, _is_synthetic(case.opened)
        gates = search_gates(figures, rows=rows, n_trials=case.n_trials, synthetic=synthetic)
        z = figures.get("evidence_z") or 0.0
        status = "in-sample" if self._unsealed else search_status(gates)
        reported: dict[str, Any] = {}
        if case.cutoff is not None and trial.source.startswith("llm"):
            reported["after_cutoff"] = self._appraiser.after_cutoff(case.opened, trial, case.cutoff)
        return _Draft(trial, int(np.sign(z)), tuple(gates), status, reported)

    def _sendable(self, case: _Case, drafts: Sequence[_Draft]) -> list[_Draft]:
        """Candidates whose label does not fit into the selection window can't be judged, and must not be counted."""
        from alphaswarm.evaluation.gates import GateResult

        out = []
        for draft in drafts:
            if draft.status is None:
                try:
                    self._selection(case.opened, draft.trial.horizon, _fill(draft.trial), case.number)
                except EvidenceInvalid as error:
                    short = GateResult(
                        name="history",
                        tier=1,
                        window="selection",
                        value=None,
                        threshold=None,
                        passed=False,
                        reason=error.message,
                    )
                    draft = replace(draft, gates=(short, *draft.gates[1:]), status="too short")
            out.append(draft)
        return out

    def _distinct(self, case: _Case, drafts: Sequence[_Draft]) -> list[_Draft]:
        """Of the candidates keep as such those that differ, the strongest first."""
        from alphaswarm.evaluation.gates import distinct_gate
        from alphaswarm.evaluation.pool import decorrelate

        keys = [finalist_key(case.opened.lineage, case.number, draft.entry) for draft in drafts]
        sent = self._finalists.find(keys)
        drafts = [
            _namesake(draft, sent[key]) if key in sent else draft for draft, key in zip(drafts, keys, strict=True)
        ]
        passed = sorted((draft for draft in drafts if draft.status is None), key=lambda draft: draft.trial.digest)
        results = [self._neutral(case.opened, draft.trial) for draft in passed]
        found = decorrelate(results, [_strength(draft) for draft in passed])
        seen: dict[str, _Draft] = {}
        for place, draft in enumerate(passed):
            rival = found.rivals.get(place)
            stronger, size = (None, None) if rival is None else (passed[rival[0]].trial.expression, rival[1])
            gate = distinct_gate(stronger, size, kept=place in found.kept)
            status: Status | None = None if gate.passed else "redundant"
            seen[draft.trial.id] = replace(draft, gates=(*draft.gates, gate), status=status)
        return [seen.get(draft.trial.id, draft) for draft in drafts]

    def _neutral(self, opened: OpenPanel, trial: Trial) -> NDArray[np.float64]:
        """Daily results without common risks, [D]."""
        daily = self._ledger.series([trial.id]).get(trial.id)
        neutral = daily.neutral if daily is not None else self._measured(opened, trial)[1].neutral
        return np.asarray(neutral, np.float64)

    def _measured(self, opened: OpenPanel, trial: Trial) -> tuple[Mapping[str, Any], FactorSeries]:
        factor = factor_values(checked(trial.expression, opened.panel), opened.seen)
        return self._panels.evidence(opened, factor, trial.horizon, _fill(trial))

    # Finalists

    def _send(self, case: _Case, drafts: Sequence[_Draft]) -> dict[str, Finalist]:
        """Write down the new finalists; those that were sent before are found again, whatever is said of them now."""
        keys = {finalist_key(case.opened.lineage, case.number, draft.entry): draft for draft in drafts}
        before = self._finalists.find(list(keys))
        new = [draft for key, draft in keys.items() if draft.status is None and key not in before]
        if not new:
            return before
        with self._store.read() as connection:
            together = Multiplicity.of(connection, case.opened.lineage, case.opened.days)
        entries = []
        for draft in new:
            gates, reported = self._appraiser.appraise(
                case.opened, draft.trial, draft.sign, case.thresholds, n_trials=case.n_trials, together=together
            )
            full = replace(draft, gates=(*draft.gates, *gates), reported={**draft.reported, **reported})
            entries.append({**draft.entry, "body": self._verdict(case, full).model_dump(mode="json")})
        return before | self._finalists.send(case.opened.lineage, case.number, entries, case.run)

    # The selection window

    def _settled(self, opened: OpenPanel, finalist: Finalist) -> Verdict:
        """The verdict on a finalist: the one that was kept, or what was written down completed by its bits."""
        from alphaswarm.evaluation.verdict import Verdict

        draft = Verdict.model_validate(finalist.body)
        for kept in reversed(self._read(verdicts.c.trial == draft.trial)):
            if kept.selection == finalist.selection and kept.k is not None:
                return kept
        gates = self._bits(opened, finalist, draft)
        confirmed = bool(gates[0].passed)
        first = [gate for gate in draft.gates if gate.tier == 1]
        second = [gate for gate in draft.gates if gate.tier == 2] if confirmed else []
        gates = [*first, gates[0], *second, *gates[1:]]
        status: Status = "confirmed" if confirmed else "unconfirmed"
        return _worded(draft, opened, status, gates, finalist.k)

    def _bits(self, opened: OpenPanel, finalist: Finalist, draft: Verdict) -> list[GateResult]:
        """The gates that the selection window decides; the only place where it is read for one factor."""
        from alphaswarm.evaluation import mean_z
        from alphaswarm.evaluation.gates import book_figures, confirmation_gate, selection_gates

        fill = cast("Fill", finalist.fill)
        evaluator = self._selection(opened, finalist.horizon, fill, finalist.selection)
        factor = factor_values(checked(draft.expression, opened.panel), evaluator.panel)
        series = evaluator.series(factor)
        z = mean_z(series.evidence, horizon=finalist.horizon)
        confirmation = confirmation_gate(z, finalist.sign, finalist.k)
        if not confirmation.passed:
            return [confirmation]
        thresholds = draft.thresholds
        return [
            confirmation,
            *selection_gates(book_figures(series, finalist.sign, thresholds.cost_bp), thresholds),
        ]

    def _selection(self, opened: OpenPanel, horizon: int, fill: Fill, number: int) -> Evaluator:
        """What measures on the selection window; kept for the call, as finalists share it."""
        key = (opened.panel.digest, opened.lineage, horizon, fill, number)
        if self._evaluator is None or self._evaluator[0] != key:
            self._evaluator = (key, self._panels.selection_evaluator(opened, horizon, fill, number))
        return self._evaluator[1]

    # Verdicts

    def _verdict(self, case: _Case, draft: _Draft) -> Verdict:
        """The verdict as far as search goes; that of a finalist is a draft that says "unconfirmed"."""
        from alphaswarm.evaluation.verdict import Verdict

        trial, opened = draft.trial, case.opened
        status: Status = draft.status or "unconfirmed"
        verdict = Verdict(
            expression=trial.expression,
            digest=trial.digest,
            panel=opened.name,
            panel_digest=opened.panel.digest,
            lineage=opened.lineage,
            horizon=trial.horizon,
            fill=trial.fill,
            sign=cast("Any", draft.sign),
            status=status,
            tradable=False,
            words="",
            gates=list(draft.gates),
            reported=dict(draft.reported),
            thresholds=case.thresholds,
            n_trials=case.n_trials,
            k=None,
            selection=case.number,
            trial=trial.id,
        )
        return verdict if draft.status is None else _worded(verdict, opened, status, verdict.gates, None)

    def _keep(self, drafts: Sequence[_Draft], found: Sequence[Verdict], run: str | None) -> list[Verdict]:
        """Keep each verdict with the trial that was asked about: one that is recalled may name a twin's."""
        now = self._clock.now().isoformat()
        with self._store.write() as connection:
            for draft, verdict in zip(drafts, found, strict=True):
                body = canonical_json(verdict.model_dump(mode="json")).decode()
                row = {"trial": draft.trial.id, "run": run, "body": body}
                key = content_key(row)
                insert_once(connection, verdicts, {**row, "key": key, "created": now})
        return list(found)

    def _read(self, where: Any) -> list[Verdict]:
        from alphaswarm.evaluation.verdict import Verdict

        query = select(verdicts.c.body).where(where).order_by(verdicts.c.seq)
        with self._store.read() as connection:
            return [Verdict.model_validate_json(body) for body in connection.execute(query).scalars()]


def thresholds_in(directory: Path) -> Thresholds:
    """Tier 2 as ``gates.yaml`` in `directory` says, or the default.

    Raises:
        SpecInvalid: a file that is no plain mapping, or holds a name or value that there is not.
    """
    from alphaswarm.evaluation.gates import Thresholds

    path = directory / SETTINGS
    if not path.exists():
        return Thresholds()
    try:
        return Thresholds.model_validate(load_spec(path))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        valid = ", ".join(Thresholds.model_fields)
        raise SpecInvalid(f"{SETTINGS}: {name}: {first['msg']}; it may set {valid}; tier 1 is not to be set") from None


def _worded(verdict: Verdict, opened: OpenPanel, status: Status, gates: Sequence[GateResult], k: int | None) -> Verdict:
    """`verdict` with its status, whether it can be traded, and its sentence."""
    from alphaswarm.evaluation.gates import all_passed
    from alphaswarm.evaluation.verdict import sentence

    words = sentence(
        status,
        gates,
        n_trials=verdict.n_trials,
        k=k,
        thresholds=verdict.thresholds,
        biased=bool(opened.panel.meta.get("survivorship_biased")),
    )
    tradable = status == "confirmed" and all_passed(gates, 2)
    return verdict.model_copy(
        update={"status": status, "gates": list(gates), "tradable": tradable, "words": words, "k": k}
    )


def _evidence(draft: _Draft) -> float:
    gate = next(gate for gate in draft.gates if gate.name == "evidence")
    return gate.value or 0.0


def _strength(draft: _Draft) -> float:
    return abs(_evidence(draft))


def _is_of(finalist: Finalist, draft: _Draft) -> bool:
    """Whether a finalist of the same expression was measured on the same values: a field can hold others elsewhere."""
    before = next(gate["value"] for gate in finalist.body["gates"] if gate["name"] == "evidence")
    return math.isclose(before, _evidence(draft), rel_tol=1e-6, abs_tol=1e-6)


def _namesake(draft: _Draft, finalist: Finalist) -> _Draft:
    """`draft`, which is not sent if the finalist of the same expression had other values: it can't take its place."""
    from alphaswarm.evaluation.gates import distinct_gate

    if draft.status is not None or _is_of(finalist, draft):
        return draft
    why = f"on panel {finalist.body['panel']} this expression was sent before, of other values; name its fields anew"
    gate = distinct_gate(None, None, kept=False).model_copy(update={"reason": why})
    return replace(draft, gates=(*draft.gates, gate), status="redundant")


def _fill(trial: Trial) -> Fill:
    return cast("Fill", trial.fill)


def _is_synthetic(opened: OpenPanel) -> bool:
    return str(opened.panel.meta.get("source", "")).startswith("synthetic market")

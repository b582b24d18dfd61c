"""`Judge`: from trials to verdicts, by the rule of acceptance.

Everything that the search window says comes first: the gates of tier 1, which candidates differ, and the
economic figures. Then the finalists are written down with their count K. Only then is the selection window
read, and pass or fail is all that is kept of it. Whoever is killed in between finds the finalists again, with
the same K, and completes the same verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from sqlalchemy import select

from alphaswarm.core import Clock, EvidenceInvalid, SpecInvalid, Store, canonical_json
from alphaswarm.core.spec import load_spec
from alphaswarm.research.examine import checked, factor_values
from alphaswarm.research.finalists import Finalist, Finalists, finalist_key
from alphaswarm.research.ledger import Ledger
from alphaswarm.research.multiplicity import Multiplicity
from alphaswarm.research.panels import OpenPanel, Panels
from alphaswarm.research.tables import insert_once, verdicts
from alphaswarm.research.trial import Trial
from alphaswarm.trading import ProportionalCosts

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill
    from alphaswarm.evaluation import Evaluator, FactorSeries
    from alphaswarm.evaluation.capacity import Capacity
    from alphaswarm.evaluation.gates import GateResult, Thresholds
    from alphaswarm.evaluation.known import KnownFormulas
    from alphaswarm.evaluation.verdict import Status, Verdict
    from alphaswarm.research.pool import Pool
    from alphaswarm.trading import TradedNames

__all__ = ["Judge", "last_read", "thresholds_in"]

SETTINGS = "gates.yaml"
# Rows after a model's cutoff from which figures on them alone are worth showing: a year.
LEAST_AFTER = 252


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
        self._pool = pool
        self._finalists = Finalists(store, clock)
        self._directory = directory
        self._unsealed = unsealed
        self._known: tuple[str, KnownFormulas] | None = None
        self._liquid: tuple[str, TradedNames | None] | None = None
        self._evaluator: tuple[tuple[Any, ...], Evaluator] | None = None
        self._after: tuple[tuple[Any, ...], Evaluator | None] | None = None

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
        number = 0 if self._unsealed else len(self._panels.selections.all(opened.lineage))
        case = _Case(opened, n_trials, number, thresholds_in(self._directory), run, last_read(cutoff))
        drafts = [self._on_search(case, trial) for trial in measured]
        if self._unsealed:
            return self._keep([self._verdict(case, draft) for draft in drafts], run)
        drafts = self._distinct(case, self._sendable(case, drafts))
        sent = self._send(case, drafts)
        found = []
        for draft in drafts:
            finalist = sent.get(finalist_key(opened.lineage, number, draft.entry))
            found.append(self._verdict(case, draft) if finalist is None else self._settled(opened, finalist))
        return self._keep(found, run)

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
        if trial.evidence_t is None and "evidence_t" not in trial.missing:  # measured by an earlier version
            figures, _ = self._measured(case.opened, trial)
        rows, synthetic = case.opened.days, _is_synthetic(case.opened)
        gates = search_gates(figures, rows=rows, n_trials=case.n_trials, synthetic=synthetic)
        t = figures.get("evidence_t") or 0.0
        status = "in-sample" if self._unsealed else search_status(gates)
        reported = {"after_cutoff": self._after_cutoff(case, trial)} if _by_model(trial) else {}
        return _Draft(trial, int(np.sign(t)), tuple(gates), status, reported)

    def _after_cutoff(self, case: _Case, trial: Trial) -> dict[str, Any] | None:
        """The headline figures on the rows that the model can't have read about; None of too few or unknown ones."""
        from alphaswarm.evaluation import Evaluator, Window

        opened, cutoff = case.opened, case.cutoff
        if cutoff is None:
            return None
        key = (opened.panel.digest, cutoff, trial.horizon, trial.fill)
        if self._after is None or self._after[0] != key:
            days = opened.seen.dates[opened.window.rows(opened.seen.dates)].astype("datetime64[D]")
            later = days[days > cutoff]
            evaluator = None
            if later.size >= LEAST_AFTER:
                window = Window(opened.window.role, later[0], later[-1])
                evaluator = Evaluator(opened.seen, window, horizon=trial.horizon, fill=_fill(trial))
            self._after = (key, evaluator)
        evaluator = self._after[1]
        if evaluator is None:
            return None
        found = evaluator.evidence(factor_values(checked(trial.expression, opened.panel), opened.seen))
        names = ("n_days", "rank_ic", "rank_ic_t", "evidence", "evidence_t", "sharpe")
        return {"window": evaluator.window.to_dict(), **{name: getattr(found, name) for name in names}}

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
        from alphaswarm.evaluation.pool import decorrelate
        from alphaswarm.evaluation.verdict import crowded_out

        passed = sorted((draft for draft in drafts if draft.status is None), key=lambda draft: draft.trial.digest)
        results = [self._neutral(case.opened, draft.trial) for draft in passed]
        found = decorrelate(results, [_strength(draft) for draft in passed])
        left: dict[str, _Draft] = {}
        for place, rival in found.rivals.items():
            draft = passed[place]
            stronger = None if rival is None else passed[rival[0]].trial.expression
            gate = crowded_out(stronger, None if rival is None else rival[1])
            left[draft.trial.id] = replace(draft, gates=(*draft.gates, gate), status="redundant")
        return [left.get(draft.trial.id, draft) for draft in drafts]

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
        together = self._multiplicity(case.opened)
        entries = []
        for draft in new:
            full = self._economics(case, draft, together)
            entries.append({**draft.entry, "body": self._verdict(case, full).model_dump(mode="json")})
        return before | self._finalists.send(case.opened.lineage, case.number, entries, case.run)

    def _economics(self, case: _Case, draft: _Draft, together: Multiplicity) -> _Draft:
        """A finalist with the gates of tier 2 on search and everything that is reported beside them."""
        from alphaswarm.evaluation.gates import book_figures, deflated, economic_gates, max_weight

        opened, trial, sign = case.opened, draft.trial, draft.sign
        factor = factor_values(checked(trial.expression, opened.panel), opened.seen)
        _, series = self._panels.evidence(opened, factor, trial.horizon, _fill(trial))
        book = book_figures(series, sign, case.thresholds.cost_bp)
        weight = max_weight(factor, trial.horizon, opened.window.rows(opened.seen.dates))
        carried = self._capacity(case, factor, sign, series)
        gates = economic_gates(
            book,
            case.thresholds,
            n_trials=case.n_trials,
            weight=weight,
            capacity=carried.aum,
            likeness=self._pool.likeness(opened, trial, factor, series),
        )
        nearest = self._known_formulas(opened).nearest(factor)
        fitness = None if trial.fitness is None else sign * trial.fitness
        reported = {
            **draft.reported,
            **together.report(),
            "discovery": together.is_discovery((trial.digest, trial.horizon, trial.fill)),
            "dsr_1T": deflated(book.gross, case.n_trials),
            "dsr_empirical": deflated(book.gross, case.n_trials, together.sharpe_variance()),
            "book": {
                "sharpe": book.sharpe,
                "net_sharpe": book.net_sharpe,
                "breakeven_bp": book.breakeven_bp,
                "turnover": book.turnover,
                "max_weight": weight,
            },
            "capacity": carried.to_dict(),
            "known": None if nearest is None else nearest.to_dict(),
            "brain": _brain(book.sharpe, fitness, book.turnover, weight),
        }
        return replace(draft, gates=(*draft.gates, *gates), reported=reported)

    def _capacity(self, case: _Case, factor: NDArray[np.float64], sign: int, series: FactorSeries) -> Capacity:
        """The money at which impact halves the Sharpe ratio of the net result, on the search window."""
        from alphaswarm.backtest import rank_weights, stagger
        from alphaswarm.dsl import parse
        from alphaswarm.evaluation.capacity import VOLATILITY_ROWS, capacity, liquidity
        from alphaswarm.trading import TradedNames

        seen = case.opened.seen
        rows = np.flatnonzero(series.active) + case.opened.window.rows(seen.dates).start
        if self._liquid is None or self._liquid[0] != case.opened.panel.digest:
            volatility = factor_values(parse(f"ts_std(returns, {VOLATILITY_ROWS})"), seen)
            self._liquid = (case.opened.panel.digest, liquidity(seen, volatility))
        names = self._liquid[1]
        if names is not None and names.dollar_volume is not None and names.volatility is not None:
            names = TradedNames(dollar_volume=names.dollar_volume[rows], volatility=names.volatility[rows])
        held = stagger(rank_weights(factor), series.horizon)
        traded = np.abs(np.diff(held, axis=0, prepend=0.0))[rows]
        cost = ProportionalCosts(case.thresholds.cost_bp).charge(series.turnover)
        result = (sign * series.gross - cost)[series.active]
        return capacity(traded, result, names, periods=series.periods)

    def _multiplicity(self, opened: OpenPanel) -> Multiplicity:
        with self._store.read() as connection:
            return Multiplicity.of(connection, opened.lineage, opened.days)

    def _known_formulas(self, opened: OpenPanel) -> KnownFormulas:
        """Values of the published formulas; kept, since making them takes longer than everything else here."""
        from alphaswarm.evaluation.known import KnownFormulas

        if self._known is None or self._known[0] != opened.panel.digest:
            self._known = (opened.panel.digest, KnownFormulas(opened.seen))
        return self._known[1]

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
        from alphaswarm.evaluation import newey_west_t
        from alphaswarm.evaluation.gates import book_figures, confirmation_gate, selection_gates

        fill = cast("Fill", finalist.fill)
        evaluator = self._selection(opened, finalist.horizon, fill, finalist.selection)
        factor = factor_values(checked(draft.expression, opened.panel), evaluator.panel)
        series = evaluator.series(factor)
        t = newey_west_t(series.evidence, horizon=finalist.horizon)
        confirmation = confirmation_gate(t, finalist.sign, finalist.k)
        if not confirmation.passed:
            return [confirmation]
        thresholds = draft.thresholds
        return [
            confirmation,
            *selection_gates(book_figures(series, finalist.sign, thresholds.cost_bp), thresholds),
        ]

    def _selection(self, opened: OpenPanel, horizon: int, fill: Fill, number: int) -> Evaluator:
        """What measures on the selection window; the last one is kept, as finalists share it."""
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

    def _keep(self, found: Sequence[Verdict], run: str | None) -> list[Verdict]:
        now = self._clock.now().isoformat()
        with self._store.write() as connection:
            for verdict in found:
                body = canonical_json(verdict.model_dump(mode="json")).decode()
                key = hashlib.sha256(canonical_json({"run": run, "verdict": body})).hexdigest()
                row = {"key": key, "trial": verdict.trial, "run": run, "body": body, "created": now}
                insert_once(connection, verdicts, row)
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


def _brain(sharpe: float | None, fitness: float | None, turnover: float | None, weight: float | None) -> dict[str, Any]:
    """The submission tests of WorldQuant BRAIN for one day's delay, before costs: a label that decides nothing."""
    tests = {
        "sharpe": sharpe is not None and sharpe > 1.25,
        "fitness": fitness is not None and fitness > 1.0,
        "turnover": turnover is not None and 0.01 <= turnover <= 0.70,
        "weight": weight is not None and weight < 0.10,
    }
    return {"sharpe": sharpe, "fitness": fitness, "tests": tests, "passed": all(tests.values())}


def _strength(draft: _Draft) -> float:
    gate = next(gate for gate in draft.gates if gate.name == "evidence")
    return abs(gate.value or 0.0)


def _fill(trial: Trial) -> Fill:
    return cast("Fill", trial.fill)


def last_read(cutoff: str | None) -> np.datetime64 | None:
    """The date that `cutoff` names.

    Raises:
        SpecInvalid: it names none.
    """
    if cutoff is None:
        return None
    try:
        day: np.datetime64 = np.datetime64(cutoff, "D")
    except ValueError:
        day = np.datetime64("NaT")
    if len(cutoff) != len("2024-06-30") or np.isnat(day):
        raise SpecInvalid(f"the cutoff of a language model must be a date such as 2024-06-30, got {cutoff!r}")
    return day


def _by_model(trial: Trial) -> bool:
    return trial.source.startswith("llm")


def _is_synthetic(opened: OpenPanel) -> bool:
    return str(opened.panel.meta.get("source", "")).startswith("synthetic market")

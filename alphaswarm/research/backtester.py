"""`Backtester`: from a question to a kept backtest: whose weights, their decisions, the engine, the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import Clock, EvidenceInvalid, Panel, SpecInvalid, Store, TargetWeights, content_key
from alphaswarm.core.weights import decisions_digest
from alphaswarm.rag import Memory
from alphaswarm.research.backtest_setup import BacktestRequest, cost_of, described, fit_baseline, label_fill, spoken
from alphaswarm.research.backtests import BacktestRecord, Backtests, Position
from alphaswarm.research.cautions import cautions
from alphaswarm.research.examine import Examiner, Label, checked, factor_values, kept_text
from alphaswarm.research.ledger import Note
from alphaswarm.research.panels import OpenPanel, Panels
from alphaswarm.research.pool import Pool
from alphaswarm.research.remembered import backtest_document
from alphaswarm.research.trial import Trial, TrialWindow, trial_key

if TYPE_CHECKING:
    from alphaswarm.backtest import BacktestResult, Fill

__all__ = ["Backtester"]

# Raised when what a backtest means changes, so that older records are not taken for newer ones.
FORMAT = 2
POSITIONS_KEPT = 12
UNCOUNTED = "a weights file names no expression: this look at the window is in no count of trials"
PEEKING = frozenset({"backtrader_coo", "cheat_on_close"})

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Held:
    """Whose weights, and how to make them.

    Attributes:
        weights: makes them, [rows seen, N]; NaN throughout a row holds.
        identity: what they are made of, for the key.
        provenance: hashes for each w_t, as `alpha weights` has them.
    """

    name: str
    digest: str
    weights: Callable[[], Array]
    identity: dict[str, Any]
    provenance: dict[str, str]
    expression: str = ""
    trial: Trial | None = None
    warnings: list[str] = field(default_factory=list)


class Backtester:
    """Runs backtests for a workspace: on the rows that research may see, and no others."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        panels: Panels,
        examiner: Examiner,
        pool: Pool,
        memory: Memory,
        *,
        unsealed: bool,
    ) -> None:
        self._store = store
        self._panels = panels
        self._examiner = examiner
        self._pool = pool
        self._memory = memory
        self._unsealed = unsealed
        self.kept = Backtests(store, clock)

    def key(self, request: BacktestRequest) -> str:
        """The id under which the result will be kept; nothing is measured or counted for it.

        Raises:
            The errors of `run`.
        """
        opened = self._panels.open(request.panel)
        return self._key(request, opened, self._held(request, opened, look=False))

    def run(self, request: BacktestRequest) -> BacktestRecord:
        """The backtest, recalled if it was run before.

        An expression is evaluated, and counted as a trial, first: looking at its backtest is looking at the window.

        Raises:
            ExpressionError, FieldNotFound, EvidenceInvalid: no expression of this panel, or one that can't be measured.
            DataInvalid: a weights file that breaks a rule.
            EvidenceInvalid: the pool is empty, or the engine can't do with the panel's gaps.
            UnknownName: no such panel or baseline.
            WeightsInvalid: weights that the engine refuses.
        """
        opened = self._panels.open(request.panel)
        held = self._held(request, opened, look=True)
        key = self._key(request, opened, held)
        known = self.kept.find(key)
        if known is not None:
            return known
        record = self._traded(key, request, opened, held)
        with self._store.write() as connection:
            if self.kept.add(connection, record):
                self._memory.remember(backtest_document(record), connection)
        return record

    # Whose weights

    def _held(self, request: BacktestRequest, opened: OpenPanel, *, look: bool) -> _Held:
        if request.kind == "expression":
            return self._expression(request, opened, look=look)
        if request.kind == "baseline":
            return self._baseline(request, opened, look=look)
        return self._of_pool(request, opened) if request.kind == "pool" else self._of_file(request, opened)

    def _expression(self, request: BacktestRequest, opened: OpenPanel, *, look: bool) -> _Held:
        label = Label(request.horizon, self._fill(request, opened))
        trial = self._examiner.examine(request.text, opened, label, Note()) if look else None
        expression = checked(request.text, opened.panel)
        identity = trial_key(
            digest=expression.digest,
            panel=opened.name,
            panel_digest=opened.panel.digest,
            horizon=label.horizon,
            fill=label.fill,
        )
        return _Held(
            name=str(expression) if trial is None else trial.expression,
            digest=expression.digest,
            weights=lambda: request.rule.weights(factor_values(expression, opened.seen), request.horizon),
            identity={"trial": identity},
            provenance={"panel": opened.panel.digest, "expression": expression.digest},
            expression=str(expression) if trial is None else trial.expression,
            trial=trial,
            warnings=[] if trial is None else trial.warnings,
        )

    def _baseline(self, request: BacktestRequest, opened: OpenPanel, *, look: bool) -> _Held:
        from alphaswarm.backtest.baselines import BASELINES

        make = BASELINES[request.text]
        takes = signature(make).parameters
        ranks = "factor" in takes
        fit_baseline(request, takes)
        if ranks is (request.factor is None):
            needs = "needs the expression that it ranks by" if ranks else f"takes no expression, got {request.factor}"
            raise SpecInvalid(f"baseline {request.text!r} {needs}")
        identity = {"baseline": request.text, **({"settings": dict(request.settings)} if request.settings else {})}
        if request.factor is None:
            return _Held(
                name=f"baseline {request.text}",
                digest="",
                weights=lambda: _known_before(make(opened.seen, **request.settings), self._rows(opened).start),
                identity=identity,
                provenance={"panel": opened.panel.digest, "baseline": request.text},
                warnings=self._cautions(opened),
            )
        ranked = self._expression(_asking_of(request, request.factor), opened, look=look)
        expression = checked(request.factor, opened.panel)
        return _Held(
            name=f"baseline {request.text} of {ranked.expression}",
            digest=ranked.digest,
            weights=lambda: _known_before(
                make(opened.seen, factor_values(expression, opened.seen), **request.settings), self._rows(opened).start
            ),
            identity={**identity, **ranked.identity},
            provenance={**ranked.provenance, "baseline": request.text},
            expression=ranked.expression,
            trial=ranked.trial,
            warnings=ranked.warnings,
        )

    def _of_pool(self, request: BacktestRequest, opened: OpenPanel) -> _Held:
        from alphaswarm.evaluation.pool import blend

        label = Label(request.horizon, self._fill(request, opened))
        state = self._pool.state(opened, label.horizon, label.fill)
        if not state.members:  # a pool is measured at the fill of its verdicts, whatever trades it then
            state = self._pool.state(opened, label.horizon, "close_t1")
        if state.content is None:
            raise EvidenceInvalid(
                f"the pool of {opened.lineage!r} at horizon {label.horizon} is empty: submit an alpha, and add it "
                "when it is confirmed"
            )
        signs, shares = [m.sign for m in state.members], [float(m.weight or 0.0) for m in state.members]

        def weights() -> Array:
            values = [factor_values(checked(m.expression, opened.panel), opened.seen) for m in state.members]
            return request.rule.weights(blend(values, signs, shares), label.horizon)

        count = len(state.members)
        return _Held(
            name=f"the pool, {count} member{'' if count == 1 else 's'} at horizon {label.horizon}",
            digest=state.content,
            weights=weights,
            identity={"pool": state.content, "shares": shares, "horizon": label.horizon},
            provenance={"panel": opened.panel.digest, "pool": state.content},
            warnings=self._cautions(opened),
        )

    def _of_file(self, request: BacktestRequest, opened: OpenPanel) -> _Held:
        from alphaswarm.research.weights_file import read_weights

        found = read_weights(Path(request.text), opened.seen, self._rows(opened))
        return _Held(
            name=kept_text("the name of a weights file", f"weights of {found.name}"),
            digest=found.digest,
            weights=lambda: found.weights,
            identity={"weights": found.digest},
            provenance={"panel": opened.panel.digest, "weights": found.digest},
            warnings=[*self._cautions(opened), UNCOUNTED],
        )

    def _cautions(self, opened: OpenPanel) -> list[str]:
        return cautions(opened.seen, opened.days, {}, unsealed=self._unsealed)

    # What comes of them

    def _key(self, request: BacktestRequest, opened: OpenPanel, held: _Held) -> str:
        from alphaswarm.backtest.metrics import periods_per_year

        ranked = request.kind in ("expression", "pool")
        return content_key(
            {
                "format": FORMAT,
                "held": held.identity,
                "panel": opened.name,
                "panel_digest": opened.panel.digest,
                "window": opened.window.to_dict(),
                "periods": periods_per_year(opened.seen),
                "tranches": request.rule.tranches(request.horizon) if ranked else None,
                "rule": described(request.rule) if ranked else None,
                "engine": _settings(request, opened),
            }
        )

    def _traded(self, key: str, request: BacktestRequest, opened: OpenPanel, held: _Held) -> BacktestRecord:
        seen, rows = opened.seen, self._rows(opened)
        weights = held.weights()
        weights[: rows.start] = 0.0
        result = request.engine.run(seen, weights)
        if not np.isfinite(result.equity).all():
            day = seen.dates[int(np.argmin(np.isfinite(result.equity)))].astype("datetime64[D]")
            mode = f" in mode {result.setup['mode']}" if "mode" in result.setup else ""
            raise EvidenceInvalid(
                f"engine {request.engine.name!r}{mode} can't value the account on {day}: a name has no price there; "
                "take another mode, or a panel without gaps"
            )
        settings, fill, cost_bp = _settings(request, opened), self._fill(request, opened), cost_of(request.engine)
        shown: list[str] = seen.dates[rows].astype("datetime64[D]").astype(str).tolist()
        ranked = request.kind in ("expression", "pool")
        how = spoken(settings, fill, cost_bp)
        log = list(_decisions(seen, weights, rows, held.provenance))
        return BacktestRecord(
            id=key,
            kind=request.kind,
            name=held.name,
            trial=None if held.trial is None else held.trial.id,
            expression=held.expression,
            digest=held.digest,
            panel=opened.name,
            panel_digest=opened.panel.digest,
            window=TrialWindow(**opened.window.to_dict()),
            as_of=opened.as_of,
            horizon=request.horizon if ranked or held.trial is not None else None,
            fill=fill,
            cost_bp=cost_bp,
            engine=request.engine.name,
            rule=described(request.rule) if ranked else {},
            settings=settings,
            words=f"{request.rule.words(request.horizon)}; {how}" if ranked else how,
            periods=result.periods,
            metrics=dict(result.metrics),
            dates=shown,
            equity=(result.equity[rows] / result.capital).tolist(),
            turnover=result.turnover[rows].tolist(),
            gross=result.gross[rows].tolist(),
            net=result.net[rows].tolist(),
            costs=(result.costs[rows] / result.capital).tolist(),
            positions=_largest(result, seen, rows),
            fills=len(result.fills),
            decisions=sum(one is not None for one in log),
            decisions_digest=decisions_digest(log),
            result_digest=result.digest,
            warnings=[*held.warnings, *_remarks(result)],
        )

    def _fill(self, request: BacktestRequest, opened: OpenPanel) -> Fill:
        return label_fill(request.engine, opened.seen)

    def _rows(self, opened: OpenPanel) -> slice:
        return opened.window.rows(opened.seen.dates)


def _asking_of(request: BacktestRequest, expression: str) -> BacktestRequest:
    """The same question about an expression."""
    return replace(request, kind="expression", text=expression, factor=None)


def _settings(request: BacktestRequest, opened: OpenPanel) -> dict[str, Any]:
    from alphaswarm.backtest import EventEngine

    settings: dict[str, Any] = described(request.engine)
    if isinstance(request.engine, EventEngine):
        settings["mode"] = request.engine.mode_on(opened.seen)
    return settings


def _known_before(weights: Array, first: int) -> Array:
    """`weights` whose row `first` says what was decided last up to it: a book that is only ever held begins there."""
    decided = np.flatnonzero(~np.isnan(weights[: first + 1]).all(axis=1))
    if decided.size:
        weights[first] = weights[decided[-1]]
    return weights


def _decisions(panel: Panel, weights: Array, rows: slice, provenance: dict[str, str]) -> Iterator[TargetWeights | None]:
    for row in range(rows.start, rows.stop):
        held = bool(np.isnan(weights[row]).all())
        yield None if held else TargetWeights(panel.dates[row], panel.symbols, weights[row], provenance)


def _largest(result: BacktestResult, panel: Panel, rows: slice) -> list[Position]:
    """The positions that were the largest on average, in absolute value."""
    if result.positions is None:
        return []
    held = result.positions[rows]
    mean = held.mean(axis=0)
    order = sorted(range(len(panel.symbols)), key=lambda place: (-abs(float(mean[place])), panel.symbols[place]))
    kept = [place for place in order[:POSITIONS_KEPT] if held[:, place].any()]
    return [
        Position(
            symbol=panel.symbols[place],
            mean=float(mean[place]),
            last=float(held[-1, place]),
            most=float(held[np.abs(held[:, place]).argmax(), place]),
        )
        for place in kept
    ]


def _remarks(result: BacktestResult) -> list[str]:
    found = []
    if result.setup.get("mode") in PEEKING:
        found.append(f"mode {result.setup['mode']} uses prices that nobody knows when it trades: for comparison only")
    if not result.turnover.any():
        found.append("nothing was ever traded")
    return found

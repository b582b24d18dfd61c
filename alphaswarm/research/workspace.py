"""`Workspace`: one research project, a directory with a ledger, a memory and panels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from sqlalchemy import Connection, select

from alphaswarm.core import (
    AlphaSwarmError,
    Clock,
    EvidenceInvalid,
    Panel,
    Reason,
    Store,
    StoreError,
    Summary,
    SystemClock,
    TargetWeights,
)
from alphaswarm.rag import Memory
from alphaswarm.research.backtest_setup import BacktestRequest, WeightRule, engine_for
from alphaswarm.research.backtester import Backtester
from alphaswarm.research.backtests import BacktestRecord
from alphaswarm.research.compare import MOST_COMPARED, Comparison, compare
from alphaswarm.research.examine import Examiner, Label, checked, factor_values, kept_text
from alphaswarm.research.judge import Judge
from alphaswarm.research.lease import Holder
from alphaswarm.research.ledger import Ledger, Note, Order
from alphaswarm.research.lineage import lineage_of
from alphaswarm.research.novelty import Nearest, Novelty
from alphaswarm.research.panels import Panels
from alphaswarm.research.pool import Pool, PoolState
from alphaswarm.research.remembered import judged_trials, remember_trial
from alphaswarm.research.runs import Run, Runs
from alphaswarm.research.summary import JUDGED, summarise, worth_judging
from alphaswarm.research.tables import add_columns, insert_once, settings
from alphaswarm.research.trial import Trial

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill
    from alphaswarm.data import Catalog
    from alphaswarm.evaluation import Evaluator, Window, Windows
    from alphaswarm.evaluation.verdict import Verdict
    from alphaswarm.research.selections import Selection

__all__ = ["Workspace"]

DEFAULT_PATH = Path(".alphaswarm")
DATABASE_VARIABLE = "ALPHASWARM_DB"
FORMAT = "1"


class Workspace:
    """Everything a research project knows. Made by `open`; a context manager that closes itself.

    Several processes and threads may use one workspace: transactions are short, what is stored is
    keyed by content, and a run is held by one of them at a time.

    Attributes:
        path: its directory.
        unsealed: whether it was made without sealed windows.
        store: the database of trials, notes, runs and documents.
        catalog: where panels come from.
        memory: the corpora to search.
    """

    def __init__(self, path: Path, store: Store, catalog: Catalog, clock: Clock, *, unsealed: bool) -> None:
        self.path = path
        self.unsealed = unsealed
        self.store = store
        self.catalog = catalog
        self.memory = Memory(store, path / "rag")
        self._panels = Panels(store, catalog, clock, unsealed=unsealed)
        self._ledger = Ledger(store, clock)
        self._runs = Runs(store, clock, Holder.new())
        self._examiner = Examiner(store, self._panels, self._ledger, self._runs, self.memory, unsealed=unsealed)
        self._pool = Pool(store, clock, self._panels)
        self._backtester = Backtester(
            store, clock, self._panels, self._examiner, self._pool, self.memory, unsealed=unsealed
        )
        self._judge = Judge(store, clock, self._panels, self._ledger, self._pool, directory=path, unsealed=unsealed)
        self._novelty = Novelty(store, self._panels, self._ledger, self.memory)

    @classmethod
    def open(
        cls,
        path: Path | str | None = None,
        *,
        unsealed: bool = False,
        clock: Clock | None = None,
        catalog: Catalog | None = None,
    ) -> Self:
        """The project in `path` (default ``.alphaswarm``), made at first use.

        Args:
            path: its directory.
            unsealed: make it without sealed windows. This is decided once: a sealed one stays sealed.
            clock: where times come from.
            catalog: where panels come from; by default the built-in, fetched and imported ones.

        Raises:
            StoreError: the directory can't be used, holds a sealed or newer workspace, or has lost its ledger.
        """
        from alphaswarm.data import Catalog

        directory = DEFAULT_PATH if path is None else Path(path)
        database = os.environ.get(DATABASE_VARIABLE) or directory / "ledger.db"
        if isinstance(database, Path) and not _has_content(database):
            _refuse_lost(directory)
        store = Store(database)
        try:
            is_unsealed = _settle(store, directory, unsealed=unsealed)
            add_columns(store)
        except StoreError:
            store.close()
            raise
        panels = catalog or Catalog(imported=directory / "panels")
        return cls(directory, store, panels, clock or SystemClock(), unsealed=is_unsealed)

    def close(self) -> None:
        """Give back the runs that are held, the index and the database."""
        try:
            self._runs.release()
        finally:
            self.memory.close()
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Panels

    def panel(self, name: str) -> Panel:
        """The panel of this name or path, all of it; opened once."""
        return self._panels.open(name).panel

    def windows(self, name: str) -> Windows:
        """The windows of the data of a panel, fixed here at their first use."""
        return self._panels.open(name).windows

    def window(self, name: str) -> Window:
        """The days of a panel whose numbers may be read: the search window; all of them where nothing is sealed."""
        return self._panels.open(name).window

    def seen(self, name: str) -> Panel:
        """The rows of a panel up to the end of its `window`: what research may look at."""
        return self._panels.open(name).seen

    def evaluator(self, name: str, horizon: int = 5, fill: str = "close_t1") -> Evaluator:
        """What measures factors on the `window` of a panel, and on no other days; it is kept.

        Raises:
            EvidenceInvalid: no label of this horizon ends inside the window.
        """
        label = Label(horizon, cast("Fill", fill))
        return self._panels.search_evaluator(self._panels.open(name), label.horizon, label.fill)

    def used_panels(self) -> list[str]:
        """The names of all panels that were ever opened here: those that have windows."""
        return self._panels.lineages.used()

    def window_state(self, name: str) -> dict[str, Any]:
        """All windows of a panel: what was sent to them and read of them, and the rows that nobody has seen yet."""
        return self._panels.selections.state(self._panels.open(name))

    def unseen_rows(self, name: str) -> int:
        """How many rows of a panel lie after all of its windows."""
        return self._panels.selections.unseen_rows(self._panels.open(name))

    def open_window(self, name: str, reason: str) -> Selection:
        """A new selection window on rows that nobody has seen: its K begins at 0, the old one judges no more.

        Raises:
            EvidenceInvalid: too few such rows, most were seen under another name, or nothing is sealed here.
        """
        opened = self._panels.open(name)
        if self.unsealed:
            raise EvidenceInvalid("this workspace was made unsealed: every row was seen, so no window can be opened")
        return self._panels.selections.open(opened, kept_text("reason", reason))

    # Trials

    def evaluate(
        self,
        text: str,
        *,
        panel: str,
        horizon: int = 5,
        fill: str = "close_t1",
        run: str | None = None,
        rationale: str = "",
        parents: Sequence[str] = (),
        critique: str = "",
        source: str = "",
        dialect: str = "native",
    ) -> Trial:
        """Measure an expression on the search window and keep the trial; recall it if it was measured before.

        What can't be measured is kept and counted too, and the error is raised after that.

        Args:
            text: the expression.
            panel: name or path of a panel.
            horizon: rows that the label spans, 1 to 252.
            fill: "close_t1" or "open_t1".
            run: id of the run that asks; it becomes the run's candidate.
            rationale: why it should work; kept beside the trial, as are the next three.
            parents: digests or trial ids that it was made from.
            critique: what the result taught.
            source: who or what proposed it.
            dialect: how `text` is written; the trial is kept in native form.

        Raises:
            ExpressionError: no valid expression, or (as `FieldNotFound` too) not on this panel.
            EvidenceInvalid: it covers too few names, or the label asked for can't be.
            UnknownName: no such panel, run or dialect.
            StoreBusy, StoreError: nothing was kept.
        """
        note = Note(
            run,
            kept_text("source", source),
            kept_text("rationale", rationale),
            kept_text("critique", critique),
            tuple(kept_text("a parent", parent) for parent in parents),
        )
        label = Label(horizon, cast("Fill", fill))
        return self._examiner.examine(text, self._panels.open(panel), label, note, dialect=dialect)

    def trial(self, identifier: str) -> Trial:
        """The trial whose id or digest begins so, or `UnknownName`."""
        return self._ledger.find(identifier)

    def trials(
        self,
        run: str | None = None,
        panel: str | None = None,
        limit: int | None = 100,
        offset: int = 0,
        *,
        status: str | None = "evaluated",
        order: Order = "strongest",
    ) -> list[Trial]:
        """Trials by |t| of their RankIC, or in order of proposal; those of one run or panel if asked.

        Args:
            run: only candidates of this run.
            panel: only trials on this panel.
            limit: at most so many; None for all.
            offset: how many to leave out at the start.
            status: "evaluated", "refused", "invalid", or None for all.
            order: "strongest" or "proposed".

        Raises:
            UnknownName: no such run.
        """
        if run is not None:
            self._runs.get(run)
        return self._ledger.trials(run=run, panel=panel, status=status, order=order, limit=limit, offset=offset)

    def trials_total(self, panel: str) -> int:
        """N: distinct (expression or invalid text; horizon; fill) ever tried on the data of this panel.

        Panels that share most of their cells are counted together, whatever their names.
        """
        with self.store.read() as connection:
            return self._ledger.count(connection, lineage_of(connection, panel))

    def target_weights(self, text: str, *, panel: str, as_of: str | None = None, horizon: int = 5) -> TargetWeights:
        """w_t: the staggered rank weights that an expression decides at the last close up to `as_of`.

        Nothing is measured, so nothing is counted, and any date of the panel may be asked for.

        Raises:
            ExpressionError, FieldNotFound: not an expression of this panel.
            WeightsInvalid: no such date, or too few names that day.
        """
        from alphaswarm.backtest import target_weights

        whole = self.panel(panel)
        expression = checked(text, whole)
        provenance = {"panel": whole.digest, "expression": expression.digest}
        factor = factor_values(expression, whole)
        return target_weights(factor, whole, as_of, tranches=Label(horizon, "close_t1").horizon, provenance=provenance)

    # Memory

    def nearest(
        self, text: str, *, panel: str, horizon: int | None = None, fill: str = "close_t1", dialect: str = "native"
    ) -> Nearest | None:
        """The stored trial on the same data that an expression behaves most like, else one of its form; see `Novelty`.

        Nothing is counted, and nothing that the expression earned is told.

        Raises:
            ExpressionError, FieldNotFound: not an expression of this panel.
        """
        opened = self._panels.open(panel)
        label = Label(horizon or 5, cast("Fill", fill))
        return self._novelty.nearest(checked(text, opened.panel, dialect), opened, horizon=horizon, fill=label.fill)

    def reindex(self) -> dict[str, Any]:
        """Tell the memory every verdict again, then make its vectors and index anew; what its `stats` then says.

        Raises:
            StoreBusy: another process has the index open.
        """
        with self.store.read() as connection:
            judged = judged_trials(connection)
        self._remember_verdicts(judged)
        return self.memory.reindex()

    # Verdicts

    def submit(
        self,
        text: str,
        *,
        panel: str,
        horizon: int = 5,
        fill: str = "close_t1",
        source: str = "",
        dialect: str = "native",
    ) -> Verdict:
        """Judge an expression: evaluate it, and send it to the selection window if it passes on search.

        What was sent there before is recalled. Each new one counts for ever, and makes it harder for
        all that come after it.

        Raises:
            The errors of `evaluate`; SpecInvalid for a ``gates.yaml`` that can't be read.
        """
        trial = self.evaluate(text, panel=panel, horizon=horizon, fill=fill, source=source, dialect=dialect)
        cutoff = None if trial.first_run is None else self._runs.get(trial.first_run).config.get("cutoff")
        (verdict,) = self._judge.judge(self._panels.open(panel), [trial], cutoff=cutoff)
        self._remember_verdicts([trial.id])
        return verdict

    def verdict(self, identifier: str) -> Verdict | None:
        """The latest verdict on the trial whose id or digest begins so; None if it was never judged."""
        return self._judge.of_trial(self.trial(identifier).id)

    def verdicts(self, run: str) -> list[Verdict]:
        """The verdicts of a run that was judged, the strongest first."""
        self._runs.get(run)
        return self._judge.of_run(run)

    def compare(
        self, texts: Sequence[str], *, panel: str, horizon: int = 5, fill: str = "close_t1", dialect: str = "native"
    ) -> Comparison:
        """Figures of several expressions side by side, and their correlations, on the search window.

        Raises:
            AlphaSwarmError: fewer than two, or too many.
            The errors of `evaluate`; each one is evaluated and counted.
        """
        if not 2 <= len(texts) <= MOST_COMPARED:
            raise AlphaSwarmError(
                f"2 to {MOST_COMPARED} expressions can be compared, got {len(texts)}", Reason.ARGUMENT_INVALID
            )
        trials = [self.evaluate(text, panel=panel, horizon=horizon, fill=fill, dialect=dialect) for text in texts]
        return compare(self._panels, self._panels.open(panel), trials)

    # Pool

    def promote(self, identifier: str) -> PoolState:
        """Take the confirmed trial whose id or digest begins so into the pool of its panel.

        Raises:
            UnknownName: no such trial.
            EvidenceInvalid: it was not judged, or not confirmed.
        """
        trial = self.trial(identifier)
        verdict = self._judge.of_trial(trial.id)
        if verdict is None:
            raise EvidenceInvalid(f"trial {trial.id[:12]} was not judged yet; submit it first")
        return self._pool.add(self._panels.open(trial.panel), verdict)

    def pool(self, panel: str, horizon: int = 5, fill: str = "close_t1") -> PoolState:
        """The pool of a panel's lineage; what the vault showed of it only after its release."""
        label = Label(horizon, cast("Fill", fill))
        return self._pool.state(self._panels.open(panel), label.horizon, label.fill)

    def pool_labels(self, panel: str) -> list[tuple[int, str]]:
        """Horizon and fill of every pool of a panel's lineage that has a member."""
        return self._pool.labels(self._panels.open(panel).lineage)

    def release_pool(self, panel: str, horizon: int = 5, fill: str = "close_t1") -> PoolState:
        """Read the vault for the pool as it is now: once for each content, logged.

        Raises:
            EvidenceInvalid: the pool is empty, was released before as it is, or the vault can't carry the label.
        """
        label = Label(horizon, cast("Fill", fill))
        return self._pool.release(self._panels.open(panel), label.horizon, label.fill)

    # Backtests

    def backtest(
        self,
        expression: str,
        *,
        panel: str,
        horizon: int = 5,
        cost_bp: float = 5.0,
        engine: str = "vector",
        mode: str | None = None,
        fill: str | None = None,
    ) -> BacktestRecord:
        """Hold an expression's weights over the search window; recalled if it was run before.

        Looking at a backtest is looking at the window: the expression is evaluated, and counted, first.

        Args:
            expression: its staggered rank weights are held.
            panel: name or path of a panel.
            horizon: rows that each row's weights are held, 1 to 252.
            cost_bp: cost of a traded dollar in basis points.
            engine: "vector" or "event".
            mode: of the event engine.
            fill: of the vector engine: "close_t1" or "open_t1".

        Raises:
            The errors of `evaluate`; UnknownName for an engine that there is not.
        """
        trader = engine_for(engine, cost_bp=cost_bp, mode=mode, fill=fill)
        return self.run_backtest(BacktestRequest("expression", expression, panel, trader, horizon, WeightRule()))

    def run_backtest(self, request: BacktestRequest) -> BacktestRecord:
        """Any backtest: an expression's, the pool's, a weights file's or a baseline's; recalled if it was run before.

        Raises:
            See `Backtester.run`.
        """
        return self._backtester.run(request)

    def backtest_key(self, request: BacktestRequest) -> str:
        """The id under which a backtest will be kept; nothing is measured or counted for it."""
        return self._backtester.key(request)

    def backtest_record(self, identifier: str) -> BacktestRecord:
        """The stored backtest whose id begins so, or `UnknownName`."""
        return self._backtester.kept.get(identifier)

    def find_backtest(self, identifier: str) -> BacktestRecord | None:
        """The stored backtest whose id begins so; None where it is no id, or nothing begins so.

        Raises:
            UnknownName: several begin so.
        """
        return self._backtester.kept.beginning(identifier)

    def backtests(self, panel: str | None = None, limit: int | None = 50) -> list[BacktestRecord]:
        """Stored backtests, of one panel if asked, the newest first."""
        return self._backtester.kept.all(panel, limit)

    # Runs

    def start_run(
        self,
        *,
        panel: str,
        horizon: int = 5,
        proposer: str,
        budget: int,
        seed: int,
        intent: str = "",
        config: Mapping[str, Any] | None = None,
    ) -> Run:
        """A new run, held by this workspace until it is finished or the workspace is closed.

        Raises:
            AlphaSwarmError: a horizon, budget (1 to 1,000,000) or seed (0 to 2**63 - 1) that can't be.
            EvidenceInvalid: the search window is too short for one label of this horizon.
        """
        label = Label(horizon, "close_t1")  # the fill that the researcher asks for
        opened = self._panels.open(panel)
        self._panels.check_label(opened, label.horizon, label.fill)
        return self._runs.start(
            panel=opened.name,
            panel_digest=opened.panel.digest,
            horizon=label.horizon,
            fill=label.fill,
            proposer=proposer,
            budget=budget,
            seed=seed,
            intent=kept_text("intent", intent),
            config=config or {},
        )

    def resume_run(self, identifier: str) -> Run:
        """Take up a run that was interrupted.

        Raises:
            UnknownName: no such run.
            StoreBusy: whoever holds it is alive.
            StoreError: it has finished.
        """
        return self._runs.resume(identifier)

    def heartbeat(self, identifier: str) -> None:
        """Say that a run is still worked on; evaluating for the run says so too.

        Raises:
            StoreBusy: another process took it over.
        """
        with self.store.write() as connection:
            self._runs.renew(connection, identifier)

    def finish_run(self, identifier: str, outcome: Any = None) -> Run:
        """Close a run with an outcome (plain JSON); its summary never changes after that.

        A run that ended by itself ("complete" or "exhausted") is judged first: its finalists are sent to the
        selection window. One that was cut short is not, since its candidates may still be improved.

        Raises:
            UnknownName: no such run.
            StoreBusy: another process holds it.
            SpecInvalid: a ``gates.yaml`` that can't be read; the run stays open.
        """
        run = self._runs.get(identifier)
        total = self.trials_total(run.panel)
        if run.finished is None and outcome in JUDGED:
            self._runs.check_finishable(identifier)
            self._judge_run(run, total)
        return self._runs.finish(identifier, outcome, total)

    def run(self, identifier: str) -> Run:
        """The run with this id, or `UnknownName`."""
        return self._runs.get(identifier)

    def runs(self) -> list[Run]:
        """Every run, the newest first."""
        return self._runs.all()

    def run_summary(self, identifier: str) -> Summary:
        """Candidates in order of proposal, finalists, near misses and the verdict of a run."""
        run = self._runs.get(identifier)
        total = self.trials_total(run.panel) if run.trials_total is None else run.trials_total
        candidates = self.trials(run=identifier, limit=None, status=None, order="proposed")
        return summarise(run, candidates, trials_total=total, verdicts=self._judge.of_run(identifier))

    def _judge_run(self, run: Run, n_trials: int) -> None:
        measured = self.trials(run=run.id, limit=None)
        opened = self._panels.open(run.panel)
        here = [trial for trial in measured if trial.panel_digest == opened.panel.digest]
        cutoff = run.config.get("cutoff")
        judged = self._judge.judge(opened, worth_judging(here, n_trials), run=run.id, n_trials=n_trials, cutoff=cutoff)
        self._remember_verdicts([verdict.trial for verdict in judged])

    def _remember_verdicts(self, identifiers: Sequence[str]) -> None:
        """Tell the memory what was decided; what a crash left untold, `reindex` tells."""
        found = [self.trial(identifier) for identifier in identifiers]
        with self.store.write() as connection:
            for trial in found:
                if trial.status == "evaluated":
                    remember_trial(self.memory, connection, trial)


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _refuse_lost(directory: Path) -> None:
    """A directory that has runs had a ledger: beginning another would forget every trial that was counted."""
    try:
        runs = next((directory / "runs").iterdir(), None)
    except OSError:
        return
    if runs is not None:
        raise StoreError(
            f"{directory} holds runs, but its ledger is empty or gone: restore ledger.db (with its -wal file, if there "
            "is one) from a backup, or move the directory runs away to begin a new project"
        )


def _settle(store: Store, directory: Path, *, unsealed: bool) -> bool:
    """Decide at the first opening what kind of workspace this is; say it at every later one."""
    with store.read() as connection:
        found = _settings(connection)
    if not found:
        with store.write() as connection:
            if not _settings(connection):  # nobody else came first
                _refuse_lost(directory)
            for name, value in (("format", FORMAT), ("unsealed", str(int(unsealed)))):
                insert_once(connection, settings, {"name": name, "value": value})
            found = _settings(connection)
    if found["format"] != FORMAT:
        raise StoreError(f"this workspace has format {found['format']}, this version reads format {FORMAT}")
    is_unsealed = found["unsealed"] == "1"
    if unsealed and not is_unsealed:
        raise StoreError("this workspace was made sealed and stays so; make an unsealed one in another directory")
    return is_unsealed


def _settings(connection: Connection) -> dict[str, str]:
    return {row.name: row.value for row in connection.execute(select(settings))}

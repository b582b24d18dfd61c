"""Whose weights a backtest holds: the pool's, a file's, a baseline's; and that nothing sealed gets into any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from alphaswarm.backtest import BacktestResult, EventEngine, VectorEngine, rank_weights, stagger
from alphaswarm.backtest.baselines import BASELINES
from alphaswarm.core import DataInvalid, EvidenceInvalid, FixedClock, Panel, SpecInvalid, TargetWeights, UnknownName
from alphaswarm.core.weights import decisions_digest
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.dsl import evaluate
from alphaswarm.research import BacktestRecord, Workspace
from alphaswarm.research.backtest_page import render_backtest
from alphaswarm.research.backtest_setup import BacktestRequest, WeightRule
from alphaswarm.research.pool import Member, Pool, PoolState

REVERSAL = "cs_rank(-ts_sum(returns, 5))"
SIMPLE = ("equal_weight", "buy_and_hold", "inverse_volatility", "minimum_variance", "random_weights")


def ask(workspace: Workspace, kind: str, text: str = "", **how) -> BacktestRecord:
    given = {"engine": VectorEngine(), **how}
    return workspace.run_backtest(BacktestRequest(kind, text, "small", **given))


def test_the_log_of_decisions_is_that_of_the_weights_command(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small", horizon=3)
    assert record.decisions == len(record.dates)
    panel = workspace.seen("small")
    weights = stagger(rank_weights(evaluate(REVERSAL, panel)), 3)
    provenance = {"panel": workspace.panel("small").digest, "expression": record.digest}
    log = [TargetWeights(day, panel.symbols, row, provenance) for day, row in zip(panel.dates, weights, strict=True)]
    assert record.decisions_digest == decisions_digest(log)
    for row in (40, 100, 150):
        told = workspace.target_weights(REVERSAL, panel="small", as_of=record.dates[row], horizon=3)
        assert told == log[row]


def test_whatever_trades_them_the_decisions_are_the_same(workspace: Workspace) -> None:
    records = [
        workspace.backtest(REVERSAL, panel="small", **how)
        for how in ({}, {"engine": "event"}, {"cost_bp": 50.0}, {"engine": "event", "mode": "close_to_close"})
    ]
    assert len({record.decisions_digest for record in records}) == 1
    assert len({record.result_digest for record in records}) == 4


def test_a_session_that_is_given_the_log_ends_where_the_record_does(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small")
    panel = workspace.seen("small")
    weights = stagger(rank_weights(evaluate(REVERSAL, panel)), 5)
    session = VectorEngine().start(panel)
    log = [TargetWeights(day, panel.symbols, row, {}) for day, row in zip(panel.dates, weights, strict=True)]
    for decision in log[:-1]:
        session.step(decision)
    np.testing.assert_allclose(session.result().equity, record.equity, rtol=1e-12)


# Baselines


@pytest.mark.parametrize("name", SIMPLE)
def test_baselines_are_kept_and_are_no_trials(workspace: Workspace, name: str) -> None:
    record = ask(workspace, "baseline", name)
    assert (record.kind, record.trial, record.horizon) == ("baseline", None, None)
    assert workspace.trials_total("small") == 0
    assert workspace.backtest_record(record.id[:8]) == record
    assert ask(workspace, "baseline", name) == record
    weights = BASELINES[name](workspace.seen("small"))
    assert record.equity == VectorEngine().run(workspace.seen("small"), weights).equity.tolist()


def test_a_quantile_baseline_needs_its_expression_and_counts_it(workspace: Workspace) -> None:
    record = ask(workspace, "baseline", "quantile_long_short", factor=REVERSAL)
    assert record.title == f"baseline quantile_long_short of {REVERSAL}"
    assert record.trial is not None
    assert workspace.trials_total("small") == 1
    with pytest.raises(SpecInvalid, match="needs the expression"):
        ask(workspace, "baseline", "quantile_long_short")
    with pytest.raises(SpecInvalid, match="takes no expression, got close"):
        ask(workspace, "baseline", "equal_weight", factor="close")
    with pytest.raises(UnknownName, match="valid: buy_and_hold"):
        ask(workspace, "baseline", "equal")


def test_a_baseline_takes_settings_of_its_own(workspace: Workspace) -> None:
    usual, longer = ask(workspace, "baseline", "inverse_volatility"), {"rows": 40}
    record = ask(workspace, "baseline", "inverse_volatility", settings=longer)
    assert record.id != usual.id
    weights = BASELINES["inverse_volatility"](workspace.seen("small"), **longer)
    assert record.equity == VectorEngine().run(workspace.seen("small"), weights).equity.tolist()
    thirds = ask(workspace, "baseline", "quantile_long_short", factor=REVERSAL, settings={"n": 3})
    assert thirds.id != ask(workspace, "baseline", "quantile_long_short", factor=REVERSAL).id
    for wrong in ({"row": 40}, {"rows": "forty"}, {"rows": True}, {"rows": 1}):
        with pytest.raises(SpecInvalid, match="rows"):
            ask(workspace, "baseline", "inverse_volatility", settings=wrong)
    with pytest.raises(SpecInvalid, match="settings of equal_weight takes"):
        ask(workspace, "baseline", "equal_weight", settings=longer)


def test_buy_and_hold_decides_once(workspace: Workspace) -> None:
    record = ask(workspace, "baseline", "buy_and_hold")
    assert record.decisions == 1
    assert np.count_nonzero(record.turnover) == 1


def test_what_was_decided_before_a_window_is_held_from_its_first_day(tmp_path: Path) -> None:
    """A window that begins after the panel does: a book that is only ever held must not be left out of it."""
    market = synthetic_market("null", seed=3, days=300, names=40)
    late = {name: values[60:] for name, values in market.fields.items()}
    catalog = Catalog(tmp_path / "home")
    catalog.add("late", Panel.from_arrays(late, market.dates[60:], market.symbols, meta=dict(market.meta)))
    catalog.add("small", market)
    with Workspace.open(tmp_path / "ws", catalog=catalog, clock=FixedClock()) as workspace:
        workspace.windows("late")  # of one lineage: this fixes the windows of both
        record = ask(workspace, "baseline", "buy_and_hold")
        assert record.dates[0] == str(market.dates[60])[:10]
        assert record.decisions == 1
        assert record.gross[:1] == [0.0]
        assert record.gross[-1] == pytest.approx(1.0, abs=1e-3)


# Rules and engines


def test_the_rule_makes_the_weights(workspace: Workspace) -> None:
    ranked = ask(workspace, "expression", REVERSAL)
    rules = [
        WeightRule(staggered=1),
        WeightRule("quantile"),
        WeightRule("quantile", quantiles=3),
        WeightRule("quantile", long_short=False),
    ]
    others = [ask(workspace, "expression", REVERSAL, rule=rule) for rule in rules]
    assert len({record.id for record in (ranked, *others)}) == 5
    assert len({record.result_digest for record in (ranked, *others)}) == 5
    assert others[-1].words.startswith("top of 5 quantiles, held 5 days in staggered parts")
    assert ask(workspace, "expression", REVERSAL, rule=WeightRule(staggered=5)).result_digest == ranked.result_digest
    assert workspace.trials_total("small") == 1, "one label, one look"


def test_a_fill_at_the_open_is_a_look_of_its_own(workspace: Workspace) -> None:
    ask(workspace, "expression", REVERSAL)
    if "open" in workspace.seen("small").fields:
        ask(workspace, "expression", REVERSAL, engine=VectorEngine(fill="open_t1"))
        assert workspace.trials_total("small") == 2
    else:
        assert ask(workspace, "expression", REVERSAL, engine=EventEngine()).fill == "close_t1"


@dataclass(frozen=True)
class Blind(VectorEngine):
    """An engine that loses sight of what it holds."""

    def run(self, *given: Any, **named: Any) -> BacktestResult:
        result = super().run(*given, **named)
        equity = result.equity.copy()
        equity[30:] = np.nan
        return replace(result, equity=equity)


def test_an_account_without_a_value_is_refused(workspace: Workspace) -> None:
    with pytest.raises(EvidenceInvalid, match=r"can't value the account on \d{4}-\d\d-\d\d"):
        ask(workspace, "expression", REVERSAL, engine=Blind())
    assert workspace.backtests() == []


# The pool


def state(members: int) -> PoolState:
    """A pool of the first of three expressions."""
    texts = (REVERSAL, "cs_rank(ts_std(returns, 20))", "cs_rank(volume)")[:members]
    shares = (0.5, 0.3, 0.2)
    return PoolState(
        panel="small",
        lineage="small",
        horizon=5,
        fill="close_t1",
        content=f"{members:064x}" if members else None,
        members=[
            Member(trial="", expression=text, digest="", sign=1, tradable=False, words="", weight=shares[place])
            for place, text in enumerate(texts)
        ],
    )


def test_an_empty_pool_is_refused(workspace: Workspace) -> None:
    with pytest.raises(EvidenceInvalid, match="the pool of 'small' at horizon 5 is empty"):
        ask(workspace, "pool")


def test_the_pool_is_held_by_its_combination(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pool, "state", lambda *_: state(1))
    alone = ask(workspace, "pool")
    assert (alone.kind, alone.title, alone.trial) == ("pool", "the pool, 1 member at horizon 5", None)
    assert workspace.trials_total("small") == 0
    np.testing.assert_allclose(alone.equity, workspace.backtest(REVERSAL, panel="small").equity, rtol=1e-12)
    monkeypatch.setattr(Pool, "state", lambda *_: state(2))
    both = ask(workspace, "pool")
    assert both.id != alone.id
    assert both.equity != alone.equity


# Weights files


def wide(path: Path, panel: Panel, rows: range, weights: np.ndarray) -> Path:
    lines = ["date," + ",".join(panel.symbols)]
    lines += [f"{str(panel.dates[row])[:10]}," + ",".join(map(repr, weights[row].tolist())) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_file_of_an_expressions_weights_gives_its_equity(workspace: Workspace, tmp_path: Path) -> None:
    panel = workspace.seen("small")
    weights = stagger(rank_weights(evaluate(REVERSAL, panel)), 5)
    path = wide(tmp_path / "w.csv", panel, range(panel.shape[0]), weights)
    record = ask(workspace, "weights", str(path))
    theirs = workspace.backtest(REVERSAL, panel="small")
    assert record.equity == theirs.equity
    assert record.metrics == theirs.metrics
    assert (record.kind, record.title, record.trial) == ("weights", "weights of w.csv", None)
    assert "in no count of trials" in record.warnings[-1]
    assert record.id != theirs.id
    assert ask(workspace, "weights", str(path), engine=EventEngine()).fills > 0
    assert workspace.trials_total("small") == 1, "the expression's alone"


def test_a_file_is_known_by_what_it_decides(workspace: Workspace, tmp_path: Path) -> None:
    panel = workspace.seen("small")
    rng = np.random.default_rng(1)
    weights = rng.standard_normal(panel.shape) / 40
    first = ask(workspace, "weights", str(wide(tmp_path / "a.csv", panel, range(50), weights)))
    assert ask(workspace, "weights", str(wide(tmp_path / "b.csv", panel, range(50), weights))) == first
    weights[10, 4] += 1e-9
    assert ask(workspace, "weights", str(wide(tmp_path / "c.csv", panel, range(50), weights))).id != first.id
    assert first.decisions == 50, "later days hold"


def test_sealed_days_can_not_be_decided(workspace: Workspace, tmp_path: Path) -> None:
    panel = workspace.panel("small")
    rows = workspace.windows("small").search.rows(panel.dates)
    path = wide(tmp_path / "w.csv", panel, range(rows.stop - 1, rows.stop + 1), np.full(panel.shape, 0.01))
    with pytest.raises(DataInvalid, match=r"w.csv: row 3, column 'date'.*which may be looked at"):
        ask(workspace, "weights", str(path))
    assert workspace.backtests() == []


# Sealed


class Unhashed(Panel):
    """A panel whose digest says nothing of its numbers: keys made of it are the same on both sides."""

    digest = "5" * 64


class Shelf(Catalog):
    """Opens `panel` as small, and describes the file of `filed`, which holds the same names and days."""

    def __init__(self, directory: Path, panel: Panel, filed: Panel) -> None:
        super().__init__(directory / "home", directory / "panels")
        self.add("small", filed)
        self.panel = Unhashed(**{name: getattr(panel, name) for name in Panel.__dataclass_fields__})

    def open(self, name: str | Path) -> Panel:
        return self.panel if name == "small" else super().open(name)


def left_behind(directory: Path, panel: Panel, filed: Panel, questions: Callable) -> list[str]:
    """Records, pages and documents of every kind of backtest on a panel."""
    shelf = Shelf(directory.with_suffix(".data"), panel, filed)
    with Workspace.open(directory, catalog=shelf, clock=FixedClock()) as workspace:
        records = questions(workspace)
        found = [workspace.memory.query(text, corpus="backtest_summaries", k=30).to_dict() for text in ("baseline",)]
        return [text for record in records for text in (record.model_dump_json(), render_backtest(record))] + [
            str(found)
        ]


def test_no_row_after_the_search_window_changes_a_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    market = synthetic_market("null", seed=3, days=300, names=40)
    rows = 180  # 60 %
    rng = np.random.default_rng(8)
    corrupted = {}
    for name, values in market.fields.items():
        corrupted[name] = values.copy()
        corrupted[name][rows:] = 123_456.75 * (1 + rng.random(values[rows:].shape))
    other = replace(market, fields=MappingProxyType(corrupted))
    path = wide(tmp_path / "w.csv", market, range(20, rows, 7), rng.standard_normal(market.shape) / 40)
    monkeypatch.setattr(Pool, "state", lambda *_: state(2))

    def questions(workspace: Workspace) -> list[BacktestRecord]:
        engines = (VectorEngine(), EventEngine())
        asked = [("expression", REVERSAL), ("pool", ""), ("weights", str(path)), *(("baseline", one) for one in SIMPLE)]
        return [ask(workspace, kind, text, engine=engine) for kind, text in asked for engine in engines]

    one = left_behind(tmp_path / "a", market, market, questions)
    two = left_behind(tmp_path / "b", other, market, questions)
    assert one == two
    assert all("123456.75" not in text and "123,456.75" not in text for text in two)


def test_an_unsealed_workspace_looks_at_everything_and_says_so(open_workspace) -> None:
    workspace = open_workspace("open", unsealed=True)
    record = ask(workspace, "baseline", "equal_weight")
    assert len(record.dates) == 300
    assert record.window.role == "in-sample"
    assert any("in-sample" in warning for warning in record.warnings)

"""Rules, engines by name, and specs: what is refused, and what every setting means."""

from __future__ import annotations

from pathlib import Path

import pytest

from alphaswarm.backtest import EventEngine, VectorEngine
from alphaswarm.core import AlphaSwarmError, Reason, SpecInvalid, UnknownName
from alphaswarm.research import Workspace
from alphaswarm.research.backtest_setup import (
    BacktestRequest,
    WeightRule,
    cost_of,
    described,
    engine_for,
    label_fill,
    read_spec,
    request_for,
    spoken,
)
from alphaswarm.trading import MinimumFee, ProportionalCosts, SquareRootImpact, SumOfCosts

WHOLE = """
expression: cs_rank(close)
panel: small
horizon: 3
weights: {rule: quantile, quantiles: 4, long_short: false, staggered: 2}
engine:
  class: VectorEngine
  module_path: alphaswarm.backtest.vector
  kwargs:
    fill: close_t1
    every: 5
    band: 0.01
    long_only: true
    cash_rate: 0.02
    capital: 1000000
    costs:
      class: SumOfCosts
      module_path: alphaswarm.trading.costs
      kwargs:
        parts:
          - 5
          - {class: SquareRootImpact, module_path: alphaswarm.trading.costs, kwargs: {cap: 0.1}}
          - {class: MinimumFee, module_path: alphaswarm.trading.costs, kwargs: {fee: 1.0, costs: 2}}
"""
ENGINE = "{class: VectorEngine, module_path: alphaswarm.backtest.vector, kwargs: {%s}}"


def spec(tmp_path: Path, text: str, **named) -> BacktestRequest:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    return read_spec(path, **named)


def test_a_spec_says_everything(tmp_path: Path) -> None:
    request = spec(tmp_path, WHOLE)
    costs = SumOfCosts((ProportionalCosts(5.0), SquareRootImpact(cap=0.1), MinimumFee(1.0, ProportionalCosts(2.0))))
    engine = VectorEngine(costs, every=5, band=0.01, long_only=True, cash_rate=0.02, capital=1_000_000)
    rule = WeightRule("quantile", 4, False, 2)
    assert request == BacktestRequest("expression", "cs_rank(close)", "small", engine, 3, rule)
    assert cost_of(engine) is None
    assert "costs SumOfCosts, every 5 rows, band 0.01, long only, cash earns 2.00% a year" in spoken(
        described(engine), "close_t1", None
    )


def test_a_spec_can_be_short(tmp_path: Path) -> None:
    assert spec(tmp_path, "pool: true", panel="small") == BacktestRequest("pool", "", "small", VectorEngine())
    event = spec(tmp_path, "{baseline: equal_weight, engine: event}", panel="small")
    assert event.engine == EventEngine(commission=5e-4)
    beside = spec(tmp_path, "{weights_file: w.csv, panel: other}", panel="small")
    assert (beside.text, beside.panel) == (str(tmp_path / "w.csv"), "other")
    ranked = spec(tmp_path, "{baseline: quantile_long_short, factor: close}", panel="small")
    assert ranked.factor == "close"
    calm = spec(tmp_path, "{baseline: inverse_volatility, settings: {rows: 120}}", panel="small")
    assert calm.settings == {"rows": 120}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("panel: small", "one of expression, pool, weights_file, baseline, got none"),
        ("{expression: close, pool: true}", "got expression and pool"),
        ("{pool: false}", "pool must be true"),
        ("{expression: close, horizn: 3}", "got 'horizn'; did you mean 'horizon'"),
        ("{expression: 5}", "expression must be text"),
        ("{expression: close, weights: ranks}", "weights must be a mapping"),
        ("{expression: close, weights: {rule: luck}}", "rule must be rank or quantile"),
        ("{expression: close, weights: {quantiles: 3}}", "belong to rule quantile"),
        ("{expression: close, weights: {rule: quantile, quantiles: 1}}", "whole number from 2"),
        ("{expression: close, weights: {staggered: 0}}", "staggered must be a whole number from 1"),
        ("{expression: close, weights: {rule: quantile, long_short: 1}}", "long_short of WeightRule can't be 1"),
        ("{expression: close, engine: 5}", "engine must be a mapping"),
        ("{expression: close, engine: {class: VectorEngine}}", "'class' and 'module_path'"),
        (
            "{expression: close, engine: {class: VectorEngine, module_path: alphaswarm.backtest.vector, args: 1}}",
            "'args'",
        ),
        ("{expression: close, engine: {class: OrderedDict, module_path: collections}}", "inside 'alphaswarm.'"),
        ("{expression: close, engine: {class: Path, module_path: alphaswarm.backtest.vector}}", "exports no class"),
        ("{expression: close, engine: {class: Panel, module_path: alphaswarm.core}}", "can't be the engine"),
        (
            "{expression: close, engine: {class: BaseBacktestEngine, module_path: alphaswarm.backtest}}",
            "can't be the engine",
        ),
        ("{expression: close, engine: %s}" % (ENGINE % "fills: close_t1"), "did you mean 'fill'"),
        ("{expression: close, engine: %s}" % (ENGINE % "fill: noon"), "fill must be one of"),
        ("{expression: close, engine: %s}" % (ENGINE % "every: true"), "every of VectorEngine can't be True"),
        ("{expression: close, engine: %s}" % (ENGINE % "cash_rate: much"), "cash_rate of VectorEngine can't be 'much'"),
        ("{expression: close, engine: %s}" % (ENGINE % "costs: -5"), "0 or more"),
        ("{expression: close, engine: %s}" % (ENGINE % "costs: cheap"), "costs must be a mapping"),
        (
            "{expression: close, engine: %s}" % (ENGINE % "costs: {class: Panel, module_path: alphaswarm.core}"),
            "can't be the costs",
        ),
        (
            "{expression: close, engine: %s}" % (ENGINE % "costs: {class: Costs, module_path: alphaswarm.trading}"),
            "can't be the costs",
        ),
        (
            "{expression: close, engine: %s}"
            % (ENGINE % "costs: {class: SpreadCosts, module_path: alphaswarm.trading, kwargs: {bp: wide}}"),
            "SpreadCosts can't be made",
        ),
        (
            "{expression: close, engine: %s}"
            % (ENGINE % "costs: {class: SumOfCosts, module_path: alphaswarm.trading, kwargs: {parts: 5}}"),
            "parts must be a list",
        ),
        ("- close", "must be a mapping"),
        ("expression: !!python/object:os.system {}", "plain values only"),
    ],
)
def test_a_spec_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecInvalid, match=message):
        spec(tmp_path, text, panel="small")


def test_a_spec_needs_a_panel_and_a_file(tmp_path: Path) -> None:
    with pytest.raises(SpecInvalid, match="needs a panel"):
        spec(tmp_path, "expression: close")
    with pytest.raises(SpecInvalid):
        read_spec(tmp_path / "none.yaml", "small")


def test_a_horizon_is_checked_where_it_is_used(workspace: Workspace, tmp_path: Path) -> None:
    request = spec(tmp_path, "{expression: close, panel: small, horizon: soon}")
    with pytest.raises(AlphaSwarmError, match="horizon must be a whole number"):
        workspace.run_backtest(request)


def test_engines_by_name() -> None:
    assert engine_for("vector", cost_bp=3.0, fill="open_t1") == VectorEngine(ProportionalCosts(3.0), fill="open_t1")
    assert engine_for("event", cost_bp=3.0, mode="close_to_close") == EventEngine(
        "close_to_close", commission=3.0 * 1e-4
    )
    assert cost_of(engine_for("event", cost_bp=7.0)) == cost_of(engine_for("vector", cost_bp=7.0)) == 7.0
    with pytest.raises(UnknownName):
        engine_for("warp")
    with pytest.raises(SpecInvalid, match="mode must be one of"):
        engine_for("event", mode="noon")


def test_the_label_is_that_of_the_fill(workspace: Workspace) -> None:
    panel = workspace.panel("small")
    assert label_fill(VectorEngine(fill="open_t1"), panel) == "open_t1"
    expected = {
        "next_open": "open_t1",
        "close_to_close": "close_t1",
        "backtrader": "open_t1",
        "cheat_on_close": "close_t1",
    }
    for mode, fill in expected.items():
        assert label_fill(EventEngine(mode), panel) == fill


def test_a_description_leaves_out_only_what_changes_nothing() -> None:
    assert described(VectorEngine(threads=2)) == described(VectorEngine())
    others = [VectorEngine(every=2), VectorEngine(dtype="float32"), VectorEngine(band=0.1), VectorEngine(capital=2.0)]
    assert all(described(other) != described(VectorEngine()) for other in others)


def test_words_of_a_command_line() -> None:
    engine = VectorEngine()
    kinds = {"close": "expression", "pool": "pool", "w.csv": "weights", "w.CSV.gz": "weights", "w.parquet": "weights"}
    for source, kind in kinds.items():
        assert request_for(source, "small", engine).kind == kind
    assert request_for(None, "small", engine, baseline="equal_weight").text == "equal_weight"
    assert request_for("close", "small", engine, baseline="quantile_long_short").factor == "close"
    with pytest.raises(AlphaSwarmError, match="got none") as caught:
        request_for(None, "small", engine)
    assert caught.value.reason is Reason.ARGUMENT_INVALID

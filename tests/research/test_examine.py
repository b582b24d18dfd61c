from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from alphaswarm.core import AlphaSwarmError, EvidenceInvalid, ExpressionError, FieldNotFound, Panel, UnknownName
from alphaswarm.data import synthetic_market
from alphaswarm.dsl import evaluate, parse
from alphaswarm.evaluation import Evaluator
from alphaswarm.research import Workspace
from alphaswarm.research.examine import kept_text

Open = Callable[..., Workspace]
REVERSAL = "cs_rank(-ts_sum(returns, 5))"


class Shelf:
    """One panel in memory."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel

    def adopt(self, name: str) -> str:
        return name

    def open(self, name: str) -> Panel:
        return replace(self.panel, meta={**self.panel.meta, "name": name})


def test_the_evidence_is_that_of_the_evaluator(workspace: Workspace) -> None:
    trial = workspace.evaluate(REVERSAL, panel="small", horizon=3, fill="open_t1")
    panel = workspace.panel("small")
    judge = Evaluator(panel, workspace.windows("small").search, horizon=3, fill="open_t1")
    evidence = judge.evidence(evaluate(parse(REVERSAL), panel)).to_dict()
    body = trial.model_dump(mode="json")
    shared = set(body) & set(evidence) - {"window", "horizon", "fill"}
    assert len(shared) == 27
    assert {name: body[name] for name in shared} == {name: evidence[name] for name in shared}
    assert body["window"] == evidence["window"]
    assert trial.digest == parse(REVERSAL).digest
    assert trial.panel_digest == panel.digest


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_overflows_is_refused_and_counted(open_workspace: Open) -> None:
    close = 100.0 * np.exp(np.cumsum(np.random.default_rng(0).normal(0.0, 0.01, (700, 40)), axis=0))
    close[[300, 303], 0] = 1e-300, 1e200
    returns = np.vstack([np.zeros((1, 40)), close[1:] / close[:-1] - 1])
    returns[~np.isfinite(returns)] = 0.0
    dates = np.datetime64("2010-01-01") + np.arange(700)
    market = Panel.from_arrays({"close": close, "returns": returns}, dates, [f"S{name}" for name in range(40)])
    own = open_workspace("own", catalog=Shelf(market))
    for _ in range(2):
        with pytest.raises(EvidenceInvalid, match="beyond what a number can hold"):
            own.evaluate("-ts_sum(returns, 3)", panel="x")
        (trial,) = own.trials(status=None)
        assert (trial.status, trial.rank_ic_t, own.trials_total("x")) == ("refused", None, 1)


def test_nothing_after_the_search_window_is_looked_at(open_workspace: Open) -> None:
    market = synthetic_market("null", seed=5, days=200, names=35)
    shocked = {name: values.copy() for name, values in market.fields.items()}
    for values in shocked.values():
        values[120:] = np.nan_to_num(values[120:]) * 7.0 + 1.0
    other = replace(market, fields=shocked)
    first, second = (open_workspace(name, catalog=Shelf(panel)) for name, panel in (("a", market), ("b", other)))
    for text in (REVERSAL, "cs_rank(ts_corr(close, volume, 10))", "ema(close, 20) / close"):
        one, two = (workspace.evaluate(text, panel="x") for workspace in (first, second))
        assert one.panel_digest != two.panel_digest
        keys = {"id", "trial", "panel_digest"}
        assert one.model_dump(exclude=keys) == two.model_dump(exclude=keys)


def test_a_known_expression_is_not_computed_again(workspace: Workspace, monkeypatch) -> None:
    first = workspace.evaluate("close * volume", panel="small")
    monkeypatch.setattr("alphaswarm.research.examine.factor_values", lambda *_: pytest.fail("computed again"))
    again = workspace.evaluate("volume * close", panel="small", rationale="size")
    assert again.known
    assert again.rank_ic == first.rank_ic
    assert again.expression == "close * volume"


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("__import__('os').system('true')", "DSL_SYNTAX", 1),
        ("cs_rank(close", "DSL_SYNTAX", 14),
        ("delay(close, -1)", "LOOKAHEAD", 14),
        ("ts_mean(close, 100000)", "DSL_WINDOW", 16),
        ("cs_rank(clos\N{CYRILLIC SMALL LETTER IE})", "DSL_NON_ASCII", 13),
        ("close\x00", "DSL_NON_ASCII", 6),
        ("close \ud800", "DSL_NON_ASCII", 7),
        ("close + cap", "DSL_FIELD", 9),
        ("1 + 2", "DSL_CONSTANT", 1),
        ("", "DSL_SYNTAX", 1),
        ("close" + " + close" * 1_000, "DSL_TOO_LARGE", None),
    ],
)
def test_what_is_refused_is_counted_with_its_reason(workspace: Workspace, text, reason, column) -> None:
    for _ in range(2):
        with pytest.raises(ExpressionError) as caught:
            workspace.evaluate(text, panel="small", rationale="try")
    (trial,) = workspace.trials(status=None)
    assert (trial.status, trial.reason, trial.trials_total) == ("invalid", reason, 1)
    assert (trial.reason, trial.column) == (caught.value.reason, caught.value.column)
    assert column is None or trial.column == column
    assert trial.message == caught.value.message
    assert trial.rationale == "try"
    assert trial.rank_ic is None
    assert trial.expression.isascii()
    assert trial.expression.isprintable()
    assert len(trial.expression) <= 4_096
    assert workspace.memory.stats()["documents"] == 0


def test_a_field_that_only_this_panel_lacks_keeps_the_canonical_digest(workspace: Workspace) -> None:
    with pytest.raises(FieldNotFound):
        workspace.evaluate("cap  *  close", panel="small")
    (trial,) = workspace.trials(status="invalid")
    assert trial.digest == parse("close * cap").digest
    assert trial.expression == "cap * close"


def test_other_dialects_are_kept_in_native_form(workspace: Workspace) -> None:
    trial = workspace.evaluate("Mean($close, 5)/$close", panel="small", dialect="qlib")
    assert trial.expression == "ts_mean(close, 5) / close"
    assert workspace.evaluate("ts_mean(close, 5) / close", panel="small").known
    with pytest.raises(FieldNotFound):
        workspace.evaluate("Mean($odd, 5)", panel="small", dialect="qlib")
    with pytest.raises(ExpressionError):
        workspace.evaluate("Mean(close, 5)", panel="small", dialect="qlib")
    assert workspace.trials_total("small") == 3
    with pytest.raises(UnknownName, match="native, program, qlib, worldquant"):
        workspace.evaluate("close", panel="small", dialect="klingon")
    assert workspace.trials_total("small") == 3


def test_a_thin_factor_is_refused_and_counted(workspace: Workspace) -> None:
    for known in (False, True):
        with pytest.raises(EvidenceInvalid, match="at least 20% of the priced names, this one covers"):
            workspace.evaluate("ts_mean(returns, 150)", panel="small", source="me")
        (trial,) = workspace.trials(status="refused")
        assert trial.trials_total == 1
        assert trial.reason == "EVIDENCE_INVALID"
        assert trial.coverage is not None, known
        assert trial.source == "me"
    assert workspace.memory.stats()["documents"] == 0


def test_undefined_figures_have_a_reason(workspace: Workspace) -> None:
    trial = workspace.evaluate("cs_rank(close) * 0 + cs_rank(close) * 0", panel="small")
    assert trial.rank_ic is None
    assert "rank_ic" in trial.missing


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("horizon", 0),
        ("horizon", 253),
        ("horizon", True),
        ("horizon", 2.0),
        ("fill", "close_t0"),
        ("rationale", "x" * 5_000),
    ],
)
def test_what_can_not_be_asked_is_not_counted(workspace: Workspace, name: str, value: object) -> None:
    with pytest.raises(AlphaSwarmError, match=name):
        workspace.evaluate("cs_rank(close)", panel="small", **{name: value})
    assert workspace.trials_total("small") == 0


def test_an_unknown_panel_or_run_is_not_counted(workspace: Workspace) -> None:
    with pytest.raises(UnknownName, match="small"):
        workspace.evaluate("cs_rank(close)", panel="smal")
    with pytest.raises(UnknownName, match="run"):
        workspace.evaluate("cs_rank(close)", panel="small", run="r0001")
    assert workspace.trials_total("small") == 0


def test_the_memory_learns_of_a_trial_and_of_what_is_said_later(workspace: Workspace) -> None:
    trial = workspace.evaluate(REVERSAL, panel="small", rationale="overreaction")
    (found,) = workspace.memory.query("overreaction").results
    assert (found.id, found.as_of, found.verdict) == (trial.id, trial.as_of, "search evidence only, not judged")
    assert found.summary["rank_ic_t"] == trial.rank_ic_t
    workspace.evaluate(REVERSAL, panel="small", critique="bounce between bid and ask")
    (found,) = workspace.memory.query("bounce").results
    assert found.summary["rationale"] == "overreaction"
    assert workspace.memory.query(REVERSAL, as_of="2010-01-04").results == ()
    assert [document.id for document in workspace.memory.find(trial.digest)] == [trial.id]


def test_a_store_that_refuses_keeps_neither_trial_nor_document(workspace: Workspace) -> None:
    workspace.evaluate("cs_rank(close)", panel="small")
    with workspace.store.write() as connection:
        refuse = "CREATE TRIGGER no_more BEFORE INSERT ON documents BEGIN SELECT RAISE(ABORT, 'full'); END"
        connection.exec_driver_sql(refuse)
    with pytest.raises(AlphaSwarmError, match="full"):
        workspace.evaluate("cs_rank(open)", panel="small")
    with workspace.store.write() as connection:
        connection.exec_driver_sql("DROP TRIGGER no_more")
    assert workspace.trials_total("small") == 1
    assert not workspace.evaluate("cs_rank(open)", panel="small").known


def test_texts_are_kept_as_given() -> None:
    assert kept_text("x", "Größe 市場 \n 'quoted'") == "Größe 市場 \n 'quoted'"
    assert kept_text("x", "a\ud800b\x00") == "a\\ud800b\\x00"

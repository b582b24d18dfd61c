"""A trial on the side that is held, against the book that holds it."""

from __future__ import annotations

import pytest

from alphaswarm.dsl import evaluate
from alphaswarm.evaluation.gates import book_figures
from alphaswarm.research import Workspace
from alphaswarm.research.held import Held, _turned_sharpe

ALPHA = "-ts_mean(returns, 3)"


def test_figures_are_those_of_the_side_that_is_held(workspace: Workspace) -> None:
    held, turned = (Held.of(workspace.evaluate(text, panel="small"), 5.0) for text in (ALPHA, f"-({ALPHA})"))
    assert (held.sign, turned.sign) in {(1, -1), (-1, 1)}
    for name in ("z", "rank_ic_t", "breakeven_bp", "net_sharpe"):
        assert getattr(held, name) == pytest.approx(getattr(turned, name), rel=1e-8), name
    written, against = (held, turned) if held.sign > 0 else (turned, held)
    assert written.z == pytest.approx(against.z)
    assert (written.z or 0) > 0


def test_a_turned_book_is_priced_as_if_it_were_held(workspace: Workspace) -> None:
    for text in ("-ts_std(returns, 10)", "close / open", ALPHA):
        trial = workspace.evaluate(text, panel="small")
        factor = evaluate(trial.expression, workspace.seen("small"))
        book = book_figures(workspace.evaluator("small").series(factor), -1, 5.0)
        curve = {float(cost): value for cost, value in trial.net_sharpe.items()}
        assert _turned_sharpe(trial.breakeven_bp, curve, 5.0) == pytest.approx(book.net_sharpe, rel=1e-6)
    assert _turned_sharpe(None, curve, 5.0) is None
    assert _turned_sharpe(3.0, {0.0: 1.0, 5.0: None}, 5.0) is None

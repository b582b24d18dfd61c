"""A stepper gives the rows of the batch engine, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import DataInvalid, ExpressionError, FieldNotFound, Panel, make_rng
from alphaswarm.dsl import Stepper, evaluate, random_expr
from alphaswarm.dsl.operators import operators

NAMES = sorted(name for name, operator in operators().items() if operator.expands is None)


def bars(panel):
    for t in range(panel.shape[0]):
        fields = {name: values[t] for name, values in panel.fields.items()}
        yield fields, panel.universe[t], {name: labels[t] for name, labels in panel.groups.items()}


def stepped(stepper, panel, start=0):
    return np.stack([stepper.step(*bar) for bar in list(bars(panel))[start:]])


def batch(exprs, panel):
    return np.stack(evaluate(exprs, panel), axis=1)


@pytest.mark.parametrize("name", NAMES)
def test_every_operator(name, make_market, apply_operator):
    panel = make_market(21, rows=40, names=5)  # missing rows, a universe that changes, labels that change
    exprs = [apply_operator(name, d, min_obs, whole=2) for d, min_obs in ((1, None), (3, None), (7, 2), (60, 1))]
    np.testing.assert_array_equal(stepped(Stepper(exprs, panel.symbols), panel), batch(exprs, panel))


@pytest.mark.parametrize("kind", ["ties", "near", "huge"])
def test_awkward_values(kind, make_market, apply_operator):
    panel = make_market(22, rows=25, names=4, kind=kind)
    exprs = [apply_operator(name, 4, 3) for name in NAMES]
    np.testing.assert_array_equal(stepped(Stepper(exprs, panel.symbols), panel), batch(exprs, panel))


def test_random_expressions(make_market):
    panel = make_market(23, rows=70, names=6, missing=0.02)
    rng = make_rng(5, "stepper")
    exprs = [random_expr(rng, ["x", "y", "z"], ["g"], max_depth=6) for _ in range(150)]
    np.testing.assert_array_equal(stepped(Stepper(exprs, panel.symbols), panel), batch(exprs, panel))


def test_returns_stand_for_what_they_do_in_a_panel(make_market):
    panel = make_market(24, rows=10)
    closes = Panel.from_arrays({"close": panel["x"]}, panel.dates, panel.symbols)
    exprs = ["ts_mean(returns, 3)", "close"]
    np.testing.assert_array_equal(stepped(Stepper(exprs, closes.symbols), closes), batch(exprs, closes))
    own = Panel.from_arrays({"close": panel["x"], "returns": panel["y"]}, panel.dates, panel.symbols)
    np.testing.assert_array_equal(stepped(Stepper(exprs, own.symbols), own), batch(exprs, own))


def test_labels_stay_until_others_come():
    stepper = Stepper(["group_mean(x, sector)"], ["a", "b", "c"])
    stepper.step({"x": [1, 2, 3]}, groups={"sector": ["tech", "tech", ""]})
    np.testing.assert_array_equal(stepper.step({"x": [3, 5, 7]}), [[4, 4, np.nan]])
    np.testing.assert_array_equal(stepper.step({"x": [3, 5, 7]}, groups={"sector": ["oil"] * 3}), [[5, 5, 5]])


def test_history_is_not_kept_longer_than_needed(make_market):
    panel = make_market(25, rows=60, names=3)
    stepper = Stepper(["ts_mean(x, 5) + delay(y, 2)", "ema(x, 9)"], panel.symbols)
    sizes = []
    for bar in bars(panel):
        stepper.step(*bar)
        sizes.append(sum(rows.nbytes for rows in stepper.state().values()))
    assert sizes[10] == sizes[-1]
    assert stepper.bars == 60


@pytest.mark.parametrize("stop", [0, 1, 17])
def test_a_stored_state_goes_on_where_it_stopped(stop, make_market, apply_operator, tmp_path):
    panel = make_market(26, rows=30, names=4)
    exprs = [apply_operator(name, 5, 2) for name in NAMES]
    first = Stepper(exprs, panel.symbols)
    for bar in list(bars(panel))[:stop]:
        first.step(*bar)
    np.savez(tmp_path / "state.npz", **first.state())
    second = Stepper(exprs, panel.symbols)
    with np.load(tmp_path / "state.npz") as state:
        second.restore(dict(state))
    np.testing.assert_array_equal(stepped(second, panel, stop), batch(exprs, panel)[stop:])


def test_a_foreign_state_is_refused():
    state = Stepper(["x"], ["a"]).state()
    for exprs, symbols in ((["x + 1"], ["a"]), (["x"], ["b"])):
        with pytest.raises(DataInvalid, match="of the same"):
            Stepper(exprs, symbols).restore(state)


def test_a_refused_bar_changes_nothing(make_market):
    panel = make_market(27, rows=12, names=3)
    stepper = Stepper(["ts_sum(x, 3) + group_rank(y, g)"], panel.symbols)
    for n, bar in enumerate(bars(panel)):
        fields, universe, groups = bar
        with pytest.raises(FieldNotFound, match="y"):
            stepper.step({"x": fields["x"]}, universe, groups)
        with pytest.raises(DataInvalid, match="shape"):
            stepper.step({**fields, "x": [1.0]}, universe, groups)
        with pytest.raises(DataInvalid, match="finite"):
            stepper.step({**fields, "x": [np.inf] * 3}, universe, groups)
        with pytest.raises(DataInvalid, match="universe"):
            stepper.step(fields, [True], groups)
        if n == 0:
            with pytest.raises(FieldNotFound, match="g"):
                stepper.step(fields, universe)
        got = stepper.step(*bar)
        np.testing.assert_array_equal(got[0], evaluate("ts_sum(x, 3) + group_rank(y, g)", panel)[n])


def test_what_is_refused_at_once():
    with pytest.raises(ExpressionError):
        Stepper(["ts_mean(x, "], ["a"])
    for symbols in ([], ["a", "a"]):
        with pytest.raises(DataInvalid, match="distinct"):
            Stepper(["x"], symbols)


def test_a_condition_stays_one_across_a_stage(make_market):
    panel = make_market(27, rows=20)
    exprs = [
        "if_else(fill(delay(x > y, 2), ts_max(y, 3) > 0), x, ts_mean(y, 4))",
        "ts_count(fill(x > y, cs_rank(x) > 0.5), 3)",
    ]
    np.testing.assert_array_equal(stepped(Stepper(exprs, panel.symbols), panel), batch(exprs, panel))

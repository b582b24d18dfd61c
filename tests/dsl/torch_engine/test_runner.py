"""Every tensor operator equals the reference, in both widths, within the memory that it was given."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from alphaswarm.core import BudgetExceeded, Panel, ProviderError, UnknownName
from alphaswarm.dsl import evaluate, parse
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.torch_engine.runner import OPERATORS_ON_TENSORS

NAMES = sorted(name for name, operator in operators().items() if operator.expands is None)
KINDS = ("normal", "ties", "constant", "huge", "small", "near")


def literals(expr):
    return [int(arg.value) for arg in expr.args if arg.kind == "number"]


def series(expr, panel):
    return [
        evaluate(arg, panel, engine="reference") if arg.kind == "call" else panel[arg.name]
        for arg in expr.args
        if arg.kind in ("call", "field")
    ]


def in_float32(panel):
    with np.errstate(over="ignore"):
        fields = {name: values.astype(np.float32).astype(float) for name, values in panel.fields.items()}
    for values in fields.values():
        values[np.isinf(values)] = np.nan
    return Panel.from_arrays(fields, panel.dates, panel.symbols, panel.universe, panel.groups)


def test_the_table_holds_every_operator():
    assert set(NAMES) == set(OPERATORS_ON_TENSORS)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_operator_equals_reference(name, data, make_market, apply_operator, assert_agree):
    operator, draw = operators()[name], data.draw
    # the cube of 1e200 is no float, and then rounding decides whether a moment of 0 is one
    kinds = [kind for kind in KINDS if (name, kind) != ("ts_moment", "huge")]
    panel = make_market(
        draw(st.integers(0, 2**32 - 1), "seed"),
        rows=draw(st.sampled_from([1, 2, 9, 12]), "rows"),
        names=draw(st.sampled_from([1, 2, 5]), "names"),
        kind=draw(st.sampled_from(kinds), "kind"),
        partial=draw(st.booleans(), "partial"),
        missing=draw(st.sampled_from([0.0, 0.1, 0.6]), "missing"),
    )
    d = max(draw(st.sampled_from([1, 2, 3, 7]), "d"), operator.minimum)
    min_obs = draw(st.sampled_from([None, 1, 2, d]), "min_obs")
    whole = draw(st.sampled_from([2, 3, 5]), "whole")
    expr = apply_operator(name, d, min(min_obs, d) if min_obs else None, whole=whole)
    true = evaluate(expr, panel, engine="reference")
    assert_agree(name, evaluate(expr, panel, engine="torch"), true, series(expr, panel), literals(expr), str(expr))
    narrow = in_float32(panel)
    true = evaluate(expr, narrow, engine="reference", dtype="float32")
    got = evaluate(expr, narrow, engine="torch", dtype="float32")
    assert got.dtype == np.float32
    assert_agree(name, got, true, series(expr, narrow), literals(expr), str(expr))


@pytest.mark.parametrize("name", [name for name in NAMES if operators()[name].option("min_obs")])
def test_long_windows(name, make_market, apply_operator, assert_agree):
    panel = make_market(3, rows=70, names=2, partial=False, missing=0.02)
    expr = apply_operator(name, 60, 30)
    true = evaluate(expr, panel, engine="reference")
    assert_agree(name, evaluate(expr, panel, engine="torch"), true, series(expr, panel), literals(expr))


@pytest.mark.parametrize("name", NAMES)
def test_the_future_changes_nothing(name, make_market, apply_operator):
    panel = make_market(7, rows=14, names=4)
    expr = apply_operator(name, 4, 2)
    whole = evaluate(expr, panel, engine="torch")
    for t in (2, 5, 9):
        np.testing.assert_array_equal(evaluate(expr, panel.head(t + 1), engine="torch"), whole[: t + 1])


class Watch(TorchDispatchMode):
    """Adds up the bytes of all tensors that live at the same time."""

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self.known = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage().data_ptr() not in self.known:
                storage = tensor.untyped_storage()
                place, size = storage.data_ptr(), storage.nbytes()
                self.known.add(place)
                self.now += size
                weakref.finalize(storage, self.forget, place, size)
        self.peak = max(self.peak, self.now)
        return result

    def forget(self, place, size):
        self.known.discard(place)
        self.now -= size


def least_memory(expr, panel, dtype):
    with pytest.raises(BudgetExceeded, match="memory_limit must be at least") as refused:
        evaluate(expr, panel, engine="torch", dtype=dtype, memory_limit=1)
    return int(str(refused.value).split("at least ")[1].split(" ")[0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_memory_limit_is_kept_and_changes_no_bit(name, dtype, make_market, apply_operator):
    panel = make_market(5, rows=11, names=7)
    expr = apply_operator(name, 5, 3)
    free = evaluate(expr, panel, engine="torch", dtype=dtype)
    least = least_memory(expr, panel, dtype)
    with Watch() as watch:
        tight = evaluate(expr, panel, engine="torch", dtype=dtype, memory_limit=least)
    assert watch.peak <= least
    np.testing.assert_array_equal(tight, free)


def test_a_batch_equals_its_members(make_market):
    panel = make_market(0, rows=20, names=5)
    texts = ["ts_mean(x, 3)", "cs_rank(ts_mean(x, 3)) * 2", "x", "ts_mean(x, 3)", "trade_when(1, x, 0)"]
    batch = evaluate(texts, panel, engine="torch")
    for text, values in zip(texts, batch, strict=True):
        np.testing.assert_array_equal(values, evaluate(text, panel, engine="torch"))
        np.testing.assert_allclose(values, evaluate(text, panel), rtol=1e-12)
    assert not np.shares_memory(batch[0], batch[3])


def test_permuting_symbols_permutes_values(make_market):
    panel = make_market(8, rows=12, names=6)
    order = np.array([3, 5, 0, 2, 1, 4])
    permuted = Panel.from_arrays(
        {name: values[:, order] for name, values in panel.fields.items()},
        panel.dates,
        [panel.symbols[n] for n in order],
        panel.universe[:, order],
        {name: labels[:, order] for name, labels in panel.groups.items()},
    )
    for text in (
        "cs_zscore(x)",
        "group_mean(x, g)",
        "cs_resid(x, y, z)",
        "group_backfill(x, g, 3)",
        "ts_corr(x, y, 4)",
    ):
        got, expected = evaluate(text, permuted, engine="torch"), evaluate(text, panel, engine="torch")[:, order]
        if text.startswith("cs_resid"):  # its products are summed in the order of the symbols
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
        else:
            np.testing.assert_array_equal(got, expected)


def test_threads_are_given_back(make_market):
    before = torch.get_num_threads()
    evaluate("ts_mean(x, 3)", make_market(0), engine="torch", threads=1)
    assert torch.get_num_threads() == before


def test_devices(make_market):
    panel = make_market(0)
    with pytest.raises(UnknownName, match="cpu, cuda"):
        evaluate("x", panel, engine="torch", device="tpu")
    with pytest.raises(UnknownName, match="valid: cpu"):
        evaluate("x", panel, device="cuda")
    if not torch.cuda.is_available():
        with pytest.raises(ProviderError, match="cuda"):
            evaluate("x", panel, engine="torch", device="cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_device_equals_processor(name, make_market, apply_operator, assert_agree):
    panel = make_market(7, rows=60, names=30)
    expr = apply_operator(name, 20, 10)
    for dtype in ("float64", "float32"):
        got = evaluate(expr, panel, engine="torch", device="cuda", dtype=dtype)
        true = evaluate(expr, panel, engine="torch", dtype=dtype)
        assert_agree(name, got, true, series(expr, panel), literals(expr))


def test_whole_expressions_follow_the_compiled_engine(make_market):
    panel = make_market(4, rows=60, names=12)
    texts = [
        "-1 * cs_rank(ts_corr(cs_rank(x), cs_rank(y), 10))",
        "group_neutralize(decay_linear(delta(x, 2), 6), g) / ts_std(z, 8, min_obs=4)",
        "if_else(ts_mean(x, 3) > y, ema(z, 5), hump(cs_zscore(x), 0.1))",
    ]
    for fast, slow in zip(evaluate(texts, panel, engine="torch"), evaluate(texts, panel), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-13)
    assert parse(texts[0]).lookback == 9

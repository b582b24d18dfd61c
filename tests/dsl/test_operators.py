"""The table: complete, consistent, and every example in it true."""

import pytest

from alphaswarm.dsl import canonical, operators, parse
from alphaswarm.dsl.operators import OPERATORS, _table
from alphaswarm.dsl.signature import Family, Result, SlotKind

# The names that the language promises, by family.
PROMISED = {
    "arithmetic": "add sub mul neg div inv pow signed_power max min clip",
    "functions": "abs sign log log1p slog1p exp sqrt floor ceil round sigmoid tanh",
    "logic": "lt le gt ge eq ne and or not if_else is_nan fill trade_when",
    "lags": "delay delta pct_change log_return ts_backfill",
    "moments": "ts_sum ts_mean ts_product ts_std ts_var ts_skew ts_kurt ts_zscore ts_ir ts_av_diff ts_moment",
    "order": "ts_min ts_max ts_argmax ts_argmin ts_rank ts_scale ts_quantile ts_median ts_max_diff ts_min_diff",
    "spread": "ts_mad ts_medad ts_entropy",
    "weights": "decay_linear decay_exp ema sma_cn",
    "pairs": "ts_cov ts_corr ts_rank_corr ts_beta ts_resid ts_rsq ts_slope ts_autocorr",
    "events": "ts_count ts_sumif ts_days_since last_diff days_from_change hump",
    "day": "cs_rank cs_rank01 cs_zscore cs_demean cs_scale cs_winsorize cs_mad_clip cs_quantile_clip cs_bucket",
    "day too": "cs_quantile_transform cs_resid",
    "groups": "group_neutralize group_rank group_zscore group_scale group_mean group_sum group_std group_count",
    "groups too": "group_backfill",
    "shorthands": "adv adv_shares",
}


rows = pytest.mark.parametrize("row", OPERATORS.values(), ids=lambda row: row.name)


def test_the_table_holds_what_is_promised():
    assert sorted(operators()) == sorted(" ".join(PROMISED.values()).split())
    assert len(OPERATORS) >= 50


def test_the_table_is_read_only():
    with pytest.raises(TypeError):
        operators()["new"] = OPERATORS["abs"]
    with pytest.raises(AttributeError):
        OPERATORS["abs"].name = "new"


def test_a_name_is_declared_once():
    with pytest.raises(ValueError, match="'abs' is in the table already"):
        _table([OPERATORS["abs"]], [OPERATORS["abs"]])


@rows
def test_the_example_uses_the_operator(row):
    expr = parse(row.example)
    used = row.expands[0] if row.expands else row.name
    assert used in {node.op for node in expr.walk()}
    assert parse(str(expr)) is expr


@rows
def test_the_row_is_sound(row):
    assert row.doc
    assert OPERATORS[row.name] is row
    assert row.signature.startswith(f"{row.name}({row.slots[0].name}")
    names = [slot.name for slot in row.slots] + [option.name for option in row.options]
    assert len(names) == len(set(names))
    assert not set(row.odd) & set(row.even)
    assert all(row.slots[index].kind is SlotKind.SERIES for index in (*row.odd, *row.even))
    assert bool(row.symbol) == bool(row.precedence)
    assert row.elementwise == (row.family in (Family.ELEMENT, Family.COMPARISON, Family.LOGIC))
    assert row.recursive == (row.family is Family.STATE)


@rows
def test_every_windowed_statistic_takes_min_obs_and_nothing_else_does(row):
    has = row.option("min_obs") is not None
    assert has == (row.family is Family.WINDOW)
    assert not has or row.window is not None


@rows
def test_lags_and_windows_start_at_one(row):
    for slot in row.slots:
        if slot.kind in (SlotKind.WINDOW, SlotKind.LAG):
            assert (slot.low, slot.high) == (1, 504)


@pytest.mark.parametrize(
    ("name", "minimum"),
    [
        *((name, 1) for name in ("ts_sum", "ts_mean", "ts_rank", "ts_argmax", "decay_linear", "ema")),
        *((name, 2) for name in ("ts_std", "ts_var", "ts_zscore", "ts_ir", "ts_cov", "ts_corr", "ts_autocorr")),
        *((name, 3) for name in ("ts_skew", "ts_beta", "ts_resid", "ts_rsq", "ts_slope")),
        ("ts_kurt", 4),
    ],
)
def test_smallest_windows(name, minimum):
    assert OPERATORS[name].minimum == minimum


def test_infix_binds_as_the_grammar_says():
    by_level = {}
    for row in OPERATORS.values():
        if row.symbol:
            by_level.setdefault(row.precedence, set()).add(row.symbol)
    loosest_first = [
        {"or"},
        {"and"},
        {"not"},
        {"<", "<=", ">", ">=", "==", "!="},
        {"+", "-"},
        {"*", "/"},
        {"-"},
        {"**"},
    ]
    assert [by_level[level] for level in sorted(by_level)] == loosest_first


def test_conditions_come_from_comparison_and_logic():
    giving = {row.name for row in OPERATORS.values() if row.result is Result.CONDITION}
    assert giving == {"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "is_nan"}


def test_shorthands_leave_no_trace():
    assert str(parse("adv(20)")) == "ts_mean(dollar_volume, 20)"
    assert str(parse("adv_shares(20)")) == "ts_mean(volume, 20)"
    assert parse("adv(20)").digest == parse("ts_mean(dollar_volume, 20)").digest
    assert canonical(parse("adv(20)")).fields == ("dollar_volume",)

"""The formula libraries: complete, readable, cited; and some of them against plain pandas."""

import numpy as np
import pandas as pd
import pytest

from alphaswarm.core import Panel
from alphaswarm.dsl import DIALECTS, check, evaluate, library, parse
from alphaswarm.dsl import formulas as formulas_module
from alphaswarm.dsl.formulas import _read

FORMULAS = library()
every = pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)


def test_what_is_there():
    names = list(FORMULAS)
    assert [name for name in names if name.startswith("wq")] == [f"wq{number:03d}" for number in range(1, 102)]
    assert sum(formula.library == "alpha158" for formula in FORMULAS.values()) == 158
    assert sum(formula.library == "classics" for formula in FORMULAS.values()) >= 9
    assert len({formula.expr for formula in FORMULAS.values()}) == len(FORMULAS)


@every
def test_each_is_read_and_cited(formula):
    assert check(formula.expr) is formula.expr
    assert parse(str(formula.expr)) is formula.expr
    assert formula.dialect in DIALECTS
    assert formula.source
    assert formula.citation
    assert formula.name == formula.name.lower()
    if formula.dialect != "qlib" and formula.library != "classics":
        assert formula.text.count("(") == formula.text.count(")")


@pytest.mark.parametrize("level", ["sector", "industry", "subindustry"])
def test_levels_of_neutralising_are_those_of_the_print(level):
    for formula in FORMULAS.values():
        if formula.library == "worldquant101":
            assert (level in formula.expr.groups) == (f"indclass.{level}" in formula.text.lower())
    assert any(level in formula.expr.groups for formula in FORMULAS.values())


def test_the_fields_are_those_of_the_paper():
    offered = {"open", "high", "low", "close", "volume", "vwap", "returns", "dollar_volume", "cap"}
    for formula in FORMULAS.values():
        assert set(formula.expr.fields) <= offered
        if formula.library == "worldquant101":
            assert ("cap" in formula.expr.fields) == (formula.name == "wq056")
            assert ("dollar_volume" in formula.expr.fields) == ("adv" in formula.text)


def test_fractional_windows_are_floored_with_a_note():
    formula = FORMULAS["wq058"]
    assert str(formula.expr) == "-1 * ts_rank(decay_linear(ts_corr(group_neutralize(vwap, sector), volume, 3), 7), 5)"
    assert "column 86: 3.92795 rows are read as 3" in formula.notes


def test_the_print_of_known_errata_is_noted():
    assert FORMULAS["wq056"].notes[0] == "needs the market capitalisation; it has no substitute here"
    assert "almost never true" in FORMULAS["wq007"].note
    assert "delay 0" in FORMULAS["wq042"].note
    assert FORMULAS["wq003"].note == ""


def test_two_formulas_of_one_name_are_refused(monkeypatch):
    text = 'dialect = "native"\ncitation = "c"\nsource = "s"\n[[formula]]\nname = "a"\ntext = "close"\n'
    assert [formula.name for formula in _read("x", text)] == ["a"]
    monkeypatch.setattr(formulas_module, "_read", lambda name, _text: _read(name, text))
    with pytest.raises(ValueError, match="two formulas are called 'a'"):
        library.__wrapped__()


@pytest.fixture(scope="module")
def market():
    rng = np.random.default_rng(3)
    shape = (120, 8)
    close = 50 * np.exp(np.cumsum(rng.normal(0, 0.02, shape), axis=0))
    fields = {
        "close": close,
        "open": close * (1 + rng.normal(0, 0.005, shape)),
        "high": close * (1 + np.abs(rng.normal(0, 0.01, shape)) + 0.005),
        "low": close * (1 - np.abs(rng.normal(0, 0.01, shape)) - 0.005),
        "volume": rng.uniform(1e5, 1e6, shape),
    }
    fields["vwap"] = (fields["high"] + fields["low"] + close) / 3
    fields["dollar_volume"] = fields["volume"] * fields["vwap"]
    names = [f"s{i}" for i in range(shape[1])]
    dates = np.datetime64("2020-01-01") + np.arange(shape[0])
    labels = {"sector": ["a"] * 4 + ["b"] * 4, "industry": ["a", "a", "b", "b"] * 2}
    return Panel.from_arrays(fields, dates, names, groups=labels)


def test_what_a_panel_lacks_is_named(market):
    assert FORMULAS["wq101"].lacks(market) == ""
    assert "no field 'cap'" in FORMULAS["wq056"].lacks(market)
    assert "no group 'subindustry'" in FORMULAS["wq048"].lacks(market)
    fitting = [formula for formula in FORMULAS.values() if not formula.lacks(market)]
    assert len(fitting) == len(FORMULAS) - 5


def frames(market):
    return {name: pd.DataFrame(values) for name, values in market.fields.items()}


def rank(x):
    return x.rank(axis=1, pct=True)


def decay(x, d):
    weights = np.arange(1, d + 1) / (d * (d + 1) / 2)
    return x.rolling(d).apply(lambda window: window @ weights, raw=True)


def correlation(x, y, d):
    return pd.DataFrame({name: x[name].rolling(d).corr(y[name]) for name in x})


# The formulas by hand, in pandas, as the paper's definitions of functions say.
BY_HAND = {
    "wq002": lambda f: -correlation(rank(np.log(f["volume"]).diff(2)), rank((f["close"] - f["open"]) / f["open"]), 6),
    "wq004": lambda f: -rank(f["low"]).rolling(9).rank(pct=True),
    "wq012": lambda f: np.sign(f["volume"].diff()) * -f["close"].diff(),
    "wq023": lambda f: (-f["high"].diff(2)).where(f["high"].rolling(20).mean() < f["high"], 0),
    "wq033": lambda f: rank(-(1 - f["open"] / f["close"])),
    "wq041": lambda f: (f["high"] * f["low"]) ** 0.5 - f["vwap"],
    "wq042": lambda f: rank(f["vwap"] - f["close"]) / rank(f["vwap"] + f["close"]),
    "wq053": lambda f: -((2 * f["close"] - f["low"] - f["high"]) / (f["close"] - f["low"])).diff(9),
    "wq057": lambda f: (
        -(f["close"] - f["vwap"]) / decay(rank(f["close"].rolling(30).apply(lambda x: 29 - x.argmax(), raw=True)), 2)
    ),
    "wq058": lambda f: (
        -decay(correlation(f["vwap"] - by_sector(f["vwap"]), f["volume"], 3), 7).rolling(5).rank(pct=True)
    ),
    "wq101": lambda f: (f["close"] - f["open"]) / (f["high"] - f["low"] + 0.001),
}


def by_sector(x):
    return x.T.groupby(np.repeat([0, 1], 4)).transform("mean").T


@pytest.mark.parametrize("name", BY_HAND)
def test_some_by_hand(market, name):
    found = evaluate(FORMULAS[name].expr, market, engine="reference")
    wanted = BY_HAND[name](frames(market)).to_numpy()
    first = max(FORMULAS[name].expr.lookback, 20)
    np.testing.assert_allclose(found[first:], wanted[first:], rtol=1e-7, atol=1e-9)
    assert np.isfinite(found[first:]).mean() > 0.95


def test_all_that_fit_can_be_evaluated(market):
    fitting = [formula for formula in FORMULAS.values() if not formula.lacks(market) and formula.expr.lookback < 100]
    values = evaluate([formula.expr for formula in fitting], market)
    for formula, factor in zip(fitting, values, strict=True):
        assert np.isfinite(factor[-1]).any(), formula.name

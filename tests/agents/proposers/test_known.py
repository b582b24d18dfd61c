"""Published formulas: valid, cited, and only where they fit."""

from __future__ import annotations

from alphaswarm.agents.proposers.known import formulas, known_formulas
from alphaswarm.dsl import parse

US431 = ("close", "dollar_volume", "returns", "sigma")
OHLCV = ("close", "high", "low", "open", "volume")


def test_each_is_an_expression_with_a_source() -> None:
    assert len({formula.name for formula in formulas()}) == len(formulas()) >= 10
    assert len({parse(formula.expression).digest for formula in formulas()}) == len(formulas())
    for formula in formulas():
        assert formula.citation
        assert formula.idea
        assert any(str(year) in formula.citation for year in range(1980, 2025)) or "Kakushadze" in formula.citation
        assert len(f"known:{formula.name}") <= 64


def test_only_what_the_panel_can_carry() -> None:
    on_us431 = known_formulas(US431, 2518)
    assert len(on_us431) == 10
    names = {formula.name for formula in on_us431}
    assert {"reversal_5", "wq009", "wq019", "wq034", "momentum_12_1"} <= names
    assert not {"wq101", "wq012"} & names
    for formula in on_us431:
        assert set(formula.fields) <= set(US431)
    short = known_formulas(OHLCV, 245)
    assert {"wq101", "wq012"} <= {formula.name for formula in short}
    assert all(parse(formula.expression).warmup <= 61 for formula in short)


def test_traded_value_is_made_of_price_and_volume_where_it_must_be() -> None:
    by_name = {formula.name: formula.expression for formula in known_formulas(OHLCV, 1000, limit=99)}
    assert by_name["amihud_20"] == "ts_mean(abs(returns) / (close * volume), 20)"
    assert "amihud_20" not in {formula.name for formula in known_formulas(("close",), 1000, limit=99)}


def test_nothing_fits_a_strange_panel() -> None:
    assert known_formulas(("pe_ratio",), 1000) == []
    assert known_formulas(US431, 3) == []

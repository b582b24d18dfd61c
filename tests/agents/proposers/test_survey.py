"""The survey: every operator over the panel's fields, and nothing that says nothing."""

from __future__ import annotations

import pytest

from alphaswarm.agents.proposers.survey import DULL, FLAT, survey, useful
from alphaswarm.dsl import operators, parse

US431 = ("close", "dollar_volume", "returns", "sigma")
OHLCV = ("close", "dollar_volume", "high", "low", "open", "returns", "volume")


@pytest.mark.parametrize(("fields", "groups"), [(US431, ()), (OHLCV, ("industry", "sector")), (("returns",), ())])
def test_it_is_made_of_sound_formulas_each_once(fields: tuple[str, ...], groups: tuple[str, ...]) -> None:
    formulas = survey(fields, groups)
    assert len({formula.digest for formula in formulas}) == len(formulas)
    for formula in formulas:
        assert parse(str(formula)).digest == formula.digest
        assert set(formula.fields) <= set(fields)
        assert set(formula.groups) <= set(groups)
        assert formula.depth <= 4
    assert survey(fields, groups) == formulas


def test_it_covers_the_table() -> None:
    used = {formula.op for formula in survey(OHLCV, ("sector",))}
    table = operators()
    missed = {
        name
        for name in set(useful()) - used - FLAT
        if table[name].family.name not in {"ELEMENT", "COMPARISON", "LOGIC"}
        and all(slot.kind.name != "CONDITION" for slot in table[name].slots)
        and any(slot.kind.name == "SERIES" for slot in table[name].slots)
    }
    assert not missed


def test_each_field_stands_alone() -> None:
    assert {str(formula) for formula in survey(US431, ())} >= set(US431)


def test_lists_are_of_the_table() -> None:
    assert set(operators()) >= DULL | FLAT

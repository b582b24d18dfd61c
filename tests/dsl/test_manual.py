"""The pages that are written from the table are current."""

from pathlib import Path

import pytest

import alphaswarm
from alphaswarm.dsl import DIALECTS, library
from alphaswarm.dsl.dialects import QLIB, WORLDQUANT
from alphaswarm.dsl.manual import dialect_markdown, operator_facts, operators_markdown
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Family, Scale, UnitRule, Work

DOCS = Path(alphaswarm.__file__).parent.parent / "docs"


def test_the_page_of_operators_is_current():
    """If not: alphaswarm alpha operators --markdown > docs/operators.md"""
    assert (DOCS / "operators.md").read_text("utf-8") == operators_markdown()


def test_the_page_names_every_operator_once():
    page = operators_markdown()
    for row in OPERATORS.values():
        assert page.count(f"| `{row.example}` |\n") >= 1, row.name
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) == len(OPERATORS)
    cells = {line.replace("\\|", "").count("|") for line in rows}
    assert cells == {10}


@pytest.mark.parametrize("row", OPERATORS.values(), ids=lambda row: row.name)
def test_facts_say_what_the_row_says(row):
    facts = operator_facts(row)
    assert facts["signature"] == row.signature
    assert facts["arity"] == len(row.slots)
    assert facts["units"] in set(UnitRule)
    assert facts["family"] in set(Family)
    assert facts["scale"] in set(Scale)
    assert facts["kernel"] == row.kernel
    assert facts["cost"]
    assert [slot["name"] for slot in facts["slots"]] == [slot.name for slot in row.slots]


def test_facts_of_some():
    facts = operator_facts(OPERATORS["ts_corr"])
    assert (facts["minimum_window"], facts["lookback"], facts["cost"]) == (2, "d - 1", "8 d")
    assert facts["odd"] == ["x", "y"]
    assert facts["slots"][2] == {"name": "d", "kind": "window", "low": 1, "high": 504}
    assert facts["options"] == [{"name": "min_obs", "default": None, "low": 1, "high": 504}]
    assert operator_facts(OPERATORS["ema"])["lookback"] == "all history"
    assert operator_facts(OPERATORS["ts_autocorr"])["lookback"] == "d - 1 + lag"
    assert operator_facts(OPERATORS["adv"])["stands_for"] == "ts_mean of dollar_volume"
    assert operator_facts(OPERATORS["cs_scale"])["options"][0]["high"] is None
    assert len({row.work for row in OPERATORS.values()}) == len(Work)


@pytest.mark.parametrize("dialect", [QLIB, WORLDQUANT], ids=lambda dialect: dialect.name)
def test_the_page_of_each_dialect_is_current(dialect):
    """If not: alphaswarm alpha operators --dialect NAME --markdown > docs/NAME.md"""
    page = (DOCS / f"{dialect.name}.md").read_text("utf-8")
    assert page == dialect_markdown(dialect)
    for words in dialect.words.values():
        assert all(f"| `{word.shown}` | `{word.native}` |" in page for word in words)
    assert {line.replace("\\|", "").count("|") for line in page.splitlines() if line.startswith("| `")} == {4}


def test_the_page_of_the_language_names_the_dialects_and_the_libraries():
    page = (DOCS / "language.md").read_text("utf-8")
    for name in {formula.library for formula in library().values()} | set(DIALECTS) - {"native"}:
        assert f"`{name}`" in page

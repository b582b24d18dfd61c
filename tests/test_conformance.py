"""The page of operator conformance: worked out by hand, given by every engine, and nothing unexplained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.dsl import evaluate, operators
from benchmarks.conformance.cases import CASES
from benchmarks.conformance.differences import REASONS, RULES, reason
from benchmarks.conformance.report import agree, faults, page

PAGE = Path(__file__).parents[1] / "docs" / "conformance.md"


def ours(case, engine):
    fields = {
        name: np.array(values, float).reshape(-1, 1) if case.over == "time" else np.array([values], float)
        for name, values in case.fields.items()
    }
    rows, names = next(iter(fields.values())).shape
    dates = np.datetime64("2020-01-01") + np.arange(rows)
    groups = {"g": case.labels} if case.labels else None
    panel = Panel.from_arrays(fields, dates, [f"s{n}" for n in range(names)], None, groups)
    return evaluate(case.text, panel, engine=engine)[-1]


@pytest.mark.parametrize("engine", ["numba", "reference", "torch"])
def test_what_was_worked_out_by_hand(engine):
    for case in CASES:
        np.testing.assert_allclose(ours(case, engine), case.value, rtol=1e-12, atol=1e-15, err_msg=case.key)


def test_every_operator_has_a_case():
    assert {case.op for case in CASES} == {name for name, operator in operators().items() if operator.expands is None}
    assert len({case.key for case in CASES}) == len(CASES)


def test_the_page_says_what_the_cases_say():
    rows = [line for line in page({}, ["pandas"]).splitlines() if line.startswith("| `")]
    assert len(rows) == len(CASES)
    written = [line.split(" | ")[:3] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert written == [[part.removesuffix(" |") for part in row.split(" | ")] for row in rows]
    assert "[?]" not in PAGE.read_text("utf-8")


def test_who_is_absent_is_named():
    assert "pandas (not installed)" in page({}, ["pandas"])


def test_a_difference_without_a_rule_is_a_fault():
    case = next(case for case in CASES if case.op == "ts_mean" and not case.note)
    answer = {"somebody": {"version": "1", "values": {case.key: [11.0]}}}
    assert any("somebody ts_mean" in fault for fault in faults(answer))
    assert "11 [?]" in page(answer, ["somebody"])
    answer["somebody"]["values"][case.key] = [10.0]
    assert not any("somebody" in fault for fault in faults(answer))


def test_a_rule_without_a_difference_is_a_fault():
    silent = {"TA-Lib": {"version": "1", "values": {}}}
    assert any("('TA-Lib', 'ts_std', '*') explains nothing" in fault for fault in faults(silent))
    assert set(RULES.values()) == set(REASONS)


def test_agreement_is_nine_digits():
    assert agree([1.0 + 1e-10, float("nan")], [1.0, float("nan")])
    assert not agree([1.0 + 1e-8], [1.0])
    assert not agree([1.0], [1.0, 2.0])
    assert not agree(None, [1.0])
    assert not agree([0.0], [float("nan")])


def test_the_first_rule_that_fits_explains():
    assert reason("TA-Lib", "ts_argmax", "ties") == (("TA-Lib", "ts_arg*", "*"), "place in the array")
    assert reason("anybody", "ts_sum", "") is None

"""What `explain` says, and what it does not say without evidence."""

import json
import sys

import pytest

from alphaswarm.core import ExpressionError, ProviderError
from alphaswarm.dsl import equivalent, explain, parse
from alphaswarm.dsl.boxed import Outcome

MODULE = sys.modules["alphaswarm.dsl.explain"]


def suggested(text):
    return [(one.expression, one.relation.value, one.safety) for one in explain(text).suggestions]


def test_all_that_can_be_said():
    found = explain("cs_rank(-ts_sum(returns, 5))")
    assert found.words == "the rank within the day of minus the 5-day sum of returns"
    assert found.latex.startswith(r"\operatorname{cs\_rank}")
    assert (found.depth, found.nodes, found.lookback) == (4, 5, 4)
    assert (found.fields, found.groups) == (("returns",), ())
    assert found.digest == parse("cs_rank(-ts_sum(returns, 5))").digest
    assert len(found.fingerprint) == 64
    assert json.loads(json.dumps(found.to_dict()))["words"] == found.words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cs_rank(2 * close + 1)", ("cs_rank(close)", "same", "values")),
        ("cs_rank(cs_rank(close))", ("cs_rank(close)", "same", "exact")),
        ("close * close / close", ("close", "same", "values")),
        ("close * open + close * high", ("close * (high + open)", "same", "values")),
        ("0.1 * close + 0.2 * close", ("close", "same", "ranks")),
        ("if_else(close > open, close * 2 / 2, open)", ("if_else(open < close, close, open)", "same", "values")),
        ("-(-2 * ts_mean(close, 20, min_obs=5))", ("2 * ts_mean(close, 20, min_obs=5)", "same", "exact")),
        ("-(3 * close) - 3 * close", ("-close", "same", "ranks")),
        ("ts_corr(2 * close, volume / 3, 20)", ("ts_corr(close, volume, 20)", "same", "values")),
        ("ts_std(2 * close, 5) * ts_std(volume / 2, 5)", ("ts_std(close, 5) * ts_std(volume, 5)", "same", "values")),
        ("group_rank(close / 2, sector) * 2", ("group_rank(close, sector)", "same", "ranks")),
    ],
)
def test_suggestions_are_borne_out(text, expected):
    found = suggested(text)
    assert expected in found
    assert all(equivalent(text, one).value == relation for one, relation, _ in found)
    assert all(parse(one).nodes < parse(text).nodes for one, _, _ in found)


@pytest.mark.parametrize(
    "text",
    [
        "close * volume / volume",  # no value where nothing was traded
        "1 / (1 / volume)",
        "close - 0 * earnings",  # missing where earnings are
        "log(exp(volume))",  # beyond the largest number
        "sqrt(returns) ** 2",
    ],
)
def test_what_sympy_would_drop_is_kept(text):
    assert suggested(text) == []


def test_too_large_for_sympy_is_said():
    text = "+".join(["close"] * 31)
    found = explain(text)
    assert found.notes == ("SymPy is asked about at most 60 nodes, these are 61",)
    assert found.words.count("close") == 31


@pytest.mark.parametrize(
    ("outcome", "note"),
    [
        (Outcome(None, "it used more than 2 seconds of processor time", limit=True), "gave no answer: it used"),
        (Outcome({"forms": [], "late": True}), "ran out of time"),
        (Outcome({"forms": "x", "late": False}), ""),
        (Outcome({"forms": [[["call", "os.system", "", [0], []]], [], 5, [["number", "", "nan", [], []]]]}), ""),
        (Outcome({"forms": [[["name", "__class__", "", [], []]], [["name", "close", "", [], [], 9]]]}), ""),
    ],
)
def test_whatever_the_box_gives(outcome, note, monkeypatch):
    monkeypatch.setattr(MODULE, "run_boxed", lambda *_: outcome)
    found = explain("close + open")
    assert found.suggestions == ()
    assert note in " ".join(found.notes)
    assert bool(note) == bool(found.notes)


def test_a_form_that_is_wrong_is_not_shown(monkeypatch):
    wrong = [["name", "open", "", [], []]]
    monkeypatch.setattr(MODULE, "run_boxed", lambda *_: Outcome({"forms": [wrong], "late": False}))
    assert explain("close + 1 - 1").suggestions == ()


def test_a_mirrored_form_is_said_to_be_one(monkeypatch):
    form = [["name", "close", "", [], []]]
    monkeypatch.setattr(MODULE, "run_boxed", lambda *_: Outcome({"forms": [form], "late": False}))
    (one,) = explain("1 / close").suggestions
    assert (one.expression, one.relation.value, one.safety) == ("close", "mirrored", "ranks")


def test_no_box_is_said(monkeypatch):
    def none(*_):
        raise ProviderError("limits on a process need a POSIX system (Linux or macOS)")

    monkeypatch.setattr(MODULE, "run_boxed", none)
    assert "SymPy was not asked" in explain("close + open").notes[0]


def test_text_that_is_no_expression_is_refused():
    with pytest.raises(ExpressionError):
        explain("clo(se")

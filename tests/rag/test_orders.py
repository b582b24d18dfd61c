from __future__ import annotations

import math

import pytest

from alphaswarm.core import DataInvalid, UnknownName
from alphaswarm.rag import CORPORA, Document
from alphaswarm.rag.orders import corpus_of


def test_the_three_corpora() -> None:
    assert list(CORPORA) == ["alpha_factors", "backtest_summaries", "rl_trajectory_summaries"]
    assert all(name == corpus.name == corpus_of(name).name for name, corpus in CORPORA.items())


def test_an_unknown_corpus_lists_the_known() -> None:
    with pytest.raises(UnknownName, match=r"valid: alpha_factors, .*did you mean 'alpha_factors'"):
        corpus_of("alpha_factor")
    with pytest.raises(UnknownName):
        Document("news", "1")


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"id": ""}, "needs an id"),
        ({"text": "x" * 8_001}, "at most 8000"),
        ({"text": "a\x00b"}, "null"),
        ({"verdict": "a\ud800"}, "Unicode"),
        ({"as_of": "2012-02-30"}, "must look like"),
        ({"as_of": "20120228"}, "must look like"),
        ({"as_of": "2012-2-28"}, "must look like"),
        ({"summary": {"ic": math.nan}}, "finite"),
        ({"summary": {"ic": object()}}, "plain JSON"),
    ],
)
def test_what_a_document_may_not_hold(fields: dict[str, object], fault: str) -> None:
    with pytest.raises(DataInvalid, match=fault):
        Document(**{"corpus": "alpha_factors", "id": "1", **fields})

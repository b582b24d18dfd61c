"""`alphaswarm rag`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.cli.conftest import Shell


def test_what_was_tried_is_remembered(shell: Shell, tiny: str) -> None:
    assert shell("rag", "query", "reversal", "--json").json["results"] == []
    trial = shell("alpha", "evaluate", "cs_rank(-delta(close, 5))", "--panel", tiny, "--json").json
    shell("alpha", "evaluate", "ts_std(volume, 20)", "--panel", tiny)
    body = shell("rag", "query", "-delta(close, 5)", "--json").json
    assert body.keys() >= {"embedder", "results", "answer", "index"}
    first = body["results"][0]
    assert first.keys() >= {
        "corpus",
        "id",
        "expression",
        "summary",
        "score",
        "why",
        "verdict",
        "as_of",
        "link",
        "trust",
    }
    assert first["expression"] == trial["expression"]
    assert first["link"] == f"alphaswarm://alphas/{trial['id']}"
    assert shell("rag", "query", "reversal", "--as-of", "1999-01-01", "--json").json["results"] == []
    assert shell("rag", "reindex", "--json").code == 0
    assert shell("rag", "stats", "--json").code == 0
    assert shell("rag", "stats").code == 0
    assert shell("rag", "query", "x", "--corpus", "nope").code == 2
    assert shell("rag", "query", "x", "--as-of", "yesterday").code == 2


def test_an_answer_in_words_cites_what_it_says(shell: Shell, tiny: str) -> None:
    trial = shell("alpha", "evaluate", "cs_rank(-delta(close, 5))", "--panel", tiny, "--json").json
    said = shell("rag", "query", "change of the price over a week").out
    assert "[1] cs_rank(-delta(close, 5)) on «tiny» at 5 days" in said
    assert "RankIC t" in said
    assert "on the search window" in said
    assert f"alphaswarm://alphas/{trial['id']}" in said
    assert "embedder ast-words-2" in said
    assert "Nothing in memory is about «zxqv blorp»." in shell("rag", "query", "zxqv blorp").out


def test_filters(shell: Shell, tiny: str) -> None:
    shell("alpha", "evaluate", "cs_rank(-delta(close, 5))", "--panel", tiny)

    def count(*options: str) -> int:
        return len(shell("rag", "query", "price change", "--json", *options).json["results"])

    assert count() == count("--panel", tiny) == count("--universe", tiny) == count("--horizon", "5") == 1
    assert count("--verdict", "not judged") == 1
    assert count("--verdict", "confirmed") == count("--panel", "other") == count("--horizon", "6") == 0
    shell("alpha", "submit", "cs_rank(-delta(close, 5))", "--panel", tiny)
    assert count("--verdict", "not judged") == 0
    assert "too short for a verdict" in shell("rag", "query", "price change").out


def test_an_embedder_that_is_not_there(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHASWARM_EMBEDDER", "gpt")
    refused = shell("rag", "query", "x")
    assert refused.code == 2
    assert "auto, minilm, words" in refused.err

"""`alphaswarm rag`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def test_what_was_tried_is_remembered(shell: Shell, tiny: str) -> None:
    assert shell("rag", "query", "reversal", "--json").json["results"] == []
    trial = shell("alpha", "evaluate", "cs_rank(-delta(close, 5))", "--panel", tiny, "--json").json
    shell("alpha", "evaluate", "ts_std(volume, 20)", "--panel", tiny)
    body = shell("rag", "query", "-delta(close, 5)", "--json").json
    assert body.keys() >= {"embedder", "results"}
    first = body["results"][0]
    assert first.keys() >= {"corpus", "id", "expression", "summary", "score", "why", "verdict", "as_of"}
    assert first["expression"] == trial["expression"]
    assert shell("rag", "query", "reversal", "--as-of", "1999-01-01", "--json").json["results"] == []
    assert "cs_rank(-delta(close, 5))" in shell("rag", "query", "delta of close").out
    assert shell("rag", "reindex", "--json").code == 0
    assert shell("rag", "stats", "--json").code == 0
    assert shell("rag", "stats").code == 0
    assert shell("rag", "query", "x", "--corpus", "nope").code == 2
    assert shell("rag", "query", "x", "--as-of", "yesterday").code == 2

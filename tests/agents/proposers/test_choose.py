"""Who proposes."""

from __future__ import annotations

from pathlib import Path

import pytest

from alphaswarm.agents import make_proposer, resolve_proposer
from alphaswarm.core import UnknownName


def test_auto_is_a_model_only_where_one_is_configured_for_this_package() -> None:
    assert resolve_proposer("auto", {}) == "search"
    assert resolve_proposer("auto", {"OPENAI_API_KEY": "for something else"}) == "search"
    for name in ("BASE_URL", "MODEL", "API_KEY"):
        assert resolve_proposer("auto", {f"ALPHASWARM_LLM_{name}": "x"}) == "llm"
    assert resolve_proposer("random", {"ALPHASWARM_LLM_MODEL": "x"}) == "random"


def test_an_unknown_name_lists_the_others() -> None:
    with pytest.raises(UnknownName, match=r"auto, hybrid, llm, random, search; did you mean 'search'"):
        resolve_proposer("serach", {})


@pytest.mark.parametrize("name", ["search", "random", "llm", "hybrid"])
def test_each_says_what_it_is(name: str, tmp_path: Path) -> None:
    proposer = make_proposer(name, {"ALPHASWARM_LLM_MODEL": "a-model"}, tmp_path)
    assert proposer.name == name
    assert proposer.notice.startswith("LLM a-model" if name in {"llm", "hybrid"} else "no LLM")
    assert list(tmp_path.iterdir()) == []

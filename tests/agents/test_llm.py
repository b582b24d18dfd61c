"""The model client against a scripted endpoint (no model behind it)."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from alphaswarm.agents.llm import LlmClient, LlmConfig, LlmReply, Rung
from alphaswarm.core import BudgetExceeded, ProviderError

SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
QUESTION = [{"role": "user", "content": "a question"}]


def client_of(
    stage: Any, url: str, *, cache: Path | None = None, waits: list[float] | None = None, **more: Any
) -> LlmClient:
    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    config = LlmConfig(**{"base_url": url, "api_key": stage.key, "model": "scripted", "timeout": 5.0, **more})
    return LlmClient(config, cache=cache, sleep=sleep)


def ask(client: LlmClient, spent: dict[str, float] | None = None, *, seed: int = 1) -> LlmReply:
    async def both() -> LlmReply:
        try:
            await client.start()
            return await client.ask(
                QUESTION, schema=SCHEMA, grammar='root ::= "x"', temperature=0.5, seed=seed, spent=spent or {}
            )
        finally:
            await client.close()

    return asyncio.run(both())


@pytest.mark.parametrize(
    ("obeys", "refuses", "rung"),
    [
        ({"schema", "grammar", "json", "text"}, set(), Rung.SCHEMA),
        ({"grammar", "text"}, set(), Rung.GRAMMAR),  # accepts a schema and ignores it
        ({"grammar", "text"}, {"schema"}, Rung.GRAMMAR),
        ({"json", "text"}, {"schema", "grammar"}, Rung.JSON),
        ({"text"}, {"schema", "grammar", "json"}, Rung.TEXT),
        ({"text"}, set(), Rung.TEXT),
    ],
)
def test_the_probe_takes_the_strongest_rung_that_is_obeyed(
    scripted: Any, obeys: set[str], refuses: set[str], rung: Rung
) -> None:
    model = scripted(scripted.say("hi"), obeys=obeys, refuses=refuses)
    client = client_of(scripted, model.url)
    ask(client)
    assert client.rung is rung
    sent = model.requests[0]
    assert ("response_format" in sent) == (rung in {Rung.SCHEMA, Rung.JSON})
    assert ("grammar" in sent) == (rung is Rung.GRAMMAR)
    assert "tools" not in sent
    assert "tool_choice" not in sent
    if rung is Rung.SCHEMA:
        assert sent["response_format"]["json_schema"] == {"name": "reply", "strict": True, "schema": SCHEMA}


def test_nothing_that_answers(scripted: Any) -> None:
    model = scripted(obeys=set(), refuses={"schema", "grammar", "json", "text"})
    with pytest.raises(ProviderError, match=r"no way of asking scripted .* text is not supported"):
        ask(client_of(scripted, model.url))


def test_no_server() -> None:
    client = LlmClient(LlmConfig(base_url="http://127.0.0.1:9/v1", model="m"), sleep=lambda _: asyncio.sleep(0))
    with pytest.raises(ProviderError, match="no connection"):
        ask(client)


def test_the_only_model_is_taken_and_of_several_one_must_be_named(scripted: Any) -> None:
    model = scripted(scripted.say("hi"))
    client = client_of(scripted, model.url, model=None)
    ask(client)
    assert client.model == "only-model"
    with pytest.raises(ProviderError, match="ALPHASWARM_LLM_MODEL"):
        ask(LlmClient(LlmConfig(api_key="k")))


def test_429_waits_as_told(scripted: Any) -> None:
    waits: list[float] = []
    model = scripted(scripted.status(429, {}, {"retry-after": "7"}), scripted.say("at last"))
    assert ask(client_of(scripted, model.url, waits=waits)).text == "at last"
    assert waits == [7.0]


def test_429_with_too_long_a_wait_is_left_to_a_person(scripted: Any) -> None:
    model = scripted(scripted.status(429, {}, {"retry-after": "900"}))
    with pytest.raises(ProviderError, match="asks to wait 900 s"):
        ask(client_of(scripted, model.url))
    assert len(model.requests) == 1


def test_429_for_an_empty_account_is_not_tried_again(scripted: Any) -> None:
    model = scripted(
        scripted.status(429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})
    )
    with pytest.raises(ProviderError, match="quota is spent"):
        ask(client_of(scripted, model.url))
    assert len(model.requests) == 1


@pytest.mark.parametrize("fault", ["500", "503", "hang up", "slow", "drip", "no json", "no choices", "null choices"])
def test_a_passing_fault_is_tried_again(scripted: Any, fault: str) -> None:
    step = {
        "500": scripted.status(500, {"error": {"message": "oops"}}),
        "503": scripted.status(503, "busy"),
        "hang up": scripted.hang_up,
        "slow": scripted.slowly(1.0, scripted.say("too late")),
        "drip": scripted.drip(1.5),
        "no json": scripted.status(200, "<html>hello</html>"),
        "no choices": scripted.status(200, {"id": "c", "choices": []}),
        "null choices": scripted.status(200, {"id": "c", "choices": None}),
    }[fault]
    waits: list[float] = []
    model = scripted(step, scripted.say("fine"))
    client = client_of(scripted, model.url, waits=waits, timeout=0.4)
    assert ask(client).text == "fine"
    assert waits == [0.5]


@pytest.mark.parametrize("sent", ["endless", "squeezed"])
@pytest.mark.parametrize("place", ["reply", "models"])
def test_a_reply_without_end_is_not_taken_in(scripted: Any, sent: str, place: str) -> None:
    step = getattr(scripted, sent)
    model = scripted(step) if place == "reply" else scripted(models=step)
    client = client_of(scripted, model.url, model="scripted" if place == "reply" else None, timeout=60.0)
    tracemalloc.start()
    try:
        with pytest.raises(ProviderError, match="more than 8 MiB" if sent == "endless" else "must not compress"):
            ask(client)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 2**20
    assert len(model.requests) <= 1


def test_a_long_reply_below_the_cap_is_read(scripted: Any) -> None:
    text = "x" * (7 * 2**20)
    assert ask(client_of(scripted, scripted(scripted.say(text)).url)).text == text


@pytest.mark.parametrize("body", ["[" * 200_000, "null", "[1, 2]", '{"data": 3}', '{"data": [null]}'])
def test_a_strange_list_of_models_is_typed(scripted: Any, body: str) -> None:
    model = scripted(models=scripted.status(200, body))
    with pytest.raises(ProviderError):
        ask(client_of(scripted, model.url, model=None))


def test_a_reply_of_brackets_is_no_crash(scripted: Any) -> None:
    model = scripted(scripted.status(200, "[" * 200_000), scripted.say("fine"))
    assert ask(client_of(scripted, model.url)).text == "fine"
    deep = scripted(scripted.say("fine"), obeys={"schema", "json", "text"})
    deep.answer = lambda handler, request: scripted.say("[" * 200_000)(handler, request)
    assert ask(client_of(scripted, deep.url, rung=Rung.TEXT)).text.startswith("[[")
    with pytest.raises(ProviderError, match="no way of asking"):
        ask(client_of(scripted, deep.url, rung=Rung.SCHEMA))


@pytest.mark.parametrize("place", ["probe", "models"])
def test_the_start_has_a_short_deadline(scripted: Any, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr("alphaswarm.agents.llm.START_SECONDS", 0.3)
    model = scripted(models=scripted.drip(5.0))
    model.answer = lambda handler, request: scripted.drip(5.0)(handler, request)
    began = time.monotonic()
    with pytest.raises(ProviderError, match=r"0\.3 s" if place == "probe" else "models"):
        ask(client_of(scripted, model.url, model="scripted" if place == "probe" else None, timeout=60.0))
    assert time.monotonic() - began < 3


def test_a_lasting_fault_is_typed(scripted: Any) -> None:
    waits: list[float] = []
    model = scripted(scripted.status(500, {"error": {"message": "still broken"}}))
    with pytest.raises(ProviderError, match=r"failed 4 times: status 500"):
        ask(client_of(scripted, model.url, waits=waits))
    assert waits == [0.5, 1.0, 2.0]


def test_a_refused_key_is_not_tried_again_and_not_shown(scripted: Any) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {scripted.key}"}}
    model = scripted(scripted.status(401, body))
    with pytest.raises(ProviderError, match="refused the key") as caught:
        ask(client_of(scripted, model.url))
    assert scripted.key not in str(caught.value)
    assert len(model.requests) == 1


def test_parameters_that_a_model_does_not_take_are_left_out(scripted: Any) -> None:
    def refuse(name: str) -> Any:
        return scripted.status(400, {"error": {"message": f"Unsupported parameter: '{name}'", "param": name}})

    model = scripted(refuse("max_tokens"), refuse("temperature"), scripted.say("hi"))
    client = client_of(scripted, model.url)
    assert ask(client).text == "hi"
    last = model.requests[-1]
    assert "temperature" not in last
    assert "max_tokens" not in last
    assert last["max_completion_tokens"] == 2000


@pytest.mark.parametrize(
    ("settings", "spent", "message"),
    [
        ({"max_calls": 5}, {"calls": 5}, "5 model calls"),
        ({"max_tokens": 100}, {"tokens": 120}, "100 model tokens"),
        ({"max_seconds": 9}, {"seconds": 9.5}, "9 model seconds"),
    ],
)
def test_limits_are_hard(scripted: Any, settings: dict[str, int], spent: dict[str, float], message: str) -> None:
    model = scripted(scripted.say("hi"))
    with pytest.raises(BudgetExceeded, match=message):
        ask(client_of(scripted, model.url, **settings), spent)
    assert model.requests == []


def test_the_seconds_cut_a_call_that_is_under_way(scripted: Any) -> None:
    model = scripted(scripted.slowly(3.0, scripted.say("too late")))
    with pytest.raises(BudgetExceeded, match="model time"):
        ask(client_of(scripted, model.url, max_seconds=1.0), {"seconds": 0.7})


def test_what_a_reply_cost(scripted: Any) -> None:
    model = scripted(scripted.say("hi", tokens=77))
    reply = ask(client_of(scripted, model.url))
    assert reply.spent["calls"] == 1
    assert reply.spent["tokens"] == 77
    assert 0 <= reply.spent["seconds"] < 5


def test_cut_off_and_refused_replies_are_told_apart(scripted: Any) -> None:
    assert ask(client_of(scripted, scripted(scripted.say('{"wo', finish="length")).url)).finish == "length"
    assert ask(client_of(scripted, scripted(scripted.say("", refusal="I won't")).url)).finish == "refusal"
    assert ask(client_of(scripted, scripted(scripted.say("", finish="content_filter")).url)).finish == "refusal"


def test_the_same_question_is_asked_once(scripted: Any, tmp_path: Path) -> None:
    model = scripted(scripted.say("first"), scripted.say("second"))
    first = ask(client_of(scripted, model.url, cache=tmp_path))
    again = ask(client_of(scripted, model.url, cache=tmp_path))
    assert first == again
    assert len(model.requests) == 1
    assert model.probes == 1
    other = ask(client_of(scripted, model.url, cache=tmp_path), seed=2)
    assert other.text == "second"


def test_a_damaged_cache_is_asked_again(scripted: Any, tmp_path: Path) -> None:
    model = scripted(scripted.say("first"), scripted.say("second"))
    ask(client_of(scripted, model.url, cache=tmp_path))
    for file in tmp_path.glob("*.json"):
        file.write_text('{"reply": {"text"')
    assert ask(client_of(scripted, model.url, cache=tmp_path)).text == "second"


def test_the_key_is_sent_and_never_kept(scripted: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model = scripted(scripted.say(f"your key is {scripted.key}"))
    client = client_of(scripted, model.url, cache=tmp_path)
    reply = ask(client)
    assert model.headers[-1]["authorization"] == f"Bearer {scripted.key}"
    assert reply.text == "your key is ***"
    assert scripted.key not in caplog.text
    assert scripted.key not in repr(client.config)
    kept = [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    assert len(kept) == 3  # the probe's question, what it found, and ours
    assert not any(scripted.key in text for text in kept)
    assert any(json.loads(text).get("request", {}).get("messages") == QUESTION for text in kept)


def test_settings_come_from_the_environment() -> None:
    config = LlmConfig.from_environment({"ALPHASWARM_LLM_BASE_URL": "http://x/v1", "OPENAI_API_KEY": "other"})
    assert (config.base_url, config.model, config.api_key) == ("http://x/v1", None, "other")
    own = {"ALPHASWARM_LLM_MODEL": "m", "ALPHASWARM_LLM_API_KEY": "own", "OPENAI_API_KEY": "other"}
    assert LlmConfig.from_environment(own).api_key == "own"


def test_a_user_in_the_url_is_not_shown() -> None:
    config = LlmConfig(base_url="http://me:secret@127.0.0.1:9/v1?token=hidden", model="m")
    with pytest.raises(ProviderError) as caught:
        ask(LlmClient(config, sleep=lambda _: asyncio.sleep(0)))
    assert "secret" not in str(caught.value)
    assert "hidden" not in str(caught.value)

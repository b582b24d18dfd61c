"""A chat endpoint that speaks the OpenAI protocol, made safe to rely on.

At the start a probe finds the strongest way to constrain replies that the endpoint really obeys:
strict JSON schema, GBNF grammar (llama.cpp), JSON object, plain text. Every call is held to hard
limits, faults are retried a few times and then typed, requests and replies are kept by the hash of
the request, and the key is neither logged nor stored. What was kept can be replayed without a model.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from alphaswarm.core.errors import BudgetExceeded, ProviderError, SpecInvalid
from alphaswarm.core.files import atomic_write
from alphaswarm.core.runtime import Clock, SystemClock
from alphaswarm.core.summary import content_key

if TYPE_CHECKING:
    import openai

__all__ = ["LlmClient", "LlmConfig", "LlmReply", "Rung"]

OPENAI_URL = "https://api.openai.com/v1"
ATTEMPTS = 4
FIRST_WAIT_SECONDS = 0.5
# A server may ask for patience; beyond this a person should decide.
LONGEST_WAIT_SECONDS = 60.0
# Where a server reports no usage: about three characters a token.
CHARACTERS_PER_TOKEN = 3
# Parameters that some models refuse, and what to send instead.
OPTIONAL_PARAMETERS: dict[str, str | None] = {
    "temperature": None,
    "seed": None,
    "max_tokens": "max_completion_tokens",
}
# The probe's constraints demand a word that its prompt does not: only a server that obeys them says it.
PROBE_WORD = "zebra"
# Room for models that think before they answer.
PROBE_TOKENS = 600
# Nothing long is asked for at the start: an endpoint that takes longer, twice, is of no use to a run.
START_SECONDS = 30.0
PRICED_TOKENS = 1_000_000
# Local servers are given words such as "none" or "x" for a key. Those are no secrets, and taking them out of
# every text would spoil it.
SHORTEST_SECRET = 8
REPLAY = "ALPHASWARM_LLM_REPLAY"
PRICES = {
    "price_in": "ALPHASWARM_LLM_PRICE_IN",
    "price_out": "ALPHASWARM_LLM_PRICE_OUT",
    "max_money": "ALPHASWARM_LLM_MAX_MONEY",
}


class Rung(StrEnum):
    """How replies are constrained, strongest first."""

    SCHEMA = "schema"
    GRAMMAR = "grammar"
    JSON = "json"
    TEXT = "text"


@dataclass(frozen=True)
class LlmConfig:
    """Where the model is and how much it may be used.

    Attributes:
        base_url: of the endpoint; None is OpenAI.
        model: None takes the only model that the endpoint lists.
        api_key: None for local servers.
        rung: None lets the probe choose; a value is probed alone.
        timeout: seconds for one call, waiting included.
        reply_tokens: cap of one reply.
        max_calls, max_tokens, max_seconds: hard limits of a run.
        price_in, price_out: of a million tokens read and written, in any currency; None is not counted.
        max_money: hard limit of a run in that currency; needs both prices.
    """

    base_url: str | None = None
    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    rung: Rung | None = None
    timeout: float = 120.0
    reply_tokens: int = 2000
    max_calls: int = 1000
    max_tokens: int = 2_000_000
    max_seconds: float = 3600.0
    price_in: float | None = None
    price_out: float | None = None
    max_money: float | None = None

    def __post_init__(self) -> None:
        for name, variable in PRICES.items():
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise SpecInvalid(f"{variable} must be a number of at least 0, got {value!r}")
        if (self.price_in is None) != (self.price_out is None):
            raise SpecInvalid(f"{PRICES['price_in']} and {PRICES['price_out']} must be set both or neither")
        if self.max_money is not None and self.price_in is None:
            raise SpecInvalid(f"{PRICES['max_money']} needs {PRICES['price_in']} and {PRICES['price_out']}")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> LlmConfig:
        """As the variables say that begin with ``ALPHASWARM_LLM_``.

        They are ``BASE_URL``, ``MODEL``, ``API_KEY`` (else ``OPENAI_API_KEY``), ``PRICE_IN``, ``PRICE_OUT`` and
        ``MAX_MONEY``.

        Raises:
            SpecInvalid: a price is no number, or stands alone.
        """
        return cls(
            price_in=_amount(environ, PRICES["price_in"]),
            price_out=_amount(environ, PRICES["price_out"]),
            max_money=_amount(environ, PRICES["max_money"]),
            base_url=environ.get("ALPHASWARM_LLM_BASE_URL") or None,
            model=environ.get("ALPHASWARM_LLM_MODEL") or None,
            api_key=environ.get("ALPHASWARM_LLM_API_KEY") or environ.get("OPENAI_API_KEY") or None,
        )


@dataclass(frozen=True)
class LlmReply:
    """What the model said.

    Attributes:
        text: of the reply.
        finish: stop, length (cut off) or refusal.
        spent: calls, tokens, tokens_in, tokens_out, seconds, and money where prices are known.
    """

    text: str
    finish: str
    spent: Mapping[str, float]


class _Unfit(ProviderError):
    """The endpoint refused this shape of request."""


class LlmClient:
    """Asks one model.

    Args:
        config: where and how much.
        cache: directory for requests and replies by hash; None keeps nothing.
        replay: answer from `cache` only: nothing is sent, nothing is written.
        clock: for durations.
        sleep: for waits between attempts.
    """

    def __init__(
        self,
        config: LlmConfig,
        *,
        cache: Path | None = None,
        replay: bool = False,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.config = config
        self.model = config.model or ""
        self.rung = config.rung or Rung.TEXT
        self.started = False
        self.start_spent: dict[str, float] = {}
        self._cache = cache
        self._replay = replay
        self._clock = clock or SystemClock()
        self._sleep = sleep
        self._client: openai.AsyncOpenAI | None = None
        self._dropped: set[str] = set()

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], directory: Path) -> LlmClient:
        """The client of the run in `directory`, as the environment says.

        ``ALPHASWARM_LLM_REPLAY`` names the directory of a run whose replies are to be given again; no endpoint is
        asked then, nor need there be one.
        """
        kept = environ.get(REPLAY)
        cache = Path(kept or directory) / "llm"
        return cls(LlmConfig.from_environment(environ), cache=cache, replay=bool(kept))

    async def start(self) -> None:
        """Find the model and the strongest rung that the endpoint obeys.

        Raises:
            ProviderError: no endpoint, no such model, a refused key, or nothing that answers; in a replay,
                nothing is kept of the start.
            BudgetExceeded: the limits are too small for the probe.
        """
        if self._replay:
            self.model = str(self._kept("probe").get("model", ""))
            if not self._found_before():
                raise ProviderError(f"a replay needs what the run's start found: no probe is kept in {self._cache}")
            return
        if not self.model:
            self.model = await self._only_model()
        if self._found_before():
            return
        spent: dict[str, float] = {}
        last: ProviderError | None = None
        for rung in [self.config.rung] if self.config.rung else list(Rung):
            messages, extra = _probe(rung)
            try:
                reply = await self._ask(
                    messages, extra, temperature=0.0, seed=0, tokens=PROBE_TOKENS, spent=spent, probing=True
                )
            except _Unfit as refused:
                last = refused
                continue
            spent = add_spent(spent, reply.spent)
            if _obeyed(rung, reply):
                self.rung, self.start_spent, self.started = rung, spent, True
                self._keep("probe", {"model": self.model, "rung": rung, "spent": spent})
                return
        said = str(last) if last else "the probe's answer did not keep to what was asked"
        raise ProviderError(f"no way of asking {self.model} at {self._where()} works: {said}")

    async def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any],
        grammar: str,
        temperature: float,
        seed: int,
        spent: Mapping[str, float],
    ) -> LlmReply:
        """The model's reply, from the cache when the same was asked before.

        Args:
            messages: role and content.
            schema: JSON schema of the reply, for the schema rung.
            grammar: GBNF of the reply, for the grammar rung.
            temperature: of sampling.
            seed: of sampling, where the server honours one.
            spent: totals of the run so far, for the limits.

        Raises:
            BudgetExceeded: a limit is met, or is too near for what the call may cost.
            ProviderError: the endpoint failed for good; in a replay, no reply to this prompt is kept.
        """
        extra = _constraint(self.rung, schema, grammar)
        return await self._ask(
            messages, extra, temperature=temperature, seed=seed, tokens=self.config.reply_tokens, spent=spent
        )

    async def close(self) -> None:
        """Give back the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _ask(
        self,
        messages: Sequence[Mapping[str, str]],
        extra: Mapping[str, Any],
        *,
        temperature: float,
        seed: int,
        tokens: int,
        spent: Mapping[str, float],
        probing: bool = False,
    ) -> LlmReply:
        request = {
            "model": self.model,
            "messages": [{name: self.scrub(text) for name, text in message.items()} for message in messages],
            "temperature": temperature,
            "seed": seed,
            "max_tokens": tokens,
            **extra,
        }
        key = content_key(request)
        kept = self._kept(key)
        known = _reply_in(kept)
        if known is not None:
            return known
        if self._replay:
            raise _not_kept(kept, key, request)
        lost = _amounts(kept.get("lost"))
        began = self._clock.monotonic()
        try:
            text, finish, used = await self._within(request, spent, lost, began, probing=probing)
        except (BudgetExceeded, ProviderError) as error:
            limit = {"limit": str(error)} if isinstance(error, BudgetExceeded) else {}
            self._keep(key, {"request": request, "lost": lost, **limit})
            raise
        took = {"calls": 1, "seconds": round(self._clock.monotonic() - began, 3)}
        reply = LlmReply(self.scrub(text), finish, add_spent(add_spent(used, lost), took))
        self._keep(
            key, {"request": request, "reply": {"text": reply.text, "finish": finish, "spent": dict(reply.spent)}}
        )
        return reply

    async def _within(
        self,
        request: dict[str, Any],
        spent: Mapping[str, float],
        lost: dict[str, float],
        began: float,
        *,
        probing: bool,
    ) -> tuple[str, str, dict[str, float]]:
        """Text, how it ended and its cost, if the limits have room for it. What fails on the way adds to `lost`."""
        # A server may have done the work of an answer that never came, so it counts as if it had come in full.
        most = self._cost(_estimate(request), request["max_tokens"])
        seconds = self.config.max_seconds - spent.get("seconds", 0)
        self._check_room(add_spent(spent, lost), most)
        attempts, timeout = (2, self._start_timeout()) if probing else (ATTEMPTS, self.config.timeout)
        fault = ""
        try:
            async with asyncio.timeout(seconds):
                for attempt in range(attempts):
                    wait = FIRST_WAIT_SECONDS * 2**attempt
                    try:
                        text, finish, counts = _read(await self._send(request, timeout), request)
                        return text, finish, self._cost(*counts)
                    except _Retry as retry:
                        fault = self.scrub(str(retry))
                        wait = retry.after if retry.after is not None else wait
                        if retry.lost:
                            lost.update(add_spent(lost, most))
                    if wait > LONGEST_WAIT_SECONDS:
                        raise ProviderError(f"{self._where()} asks to wait {wait:g} s: {fault}; resume later")
                    if self._clock.monotonic() + wait > began + seconds:
                        raise BudgetExceeded(
                            f"the limit of {self.config.max_seconds:g} s of model time leaves no time to wait"
                        )
                    if attempt + 1 < attempts:
                        self._check_room(add_spent(spent, lost), most)
                        await self._sleep(wait)
        except TimeoutError:
            lost.update(add_spent(lost, most))
            raise BudgetExceeded(f"the limit of {self.config.max_seconds:g} s of model time was met") from None
        if fault.startswith("status 5"):
            raise _Unfit(f"{self._where()} failed {attempts} times: {fault}")
        raise ProviderError(f"{self._where()} failed {attempts} times: {fault}; resume later")

    def _check_room(self, spent: Mapping[str, float], most: Mapping[str, float]) -> None:
        """Refuse a call that could go beyond a limit."""
        limits = {
            "calls": self.config.max_calls,
            "tokens": self.config.max_tokens,
            "money": self.config.max_money,
            "seconds": self.config.max_seconds,
        }
        for name, limit in limits.items():
            had = spent.get(name, 0)
            if limit is None:
                continue
            if had >= limit:
                raise BudgetExceeded(f"the limit of {limit:g} model {name} was met")
            if had + most.get(name, 0) > limit:
                raise BudgetExceeded(
                    f"the limit of {limit:g} model {name} leaves {limit - had:g}, the next call may take {most[name]:g}"
                )

    def _cost(self, read: int, written: int) -> dict[str, float]:
        """Tokens, and money where prices are known."""
        cost: dict[str, float] = {"tokens": read + written, "tokens_in": read, "tokens_out": written}
        if self.config.price_in is not None and self.config.price_out is not None:
            cost["money"] = (read * self.config.price_in + written * self.config.price_out) / PRICED_TOKENS
        return cost

    async def _send(self, request: dict[str, Any], timeout: float) -> Any:
        """One request, its faults sorted into: try again, wrong shape, for good."""
        import openai

        while True:
            try:
                async with asyncio.timeout(timeout):
                    return await self._connected().chat.completions.create(**self._adapted(request))
            except openai.RateLimitError as error:
                if error.code == "insufficient_quota":
                    raise ProviderError(f"{self._where()}: the account's quota is spent") from None
                raise _Retry("status 429, too many requests", _retry_after(error.response.headers)) from None
            except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
                raise ProviderError(f"{self._where()} refused the key (status {error.status_code})") from None
            except openai.APIStatusError as error:
                said = self.scrub(error.message)[:300]
                if error.status_code >= 500 or error.status_code in {408, 409}:
                    after = _retry_after(error.response.headers)
                    raise _Retry(f"status {error.status_code}: {said}", after) from None
                if not self._adapt(error, request):
                    raise _Unfit(f"{self._where()} refused the request (status {error.status_code}): {said}") from None
            except (openai.APITimeoutError, TimeoutError):
                raise _Retry(f"no answer within {timeout:g} s", lost=True) from None
            except openai.APIConnectionError as error:
                said = self.scrub(repr(error.__cause__ or error))[:200]
                raise _Retry(f"no connection: {said}", lost=not _never_sent(error)) from None
            except (
                openai.APIError,
                ValueError,
                RecursionError,
            ) as error:  # no JSON, or not its shape
                raise _Retry(f"unreadable answer: {self.scrub(str(error))[:200]}", lost=True) from None

    def _adapted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        sent = dict(request)
        for name in self._dropped & set(sent):
            value = sent.pop(name)
            instead = OPTIONAL_PARAMETERS[name]
            if instead:
                sent[instead] = value
        return sent

    def _adapt(self, error: openai.APIStatusError, request: Mapping[str, Any]) -> bool:
        """Note a parameter that the model does not take; False when there is none such."""
        about = f"{error.param or ''} {error.message}"
        for name in OPTIONAL_PARAMETERS:
            if name in about and name in request and name not in self._dropped:
                self._dropped.add(name)
                return True
        return False

    def _connected(self) -> openai.AsyncOpenAI:
        import openai

        from alphaswarm.agents.bounded import bounded_client

        if self._client is None:
            self._client = openai.AsyncOpenAI(
                api_key=self.config.api_key or "none",
                base_url=self.config.base_url or OPENAI_URL,
                max_retries=0,  # tried again here, within the limits
                timeout=self.config.timeout,
                http_client=bounded_client(self.config.timeout),
            )
        return self._client

    def _start_timeout(self) -> float:
        return min(self.config.timeout, START_SECONDS)

    async def _only_model(self) -> str:
        import openai

        if self.config.base_url is None:
            raise ProviderError("ALPHASWARM_LLM_MODEL must name a model, or ALPHASWARM_LLM_BASE_URL an endpoint")
        try:
            async with asyncio.timeout(self._start_timeout()):
                models = [model.id async for model in self._connected().models.list()]
        except (openai.OpenAIError, ValueError, TypeError, AttributeError, RecursionError, TimeoutError) as error:
            said = self.scrub(str(error) or repr(error))[:300]
            raise ProviderError(f"{self._where()} can't be asked for its models: {said}") from None
        if len(models) != 1:
            listed = ", ".join(sorted(models)[:20]) or "none"
            raise ProviderError(f"ALPHASWARM_LLM_MODEL must name a model; {self._where()} offers: {listed}")
        return models[0]

    def _keep(self, name: str, value: Mapping[str, Any]) -> None:
        if self._cache is not None:
            text = json.dumps(value, ensure_ascii=True, indent=1, sort_keys=True)
            atomic_write(self._cache / f"{name}.json", self.scrub(text).encode())

    def _kept(self, name: str) -> dict[str, Any]:
        """What was kept under `name`; empty when it is absent or damaged, and is then asked for again."""
        if self._cache is None:
            return {}
        try:
            kept = json.loads((self._cache / f"{name}.json").read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def _found_before(self) -> bool:
        """Take over what an earlier start of this run found, so that a resumed run asks in the same way."""
        kept = self._kept("probe")
        if kept.get("model") != self.model or kept.get("rung") not in (
            [self.config.rung] if self.config.rung else [*Rung]
        ):
            return False
        self.rung, self.start_spent, self.started = Rung(kept["rung"]), dict(kept.get("spent") or {}), True
        return True

    def _where(self) -> str:
        parts = urlsplit(self.config.base_url or OPENAI_URL)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"  # no user, no query

    def scrub(self, text: str) -> str:
        """The text without the key, should it be in there."""
        key = self.config.api_key or ""
        return text.replace(key, "***") if len(key) >= SHORTEST_SECRET else text


class _Retry(Exception):
    """Another attempt may do: after so many seconds, where the server said; `lost` when it may have cost."""

    def __init__(self, message: str, after: float | None = None, *, lost: bool = False) -> None:
        super().__init__(message)
        self.after = after
        self.lost = lost


def add_spent(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """Sum by name."""
    return {name: first.get(name, 0) + second.get(name, 0) for name in sorted(set(first) | set(second))}


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks for, a date being held against its own clock; nonsense counts as not said."""
    said = headers.get("retry-after", "")
    try:
        seconds = float(said)
    except ValueError:
        try:
            until, now = parsedate_to_datetime(said), parsedate_to_datetime(headers.get("date", ""))
            seconds = max(0.0, (until - now).total_seconds())
        except (ValueError, TypeError, OverflowError):  # no dates, or of two kinds
            return None
    return seconds if 0 <= seconds < math.inf else None


def _never_sent(error: BaseException) -> bool:
    """Whether the connection failed before a request could be read by anybody."""
    import httpx2

    return isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)


def _reply_in(kept: Mapping[str, Any]) -> LlmReply | None:
    """The reply in what was kept; None when there is none, or a damaged one, which is then asked for again."""
    try:
        reply = kept["reply"]
        return LlmReply(str(reply["text"]), str(reply["finish"]), dict(reply["spent"]))
    except (KeyError, TypeError, ValueError):
        return None


def _not_kept(kept: Mapping[str, Any], key: str, request: Mapping[str, Any]) -> BudgetExceeded | ProviderError:
    """How a replay ends at this prompt: as the run did where a limit ended it, else it is another run."""
    if isinstance(kept.get("limit"), str):
        return BudgetExceeded(kept["limit"])
    asked = " ".join(request["messages"][-1]["content"].split())[:100]
    return ProviderError(f"no reply is kept to prompt {key[:12]} ({asked!r}): this run asks what that one did not")


def _amounts(value: Any) -> dict[str, float]:
    """Named amounts out of a kept file; what is none is left out."""
    found = value.items() if isinstance(value, dict) else ()
    return {str(name): amount for name, amount in found if isinstance(amount, int | float)}


def _amount(environ: Mapping[str, str], variable: str) -> float | None:
    said = environ.get(variable)
    if not said:
        return None
    try:
        return float(said)
    except ValueError:
        raise SpecInvalid(f"{variable} must be a number of at least 0, got {said!r}") from None


def _estimate(request: Mapping[str, Any]) -> int:
    """Tokens of a prompt, where nobody counted them."""
    texts = [message["content"] for message in request["messages"]]
    shape = json.dumps(request["response_format"]) if "response_format" in request else ""
    return (sum(map(len, texts)) + len(shape)) // CHARACTERS_PER_TOKEN + 1


def _constraint(rung: Rung, schema: Mapping[str, Any], grammar: str) -> dict[str, Any]:
    if rung is Rung.SCHEMA:
        named = {"name": "reply", "strict": True, "schema": dict(schema)}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    if rung is Rung.GRAMMAR:
        return {"extra_body": {"grammar": grammar}}
    return {"response_format": {"type": "json_object"}} if rung is Rung.JSON else {}


def _probe(rung: Rung) -> tuple[list[dict[str, str]], dict[str, Any]]:
    word = {"type": "string", "enum": [PROBE_WORD]}
    schema = {"type": "object", "properties": {"word": word}, "required": ["word"], "additionalProperties": False}
    asked = 'Say hello as a JSON object such as {"word": "hello"}.' if rung is Rung.JSON else "Say hello."
    return [{"role": "user", "content": asked}], _constraint(rung, schema, f'root ::= "{PROBE_WORD}"')


def _obeyed(rung: Rung, reply: LlmReply) -> bool:
    text = reply.text.strip()
    if rung is Rung.TEXT:
        return bool(text)
    if rung is Rung.GRAMMAR:
        return text == PROBE_WORD
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and (rung is Rung.JSON or value == {"word": PROBE_WORD})


def _read(completion: Any, request: Mapping[str, Any]) -> tuple[str, str, tuple[int, int]]:
    """Text, how it ended, tokens read and written; whatever else the server sent is not looked at."""
    choices = getattr(completion, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(choice, "message", None)
    if choice is None or message is None:
        raise _Retry("unreadable answer: it holds no message", lost=True)
    content, refusal = getattr(message, "content", None), getattr(message, "refusal", None)
    text = content if isinstance(content, str) else ""
    finish = "length" if choice.finish_reason == "length" else "stop"
    if (isinstance(refusal, str) and refusal) or choice.finish_reason == "content_filter":
        text, finish = str(refusal or ""), "refusal"
    usage = getattr(completion, "usage", None)
    read, written, total = (_count(usage, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    read = read or _estimate(request)
    # What a model thinks before it answers is written too; some count it in the total only.
    written = max(written or 0, (total or 0) - read) or len(text) // CHARACTERS_PER_TOKEN + 1
    return text, finish, (read, written)


def _count(usage: Any, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

"""Faults of the model, seen by the bare SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import anthropic
import httpx2
import pytest
from aiohttp import ClientSession
from anthropic import AsyncAnthropic

from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.attention import PATIENCE, until
from tests.claude.conftest import served
from tests.clock import FakeClock

SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"
BROKEN = (aiohttp.ClientError, httpx2.HTTPError, anthropic.APIError)
ASKED: dict[str, Any] = {
    "max_tokens": 300,
    "messages": [{"role": "user", "content": "What is a soul?"}],
    "system": "Answer with <aside>your thoughts</aside>, then <say>what you tell the user</say>.",
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def model(clock: FakeClock) -> ClaudeUnderstudy:
    return ClaudeUnderstudy(clock, pace=0)


@pytest.fixture
async def url(model: ClaudeUnderstudy) -> AsyncIterator[str]:
    async with served(model) as url:
        yield url


@pytest.fixture
async def sdk(url: str) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as sdk:
        yield sdk


class Listener:
    def __init__(self, sdk: AsyncAnthropic) -> None:
        self.heard = ""
        self._sdk = sdk

    async def listen(self) -> str:
        async with await self._sdk.messages.create(model=SONNET, **ASKED, stream=True) as events:
            async for event in events:
                if event.type == "content_block_delta" and event.delta.type == "text_delta":
                    self.heard += event.delta.text
        return self.heard


async def answer(sdk: AsyncAnthropic, model: str = SONNET) -> tuple[str, str | None]:
    message = await sdk.messages.create(model=model, **ASKED)
    return "".join(block.text for block in message.content if block.type == "text"), message.stop_reason


@pytest.mark.parametrize(("name", "status"), [("throttled", 429), ("overloaded", 529), ("failing", 502)])
async def test_it_fails_until_it_is_switched_off(
    sdk: AsyncAnthropic, model: ClaudeUnderstudy, name: str, status: int
) -> None:
    model.say("queued")
    model.faults.switch(name)
    for _ in range(2):
        with pytest.raises(anthropic.APIStatusError) as failure:
            await answer(sdk)
        assert failure.value.status_code == status
    model.faults.switch(name, on=False)
    assert (await answer(sdk))[0] == "queued", "what a test wants said is not lost by the fault"


async def test_a_throttled_model_says_when_to_come_back(sdk: AsyncAnthropic, model: ClaudeUnderstudy) -> None:
    model.faults.switch("throttled", seconds=1.5)
    with pytest.raises(anthropic.RateLimitError) as failure:
        await answer(sdk)
    assert failure.value.response.headers["retry-after"] == "1.5"


async def test_a_cut_answer_breaks_off(sdk: AsyncAnthropic, model: ClaudeUnderstudy) -> None:
    model.faults.switch("cut", characters=10, times=2)
    model.say("<aside>A long thought</aside>", chunk=4)
    listener = Listener(sdk)
    with pytest.raises(BROKEN):
        await listener.listen()
    assert listener.heard == "<aside>A l"
    with pytest.raises(BROKEN):
        await answer(sdk)
    assert (await answer(sdk))[1] == "end_turn"


async def test_a_stalled_answer_goes_on_when_the_fault_is_off(
    sdk: AsyncAnthropic, model: ClaudeUnderstudy, clock: FakeClock
) -> None:
    model.say("<aside>A long thought</aside>")
    model.faults.switch("stalled", characters=10)
    listener = Listener(sdk)
    listening = asyncio.create_task(listener.listen())
    await until(lambda: len(listener.heard) >= 10)
    for _ in range(10):
        await clock.advance(60)
    assert listener.heard == "<aside>A l"
    model.faults.switch("stalled", on=False)
    assert await listening == "<aside>A long thought</aside>"


async def test_a_slow_answer_takes_its_time_for_each_piece(
    sdk: AsyncAnthropic, model: ClaudeUnderstudy, clock: FakeClock
) -> None:
    model.say("abcd", chunk=1)
    model.faults.switch("slow", seconds=3)
    began, listening = clock.now(), asyncio.create_task(Listener(sdk).listen())
    async with asyncio.timeout(PATIENCE):
        while not listening.done():
            await clock.advance(3 if clock.sleepers else 0)
    assert (await listening, clock.now() - began) == ("abcd", 12)


async def test_a_failing_server_may_break_the_connection_before_it_answers(
    sdk: AsyncAnthropic, model: ClaudeUnderstudy
) -> None:
    model.faults.switch("failing", answer="none", times=1)
    with pytest.raises(anthropic.APIConnectionError):
        await answer(sdk)
    assert (await answer(sdk))[1] == "end_turn"


async def test_the_first_word_of_a_late_answer_takes_its_time(
    sdk: AsyncAnthropic, model: ClaudeUnderstudy, clock: FakeClock
) -> None:
    model.say("abcd", chunk=1)
    model.faults.switch("late", seconds=25)
    listener = Listener(sdk)
    listening = asyncio.create_task(listener.listen())
    await until(lambda: clock.sleepers)
    await clock.advance(24)
    assert listener.heard == ""
    await clock.advance(1)
    assert await listening == "abcd"


async def test_a_malformed_answer_has_no_form(sdk: AsyncAnthropic, model: ClaudeUnderstudy) -> None:
    model.faults.switch("malformed", times=1)
    spoiled, whole = (await answer(sdk))[0], (await answer(sdk))[0]
    assert "<say>" in whole
    assert "<" not in spoiled
    assert "What is a soul?" in spoiled


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("anthropic", 400, "prompt is too long"),
        ("llama.cpp", 400, "exceeds the available context size"),
        ("vllm", 400, "This model's maximum context length is 10 tokens."),
        ("bytes", 413, "maximum allowed number of bytes"),
        ("dumb", 400, "Input is too long for requested model."),
    ],
)
async def test_a_window_refuses_what_is_too_long_in_the_words_of_a_server(
    sdk: AsyncAnthropic, model: ClaudeUnderstudy, words: str, status: int, said: str
) -> None:
    model.faults.switch("window", tokens=10, words=words)
    with pytest.raises(anthropic.APIStatusError) as failure:
        await answer(sdk)
    assert failure.value.status_code == status
    assert said in str(failure.value)
    model.faults.switch("window", tokens=1e6)
    assert (await answer(sdk))[1] == "end_turn"


async def test_a_refusal_may_be_one_models_only(sdk: AsyncAnthropic, model: ClaudeUnderstudy) -> None:
    model.faults.switch("refusal", model="claude-sonnet-*")
    assert await answer(sdk) == ("", "refusal")
    assert (await answer(sdk, HAIKU))[1] == "end_turn"


async def test_the_page_of_a_world_of_the_model_alone_has_its_faults(url: str) -> None:
    async with ClientSession() as http, http.get(f"{url}/rehearsal/faults") as response:
        names = [fault["name"] for fault in (await response.json())["faults"]]
    faulty = ["window", "unauthorized", "no-credit", "unknown-model"]
    spoiled = ["cut", "stalled", "slow", "late", "malformed", "unbounded", "refusal"]
    assert names == ["throttled", "failing", "overloaded", *spoiled, *faulty]

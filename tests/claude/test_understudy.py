"""The understudy before the bare SDK."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import aiohttp
import anthropic
import pytest
from anthropic import AsyncAnthropic
from pydantic import BaseModel

from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.claude.conftest import served, until
from tests.clock import FakeClock
from tests.soak import SOAK

ASKED: dict[str, Any] = {
    "model": "claude-haiku-5-5",
    "max_tokens": 300,
    "messages": [{"role": "user", "content": "What is a soul?"}],
}


async def text(sdk: AsyncAnthropic, **more: Any) -> str:
    message = await sdk.messages.create(**{**ASKED, **more})
    return "".join(block.text for block in message.content if block.type == "text")


async def test_it_says_that_it_cannot_know(sdk: AsyncAnthropic) -> None:
    said = await text(sdk)
    assert "I cannot know the answer" in said
    assert "You asked: “What is a soul?”" in said


async def test_it_answers_in_the_tags_that_are_asked_for(sdk: AsyncAnthropic) -> None:
    system = (
        "Answer with <hunch>what you privately suspect</hunch>, then <reply>what you tell the user</reply>, "
        "and <tone>calm | angry</tone>."
    )
    said = await text(sdk, system=system)
    hunch, reply, tone = said.split("\n<reply>")[0], said.split("<reply>")[1], said.split("\n")[-1]
    assert hunch.startswith("<hunch>")
    assert hunch.endswith("</hunch>")
    assert "What is a soul?" not in hunch
    assert "What is a soul?" in reply
    assert tone == "<tone>calm</tone>"


async def test_structured_output_is_valid(sdk: AsyncAnthropic) -> None:
    class Choice(BaseModel):
        why: str
        sure: bool
        colour: Literal["red", "green"]
        count: int
        actions: list[str]
        note: str | None

    parsed = await sdk.messages.parse(**ASKED, output_format=Choice)
    assert parsed.parsed_output is not None
    assert parsed.parsed_output.why == "What is a soul?"


async def test_the_stream_and_the_message_say_the_same(sdk: AsyncAnthropic) -> None:
    whole = await text(sdk)
    async with sdk.messages.stream(**ASKED) as stream:
        pieces = [piece async for piece in stream.text_stream]
        streamed = await stream.get_final_message()
    assert len(pieces) > 10
    assert [block.type for block in streamed.content] == ["text"]
    assert "".join(pieces) == whole
    assert streamed.usage.output_tokens == len(whole) // 3 + 1
    assert streamed.stop_reason == "end_turn"


async def test_each_answer_has_a_request_id(sdk: AsyncAnthropic, understudy: ClaudeUnderstudy) -> None:
    ids = {(await sdk.messages.create(**ASKED))._request_id for _ in range(2)}
    understudy.fail(529, "overloaded_error")
    with pytest.raises(anthropic.APIStatusError) as error:
        await sdk.messages.create(**ASKED)
    assert len({*ids, error.value.request_id} - {None}) == 3


async def test_without_a_key_nobody_answers(url: str) -> None:
    async with aiohttp.ClientSession() as http, http.post(f"{url}/v1/messages", json=ASKED) as response:
        assert response.status == 401
        assert (await response.json())["error"]["type"] == "authentication_error"


async def test_any_key_opens_in_either_header(url: str) -> None:
    async with aiohttp.ClientSession() as http:
        for headers in ({"X-Api-Key": "k"}, {"Authorization": "Bearer k"}):
            async with http.post(f"{url}/v1/messages", json=ASKED, headers=headers) as response:
                assert response.status == 200


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff"])
async def test_what_is_no_json_object_is_refused(url: str, data: bytes) -> None:
    async with (
        aiohttp.ClientSession(headers={"X-Api-Key": "k"}) as http,
        http.post(f"{url}/v1/messages", data=data) as response,
    ):
        assert response.status == 400


async def test_a_mistake_in_what_is_queued_is_said(url: str) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{url}/rehearsal/claude/say", json={"row": "from afar"}) as response,
    ):
        assert response.status == 400
        assert "row" in await response.text()


async def test_it_does_not_mind_who_leaves(
    sdk: AsyncAnthropic, understudy: ClaudeUnderstudy, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    understudy.say("too late", delay=1.0)
    async with await sdk.messages.create(**ASKED, stream=True) as events:
        await anext(events)
    assert "What is a soul?" in await text(sdk)
    await clock.advance(1.0)
    assert clock.sleepers == 0
    assert "Error handling request" not in caplog.text


@SOAK
async def test_a_prompt_may_be_long(sdk: AsyncAnthropic) -> None:
    assert await text(sdk, messages=[{"role": "user", "content": "word " * 400_000}])


async def test_what_is_queued_comes_first_and_in_order(
    sdk: AsyncAnthropic, understudy: ClaudeUnderstudy
) -> None:
    understudy.say("one")
    understudy.say("two")
    assert [await text(sdk) for _ in range(2)] == ["one", "two"]
    assert "What is a soul?" in await text(sdk)


async def test_a_held_reply_delays_no_other(sdk: AsyncAnthropic, understudy: ClaudeUnderstudy) -> None:
    gate = asyncio.Event()
    understudy.say("slow", until=gate)
    understudy.say("quick")
    slow = asyncio.create_task(text(sdk))
    await until(lambda: understudy.requests)
    assert await text(sdk) == "quick"
    assert not slow.done()
    gate.set()
    assert await slow == "slow"


async def test_it_speaks_at_a_pace(clock: FakeClock) -> None:
    understudy = ClaudeUnderstudy(clock, pace=0.5)
    understudy.say("abc", chunk=1)
    began = clock.now()
    async with served(understudy) as url, AsyncAnthropic(api_key="k", base_url=url) as sdk:
        stream = asyncio.create_task(_streamed(sdk))
        while not stream.done():
            await clock.advance(0.5 if clock.sleepers else 0)
        assert await stream == ["a", "b", "c"]
    assert clock.now() - began == 1.5


async def _streamed(sdk: AsyncAnthropic) -> list[str]:
    events = await sdk.messages.create(**ASKED, stream=True)
    return [event.delta.text async for event in events if event.type == "content_block_delta"]


async def test_another_process_may_queue_and_look(url: str, sdk: AsyncAnthropic) -> None:
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{url}/rehearsal/claude/say", json={"raw": "from afar"}) as response:
            assert response.status == 200
        assert await text(sdk) == "from afar"
        async with http.get(f"{url}/rehearsal/claude/requests") as response:
            assert await response.json() == [json.loads(json.dumps(ASKED))]

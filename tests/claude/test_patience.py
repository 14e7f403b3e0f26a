"""Timeouts of a stream: long at its beginning, shorter in its middle."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from daemon.claude.client import FIRST, LONGEST, STALL, ClaudeClient
from daemon.model import ModelReply
from tests.claude.conftest import ask, until
from tests.claude.hasty import HastyClock
from tests.claude.raw import END, PING, START, STOP, Raw, delta, frame

THOUGHT = {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "Hm."}}


class Listener:
    def __init__(self, claude: ClaudeClient, raw: Raw, clock: HastyClock) -> None:
        self.heard: list[str] = []
        self._raw, self._clock = raw, clock
        self.call: asyncio.Task[ModelReply] = asyncio.create_task(ask(claude, hear=self.hear))

    async def hear(self, text: str) -> None:
        self.heard.append(text)

    async def takes(self, *events: object) -> None:
        for event in events:
            before = self._clock.looks
            self._raw.send(event)
            await until(partial(self._looked_since, before))

    def _looked_since(self, before: int) -> bool:
        return self._clock.looks > before

    async def begin(self) -> None:
        await until(lambda: self._raw.asked)


@pytest.fixture
async def listener(before: ClaudeClient, raw: Raw, clock: HastyClock) -> Listener:
    listener = Listener(before, raw, clock)
    await listener.begin()
    return listener


async def test_a_long_prompt_is_read_in_silence(listener: Listener, clock: HastyClock, raw: Raw) -> None:
    await clock.advance(FIRST - 1)
    raw.send(START, delta("Hm."), STOP, END)
    raw.end()
    assert (await listener.call).text == "Hm."


async def test_a_stream_that_stalls_is_given_up(listener: Listener, clock: HastyClock) -> None:
    await listener.takes(START, delta("I was"))
    await clock.advance(STALL - 1)
    assert not listener.call.done()
    await clock.advance(1)
    reply = await listener.call
    assert (reply.outcome, reply.failure, reply.text) == ("failed", "broken-stream", "I was")


async def test_a_stream_that_stalls_before_its_first_text_is_asked_again(
    listener: Listener, clock: HastyClock, raw: Raw
) -> None:
    await listener.takes(START)
    raw.answer(b"".join(map(frame, (START, delta("At last."), STOP, END))))
    await clock.advance(STALL)
    reply = await listener.call
    assert (reply.text, reply.tries) == ("At last.", 2)


async def test_slow_tokens_are_no_stall(listener: Listener, clock: HastyClock, raw: Raw) -> None:
    await listener.takes(START)
    for letter in "slow":
        await clock.advance(STALL - 1)
        await listener.takes(delta(letter))
    raw.send(STOP, END)
    raw.end()
    assert (await listener.call).text == "slow"


async def test_a_model_that_thinks_sends_pings(listener: Listener, clock: HastyClock, raw: Raw) -> None:
    await listener.takes(START)
    for _ in range(3):
        await clock.advance(STALL - 1)
        await listener.takes(PING)
    raw.send(delta("I have it."), STOP, END)
    raw.end()
    assert (await listener.call).text == "I have it."


async def test_a_stream_without_an_end_is_given_up(listener: Listener, clock: HastyClock) -> None:
    await listener.takes(START)
    for _ in range(int(LONGEST // (STALL - 1))):
        await clock.advance(STALL - 1)
        await listener.takes(THOUGHT)
    await clock.advance(STALL - 1)
    reply = await listener.call
    assert (reply.failure, reply.tries, reply.seconds) == ("broken-stream", 1, LONGEST)


async def test_whoever_listens_slowly_is_not_cut_off(
    before: ClaudeClient, raw: Raw, clock: HastyClock
) -> None:
    heard: list[str] = []

    async def hear(text: str) -> None:
        await clock.sleep(3 * STALL)
        heard.append(text)

    call = asyncio.create_task(ask(before, hear=hear))
    raw.send(START, delta("Patience."), STOP, END)
    raw.end()
    await until(lambda: clock.sleepers == 2)
    await clock.advance(3 * STALL)
    assert ((await call).outcome, heard) == ("ok", ["Patience."])


async def test_a_call_that_waits_can_be_cancelled(listener: Listener) -> None:
    await listener.takes(START)
    listener.call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listener.call

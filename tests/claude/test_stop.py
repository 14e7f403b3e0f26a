"""Stopped calls: nothing more is sent, and the connection closes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator

import pytest

from daemon.claude.client import STALL, ClaudeClient
from daemon.claude.deadlines import CallStopped, StreamDeadline
from daemon.claude.models import cost_of, listed_model
from daemon.engine.execution import no_lease_check
from daemon.model import ModelReply
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.attention import PATIENCE
from tests.claude.conftest import MEMORY, Build, ask, until
from tests.claude.hasty import HastyClock
from tests.claude.raw import START, STOP, delta
from tests.claude.wire import Wire, listening

SONNET = listed_model("claude-sonnet-5-5")


class Call:
    def __init__(self, claude: ClaudeClient, wire: Wire) -> None:
        self.stop = asyncio.Event()
        self.heard: list[str] = []
        self.slow: asyncio.Event | None = None
        self._wire = wire
        self.task: asyncio.Task[ModelReply] = asyncio.create_task(
            ask(claude, hear=self._hear, stop=self.stop)
        )

    async def _hear(self, text: str) -> None:
        self.heard.append(text)
        if self.slow:
            await self.slow.wait()

    async def closed(self) -> None:
        """Stop the call and wait until the server sees it."""
        self.stop.set()
        await asyncio.wait_for(self._wire.gone, PATIENCE)


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with listening() as wire:
        yield wire


@pytest.fixture
async def call(build: Build, wire: Wire) -> AsyncIterator[Call]:
    """Yield a call whose request has arrived; check that nothing of it remains."""
    claude = await build(base_url=wire.url)
    call = Call(claude, wire)
    await until(lambda: wire.asked)
    yield call
    await asyncio.gather(call.task, return_exceptions=True)
    assert not [task for task in asyncio.all_tasks() if "patience" in repr(task)], "watchers are left over"


async def test_a_call_that_was_stopped_before_is_never_sent(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    stop = asyncio.Event()
    stop.set()
    asked = claude.request(MEMORY, "speak")
    reply = await claude.call(asked, None, no_lease_check, stop)
    assert (reply.outcome, reply.text, reply.tries, reply.cost) == ("cancelled", "", 0, 0)
    assert not understudy.requests


async def test_an_answer_is_broken_off_in_the_middle(call: Call, wire: Wire) -> None:
    wire.send(START, delta("I was just"))
    await until(lambda: call.heard)
    await call.closed()
    reply = await call.task
    assert (reply.outcome, reply.text, reply.failure, reply.tries) == ("cancelled", "I was just", "", 1)
    assert (reply.usage.input, reply.usage.output) == (100, len("I was just") // 3), "what came is paid for"
    assert reply.cost == reply.worth == cost_of(SONNET, reply.usage) > 0


async def test_an_answer_that_has_not_begun_is_paid_for_too(call: Call) -> None:
    await call.closed()
    reply = await call.task
    assert (reply.outcome, reply.text) == ("cancelled", "")
    assert 0 < reply.cost < 0.01


async def test_whoever_listens_slowly_does_not_keep_the_connection(call: Call, wire: Wire) -> None:
    call.slow = asyncio.Event()
    wire.send(START, delta("one"), delta("two"))
    await until(lambda: call.heard)
    await call.closed()
    assert not call.task.done()
    call.slow.set()
    reply = await call.task
    assert (reply.outcome, call.heard) == ("cancelled", ["one"])


async def test_a_pause_between_two_tries_ends(
    build: Build, wire: Wire, clock: HastyClock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.short = 0.0
    call = Call(await build(base_url=wire.url), wire)
    await until(lambda: wire.asked)
    wire.refuse()
    await until(lambda: "overloaded" in caplog.text and clock.sleepers)
    call.stop.set()
    reply = await call.task
    assert (reply.outcome, reply.failure, reply.tries, wire.asked) == ("cancelled", "", 1, 1)


async def test_an_answer_that_was_whole_stays_whole(call: Call, wire: Wire, clock: HastyClock) -> None:
    wire.send(START, delta("All of it."))
    await until(lambda: call.heard)
    looks = clock.looks
    wire.send(STOP)
    await until(lambda: clock.looks > looks)
    call.stop.set()
    reply = await call.task
    assert (reply.outcome, reply.text, reply.usage.output) == ("ok", "All of it.", 9)


async def test_who_calls_can_still_be_cancelled(call: Call, wire: Wire) -> None:
    wire.send(START, delta("Hm"))
    await until(lambda: call.heard)
    call.stop.set()
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.task


class Bell:
    """Clock that jumps far ahead when it rings."""

    def __init__(self) -> None:
        self.rung = asyncio.Event()

    def now(self) -> float:
        return self.steady()

    def steady(self) -> float:
        return float(STALL if self.rung.is_set() else 0)

    async def sleep(self, seconds: float) -> None:
        await self.rung.wait()


async def test_a_stop_and_a_stall_in_the_same_moment_are_one_end() -> None:
    bell, stop, waits = Bell(), asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        async with StreamDeadline(bell, math.inf, stop) as patience:
            patience.begin_request(STALL)
            waits.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await waits.wait()
    await asyncio.sleep(0)
    bell.rung.set()
    stop.set()
    with pytest.raises((TimeoutError, CallStopped)):
        await task


async def test_a_client_that_was_stopped_calls_again(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    understudy.say("never", until=asyncio.Event())
    stop = asyncio.Event()
    first = asyncio.create_task(ask(claude, stop=stop))
    await until(lambda: understudy.requests)
    stop.set()
    assert (await first).outcome == "cancelled"
    understudy.say("Here I am.")
    assert (await ask(claude)).text == "Here I am."

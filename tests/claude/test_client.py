"""Each end of a call through the real SDK."""

from __future__ import annotations

import asyncio

import pytest
from anthropic import AsyncAnthropic, DefaultAioHttpClient

from daemon.claude.availability import MOST_TRIES_OF_CALL
from daemon.claude.client import ClaudeClient
from daemon.claude.model_apis import CONNECT
from daemon.engine.exceptions import FencedError
from daemon.memory import Memory
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.claude.conftest import KEY, MEMORY, Build, ask, free, reserved, until
from tests.claude.raw import END, START, STOP, Raw, delta, serving
from tests.clock import FakeClock


async def test_an_answer_is_heard_as_it_comes(claude: ClaudeClient, understudy: ClaudeUnderstudy) -> None:
    understudy.say("Hello, Alice!", chunk=5)
    heard: list[str] = []

    async def hear(delta: str) -> None:
        heard.append(delta)

    reply = await claude.call(claude.request(MEMORY, "speak"), hear, free, asyncio.Event())
    assert heard == ["Hello", ", Ali", "ce!"]
    assert (reply.outcome, reply.text, reply.stop_reason) == ("ok", "Hello, Alice!", "end_turn")
    assert reply.model == "claude-sonnet-5-5"
    assert reply.usage.input > 0
    assert reply.usage.output > 0


async def test_what_is_sent_is_the_request(claude: ClaudeClient, understudy: ClaudeUnderstudy) -> None:
    asked = claude.request(MEMORY, "fast")
    await claude.call(asked, None, free, asyncio.Event())
    assert [*understudy.requests] == [{**asked, "stream": True}]
    assert asked["model"] == "claude-haiku-5-5"


async def test_times_are_counted_from_the_request(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, clock: FakeClock
) -> None:
    understudy.say("Hm.", delay=30.0)
    call = asyncio.create_task(ask(claude))
    await until(lambda: clock.sleepers == 2)
    await clock.advance(30.0)
    reply = await call
    assert (reply.first_text, reply.seconds) == (30.0, 30.0)


async def test_nothing_is_sent_for_a_thread_that_is_no_longer_ours(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    async def lost() -> None:
        raise FencedError("another attempt began")

    with pytest.raises(FencedError):
        await claude.call(claude.request(MEMORY, "speak"), None, lost, asyncio.Event())
    assert not understudy.requests


async def test_hold_is_called_directly_before_the_request(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    seen: list[int] = []

    async def hold() -> None:
        seen.append(len(understudy.requests))

    await claude.call(claude.request(MEMORY, "speak"), None, hold, asyncio.Event())
    assert seen == [0]
    assert len(understudy.requests) == 1


async def test_what_the_hearer_raises_ends_the_call(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    understudy.say("Hello, Alice!", chunk=1)
    heard: list[str] = []

    async def hear(delta: str) -> None:
        heard.append(delta)
        raise FencedError("another attempt began")

    with pytest.raises(FencedError):
        await claude.call(claude.request(MEMORY, "speak"), hear, free, asyncio.Event())
    assert heard == ["H"]


async def test_a_call_can_be_cancelled(claude: ClaudeClient, understudy: ClaudeUnderstudy) -> None:
    understudy.say("never", until=asyncio.Event())
    call = asyncio.create_task(ask(claude))
    await until(lambda: understudy.requests)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_an_answer_that_is_too_long_is_cut(claude: ClaudeClient, understudy: ClaudeUnderstudy) -> None:
    understudy.say("word " * 10_000, chunk=1_000)
    reply = await ask(claude)
    assert (reply.outcome, reply.stop_reason) == ("cut", "max_tokens")
    assert reply.text.startswith("word word")


async def test_a_refusal_has_no_text(claude: ClaudeClient, understudy: ClaudeUnderstudy) -> None:
    understudy.refuse(after="<aside>What I really")
    reply = await ask(claude)
    assert (reply.outcome, reply.text, reply.stop_reason, reply.failure) == ("refused", "", "refusal", "")
    assert reply.cost > 0


async def test_an_answer_may_be_empty(claude: ClaudeClient, understudy: ClaudeUnderstudy) -> None:
    understudy.say("")
    reply = await ask(claude)
    assert (reply.outcome, reply.text, reply.first_text) == ("ok", "", None)


async def test_thoughts_before_the_text_are_passed_over(build: Build, understudy: ClaudeUnderstudy) -> None:
    claude = await build(models={"speak": "claude-opus-5-5"})
    understudy.say("Hello.")
    assert (await ask(claude)).text == "Hello."


async def test_what_is_logged_of_a_failure_has_no_key_in_it(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, caplog: pytest.LogCaptureFixture
) -> None:
    understudy.fail(429, "rate_limit_error")
    await ask(claude)
    assert "rate-limited (429 rate_limit_error" in caplog.text
    assert "sk-" not in caplog.text


async def test_a_rehearsed_call_costs_nothing_and_says_what_it_would(build: Build) -> None:
    rehearsed = await build(rehearsed=True)
    reply = await ask(rehearsed)
    assert reply.cost == 0
    assert reply.worth > 0
    assert reserved(rehearsed, MEMORY) == 0


async def test_no_proxy_stands_before_the_rehearsal(
    build: Build, unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{unused_tcp_port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert (await ask(await build(rehearsed=True))).outcome == "ok"
    assert (await ask(await build())).failure == "unreachable"


async def test_a_real_call_costs_what_it_is_worth_and_no_more_than_reserved(claude: ClaudeClient) -> None:
    reply = await ask(claude)
    assert 0 < reply.cost == reply.worth <= reserved(claude, MEMORY)


@pytest.mark.parametrize(
    "script", ["x", "Is this in English, as most of it is?", "你好世界", "🙂🙃", "שלום עולם"]
)
async def test_the_reserve_covers_any_script(claude: ClaudeClient, script: str) -> None:
    long = MEMORY.with_memory(Memory(role="user", content=script * 1_000))
    more = reserved(claude, long) - reserved(claude, MEMORY)
    assert more >= MOST_TRIES_OF_CALL * len(script.encode()) * 1_000 / 2 * 2.5e-6


async def test_each_request_has_the_headers_that_the_sdk_gives_its_own(build: Build, raw: Raw) -> None:
    async with (
        serving(raw) as url,
        AsyncAnthropic(
            api_key=KEY, base_url=url, max_retries=0, timeout=CONNECT, http_client=DefaultAioHttpClient()
        ) as sdk,
    ):
        claude = await build(base_url=url)
        for _ in range(2):
            raw.send(START, delta("Hello."), STOP, END)
            raw.end()
            assert (await ask(claude)).text == "Hello."
        raw.end()
        await sdk.messages.create(**claude.request(MEMORY, "speak"), stream=True)
    first, second, of_the_sdk = raw.headers
    assert second == first == of_the_sdk


async def test_other_headers_are_sent_along(build: Build) -> None:
    without = await build(headers={"Authorization": "Bearer"})
    assert (await ask(without)).failure == "unauthorized"
    other = await build(headers={"Authorization": "Bearer", "X-Api-Key": "other"})
    assert (await ask(other)).outcome == "ok"

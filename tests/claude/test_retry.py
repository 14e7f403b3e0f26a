"""Retries of failed calls."""

from __future__ import annotations

import asyncio

import pytest

from daemon.claude.answer_stream import StreamedAnswer
from daemon.claude.availability import BACKOFF, MOST_TRIES_OF_CALL, call_retry_pause
from daemon.claude.client import FIRST, LONGEST, ClaudeClient
from daemon.engine.exceptions import FencedError
from daemon.settings.limits import TokenUsage
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.claude.conftest import MEMORY, Build, ask, free, reserved, until
from tests.claude.hasty import HastyClock
from tests.claude.raw import Raw

PASSING = [
    (408, "timeout_error", "unreachable"),
    (429, "rate_limit_error", "rate-limited"),
    (500, "api_error", "server-error"),
    (503, "api_error", "server-error"),
    (529, "overloaded_error", "overloaded"),
]
LASTING = [
    (400, "invalid_request_error", "bad-request"),
    (401, "authentication_error", "unauthorized"),
    (402, "billing_error", "no-credit"),
    (403, "permission_error", "forbidden"),
    (404, "not_found_error", "unknown-model"),
    (413, "request_too_large", "too-long"),
]
STREAMED = [
    ("overloaded_error", "overloaded"),
    ("rate_limit_error", "rate-limited"),
    ("api_error", "server-error"),
    ("odd", "broken-stream"),
]


@pytest.mark.parametrize(("status", "kind", "word"), PASSING)
async def test_what_passes_is_tried_again(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, status: int, kind: str, word: str
) -> None:
    understudy.fail(status, kind)
    understudy.fail(status, kind)
    understudy.say("Here I am.")
    reply = await ask(claude)
    assert (reply.outcome, reply.text, reply.failure, reply.tries) == ("ok", "Here I am.", "", 3)


@pytest.mark.parametrize(("status", "kind", "word"), PASSING)
async def test_what_does_not_pass_is_given_up(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, clock: HastyClock, status: int, kind: str, word: str
) -> None:
    for _ in range(MOST_TRIES_OF_CALL):
        understudy.fail(status, kind)
    reply = await ask(claude)
    assert (reply.outcome, reply.failure, reply.tries) == ("failed", word, MOST_TRIES_OF_CALL)
    assert (reply.usage, reply.cost) == (TokenUsage(), 0)
    assert len(understudy.requests) == MOST_TRIES_OF_CALL
    assert reply.seconds == pytest.approx(sum(clock.pauses))


@pytest.mark.parametrize(("status", "kind", "word"), LASTING)
async def test_what_is_the_same_the_next_time_is_not_tried_again(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, status: int, kind: str, word: str
) -> None:
    understudy.fail(status, kind)
    reply = await ask(claude)
    assert (reply.outcome, reply.failure, reply.tries) == ("failed", word, 1)
    assert len(understudy.requests) == 1


@pytest.mark.parametrize(("kind", "word"), STREAMED)
async def test_an_error_inside_the_stream_is_a_word(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, kind: str, word: str
) -> None:
    for _ in range(MOST_TRIES_OF_CALL):
        understudy.fail(200, kind)
    reply = await ask(claude)
    assert (reply.outcome, reply.failure, reply.tries) == ("failed", word, MOST_TRIES_OF_CALL)


@pytest.mark.parametrize("hush", [False, True])
async def test_a_stream_that_breaks_before_the_first_text_is_tried_again(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, hush: bool
) -> None:
    understudy.cut(hush=hush)
    understudy.say("Once more.")
    reply = await ask(claude)
    assert (reply.outcome, reply.text, reply.tries) == ("ok", "Once more.", 2)


@pytest.mark.parametrize("hush", [False, True])
async def test_what_was_heard_is_not_said_anew(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, hush: bool
) -> None:
    understudy.cut(after="Hello, Alice, I was just", hush=hush)
    reply = await ask(claude)
    assert (reply.outcome, reply.failure, reply.tries) == ("failed", "broken-stream", 1)
    assert reply.text == "Hello, Alice, I was just"
    assert reply.usage.output == len("Hello, Alice, I was just") // 3


async def test_all_tries_are_paid_for_and_were_reserved(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    once = await ask(claude)
    understudy.cut()
    understudy.cut()
    reply = await ask(claude)
    assert reply.usage.input == 3 * once.usage.input > 0
    assert once.cost < reply.cost == reply.worth < reserved(claude, MEMORY)


async def test_nobody_listens_there(build: Build, unused_tcp_port: int) -> None:
    claude = await build(base_url=f"http://127.0.0.1:{unused_tcp_port}")
    reply = await ask(claude)
    assert (reply.outcome, reply.failure, reply.tries) == ("failed", "unreachable", MOST_TRIES_OF_CALL)


async def test_it_is_left_alone_for_as_long_as_it_asks(
    before: ClaudeClient, raw: Raw, clock: HastyClock
) -> None:
    raw.answer(b"{}", status=429, headers={"retry-after": "5"})
    raw.answer(b"{}", status=429, headers={"retry-after": "0.5"})
    raw.answer(b"{}", status=400)
    await ask(before)
    first, second = clock.pauses
    assert 5 <= first <= 5 + BACKOFF
    assert 0.5 <= second <= 0.5 + 2 * BACKOFF


@pytest.mark.parametrize("asked", ["11", "60", "4000000", "999999999", "9" * 400])
async def test_it_is_not_waited_for_longer_than_a_person_waits(
    before: ClaudeClient, raw: Raw, clock: HastyClock, asked: str
) -> None:
    raw.answer(b"{}", status=429, headers={"retry-after": asked})
    reply = await ask(before)
    assert (reply.failure, reply.tries, clock.pauses) == ("rate-limited", 1, [])


@pytest.mark.parametrize("asked", ["soon", "nan", "inf", "-1", "1e9", "", "Wed, 21 Oct 2099 07:28:00 GMT"])
async def test_a_wish_that_is_no_number_is_none(
    before: ClaudeClient, raw: Raw, clock: HastyClock, asked: str
) -> None:
    raw.answer(b"{}", status=529, headers={"retry-after": asked})
    raw.answer(b"{}", status=400)
    await ask(before)
    assert 0 <= clock.pauses[0] <= BACKOFF


def test_pauses_grow_and_no_two_callers_wait_alike() -> None:
    overloaded = StreamedAnswer(failure="overloaded")
    for tries, most in ((1, BACKOFF), (2, 2 * BACKOFF)):
        pauses = [call_retry_pause(overloaded, tries) or 0.0 for _ in range(200)]
        assert 0 <= min(pauses) < most / 4 < most * 3 / 4 < max(pauses) <= most
    assert call_retry_pause(overloaded, MOST_TRIES_OF_CALL) is None


async def test_it_holds_before_each_try(claude: ClaudeClient, understudy: ClaudeUnderstudy) -> None:
    understudy.fail(529, "overloaded_error")
    held: list[int] = []

    async def hold() -> None:
        held.append(len(understudy.requests))
        if len(held) == 2:
            raise FencedError("another attempt began")

    with pytest.raises(FencedError):
        await claude.call(claude.request(MEMORY, "speak"), None, hold, asyncio.Event())
    assert held == [0, 1]
    assert len(understudy.requests) == 1


async def test_no_try_is_begun_when_the_time_is_over(
    before: ClaudeClient, raw: Raw, clock: HastyClock
) -> None:
    call = asyncio.create_task(before.call(before.request(MEMORY, "speak"), None, free, asyncio.Event()))
    await until(lambda: raw.asked == 1)
    await clock.advance(FIRST)
    await until(lambda: raw.asked == 2)
    await clock.advance(FIRST)
    reply = await call
    assert (reply.outcome, raw.asked, reply.tries) == ("failed", 2, 2)
    assert reply.seconds <= LONGEST

"""Limits of time and size for streams."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from daemon.claude.answer_stream import MOST_BYTES
from daemon.claude.client import FIRST, FIRST_UNLISTED, LONGEST, STALL, ClaudeClient
from daemon.claude.deadlines import StreamDeadline, StreamTimeout
from daemon.claude.model_apis import ChatCompletions
from daemon.memory import Memory
from daemon.model import ModelReply
from daemon.settings.limits import WITHOUT_EVENT, StreamLimits
from tests.attention import rest, until
from tests.backends.llama_server import COMMENT, COMMENT_EACH, llama_server
from tests.claude.conftest import KEY, MEMORY, ask
from tests.claude.raw import END, PING, START, STOP, Raw, delta, frame, serving
from tests.clock import FakeClock

LISTED, LOCAL = "claude-sonnet-5-5", "qwen3:8b"


@asynccontextmanager
async def client(url: str, clock: FakeClock, model: str, **how: Any) -> AsyncIterator[ClaudeClient]:
    models = {"speak": model, "fast": model}
    async with ClaudeClient(api_key=KEY, models=models, clock=clock, base_url=url, **how) as claude:  # type: ignore[arg-type]
        yield claude


async def passing(
    clock: FakeClock, call: asyncio.Task[ModelReply], seconds: float, step: float = 1.0
) -> None:
    """Advance time in steps, each after the arrival of sent bytes; stop early when the call ends."""
    end = clock.steady() + seconds
    while clock.steady() < end and not call.done():
        await rest()
        await clock.advance(min(step, end - clock.steady()))
    await rest()


class Sender:
    def __init__(self, raw: Raw, clock: FakeClock, claude: ClaudeClient) -> None:
        self.raw, self.clock = raw, clock
        self.heard: list[str] = []
        self.call: asyncio.Task[ModelReply] = asyncio.create_task(ask(claude, hear=self._hear))

    async def _hear(self, text: str) -> None:
        self.heard.append(text)

    async def send(self, sent: bytes, every: float = 0.0, times: int = 1) -> None:
        """Send these bytes repeatedly, at this interval, while the call lasts."""
        for _ in range(times):
            await self.pass_(every)
            if not self.call.done():
                self.raw.put(sent)
                await rest()

    async def pass_(self, seconds: float) -> None:
        await passing(self.clock, self.call, seconds, step=max(seconds, 1.0))


@asynccontextmanager
async def sending(model: str, **how: Any) -> AsyncIterator[Sender]:
    """Yield a call whose request has arrived."""
    raw, clock = Raw(), FakeClock()
    async with serving(raw) as url, client(url, clock, model, **how) as claude:
        sender = Sender(raw, clock, claude)
        await until(lambda: raw.asked)
        yield sender
        sender.call.cancel()
        await asyncio.gather(sender.call, return_exceptions=True)


async def test_a_local_model_that_reads_a_long_prompt_with_comments_is_waited_for() -> None:
    clock = FakeClock()
    async with llama_server(clock) as (server, url), client(url, clock, LOCAL) as claude:
        server.say("It is late.", prefill=FIRST_UNLISTED - 10, token=STALL - 1)
        call = asyncio.create_task(ask(claude))
        await until(lambda: server.order)
        await passing(clock, call, 4_000, step=10)
        reply = await call
    assert (reply.outcome, reply.text, reply.tries, server.closed) == ("ok", "It is late.", 1, 0)


async def test_a_comment_in_the_middle_of_an_answer_is_a_sign_of_life() -> None:
    async with sending(LISTED) as it:
        await it.send(frame(START) + frame(delta("One moment")))
        await it.send(COMMENT, every=STALL - 1, times=5)
        it.raw.send(delta(" more."), STOP, END)
        it.raw.end()
        reply = await it.call
    assert (reply.outcome, reply.text, reply.tries) == ("ok", "One moment more.", 1)


@pytest.mark.parametrize(
    "sign", [b":", b"\n", b": keep-alive\n\n", b"event: ping\n", b"da", b"retry: 3000\n\n"]
)
async def test_any_byte_is_a_sign_of_life(sign: bytes) -> None:
    async with sending(LISTED) as it:
        await it.send(frame(START) + frame(delta("Here")))
        await it.send(sign, every=STALL - 1, times=3)
        assert not it.call.done()


@pytest.mark.parametrize(("model", "first"), [(LISTED, FIRST), (LOCAL, FIRST_UNLISTED)])
@pytest.mark.parametrize("sign", [COMMENT, frame(PING), b"retry: 1\n\n", b""])
async def test_without_a_first_event_a_call_ends_whatever_else_comes(
    model: str, first: float, sign: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with sending(model) as it:
        await it.send(sign, every=COMMENT_EACH, times=int(first // COMMENT_EACH) - 1)
        assert "did not answer" not in caplog.text
        await it.send(sign, every=COMMENT_EACH, times=2)
    assert f"broken-stream (no first event within {first:g} s, MODEL_FIRST_TOKEN)" in caplog.text


@pytest.mark.parametrize("sign", [COMMENT, frame(PING), b": x\n" * 20_000, b"id: 7\n\nevent: odd\n\n"])
async def test_comments_without_end_end_an_answer_that_has_begun(
    sign: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with sending(LOCAL) as it:
        await it.send(frame(START) + frame(delta("I was")))
        await it.send(sign, every=50, times=int(WITHOUT_EVENT // 50) - 1)
        assert not it.call.done()
        await it.send(sign, every=50, times=2)
        reply = await it.call
    assert (reply.outcome, reply.failure, reply.text) == ("failed", "broken-stream", "I was")
    assert "(no event for 600 s, though the connection lives)" in caplog.text
    assert reply.cause == "no event for 600 s, though the connection lives"


async def test_a_stream_that_has_begun_and_sends_no_byte_is_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with sending(LOCAL, limits=StreamLimits(stall=10)) as it:
        await it.send(frame(START) + frame(delta("I was")))
        await it.send(frame(delta(" just")), every=9)
        await it.pass_(9)
        assert not it.call.done()
        await it.pass_(1)
        reply = await it.call
    assert (reply.outcome, reply.text) == ("failed", "I was just")
    assert "broken-stream (no byte for 10 s, MODEL_STALL)" in caplog.text


@pytest.mark.parametrize("model", [LISTED, LOCAL])
async def test_the_owner_says_how_long_the_first_event_is_waited_for(
    model: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with sending(model, limits=StreamLimits(first_event=1_200)) as it:
        await it.pass_(1_199)
        assert not it.call.done()
        await it.pass_(1)
        reply = await it.call
    assert (reply.failure, reply.tries) == ("broken-stream", 1)
    assert "no first event within 1200 s" in caplog.text


async def test_a_slow_model_that_lives_is_not_broken_off_after_ten_minutes() -> None:
    words = [f"word{number} " for number in range(40)]
    async with sending(LOCAL) as it:
        await it.send(frame(START))
        for word in words:
            await it.send(frame(delta(word)), every=50)
        it.raw.send(STOP, END)
        it.raw.end()
        reply = await it.call
    assert reply.seconds > 3 * LONGEST
    assert (reply.outcome, reply.text, reply.tries) == ("ok", "".join(words), 1)


async def test_an_answer_without_end_ends_in_the_time_that_its_tokens_may_take(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with sending(LOCAL) as it:
        await it.send(frame(START))
        await it.send(frame(delta("no ")), every=59, times=400)
        reply = await it.call
    assert (reply.outcome, reply.failure, reply.tries) == ("failed", "broken-stream", 1)
    assert f"not whole after {reply.seconds:g} s" in caplog.text


LINES: dict[str, Callable[[int], bytes]] = {
    "data": lambda size: b"x" * size,
    "a comment": lambda size: b": " + b"x" * size,
    "many lines": lambda size: b"\ndata: xxxxxxxx" * (size // 8),
}


@pytest.mark.parametrize("line", LINES)
async def test_an_endless_line_is_given_up_in_bounded_memory(
    line: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with sending(LISTED) as it:
        await it.send(frame(START) + frame(delta("Hm")) + b"data: ")
        for _ in range(MOST_BYTES // 60_000 + 2):
            await it.send(LINES[line](60_000))
        reply = await it.call
    assert (reply.outcome, reply.failure, reply.text) == ("failed", "broken-stream", "Hm")
    assert f"an event has more than {MOST_BYTES:,} bytes" in caplog.text


async def test_a_long_answer_in_small_or_odd_pieces_is_no_endless_line() -> None:
    piece = {**delta("y" * 50), "obfuscation": "x" * 1_000}  # some servers pad events
    whole = b"".join([frame(START), *[frame(piece) for _ in range(1_200)], frame(STOP), frame(END)])
    assert len(whole) > MOST_BYTES
    for end in (b"\n", b"\r\n"):
        sent = whole.replace(b"\n", end)
        async with sending(LISTED) as it:
            for start in range(0, len(sent), 100_001):
                await it.send(sent[start : start + 100_001])
            it.raw.end()
            reply = await it.call
        assert (reply.outcome, len(reply.text)) == ("ok", 60_000)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 7])
async def test_lines_are_read_wherever_the_network_cuts_them(end: bytes, size: int) -> None:
    whole = b"".join(map(frame, (START, PING, delta("Grüß "), delta("dich."), STOP, END)))
    sent = (b": hello\n\n" + whole).replace(b"\n", end)
    async with sending(LISTED) as it:
        for start in range(0, len(sent), size):
            it.raw.put(sent[start : start + size])
        it.raw.end()
        reply = await it.call
    assert (reply.outcome, reply.text, it.heard) == ("ok", "Grüß dich.", ["Grüß ", "dich."])


async def test_an_event_of_several_lines_is_one(before: ClaudeClient, raw: Raw) -> None:
    call = asyncio.create_task(ask(before))
    raw.put(b'event: message_start\n\ndata: {\ndata:  "type": "content_block_delta",\n')
    raw.put(b'data: "delta": {"type": "text_delta", "text": "Yes."}}\nother: x\nodd\n\n')
    raw.send(STOP, END)
    raw.end()
    assert (await call).text == "Yes."


async def test_of_two_answers_in_a_stream_the_first_one_counts() -> None:
    async with sending(LISTED) as it:
        first = b"".join(map(frame, (START, delta("One."), STOP, END)))
        second = b"".join(map(frame, (START, delta(" Two."), STOP, END)))
        it.raw.put(first + second)
        it.raw.end()
        reply = await it.call
    assert (reply.outcome, reply.text, reply.usage.output, it.heard) == ("ok", "One.", 9, ["One."])


async def test_an_answer_whose_stream_stays_open_after_its_end_is_whole_at_once() -> None:
    async with sending(LISTED) as it:
        it.raw.send(START, delta("All of it."), STOP, END)
        reply = await it.call
        assert it.clock.steady() == FakeClock().steady()
    assert (reply.outcome, reply.text) == ("ok", "All of it.")


async def test_an_answer_without_a_last_event_is_whole_where_its_reason_came() -> None:
    async with sending(LISTED) as it:
        await it.send(frame(START) + frame(delta("All of it.")) + frame(STOP))
        await it.pass_(STALL)
        reply = await it.call
    assert (reply.outcome, reply.text) == ("ok", "All of it.")


@pytest.mark.parametrize("is_chat", [False, True])
@pytest.mark.parametrize(("status", "word"), [(400, "bad-request"), (500, "server-error")])
async def test_a_refusal_without_end_is_read_no_further_than_it_is_looked_at(
    status: int, word: str, is_chat: bool
) -> None:
    raw = Raw()
    raw.refusal = status
    async with serving(raw) as url:
        api = ChatCompletions(base_url=url, api_key=KEY) if is_chat else None
        async with client(url, FakeClock(), LISTED, api=api) as claude:
            call = asyncio.create_task(ask(claude))
            await until(lambda: claude.availability.errors or call.done())
            assert dict(claude.availability.errors) == {word: 1}
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)


async def test_a_prompt_beyond_the_window_of_llama_server_is_too_long() -> None:
    clock = FakeClock()
    long = MEMORY.with_memory(Memory(role="user", content="word " * 8_000))
    async with llama_server(clock, window=4_000) as (_, url), client(url, clock, LOCAL) as claude:
        reply = await ask(claude, long)
        assert (reply.failure, claude.window("speak")) == ("too-long", 4_000)
        assert await claude.look_up(LOCAL) == "unknown-model"


async def test_the_limit_is_told_as_it_is_set_also_where_the_request_was_sent_later() -> None:
    clock = FakeClock()

    async def wait() -> None:
        async with StreamDeadline(clock, math.inf, asyncio.Event()) as patience:
            await clock.sleep(0.5)
            patience.begin_request(120)
            await asyncio.Event().wait()

    waiting = asyncio.create_task(wait())
    await clock.advance(0.5)
    await clock.advance(120)
    with pytest.raises(StreamTimeout, match="no first event within 120 s, MODEL_FIRST_TOKEN"):
        await waiting

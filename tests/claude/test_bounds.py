"""Stop sequences and limits of answers, enforced by the client."""

from __future__ import annotations

import asyncio
import logging

import pytest

from daemon.claude.client import ClaudeClient
from daemon.claude.models import LISTED_MODELS, THINKING
from daemon.model import Hear, ModelReply
from daemon.turn.model_calls import ANSWER_LIMITS, SPOKEN, max_answer_tokens
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.attention import PATIENCE
from tests.claude.conftest import MEMORY, Build, free, until
from tests.claude.raw import END, START, STOP, Raw, delta, frame, serving
from tests.claude.wire import listening

LOCAL = "qwen3:8b"
MARK = "</learned>"
ANSWER = f"<say>Hi.</say><learned>no{MARK}"


async def bounded(
    claude: ClaudeClient, most: int | None = None, hear: Hear | None = None, *stops: str, role: str = "speak"
) -> ModelReply:
    asked = claude.request(MEMORY, role, max_tokens=most, stop_sequences=stops)
    async with asyncio.timeout(PATIENCE):
        return await claude.call(asked, hear, free, asyncio.Event())


async def test_an_answer_has_the_mark_at_which_the_server_ended_it(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    understudy.say(f"{ANSWER} And so on.")
    reply = await bounded(claude, None, None, MARK)
    assert (reply.outcome, reply.stop_reason, reply.text) == ("ok", "stop_sequence", ANSWER)
    assert understudy.requests[-1]["stop_sequences"] == [MARK]
    assert not understudy.closed


async def test_the_mark_is_there_where_a_server_ends_at_it_without_a_word(
    before: ClaudeClient, raw: Raw
) -> None:
    raw.send(START, delta("<say>Hi.</say><learned>no"), STOP, END)
    raw.end()
    reply = await bounded(before, None, None, MARK)
    assert (reply.stop_reason, reply.text) == ("end_turn", ANSWER)


async def test_no_mark_is_added_where_its_section_was_not_begun(before: ClaudeClient, raw: Raw) -> None:
    raw.send(START, delta("<say>Hi.</say>"), STOP, END)
    raw.end()
    assert (await bounded(before, None, None, MARK)).text == "<say>Hi.</say>"


@pytest.mark.parametrize("chunk", [1, 4, 1_000])
async def test_the_client_ends_an_answer_at_a_mark_that_the_server_ignores(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, chunk: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    understudy.faults.switch("unbounded")
    understudy.say(f"{ANSWER}<aside>Once more.</aside>{ANSWER * 50}", chunk=chunk)
    heard: list[str] = []

    async def hear(text: str) -> None:
        heard.append(text)

    reply = await bounded(claude, None, hear, MARK)
    assert (reply.outcome, reply.stop_reason, reply.text) == ("ok", "stop_sequence", ANSWER)
    assert "".join(heard) == ANSWER
    assert reply.usage.output == len(ANSWER) // 3, "as for a call that was stopped"
    assert reply.usage.input > 0
    [odd] = claude.availability.oddities
    assert (odd.what, odd.count) == ("endless", 1)
    assert "goes on after the end that it is asked for" in caplog.text


async def test_the_connection_is_closed_when_no_more_is_wanted(build: Build) -> None:
    async with listening() as wire:
        claude = await build(base_url=wire.url)

        async def hear(text: str) -> bool:
            return text == "enough"

        call = asyncio.create_task(bounded(claude, None, hear))
        await until(lambda: wire.asked == 1)
        wire.send(START, delta("That is "), delta("enough"), delta("and more"))
        reply = await call
        await wire.gone
    assert (reply.outcome, reply.stop_reason, reply.text) == ("ok", "stop_sequence", "That is enough")
    assert reply.usage.output == len("That is enough") // 3
    assert not claude.availability.oddities, "the server did nothing wrong"


@pytest.mark.parametrize("model", [LOCAL, "claude-sonnet-5-5"])
async def test_the_client_ends_an_answer_that_is_longer_than_it_may_be(
    build: Build, understudy: ClaudeUnderstudy, model: str
) -> None:
    claude = await build(models={"speak": model})
    understudy.faults.switch("unbounded")
    understudy.say("".join(f"line {number}\n" for number in range(5_000)))
    reply = await bounded(claude, 100)
    assert (reply.outcome, reply.stop_reason) == ("cut", "max_tokens")
    assert 100 * 4 < len(reply.text) < 100 * 9
    [odd] = claude.availability.oddities
    assert (odd.model, odd.what) == (model, "too-long")


async def test_thoughts_without_end_are_ended(raw: Raw, before: ClaudeClient) -> None:
    thought = {"type": "thinking_delta", "thinking": "Hm, let me see once more. " * 40}
    raw.send(START, *[{"type": "content_block_delta", "index": 0, "delta": thought}] * 10)
    reply = await bounded(before, 100)
    assert (reply.outcome, reply.text) == ("cut", "")


@pytest.mark.parametrize("piece", ["yes ", "They are not being spoken to.\n", "ha", "\n"])
async def test_a_model_that_goes_in_circles_is_ended(
    build: Build, understudy: ClaudeUnderstudy, piece: str
) -> None:
    claude = await build(models={"speak": LOCAL})
    understudy.say(f"<say>{piece * 4_000}", chunk=7)
    reply = await bounded(claude)
    assert (reply.outcome, reply.stop_reason) == ("cut", "repetition")
    assert len(reply.text) < 1_500
    assert [odd.what for odd in claude.availability.oddities] == ["repeating"]


async def test_a_listed_model_may_write_the_same_as_often_as_it_was_asked_to(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    text = "All work and no play makes Jack a dull boy.\n" * 100
    understudy.say(text)
    reply = await bounded(claude)
    assert (reply.outcome, reply.text) == ("ok", text)


async def test_a_list_that_repeats_its_form_is_not_ended(build: Build, understudy: ClaudeUnderstudy) -> None:
    text = "".join(f"| {number} | ok |\n" for number in range(300))
    understudy.say(text)
    assert (await bounded(await build(models={"speak": LOCAL}))).text == text


async def test_a_local_model_that_thinks_is_given_room_for_that(
    build: Build, understudy: ClaudeUnderstudy
) -> None:
    claude = await build(models={"speak": LOCAL})
    understudy.say("<think>Hm.</think>true")
    await bounded(claude, 200, None, MARK)
    assert understudy.requests[-1]["max_tokens"] == 200
    understudy.say("<think>Hm.</think>true")
    await bounded(claude, 200, None, MARK)
    assert understudy.requests[-1]["max_tokens"] == 200 + THINKING
    assert "stop_sequences" not in understudy.requests[-1], "it may write the mark in its thoughts"


async def test_one_that_was_cut_while_it_thought_is_asked_again_at_once(build: Build, raw: Raw) -> None:
    hm = {"type": "thinking_delta", "thinking": "Hm"}
    thought = {"type": "content_block_delta", "index": 0, "delta": hm}
    cut = {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}}
    stream = {"content-type": "text/event-stream"}
    raw.answer(b"".join(map(frame, [START, thought, cut, END])), headers=stream)
    raw.answer(b"".join(map(frame, [START, thought, delta("true"), STOP, END])), headers=stream)
    async with serving(raw) as url:
        reply = await bounded(await build(models={"speak": LOCAL}, base_url=url), 200)
    assert (reply.outcome, reply.text, reply.tries) == ("ok", "true", 2)


async def test_the_thoughts_of_a_listed_model_have_room_of_their_own(claude: ClaudeClient) -> None:
    for known in LISTED_MODELS:
        asked = claude.request(MEMORY, known.id, max_tokens=max_answer_tokens("judge"))
        assert asked["max_tokens"] == 200 + known.thoughts


async def test_what_is_hashed_of_a_request_has_no_bounds(claude: ClaudeClient) -> None:
    plain = claude.request(MEMORY, "speak")
    assert claude.bounded_request(plain, None, ()) == plain
    assert plain["max_tokens"] == SPOKEN
    assert "stop_sequences" not in plain


def test_a_kind_of_call_that_nobody_reads_is_shorter_than_what_people_read() -> None:
    people_read = {"pipeline", "plainly", "deliberate"}
    assert all(ANSWER_LIMITS[name] == SPOKEN for name in people_read)
    told = {"learn": 400, "think": 600, "internal_monologue": 600, "judge": 200, "choose": 800}
    assert {name: max_answer_tokens(name) for name in told} == told
    assert max_answer_tokens("a call of an owner's process") is None


@pytest.mark.parametrize("model", [LOCAL, "claude-sonnet-5-5"])
async def test_only_a_model_that_is_not_listed_is_asked_for_the_likeliest_words(
    build: Build, understudy: ClaudeUnderstudy, model: str
) -> None:
    claude = await build(models={"speak": model})
    asked = claude.bounded_request(claude.request(MEMORY, "speak"), None, (), likeliest=True)
    assert asked.get("temperature") == (0 if model == LOCAL else None)


async def test_a_temperature_that_the_server_refuses_is_left_out(
    build: Build, understudy: ClaudeUnderstudy
) -> None:
    claude = await build(models={"speak": LOCAL})
    asked = claude.bounded_request(claude.request(MEMORY, "speak"), None, (), likeliest=True)
    understudy.say("Hello.")
    reply = await claude.call(asked, None, free, asyncio.Event())
    assert (reply.outcome, reply.text, reply.tries) == ("ok", "Hello.", 2)
    assert ["temperature" in request for request in understudy.requests] == [True, False]

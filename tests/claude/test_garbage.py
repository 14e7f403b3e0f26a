"""Malformed replies of gateways and local servers."""

from __future__ import annotations

import json

import pytest

from daemon.claude.client import ClaudeClient
from daemon.settings.limits import TokenUsage
from tests.claude.conftest import KEY, ask
from tests.claude.raw import END, PING, START, STOP, Raw, delta, frame

PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
WHOLE = json.dumps({"type": "message", "content": [{"type": "text", "text": "Hi."}]}).encode()
NO_STREAM = {
    "a page": PAGE,
    "nothing": b"",
    "one message": WHOLE,
    "no events": b"data\n\ndata\n\n",
    "no JSON": frame(START) + b"event: content_block_delta\ndata: {oops\n\n" + frame(STOP),
    "no UTF-8": b"event: message_start\ndata: \xff\xfe\n\n",
    "its end alone": frame(END),
    "no stop": frame(START) + frame(END),
}
NOISE = [
    *(None, 5, "text", [1, 2], {}, {"type": None}, {"type": "unheard_of", "x": 1}, PING),
    *({"type": "message_start"}, {"type": "message_start", "message": None}),
    *({"type": "message_start", "message": {"usage": {"input_tokens": "many", "output_tokens": None}}},),
    *(delta(None), delta(5), {"type": "content_block_delta"}, {"type": "content_block_delta", "delta": []}),
    *({"type": "message_delta", "delta": None}, {"type": "message_delta", "delta": {"stop_reason": None}}),
    *({"type": "error"}, {"type": "error", "error": "?"}),
]


@pytest.mark.parametrize("body", NO_STREAM.values(), ids=NO_STREAM.keys())
async def test_what_is_no_answer_is_a_broken_stream(before: ClaudeClient, raw: Raw, body: bytes) -> None:
    for _ in range(3):
        raw.answer(body)
    reply = await ask(before)
    assert (reply.outcome, reply.failure, reply.text, reply.tries) == ("failed", "broken-stream", "", 3)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 520])
async def test_a_gateway_that_answers_with_a_page_is_a_server_error(
    before: ClaudeClient, raw: Raw, status: int
) -> None:
    for _ in range(3):
        raw.answer(PAGE, status=status)
    reply = await ask(before)
    assert (reply.failure, reply.tries) == ("server-error", 3)


@pytest.mark.parametrize("said", [5, True, ["a", 1], {"detail": "no"}, None], ids=json.dumps)
@pytest.mark.parametrize(("status", "word"), [(400, "bad-request"), (401, "unauthorized"), (413, "too-long")])
async def test_a_refusal_in_other_than_words_is_one(
    before: ClaudeClient, raw: Raw, status: int, word: str, said: object
) -> None:
    raw.answer(json.dumps({"error": {"type": "odd", "message": said}}).encode(), status=status)
    reply = await ask(before)
    assert (reply.outcome, reply.failure, reply.tries) == ("failed", word, 1)


async def test_more_tokens_than_there_are_count_for_nothing(before: ClaudeClient, raw: Raw) -> None:
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 10**400}}}
    raw.answer(b"".join(map(frame, (start, delta("Hello."), STOP))))
    reply = await ask(before)
    assert (reply.outcome, reply.usage) == ("ok", TokenUsage(output=9))


@pytest.mark.parametrize("noise", NOISE, ids=json.dumps)
async def test_noise_between_the_events_is_passed_over(before: ClaudeClient, raw: Raw, noise: object) -> None:
    events = (START, noise, delta("Hel"), noise, delta("lo."), noise, STOP, END)
    raw.answer(b": a comment\n\n".join(map(frame, events)))
    reply = await ask(before)
    assert (reply.outcome, reply.text, reply.tries) == ("ok", "Hello.", 1)
    assert reply.usage == TokenUsage(input=100, output=9)


async def test_what_breaks_after_the_answer_ended_breaks_nothing(before: ClaudeClient, raw: Raw) -> None:
    raw.answer(b"".join(map(frame, (START, delta("Whole."), STOP))) + b"data: [DONE]\n\n")
    reply = await ask(before)
    assert (reply.outcome, reply.text) == ("ok", "Whole.")


@pytest.mark.parametrize(
    "events",
    [
        (
            delta("lo."),
            {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 9}},
        ),
        (delta("lo."),),
    ],
    ids=["stop reason null", "no message_delta"],
)
async def test_a_stream_that_ends_without_a_reason_is_complete(
    before: ClaudeClient, raw: Raw, events: tuple[object, ...]
) -> None:
    raw.answer(b"".join(map(frame, (START, delta("Hel"), *events, END))))
    reply = await ask(before)
    assert (reply.outcome, reply.text, reply.tries, reply.stop_reason) == ("ok", "Hello.", 1, None)


async def test_text_in_the_start_of_a_block_belongs_to_the_answer(before: ClaudeClient, raw: Raw) -> None:
    thought = {"type": "thinking", "thinking": "hidden"}
    blocks = (
        {"type": "content_block_start", "index": 0, "content_block": thought},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Hel"}},
    )
    raw.answer(b"".join(map(frame, (START, *blocks, delta("lo."), STOP, END))))
    heard: list[str] = []

    async def hear(text: str) -> None:
        heard.append(text)

    reply = await ask(before, hear=hear)
    assert (reply.outcome, reply.text, "".join(heard)) == ("ok", "Hello.", "Hello.")


async def test_an_answer_that_ends_with_pause_turn_is_unfinished(before: ClaudeClient, raw: Raw) -> None:
    paused = {"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}
    raw.answer(b"".join(map(frame, (START, delta("Half"), paused, END))))
    reply = await ask(before)
    assert (reply.outcome, reply.text, reply.stop_reason) == ("cut", "Half", "pause_turn")


async def test_no_key_reaches_the_log(
    before: ClaudeClient, raw: Raw, caplog: pytest.LogCaptureFixture
) -> None:
    said = {"type": "error", "error": {"type": "authentication_error", "message": f"Wrong key: {KEY}"}}
    raw.answer(json.dumps(said).encode(), status=401)
    await ask(before)
    raw.answer(frame(START) + frame(delta("Hm")) + frame(said))
    await ask(before)
    assert caplog.text.count("Wrong key: …") == 1, "a fault of the account is told once"
    assert KEY not in caplog.text

"""Speech despite refusals, timeouts and lost responses; no duplicates."""

from __future__ import annotations

import asyncio

import pytest

from daemon.engine.event import digest
from daemon.errors import PostFailed
from daemon.slack.speaker import ENOUGH
from daemon.slack.web_api import LONGEST_WAIT
from tests.attention import PATIENCE, until
from tests.slack.office import GENERAL, Office
from tests.slack.voice import KEY, called, ours, texts, times

OPEN = ("internal_error", "fatal_error", "request_timeout", "service_unavailable", "a_word_of_tomorrow")


async def test_where_nothing_may_be_said_or_it_is_left_open_no_post_is_tried(here: Office) -> None:
    thread, _ = await called(here)
    for word in ("is_archived", *OPEN):
        here.wire.refuse["chat.startStream"] = [word]
        here.wire.calls.clear()
        with pytest.raises(PostFailed, match=word):
            await here.slack.speaker.start(thread, "Hi", KEY, ours)
        assert here.wire.spoken == ["chat.startStream"], word


async def test_a_stream_whose_beginning_a_gateway_hid_stands_alone(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    here.wire.garbled.add("chat.startStream")
    with pytest.raises(PostFailed):
        await speaker.start(thread, "Hi", KEY, ours)
    assert await texts(here, root) == ["Hi"]
    (left,) = await speaker.own_messages(thread, 0)
    assert await speaker.finish(thread, left.ts, "Hi, Alice", KEY, ours) == left.ts
    assert await texts(here, root) == ["Hi, Alice"]


async def test_a_silent_slack_does_not_hold_up_the_end(here: Office) -> None:
    speaker = here.slack.speaker
    here.wire.held["chat.appendStream"] = asyncio.Event()
    roots = [await called(here) for _ in range(2)]
    for thread, _ in roots:
        ts = await speaker.start(thread, "Good", KEY, ours)
        await speaker.extend(thread, ts, "Good morning" + "x" * ENOUGH, ours)
    await times(here, "chat.appendStream", 2)
    async with asyncio.timeout(PATIENCE):
        await speaker.close()
    assert [await texts(here, root) for _, root in roots] == [["Good"], ["Good"]]


async def test_a_stop_that_is_refused_ends_in_a_rewriting(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    here.wire.refuse["chat.stopStream"] = ["msg_too_long"]
    await speaker.finish(thread, ts, "Good morning", KEY, ours)
    assert await texts(here, root) == ["Good morning"]
    assert [one.key for one in await speaker.own_messages(thread, 0)] == [digest(KEY)]


async def test_a_post_whose_answer_was_lost_is_not_repeated(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    here.wire.cut.add("chat.postMessage")
    with pytest.raises(PostFailed):
        await speaker.finish(thread, None, "Hello", KEY, ours)
    assert await texts(here, root) == ["Hello"]
    assert [one.key for one in await speaker.own_messages(thread, 0)] == [digest(KEY)]


async def test_a_message_that_was_deleted_meanwhile_is_not_said_again(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    here.wire.lacking.add("chat.startStream")
    ts = await speaker.start(thread, "Good", KEY, ours)
    await here.client("xoxb-rehearsal").chat_delete(channel=GENERAL, ts=ts)
    assert await speaker.finish(thread, ts, "Good morning", KEY, ours) == ts
    assert await texts(here, root) == []


async def test_a_rate_limit_that_lasts_is_not_waited_for(here: Office) -> None:
    thread, _ = await called(here)
    for after in ("9" * 5_000, "31", "Thu, 01 Jan 2099 00:00:00 GMT"):
        here.wire.refuse["chat.postMessage"] = [f"ratelimited{after}"]
        with pytest.raises(PostFailed, match="ratelimited"):
            await here.slack.speaker.finish(thread, None, "Hi", KEY, ours)


@pytest.mark.parametrize("word", ["ratelimited", "429"])
async def test_a_rate_limit_is_waited_out_and_hold_is_asked_again(here: Office, word: str) -> None:
    (thread, root), asked = await called(here), list[float]()
    here.wire.refuse["chat.postMessage"] = [word]

    async def hold() -> None:
        asked.append(here.clock.now())

    async with asyncio.TaskGroup() as group:
        group.create_task(here.slack.speaker.finish(thread, None, "Hello", KEY, hold))
        await until(lambda: here.clock.sleepers > 0)
        await here.clock.advance(3)
    assert await texts(here, root) == ["Hello"]
    assert asked == [asked[0], asked[0] + 3]


@pytest.mark.parametrize("answers", ["garbled", "proxied", "cut"])
async def test_whatever_hides_the_answer_to_a_stop_the_message_is_set_right(
    here: Office, answers: str
) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    getattr(here.wire, answers).add("chat.stopStream")
    await speaker.finish(thread, ts, "Good morning", KEY, ours)
    assert await texts(here, root) == ["Good morning"]


@pytest.mark.parametrize("answers", ["garbled", "proxied", "cut"])
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.startStream", "chat.update"])
async def test_a_hidden_answer_leaves_it_open_whether_it_was_done(
    here: Office, method: str, answers: str
) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    getattr(here.wire, answers).add(method)
    if method == "chat.startStream":
        doubtful = speaker.start(thread, "Hello", KEY, ours)
    else:
        standing = await speaker.start(thread, "He", KEY, ours) if method == "chat.update" else None
        here.wire.lacking.add("chat.stopStream")
        doubtful = speaker.finish(thread, standing, "Hello", KEY, ours)
    with pytest.raises(PostFailed):
        await doubtful
    here.wire.lacking.clear()
    getattr(here.wire, answers).clear()
    (found,) = await speaker.own_messages(thread, 0)
    assert await speaker.finish(thread, found.ts, "Hello", KEY, ours) == found.ts
    assert await texts(here, root) == ["Hello"]


async def test_a_stop_for_which_slack_has_no_time_is_a_failure_and_tried_again(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    here.wire.refuse["chat.stopStream"] = ["ratelimited"] * 100
    stopping = asyncio.create_task(speaker.finish(thread, ts, "Good morning", KEY, ours))
    for _ in range(LONGEST_WAIT // 3):
        await until(lambda: here.clock.sleepers > 0)
        await here.clock.advance(3)
    with pytest.raises(PostFailed, match="ratelimited"):
        await asyncio.wait_for(stopping, PATIENCE)
    assert here.wire.told("chat.update") == []
    here.wire.refuse.clear()
    await speaker.finish(thread, ts, "Good morning", KEY, ours)
    assert await texts(here, root) == ["Good morning"]


async def test_a_rate_limit_that_does_not_end_is_a_failure(here: Office) -> None:
    thread, _ = await called(here)
    here.wire.refuse["chat.postMessage"] = ["ratelimited"] * 100
    saying = asyncio.create_task(here.slack.speaker.finish(thread, None, "Hello", KEY, ours))
    for _ in range(LONGEST_WAIT // 3):
        await until(lambda: here.clock.sleepers > 0)
        await here.clock.advance(3)
    with pytest.raises(PostFailed, match="ratelimited"):
        await asyncio.wait_for(saying, PATIENCE)

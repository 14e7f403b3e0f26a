"""Streamed messages."""

from __future__ import annotations

import pytest

from daemon.engine.event import digest
from daemon.engine.exceptions import FencedError
from daemon.kinds import ConversationOpened
from daemon.slack.speaker import ENOUGH, PACE
from tests.slack.office import Office, until
from tests.slack.voice import KEY, called, lost, ours, pace, texts, times

STREAMED = ["chat.startStream", "chat.appendStream", "chat.stopStream"]


async def test_a_stream_grows_by_time_and_ends_with_its_key(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    await speaker.extend(thread, ts, "Good morn", ours)
    await speaker.extend(thread, ts, "Good morning", ours)
    assert await texts(here, root) == ["Good"]
    await pace(here)
    await times(here, "chat.appendStream", 1)
    assert await texts(here, root) == ["Good morning"]
    assert await speaker.finish(thread, ts, "Good morning, Alice", KEY, ours) == ts
    assert await texts(here, root) == ["Good morning, Alice"]
    assert here.wire.spoken == STREAMED
    (posted,) = await speaker.own_messages(thread, 0)
    assert (posted.ts, posted.text, posted.key) == (ts, "Good morning, Alice", digest(KEY))


async def test_a_stream_grows_by_size_without_waiting(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "x", KEY, ours)
    await speaker.extend(thread, ts, "x" * ENOUGH, ours)
    await until(lambda: here.clock.sleepers > 0)
    assert here.wire.told("chat.appendStream") == []
    await speaker.extend(thread, ts, "x" * (ENOUGH + 1), ours)
    await times(here, "chat.appendStream", 1)
    await speaker.finish(thread, ts, "x" * (ENOUGH + 1), KEY, ours)
    assert await texts(here, root) == ["x" * (ENOUGH + 1)]


async def test_a_short_answer_is_one_start_and_one_stop(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Hi", KEY, ours)
    await speaker.finish(thread, ts, "Hi.", KEY, ours)
    assert await texts(here, root) == ["Hi."]
    assert here.wire.spoken == ["chat.startStream", "chat.stopStream"]


async def test_where_streaming_is_refused_a_post_is_rewritten(here: Office) -> None:
    here.wire.lacking.add("chat.startStream")
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    assert [one.key for one in await speaker.own_messages(thread, 0)] == [digest(KEY)]
    await speaker.extend(thread, ts, "Good morning", ours)
    await pace(here)
    await times(here, "chat.update", 1)
    assert await texts(here, root) == ["Good morning"]
    await speaker.finish(thread, ts, "Good morning, Alice", KEY, ours)
    assert await texts(here, root) == ["Good morning, Alice"]
    assert here.wire.spoken == ["chat.startStream", "chat.postMessage", "chat.update", "chat.update"]


async def test_a_stream_that_slack_ends_is_rewritten_whole(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    here.wire.refuse["chat.appendStream"] = ["message_not_in_streaming_state"]
    await speaker.extend(thread, ts, "Good morning", ours)
    await pace(here)
    await times(here, "chat.appendStream", 1)
    await speaker.extend(thread, ts, "Good morning, " + "x" * ENOUGH, ours)
    await speaker.finish(thread, ts, "Good morning, Alice", KEY, ours)
    assert await texts(here, root) == ["Good morning, Alice"]
    assert here.wire.spoken == [*STREAMED, "chat.update"]


async def test_a_rate_limited_stream_waits_and_catches_up(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    here.wire.refuse["chat.appendStream"] = ["ratelimited"]
    await speaker.extend(thread, ts, "Good morning", ours)
    await pace(here)
    await times(here, "chat.appendStream", 1)
    await until(lambda: here.clock.sleepers > 0)
    await here.clock.advance(3)
    await pace(here)
    await times(here, "chat.appendStream", 2)
    assert await texts(here, root) == ["Good morning"]
    await speaker.finish(thread, ts, "Good morning", KEY, ours)
    assert here.wire.spoken.count("chat.update") == 0


async def test_the_last_word_does_not_wait_for_a_rate_limited_stream(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    here.wire.refuse["chat.appendStream"] = ["ratelimited"]
    await speaker.extend(thread, ts, "Good morning", ours)
    await pace(here)
    await times(here, "chat.appendStream", 1)
    await speaker.finish(thread, ts, "Good morning", KEY, ours)
    assert await texts(here, root) == ["Good morning"]


async def test_a_fenced_attempt_shows_nothing_more(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    await speaker.extend(thread, ts, "Good morning", lost)
    await pace(here)
    speaker.status(thread, "is musing…", lost)
    for say in (
        speaker.finish(thread, ts, "Good morning", KEY, lost),
        speaker.finish(thread, None, "Good morning", KEY, lost),
        speaker.start(thread, "Good morning", KEY, lost),
    ):
        with pytest.raises(FencedError):
            await say
    assert await texts(here, root) == ["Good"]
    assert here.wire.spoken == ["chat.startStream"]


async def test_one_thread_s_stream_is_no_other_s(here: Office) -> None:
    speaker = here.slack.speaker
    (one, first), (two, second) = await called(here), await called(here)
    left = await speaker.start(one, "one", KEY, ours)
    right = await speaker.start(two, "two", "other", ours)
    await speaker.finish(two, right, "two!", "other", ours)
    await speaker.finish(one, left, "one!", KEY, ours)
    assert (await texts(here, first), await texts(here, second)) == (["one!"], ["two!"])


async def test_it_streams_in_a_dm_too(here: Office) -> None:
    dm, speaker = await here.dm("bob"), here.slack.speaker
    root = await here.say("bob", dm, "hello")
    thread = here.one(ConversationOpened).thread
    ts = await speaker.start(thread, "Hi", KEY, ours)
    await speaker.finish(thread, ts, "Hi, Bob", KEY, ours)
    replies = await here.client("bob").conversations_replies(channel=dm, ts=root)
    assert [reply["text"] for reply in replies["messages"]] == ["hello", "Hi, Bob"]


async def test_words_that_turn_out_otherwise_are_never_mixed(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    await speaker.extend(thread, ts, "Bad " + "x" * ENOUGH, ours)
    await here.clock.advance(PACE)
    assert here.wire.told("chat.appendStream") == []
    await speaker.finish(thread, ts, "Good morning", KEY, ours)
    assert await texts(here, root) == ["Good morning"]

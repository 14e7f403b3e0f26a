"""The soul's voice: what stands in Slack in the end, whatever went wrong on the way."""

from __future__ import annotations

import asyncio

import pytest

from daemon.entry import digest
from daemon.errors import SpeechFailed
from daemon.rehearsal.people import ALICE, TEAM
from daemon.slack.quiet import LIMIT
from daemon.slack.stream import ENOUGH, PACE
from tests.slack.office import GENERAL, ME, Office, until
from tests.slack.voice import KEY, called, ours, texts, times


async def test_where_nothing_may_be_said_no_post_is_tried(here: Office) -> None:
    here.wire.refuse["chat.startStream"] = ["is_archived"]
    thread, _ = await called(here)
    with pytest.raises(SpeechFailed, match="is_archived"):
        await here.slack.speaker.start(thread, "Hi", KEY, ours)
    assert here.wire.spoken == ["chat.startStream"]


@pytest.mark.parametrize(
    "word", ["internal_error", "fatal_error", "request_timeout", "service_unavailable", "a_word_of_tomorrow"]
)
async def test_a_refusal_that_leaves_it_open_is_not_taken_for_one(here: Office, word: str) -> None:
    here.wire.refuse["chat.startStream"] = [word]
    thread, _ = await called(here)
    with pytest.raises(SpeechFailed, match=word):
        await here.slack.speaker.start(thread, "Hi", KEY, ours)
    assert here.wire.spoken == ["chat.startStream"]


async def test_a_stream_whose_beginning_a_gateway_hid_stands_alone(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    here.wire.garbled.add("chat.startStream")
    with pytest.raises(SpeechFailed):
        await speaker.start(thread, "Hi", KEY, ours)
    assert await texts(here, root) == ["Hi"]
    (left,) = await speaker.own(thread, 0)
    assert await speaker.finish(thread, left.ts, "Hi, Alice", KEY, ours) == left.ts
    assert await texts(here, root) == ["Hi, Alice"]


@pytest.mark.parametrize(
    "word",
    [
        "missing_recipient_team_id",
        "not_allowed_token_type",
        "not_agent_app",
        "feature_not_enabled",
        "invalid_arguments",
        "method_deprecated",
    ],
)
async def test_where_there_are_no_streams_it_is_posted(here: Office, word: str) -> None:
    here.wire.refuse["chat.startStream"] = [word]
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Hi", KEY, ours)
    assert [one.key for one in await speaker.own(thread, 0)] == [digest(KEY)]
    await speaker.finish(thread, ts, "Hi, Alice", KEY, ours)
    assert await texts(here, root) == ["Hi, Alice"]


async def test_a_silent_slack_does_not_hold_up_the_end(here: Office) -> None:
    speaker = here.slack.speaker
    here.wire.held["chat.appendStream"] = asyncio.Event()
    roots = [await called(here) for _ in range(2)]
    for thread, _ in roots:
        ts = await speaker.start(thread, "Good", KEY, ours)
        await speaker.extend(thread, ts, "Good morning" + "x" * ENOUGH, ours)
    await times(here, "chat.appendStream", 2)
    async with asyncio.timeout(5):
        await speaker.close()
    assert [await texts(here, root) for _, root in roots] == [["Good"], ["Good"]]


async def test_a_stop_that_is_refused_ends_in_a_rewriting(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    here.wire.refuse["chat.stopStream"] = ["msg_too_long"]
    await speaker.finish(thread, ts, "Good morning", KEY, ours)
    assert await texts(here, root) == ["Good morning"]
    assert [one.key for one in await speaker.own(thread, 0)] == [digest(KEY)]


async def test_words_that_changed_are_rewritten(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    await speaker.finish(thread, ts, "Sorry.", KEY, ours)
    assert await texts(here, root) == ["Sorry."]


async def test_a_message_of_another_attempt_is_rewritten_by_its_ts(here: Office) -> None:
    thread, root = await called(here)
    client = here.client("xoxb-rehearsal")
    stream = await client.chat_startStream(
        channel=GENERAL,
        thread_ts=root,
        markdown_text="Go",
        recipient_team_id=TEAM,
        recipient_user_id=ALICE.id,
    )
    here.wire.calls.clear()
    ts = await here.slack.speaker.finish(thread, str(stream["ts"]), "Good morning", KEY, ours)
    assert ts == stream["ts"]
    assert await texts(here, root) == ["Good morning"]
    assert here.wire.spoken == ["chat.stopStream", "chat.update"]


async def test_the_end_of_one_message_does_not_touch_another(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    first = await speaker.finish(thread, None, "one", KEY, ours)
    await speaker.start(thread, "one", "another", ours)
    await speaker.finish(thread, first, "one!", KEY, ours)
    assert await texts(here, root) == ["one!", "one"]


async def test_a_post_whose_answer_was_lost_is_not_repeated(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    here.wire.cut.add("chat.postMessage")
    with pytest.raises(SpeechFailed):
        await speaker.finish(thread, None, "Hello", KEY, ours)
    assert await texts(here, root) == ["Hello"]
    assert [one.key for one in await speaker.own(thread, 0)] == [digest(KEY)]


async def test_a_message_that_was_deleted_meanwhile_is_not_said_again(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    here.wire.lacking.add("chat.startStream")
    ts = await speaker.start(thread, "Good", KEY, ours)
    await here.client("xoxb-rehearsal").chat_delete(channel=GENERAL, ts=ts)
    assert await speaker.finish(thread, ts, "Good morning", KEY, ours) == ts
    assert await texts(here, root) == []


async def test_what_was_not_begun_is_posted_whole_with_its_key(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.finish(thread, None, "*Hello*", KEY, ours)
    assert await texts(here, root) == ["*Hello*"]
    assert [(one.ts, one.key) for one in await speaker.own(thread, 0)] == [(ts, digest(KEY))]


async def test_own_finds_only_our_words_since_then(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    first = await speaker.finish(thread, None, "one", KEY, ours)
    await here.say("alice", GENERAL, "two", root)
    await here.clock.advance(10)
    second = await speaker.finish(thread, None, "three", "another", ours)
    assert [one.ts for one in await speaker.own(thread, float(root))] == [first, second]
    assert [one.ts for one in await speaker.own(thread, here.clock.now() - 1)] == [second]


async def test_a_rate_limit_is_waited_out_and_hold_is_asked_again(here: Office) -> None:
    (thread, root), asked = await called(here), list[float]()
    here.wire.refuse["chat.postMessage"] = ["ratelimited"]
    async with asyncio.TaskGroup() as group:
        finish = here.slack.speaker.finish
        group.create_task(finish(thread, None, "Hello", KEY, lambda: asked.append(here.clock.now())))
        await until(lambda: here.clock.sleepers > 0)
        await here.clock.advance(3)
    assert await texts(here, root) == ["Hello"]
    assert asked == [asked[0], asked[0] + 3]


async def test_a_rate_limit_that_does_not_end_is_a_failure(here: Office) -> None:
    thread, _ = await called(here)
    here.wire.refuse["chat.postMessage"] = ["ratelimited"] * 3
    saying = asyncio.create_task(here.slack.speaker.finish(thread, None, "Hello", KEY, ours))
    for _ in range(2):
        await until(lambda: here.clock.sleepers > 0)
        await here.clock.advance(3)
    with pytest.raises(SpeechFailed, match="ratelimited"):
        await saying


@pytest.mark.parametrize("ping", ["<!channel>", "<!here|x>", "@everyone", f"{ME}", "<!subteam^S1>"])
async def test_nobody_is_pinged_in_any_way_of_saying_it(here: Office, ping: str) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, f"a {ping[:2]}", KEY, ours)
    for end in range(3, len(ping)):
        await speaker.extend(thread, ts, f"a {ping[:end]}", ours)
        await here.clock.advance(PACE)
    await speaker.finish(thread, ts, f"a {ping} b", KEY, ours)
    here.wire.lacking.add("chat.startStream")
    ts = await speaker.start(thread, ping, KEY, ours)
    await speaker.finish(thread, ts, f"a {ping} b", KEY, ours)
    await speaker.finish(thread, None, f"a {ping} b", KEY, ours)
    replies = await here.replies(GENERAL, root)
    assert len(replies) == 3
    assert all(ping not in reply["text"] and "pings" not in reply for reply in replies)


async def test_a_text_beyond_slack_s_limit_is_cut(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "y", KEY, ours)
    await speaker.extend(thread, ts, "y" * 30_000, ours)
    await times(here, "chat.appendStream", 1)
    await speaker.finish(thread, ts, "y" * 30_000, KEY, ours)
    await speaker.finish(thread, None, "y" * 30_000, KEY, ours)
    cut = "y" * (LIMIT - 1) + "…"
    assert await texts(here, root) == [cut, cut]

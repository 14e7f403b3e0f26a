"""Speech, as Slack finally shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.engine.event import digest
from daemon.kinds import ConversationOpened
from daemon.slack.speaker import PACE
from rehearsal.people import ALICE, BOB, TEAM
from tests.slack.absence import post_many
from tests.slack.office import GENERAL, ME, Office, office
from tests.slack.voice import KEY, called, ours, pace, texts, times

NO_STREAMS = (
    "ratelimited",
    "missing_recipient_team_id",
    "not_allowed_token_type",
    "not_agent_app",
    "feature_not_enabled",
    "invalid_arguments",
    "method_deprecated",
)


async def test_where_there_are_no_streams_it_is_posted(here: Office) -> None:
    speaker = here.slack.speaker
    for word in NO_STREAMS:
        here.wire.refuse["chat.startStream"] = [word]
        thread, root = await called(here)
        ts = await speaker.start(thread, "Hi", KEY, ours)
        assert [one.key for one in await speaker.own_messages(thread, 0)] == [digest(KEY)], word
        await speaker.finish(thread, ts, "Hi, Alice", KEY, ours)
        assert await texts(here, root) == ["Hi, Alice"]


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


async def test_what_was_not_begun_is_posted_whole_with_its_key(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.finish(thread, None, "*Hello*", KEY, ours)
    assert await texts(here, root) == ["*Hello*"]
    assert [(one.ts, one.key) for one in await speaker.own_messages(thread, 0)] == [(ts, digest(KEY))]


async def test_own_finds_only_our_words_since_then(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    first = await speaker.finish(thread, None, "one", KEY, ours)
    await here.say("alice", GENERAL, "two", root)
    await here.clock.advance(10)
    second = await speaker.finish(thread, None, "three", "another", ours)
    assert [one.ts for one in await speaker.own_messages(thread, float(root))] == [first, second]
    assert [one.ts for one in await speaker.own_messages(thread, here.clock.now() - 1)] == [second]


async def test_what_is_finished_twice_is_as_if_it_were_once(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Good", KEY, ours)
    for _ in range(2):
        assert await speaker.finish(thread, ts, "Good morning", KEY, ours) == ts
    assert await texts(here, root) == ["Good morning"]


async def test_own_reads_to_the_end_of_a_long_thread(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    post_many(here, "bob", GENERAL, ["and so on"] * 210, root)
    ts = await speaker.finish(thread, None, "Yes.", KEY, ours)
    assert [(one.ts, one.key) for one in await speaker.own_messages(thread, 0)] == [(ts, digest(KEY))]


async def test_a_stream_in_a_dm_has_no_key_before_it_is_stopped(here: Office) -> None:
    await here.say("bob", await here.dm("bob"), "hello")
    thread, speaker = here.one(ConversationOpened).thread, here.slack.speaker
    ts = await speaker.start(thread, "Hi", KEY, ours)
    assert [(one.ts, one.key) for one in await speaker.own_messages(thread, 0)] == [(ts, "")]
    await speaker.finish(thread, ts, "Hi, Bob", KEY, ours)
    assert [(one.ts, one.key) for one in await speaker.own_messages(thread, 0)] == [(ts, digest(KEY))]


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


async def test_an_owner_can_be_called_in_every_way_of_saying_it(tmp_path: Path) -> None:
    async with office(tmp_path, owners=frozenset({BOB.id})) as here:
        (thread, root), speaker = await called(here), here.slack.speaker
        text = f"Ask <@{BOB.id}>, not <@{ALICE.id}>."
        ts = await speaker.start(thread, text[:8], KEY, ours)
        await speaker.extend(thread, ts, text, ours)
        await pace(here)
        await times(here, "chat.appendStream", 1)
        await speaker.finish(thread, ts, text, KEY, ours)
        await speaker.finish(thread, None, text, "another", ours)
        await speaker.whisper(thread, ALICE.id, text, ours)
        said = [*await texts(here, root), here.world.whispers(ALICE.id)[0]["text"]]
        assert said == [f"Ask <@{BOB.id}>, not <\u200b@{ALICE.id}>."] * 3
        assert here.wire.told("chat.update") == []

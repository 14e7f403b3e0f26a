"""Ephemeral messages."""

from __future__ import annotations

import pytest

from daemon.errors import ContentRefused, PostFailed
from daemon.kinds import SpeechFinished
from rehearsal.people import ALICE, BOB
from tests.slack.office import ME, Office
from tests.slack.voice import called, ours, texts


async def test_a_whisper_is_seen_by_one_person_and_stands_nowhere(here: Office) -> None:
    thread, root = await called(here)
    await here.slack.speaker.whisper(thread, ALICE.id, f"Three calls, {ME}. <!channel>", ours)
    (heard,) = here.world.whispers(ALICE.id)
    assert heard["text"] == f"Three calls, <\u200b{ME[1:]}. <\u200b!channel>"
    assert not heard.get("thread_ts"), "nobody would see it in a thread without a reply"
    assert here.world.whispers(BOB.id) == []
    assert await texts(here, root) == []


async def test_where_the_soul_has_spoken_it_stands_in_the_thread(here: Office) -> None:
    thread, root = await called(here)
    ts = await here.slack.speaker.finish(thread, None, "Here I am.", "key", ours)
    spoken = SpeechFinished(ts=ts, text="Here I am.", upto=10)
    await here.journal.append(thread, spoken, key="receipt", author="soul")
    await here.slack.speaker.whisper(thread, ALICE.id, "psst", ours)
    assert here.world.whispers(ALICE.id)[0]["thread_ts"] == root


async def test_a_long_whisper_is_whole(here: Office) -> None:
    thread, _ = await called(here)
    await here.slack.speaker.whisper(thread, ALICE.id, "so it was\n\n" * 2_000, ours)
    heard = here.world.whispers(ALICE.id)
    assert len(heard) > 1
    assert sum(one["text"].count("so it was") for one in heard) == 2_000


async def test_who_is_not_there_is_told_nothing(here: Office) -> None:
    thread, _ = await called(here)
    await here.slack.speaker.whisper(thread, "U0GONE00001", "psst", ours)
    assert len(here.wire.told("chat.postEphemeral")) == 1


@pytest.mark.parametrize("word", ["restricted_action", "channel_not_found", "user_not_in_channel"])
async def test_where_slack_will_not_have_it_all_goes_on(
    here: Office, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    thread, _ = await called(here)
    here.wire.refuse["chat.postEphemeral"] = [word]
    await here.slack.speaker.whisper(thread, ALICE.id, "psst", ours)
    assert word in caplog.text
    assert here.world.whispers(ALICE.id) == []


@pytest.mark.parametrize("word", ["invalid_blocks", "markdown_text_too_long", "a_word_of_tomorrow"])
async def test_a_whisper_is_plain_text_where_slack_refuses_its_markdown(here: Office, word: str) -> None:
    thread, _ = await called(here)
    here.wire.refuse["chat.postEphemeral"] = [word]
    await here.slack.speaker.whisper(thread, ALICE.id, "a < b", ours)
    assert [one["text"] for one in here.world.whispers(ALICE.id)] == ["a &lt; b"]
    here.wire.refuse["chat.postEphemeral"] = [word] * 2
    with pytest.raises(ContentRefused, match=word):
        await here.slack.speaker.whisper(thread, ALICE.id, "a < b", ours)


@pytest.mark.parametrize("word", ["500", "503", "internal_error", "fatal_error", "token_revoked"])
async def test_a_whisper_that_slack_does_not_take_has_failed(here: Office, word: str) -> None:
    thread, _ = await called(here)
    here.wire.refuse["chat.postEphemeral"] = [word]
    with pytest.raises(PostFailed):
        await here.slack.speaker.whisper(thread, ALICE.id, "psst", ours)


async def test_so_has_one_whose_answer_is_lost(here: Office) -> None:
    thread, _ = await called(here)
    here.wire.cut.add("chat.postEphemeral")
    with pytest.raises(PostFailed):
        await here.slack.speaker.whisper(thread, ALICE.id, "psst", ours)

"""Earlier messages of a conversation that the soul joins."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.kinds import OWN_WORDS, ConversationOpened, IncomingMessage
from daemon.ports import EarlierMessage
from daemon.slack.directory import AccessPolicy
from daemon.slack.earlier_messages import ABOVE, LONGEST, LONGEST_THREAD, RECENT
from rehearsal.people import ALICE, BOB, TEAM
from tests.clock import FakeClock
from tests.slack.absence import DAY, before, later, post, post_many
from tests.slack.office import GENERAL, ME, Office, office


async def earlier(here: Office) -> list[EarlierMessage]:
    return await shown(here, here.entries(ConversationOpened)[-1].thread)


async def shown(here: Office, thread: str) -> list[EarlierMessage]:
    found = await here.slack.surroundings.earlier_messages(thread)
    assert found is not None, "Slack did not show it"
    return list(found.heard)


def notes(heard: list[EarlierMessage]) -> list[tuple[str, str]]:
    return [(one.event.text, one.event.note) for one in heard]


async def test_the_earlier_messages_come_oldest_first_with_names(here: Office) -> None:
    root = await here.say("alice", GENERAL, "the build is red")
    second = await here.say("bob", GENERAL, f"<#{GENERAL}> again?", root)
    await here.say("xoxb-rehearsal-2", GENERAL, "exit 1", root)
    await here.say("alice", GENERAL, f"{ME} can you look?", root)
    await here.say("bob", GENERAL, "thanks", root)
    heard = await earlier(here)
    said = [(one.event.name, one.event.text, one.event.bot) for one in heard]
    assert said == [
        ("Alice", "the build is red", False),
        ("Bob", "#general again?", False),
        ("Echo", "exit 1", True),
    ]
    assert heard[1].key == f"heard:{TEAM}:{GENERAL}:{second}"
    assert heard[1].author == BOB.id


async def test_a_call_at_the_top_knows_what_stands_above_it(here: Office) -> None:
    first = await here.say("alice", GENERAL, "the build is red")
    await here.say("bob", GENERAL, "a word in a thread", first)
    await here.say("bob", GENERAL, f"{ME} why is that?")
    await here.say("alice", GENERAL, f"{ME} stop")
    await here.say("alice", GENERAL, f"{ME} !trace")
    await here.say("alice", GENERAL, f"{ME} hello")
    await here.say("alice", GENERAL, "and goodbye")
    thread = here.entries(ConversationOpened)[-1].thread
    heard = await earlier(here)
    assert [one.event.text for one in heard] == ["the build is red", "@Claudius why is that?"]
    assert heard[0].key == f"context:{thread}:{first}"
    assert here.wire.told("conversations.replies") == []


async def test_of_what_stands_above_a_call_only_the_last_of_the_last_day_is_taken(here: Office) -> None:
    alice = here.client("alice")
    await alice.chat_postMessage(channel=GENERAL, text="old")
    await here.clock.advance(RECENT + 1)
    for number in range(ABOVE + 5):
        await alice.chat_postMessage(channel=GENERAL, text=str(number))
    await here.say("alice", GENERAL, f"{ME} sum up")
    assert [one.event.text for one in await earlier(here)] == [*map(str, range(5, ABOVE + 5))]
    await here.clock.advance(RECENT + 1)
    await alice.chat_postMessage(channel=GENERAL, text="new")
    await alice.chat_postMessage(channel=GENERAL, text="x" * LONGEST)
    await here.say("alice", GENERAL, f"{ME} and now?")
    assert [one.event.text for one in await earlier(here)] == ["x" * LONGEST]


async def test_above_a_call_only_those_are_heard_who_may_speak_to_it(tmp_path: Path) -> None:
    async with office(tmp_path, AccessPolicy(users=frozenset({ALICE.id}))) as here:
        await here.say("alice", GENERAL, "the build is red")
        await here.say("bob", GENERAL, "say that it is green")
        await here.say("xoxb-rehearsal-2", GENERAL, "exit 1")
        await here.say("alice", GENERAL, f"{ME} can you look?")
        assert [one.event.text for one in await earlier(here)] == ["the build is red"]


async def test_what_stands_above_a_call_reads_as_it_does_now(here: Office) -> None:
    alice = here.client("alice")
    first = await here.say("alice", GENERAL, "the bild is red")
    second = await here.say("alice", GENERAL, "forget it")
    await alice.chat_update(channel=GENERAL, ts=first, text="the build is red")
    await alice.chat_delete(channel=GENERAL, ts=second)
    await here.say("bob", GENERAL, f"{ME} can you look?")
    assert [one.event.text for one in await earlier(here)] == ["the build is red"]


async def test_its_own_words_are_marked_and_what_is_an_input_already_is_no_context(here: Office) -> None:
    root = await here.say("xoxb-rehearsal", GENERAL, "good morning")
    await here.say("alice", GENERAL, "morning", root)
    call = await here.say("bob", GENERAL, f"{ME} hello", root)
    mention = {"type": "message", "channel": GENERAL, "channel_type": "channel", "user": BOB.id}
    heard = await earlier(here)
    assert notes(heard) == [("good morning", OWN_WORDS), ("morning", "")]
    first, *_ = here.entries(ConversationOpened)
    await here.say("alice", GENERAL, f"{ME} a second call", root)
    await here.event(event={**mention, "text": f"{ME} late", "ts": call, "thread_ts": root})
    assert notes(await shown(here, first.thread)) == [("good morning", OWN_WORDS), ("morning", "")]


async def test_of_a_thread_that_the_journal_does_not_know_nothing_is_left_out(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.slack.stop()
        root = await post(here, "alice", GENERAL, f"{ME} the code word is kittiwake")
        await post(here, "xoxb-rehearsal", GENERAL, "Noted &lt;so&gt;", root)
        await post(here, "bob", GENERAL, "fine with me", root)
        second = await post(here, "alice", GENERAL, f"{ME} and the berth is free", root)
    (tmp_path / "journal.db").unlink()
    async with later(tmp_path, clock) as here:
        await here.say("bob", GENERAL, f"{ME} what was the word?", root)
        heard = await earlier(here)
        assert notes(heard) == [
            ("@Claudius the code word is kittiwake", ""),
            ("Noted <so>", OWN_WORDS),
            ("fine with me", ""),
        ]
        waits = here.journal.pending_entries(IncomingMessage)
        assert [entry.event.ts for entry in waits][1:] == [second], "it has no answer yet, and is no context"


async def test_what_is_too_old_for_an_answer_is_context_and_so_is_a_command(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.slack.stop()
        root = await post(here, "alice", GENERAL, f"{ME} which day is it?")
        await clock.advance(DAY)
        command = await post(here, "alice", GENERAL, f"{ME} !trace", root)
    (tmp_path / "journal.db").unlink()
    async with later(tmp_path, clock) as here:
        await here.say("bob", GENERAL, f"{ME} well?", root)
        heard = await earlier(here)
        thread = here.entries(ConversationOpened)[-1].thread
        assert [one.key for one in heard] == [f"context:{thread}:{ts}" for ts in (root, command)]
        assert here.one(IncomingMessage).event.name == "Bob"


async def test_above_a_call_stand_the_words_and_answers_of_a_lost_life(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.slack.stop()
        root = await post(here, "alice", GENERAL, f"{ME} the code word is kittiwake")
        await post(here, "xoxb-rehearsal", GENERAL, "I call the pilot Puffin.", root)
        await post(here, "bob", GENERAL, "who is that?", root)
        await post(here, "xoxb-rehearsal", GENERAL, "Good morning, all.")
    (tmp_path / "journal.db").unlink()
    async with later(tmp_path, clock) as here:
        await here.say("bob", GENERAL, f"{ME} what did you call the pilot?")
        assert notes(await earlier(here)) == [
            ("@Claudius the code word is kittiwake", ""),
            ("Good morning, all.", OWN_WORDS),
            ("I call the pilot Puffin.", OWN_WORDS),
        ]


async def test_of_a_long_conversation_the_root_and_the_last_hundred_are_taken(here: Office) -> None:
    alice = here.client("alice")
    root = str((await alice.chat_postMessage(channel=GENERAL, text="root"))["ts"])
    post_many(here, "alice", GENERAL, map(str, range(250)), root)
    await here.say("alice", GENERAL, f"{ME} sum up", root)
    texts = [one.event.text for one in await earlier(here)]
    assert texts == ["root", *map(str, range(150, 250))]


async def test_of_long_messages_fewer_are_taken(here: Office) -> None:
    root = await here.say("alice", GENERAL, "root")
    logs = [letter * (LONGEST_THREAD // 3) for letter in "abcd"]
    post_many(here, "alice", GENERAL, logs, root)
    await here.say("alice", GENERAL, f"{ME} sum up", root)
    assert [one.event.text for one in await earlier(here)] == ["root", *logs[1:]]


async def test_what_was_said_to_it_and_not_answered_is_no_context(tmp_path: Path) -> None:
    async with office(tmp_path, AccessPolicy(users=frozenset({ALICE.id}))) as here:
        root = await here.say("alice", GENERAL, "the build is red")
        await here.say("bob", GENERAL, f"{ME} say that it is green", root)
        await here.say("alice", GENERAL, f"{ME} can you look?", root)
        assert [one.event.text for one in await earlier(here)] == ["the build is red"]


async def test_a_thread_of_a_dm_that_the_journal_does_not_know_is_shown(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        dm = await here.dm("alice")
        root = await here.say("alice", dm, "good morning")
        assert await earlier(here) == []
        await post(here, "xoxb-rehearsal", dm, "Good morning, Alice.", root)
    (tmp_path / "journal.db").unlink()
    async with later(tmp_path, clock) as here:
        await here.say("alice", dm, "still there?", root)
        assert notes(await earlier(here)) == [("good morning", ""), ("Good morning, Alice.", OWN_WORDS)]


async def test_a_refusal_costs_the_context_not_the_answer(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    root = await here.say("alice", GENERAL, "the build is red")
    await here.say("alice", GENERAL, f"{ME} can you look?", root)
    here.wire.refuse["conversations.replies"] = ["missing_scope"]
    assert await here.slack.surroundings.earlier_messages(here.entries(ConversationOpened)[-1].thread) is None
    assert "missing_scope" in caplog.text

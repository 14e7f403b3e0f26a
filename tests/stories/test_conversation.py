"""Conversations in DMs, channels and threads."""

from __future__ import annotations

import asyncio

from rehearsal.people import SOUL
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply


async def test_a_dm_is_answered_in_its_thread_with_one_post(stage: Stage) -> None:
    stage.model.say(reply("Hello Alice, tea is fine."))
    ts = await stage.say("alice", ALICE, "Do you like tea?")
    assert await stage.thread(ALICE, ts) == [
        ("Alice", "Do you like tea?"),
        ("Claudius", "Hello Alice, tea is fine."),
    ]
    kinds = [entry.kind for entry in stage.entries() if entry.kind not in ("text", "caught-up", "read-on")]
    assert kinds == [
        *("journal-named", "tag-suffix", "life-began"),
        *("name-taken", "thread", "message", "texts", "turn-began", "claim"),
        "transition",
        *("speech", "speech-started", "model-call", "spoken", "transition", "turn-ended"),
    ]


async def test_a_first_contact_is_greeted_in_the_answer_and_only_once(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hi.")
    await stage.say("alice", GENERAL, f"{ME} hi again")
    await stage.say("bob", GENERAL, f"{ME} hello, I am Bob")
    never_met = [asked for asked in stage.asked() if "never spoken with" in asked]
    assert ["never spoken with Bob" in asked for asked in never_met] == [False, True]
    greeted = [entry.event.to for entry in stage.entries("transition")]
    assert greeted == ["greeting", "conversation", "greeting", "conversation"]


async def test_a_mention_is_answered_once_though_it_comes_as_two_events(stage: Stage) -> None:
    ts = await stage.say("alice", GENERAL, f"{ME} what day is it?")
    assert len(await stage.answers(GENERAL, ts)) == 1
    [heard] = stage.entries("input")
    assert heard.event.address == "mention"
    assert heard.event.text == "@Claudius what day is it?"


async def test_a_channel_message_without_a_mention_leaves_no_trace(stage: Stage) -> None:
    ts = await stage.say("alice", GENERAL, "Lunch, anyone?")
    assert await stage.answers(GENERAL, ts) == []
    assert sorted(entry.kind for entry in stage.entries()) == [
        *("caught-up", "journal-named", "life-began", "tag-suffix")
    ]


async def test_a_follow_up_needs_no_mention_and_may_be_met_with_silence(stage: Stage) -> None:
    ts = await stage.say("alice", GENERAL, f"{ME} a question")
    stage.model.say(reply("And an answer."))
    await stage.say("bob", GENERAL, "and a follow-up", ts)
    stage.model.say(reply(""))
    await stage.say("bob", GENERAL, "thanks all", ts)
    assert (await stage.answers(GENERAL, ts))[1:] == ["And an answer."]
    assert len(stage.entries("model-call")) == 3, "a chosen silence is not asked about again"
    assert not stage.pending("input", "speech", "turn-began")


async def test_a_follow_up_for_somebody_else_is_heard_and_not_answered(stage: Stage) -> None:
    ts = await stage.say("alice", GENERAL, f"{ME} a question")
    await stage.say("bob", GENERAL, "<@U0ALICE0001> did you see the keys?", ts)
    assert len(await stage.answers(GENERAL, ts)) == 1
    await stage.say("alice", GENERAL, "well?", ts)
    assert "@Alice did you see the keys?" in stage.asked()[-1]


async def test_silence_on_a_dm_counts_as_a_missing_answer(stage: Stage) -> None:
    stage.model.say(reply(""))
    stage.model.say("<say>Here I am.</say>")
    ts = await stage.say("alice", ALICE, "Anyone there?")
    assert await stage.answers(ALICE, ts) == ["Here I am."]


async def test_a_redelivered_message_is_answered_once(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Only once, please.")
    async with stage.session.get(f"{stage.url}/rehearsal/deliveries") as response:
        sent = (await response.json())["deliveries"]
    again = {"again": sent[0]["event_id"]}
    async with stage.session.post(f"{stage.url}/rehearsal/event", json=again) as response:
        assert response.status == 200
    await stage.settled()
    assert len(await stage.answers(ALICE, ts)) == 1


async def test_two_people_in_one_thread_are_told_apart(stage: Stage) -> None:
    ts = await stage.say("alice", GENERAL, f"{ME} tea, please")
    await stage.say("bob", GENERAL, f"{ME} coffee, please", ts)
    asked = stage.asked()[-1]
    assert '<message from="Alice">' in asked
    assert '<message from="Bob">' in asked
    assert "Bob just spoke" in asked


async def test_a_group_dm_is_answered_when_mentioned(stage: Stage) -> None:
    people = f"U0BOB000002,{SOUL.user}"
    opened = await stage.client("alice").conversations_open(users=people)
    group = opened["channel"]["id"]
    quiet = await stage.say("bob", group, "just us")
    called = await stage.say("bob", group, f"{ME} and you?")
    assert await stage.answers(group, quiet) == []
    assert len(await stage.answers(group, called)) == 1


async def test_a_slow_thread_never_delays_another(stage: Stage) -> None:
    await stage.say("alice", ALICE, "hi")
    await stage.say("bob", BOB, "hi")
    slow = asyncio.Event()
    stage.model.say(reply("At last."), until=slow)
    first = await stage.post("alice", ALICE, "Something hard.")
    await stage.until(lambda: len(stage.model.requests) == 3)
    stage.model.say(reply("At once."))
    second = await stage.post("bob", BOB, "Something easy.")
    await stage.until(lambda: stage.entries("spoken")[-1].event.text == "At once.")
    assert await stage.answers(BOB, second) == ["At once."]
    assert await stage.answers(ALICE, first) == []
    slow.set()
    await stage.settled()
    assert await stage.answers(ALICE, first) == ["At last."]


async def test_what_comes_while_it_thinks_is_answered_together_next(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "hi")
    held = asyncio.Event()
    stage.model.say(reply("One."), until=held)
    await stage.post("alice", ALICE, "first", ts)
    await stage.until(lambda: len(stage.model.requests) == 2)
    stage.model.say(reply("Two and three."))
    await stage.post("alice", ALICE, "second", ts)
    await stage.post("alice", ALICE, "third", ts)
    await stage.until(lambda: len(stage.entries("input")) == 4)
    held.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[1:] == ["One.", "Two and three."]

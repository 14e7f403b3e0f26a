"""History of a DM across its threads."""

from __future__ import annotations

import asyncio

from daemon.app.journal_commands import verify_journal
from daemon.mind.pipeline import DM_SUMMARY_LENGTH
from daemon.turn.history import MOST_DM_CHARACTERS
from tests.soak import SOAK
from tests.stories.choosing import FAST, pressed
from tests.stories.stage import ALICE, BOB, Stage, reply

DAY = 86_400.0
ASKED = "Write a summary of the conversation above"
SUMMARY = "Alice told many stories; one was about a heron."
HEDGEHOG = "A hedgehog lives under my shed."


def text(stage: Stage, nth: int = -1) -> str:
    return str(stage.prompt(nth))


async def tell(stage: Stage, number: int, letters: int = 2_000) -> None:
    stage.model.say(reply(f"A fine story, number {number}."))
    await stage.say("alice", ALICE, f"Story {number}: {'heron ' * (letters // 6)}")


async def test_a_new_root_begins_with_what_was_said_in_the_dm(stage: Stage) -> None:
    stage.model.say(reply("How lovely.", mood="engaged"))
    await stage.say("alice", ALICE, HEDGEHOG)
    stage.model.say(reply("Under your shed."))
    await stage.say("alice", ALICE, "Where does it live?")
    [(_, first), (role, answer), (_, second)] = stage.prompt()
    assert "hedgehog" in first
    assert (role, "How lovely." in answer) == ("assistant", True)
    assert "Where does it live?" in second
    assert len({entry.thread for entry in stage.entries("message")}) == 2
    trailing = str(stage.model.requests[-1]["messages"][-1]["content"][-1])
    assert "Mood: engaged." in trailing
    assert not verify_journal(stage.soul.journal).violations


@SOAK
async def test_each_root_begins_like_the_one_before_it_and_the_cache_hits(stage: Stage) -> None:
    await stage.say("alice", ALICE, "hi")
    shares = list[float]()
    for number in range(1, 8):
        await tell(stage, number)
        before, now = stage.prompt(-2), stage.prompt()
        assert now[: len(before)] == before
        usage = stage.entries("model-call")[-1].event.usage
        shares.append(usage.cache_read / usage.prompt)
    assert shares == sorted(shares)
    assert shares[-1] > 0.8, shares


async def test_over_three_days_with_a_kill_and_a_summary_it_remembers(stage: Stage) -> None:
    await stage.say("alice", ALICE, HEDGEHOG)
    for _ in range(3):
        await stage.sleep()
        await stage.clock.advance(DAY)
        await stage.wake()
        for number in range(1, 7):
            if number == 3:
                await stage.sleep()
                await stage.wake()
            stage.model.say(SUMMARY, asks=ASKED, model=FAST)
            await tell(stage, number)
    [first, *_] = cleared = stage.entries("context-cleared")
    made_of = stage.soul.journal.entries_at(first.event.seqs)
    assert any(HEDGEHOG in getattr(one.event, "text", "") for one in made_of)
    assert "message" in {one.kind for one in made_of}
    assert "model-call" in {one.kind for one in made_of}
    await stage.say("alice", ALICE, "What do you remember?")
    assert stage.prompt()[0] == ("user", f"<context-cleared>\n{SUMMARY}\n</context-cleared>")
    assert len(text(stage)) < MOST_DM_CHARACTERS
    assert len(cleared) < 5
    assert not verify_journal(stage.soul.journal).violations


async def test_it_goes_on_after_one_message_that_is_longer_than_all_it_begins_with(stage: Stage) -> None:
    stage.model.say(reply("A fine story."))
    await stage.say("alice", ALICE, "heron " * (MOST_DM_CHARACTERS // 6 + 1))
    await stage.say("alice", ALICE, "What was it about?")
    asked, answered, _ = stage.prompt()
    assert "heron heron" in asked[1]
    assert "A fine story." in answered[1]


@SOAK
async def test_the_sum_is_made_after_an_answer_and_never_before_one(stage: Stage) -> None:
    held = asyncio.Event()
    for _ in range(5):  # turns that end before it exists ask for it, too
        stage.model.say(SUMMARY, asks=ASKED, model=FAST, until=held)
    number = 0
    while not any(ASKED in asked for asked in stage.asked()):
        number += 1
        stage.model.say(reply(f"A fine story, number {number}."))
        await stage.post("alice", ALICE, f"Story {number}: {'heron ' * 500}")
        await stage.until(lambda wanted=number: len(stage.entries("spoken")) == wanted)  # type: ignore[misc]
        await stage.clock.advance(1)
    stage.model.say(reply("At once."))
    ts = await stage.post("alice", ALICE, "Are you there?")
    await stage.until(lambda: stage.entries("spoken")[-1].event.text == "At once.")
    assert await stage.answers(ALICE, ts) == ["At once."]
    held.set()
    await stage.settled()
    assert number * 3_000 > DM_SUMMARY_LENGTH


@SOAK
async def test_where_no_sum_could_be_made_the_oldest_go_in_blocks(stage: Stage) -> None:
    stage.model.say("", asks=ASKED, model=FAST)
    same = 0
    for number in range(1, 30):
        stage.model.say("", asks=ASKED, model=FAST)
        await tell(stage, number)
        mine = [n for n, asked in enumerate(stage.asked()) if ASKED not in asked]
        assert sum(len(words) for _, words in stage.prompt(mine[-1])[:-1]) <= MOST_DM_CHARACTERS
        if number > 20:
            before, now = stage.prompt(mine[-2]), stage.prompt(mine[-1])
            same += now[: len(before)] == before
    assert same >= 6, "most begin like the one before"


async def test_of_a_burst_each_root_hears_what_waits_in_the_others(stage: Stage) -> None:
    await stage.say("alice", ALICE, "hi")
    held = asyncio.Event()
    stage.model.say(reply("One."), until=held)
    first = await stage.post("alice", ALICE, "first of three")
    await stage.until(lambda: len(stage.model.requests) == 2)
    stage.model.say(reply("Two."), until=held)
    second = await stage.post("alice", ALICE, "second of three")
    await stage.until(lambda: len(stage.model.requests) == 3)
    assert "first of three" in text(stage)
    held.set()
    await stage.settled()
    stage.model.say(reply("Both."))
    await stage.say("alice", ALICE, "and in this one?", second)
    before, now = stage.prompt(-2), stage.prompt()
    assert now[: len(before)] == before
    assert [("One." in words, "Two." in words) for role, words in now if role == "assistant"][-2:] == [
        (False, True),
        (True, False),
    ]
    assert str(now).count("first of three") == 1
    assert await stage.answers(ALICE, first) == ["One."]
    assert await stage.answers(ALICE, second) == ["Two.", "Both."]
    stage.model.say(reply("Still both."))
    await stage.say("alice", ALICE, "and still?", second)
    assert stage.prompt()[: len(now)] == now, "what came of the others stays where it was appended"


async def test_what_was_written_without_tags_and_not_said_no_other_root_hears(dormant: Stage) -> None:
    stage = dormant
    await stage.wake(owner_user_ids=frozenset({"U0ALICE0001"}))
    stage.soul.budget.daily = 0.13
    stage.model.say("I keep it from her. " * 1_000)
    first = await stage.say("alice", ALICE, "What is it?")
    [question] = await stage.answers(ALICE, first)
    stage.soul.budget.daily = 5
    stage.model.say(reply("I wait for you there."))
    await stage.say("alice", ALICE, "And here?")
    assert question in text(stage)
    stage.model.say(reply("It is forty-two."))
    await pressed(stage, "alice", "Continue")
    assert (await stage.answers(ALICE, first))[1:] == ["It is forty-two."]
    await stage.say("alice", ALICE, "And now?")
    assert "I keep it from her" not in str(stage.asked())


async def test_nothing_of_one_dm_is_in_another(stage: Stage) -> None:
    held = asyncio.Event()
    await stage.say("alice", ALICE, HEDGEHOG)
    await stage.say("bob", BOB, "hi")
    stage.model.say(reply("Wait."), until=held)
    await stage.post("alice", ALICE, "and a badger")
    await stage.until(lambda: len(stage.model.requests) == 3)
    stage.model.say(reply("Hello."))
    await stage.post("bob", BOB, "what lives under her shed?")
    await stage.until(lambda: len(stage.model.requests) == 4)
    assert "hedgehog" not in stage.asked()[-1]
    assert "badger" not in stage.asked()[-1]
    held.set()
    await stage.settled()


async def test_what_is_forgotten_is_carried_over_no_more(stage: Stage) -> None:
    await stage.say("alice", ALICE, HEDGEHOG)
    root = await stage.say("alice", ALICE, "and an owl in the oak")
    assert "hedgehog" in text(stage)
    await stage.say("alice", ALICE, "!forget me")
    await pressed(stage, "alice", "Forget it")
    await stage.until(lambda: not stage.pending("to-forget", "forgotten"))
    await stage.settled()
    await stage.say("alice", ALICE, "hello?")
    assert "hedgehog" not in text(stage)
    await stage.say("alice", ALICE, "hello again?", root)
    assert "hedgehog" not in text(stage)
    assert not verify_journal(stage.soul.journal).violations


@SOAK
async def test_killed_while_it_answers_it_sees_the_same_again(stage: Stage) -> None:
    await stage.say("alice", ALICE, HEDGEHOG)
    held = asyncio.Event()
    stage.model.say(reply("Never heard."), until=held)
    await stage.post("alice", ALICE, "where does it live?")
    await stage.until(lambda: len(stage.model.requests) == 2)
    before = stage.prompt()
    await stage.sleep()
    await stage.post("alice", ALICE, "meanwhile, a badger")
    await stage.wake()
    await stage.settled()
    again = next(one for one in map(stage.prompt, [2, 3]) if one[-1] == before[-1])
    assert again == before
    assert len(stage.entries("carried-over")) == 2

"""Edits of a message while its answer is made."""

from __future__ import annotations

import asyncio

import pytest

from daemon.app.journal_commands import verify_journal
from tests.stories.choosing import outcomes
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply

OLD, NEW = "I like my coffee with mlik.", "I like my coffee with milk."
THOUGHT = "<aside>Hm.</aside>\n"
SPOKEN = f"{THOUGHT}<say>You like mlik,"


async def edit(stage: Stage, channel: str, ts: str, text: str, name: str = "alice") -> None:
    await stage.client(name).chat_update(channel=channel, ts=ts, text=text)


async def edits_are_known(stage: Stage, count: int) -> None:
    def there() -> bool:
        return len([entry for entry in stage.entries("heard") if entry.event.note == "edited"]) == count

    await stage.until(there)


def calls(stage: Stage) -> list[str]:
    return [call.event.outcome for call in stage.entries("model-call") if call.event.name == "pipeline"]


@pytest.mark.parametrize("upto", [0, len(THOUGHT)], ids=["before a word", "after a thought"])
async def test_an_edit_before_any_word_is_visible_is_answered_instead(stage: Stage, upto: int) -> None:
    stage.model.say(reply("You like mlik."), until=asyncio.Event(), first=upto)
    ts = await stage.post("alice", ALICE, OLD)
    await stage.until(lambda: stage.model.requests)
    stage.model.say(reply("You like milk."))
    await edit(stage, ALICE, ts, NEW)
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["You like milk."]
    assert calls(stage) == ["cancelled", "ok"]
    assert NEW in str(stage.prompt())
    assert OLD not in str(stage.prompt()), "the corrected text alone"
    assert outcomes(stage) == ["completed"]
    stage.model.say(reply("Yes."))
    await stage.say("alice", ALICE, "Really?", ts)
    assert str(stage.prompt()).count(NEW) == 1, "it is remembered once"
    assert OLD not in str(stage.prompt())
    assert not stage.pending("input", "speech", "turn-began")
    assert verify_journal(stage.soul.journal).violations == []


async def test_an_edit_after_a_word_is_visible_leaves_the_answer_as_it_is(stage: Stage) -> None:
    goes_on = asyncio.Event()
    stage.model.say(reply("You like mlik, Alice."), until=goes_on, first=len(SPOKEN) + 30)
    ts = await stage.post("alice", ALICE, OLD)
    await stage.until(lambda: stage.entries("speech-started"))
    await edit(stage, ALICE, ts, NEW)
    await edits_are_known(stage, 1)
    goes_on.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["You like mlik, Alice."]
    assert calls(stage) == ["ok"]
    stage.model.say(reply("With milk."))
    await stage.say("alice", ALICE, "How do I like it?", ts)
    assert str(stage.prompt()).count(NEW) == 1


async def test_of_several_edits_in_a_row_the_last_one_is_answered(stage: Stage) -> None:
    for _ in range(4):
        stage.model.say(reply("You like mlik."), until=asyncio.Event())
    ts = await stage.post("alice", ALICE, OLD)
    for count in (1, 2, 3):
        await stage.until(lambda count=count: len(stage.model.requests) == count)  # type: ignore[misc]
        await edit(stage, ALICE, ts, f"I like my coffee with milk, {count}.")
    await stage.until(lambda: len(stage.model.requests) == 4)
    stage.model.say(reply("With milk."))
    await edit(stage, ALICE, ts, NEW)
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["With milk."]
    assert calls(stage) == ["cancelled"] * 4 + ["ok"]
    assert NEW in str(stage.prompt())
    assert "milk, 3" not in str(stage.prompt())
    assert verify_journal(stage.soul.journal).violations == []


async def test_an_edit_of_one_of_two_messages_answers_both(stage: Stage) -> None:
    goes_on = asyncio.Event()
    stage.model.say(reply("Hello."), until=goes_on)
    ts = await stage.post("alice", ALICE, "Hello")
    await stage.until(lambda: stage.model.requests)
    two = await stage.post("alice", ALICE, OLD, ts)
    await stage.post("alice", ALICE, "And you?", ts)
    await stage.until(lambda: len(stage.entries("message")) == 3)
    stage.model.say(reply("With mlik. And I like tea."), until=asyncio.Event())
    goes_on.set()
    await stage.until(lambda: len(stage.model.requests) == 2)
    stage.model.say(reply("With milk. And I like tea."))
    await edit(stage, ALICE, two, NEW)
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Hello.", "With milk. And I like tea."]
    asked = str(stage.prompt())
    assert NEW in asked
    assert OLD not in asked
    assert "And you?" in asked


async def test_an_edit_before_the_turn_begins_is_all_that_is_read(stage: Stage) -> None:
    goes_on = asyncio.Event()
    stage.model.say(reply("Hello."), until=goes_on)
    ts = await stage.post("alice", ALICE, "Hello")
    await stage.until(lambda: stage.model.requests)
    two = await stage.post("alice", ALICE, OLD, ts)
    await edit(stage, ALICE, two, "I like my coffee with mikl.")
    await edit(stage, ALICE, two, NEW)
    await edits_are_known(stage, 2)
    stage.model.say(reply("With milk."))
    goes_on.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Hello.", "With milk."]
    assert str(stage.prompt()).count(NEW) == 1
    assert "mikl" not in str(stage.prompt())
    assert OLD not in str(stage.prompt())


async def test_an_edit_that_changes_no_word_is_none(stage: Stage) -> None:
    goes_on = asyncio.Event()
    stage.model.say(reply("With milk."), until=goes_on)
    ts = await stage.post("alice", ALICE, NEW)
    await stage.until(lambda: stage.model.requests)
    await edit(stage, ALICE, ts, NEW)
    goes_on.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["With milk."]
    assert calls(stage) == ["ok"]


async def test_a_stop_after_an_edit_ends_it_for_good(stage: Stage) -> None:
    stage.model.say(reply("You like mlik."), until=asyncio.Event())
    stage.model.say(reply("You like milk."), until=asyncio.Event())
    ts = await stage.post("alice", ALICE, OLD)
    await stage.until(lambda: stage.model.requests)
    await edit(stage, ALICE, ts, NEW)
    await stage.until(lambda: len(stage.model.requests) == 2)
    await stage.say("alice", ALICE, "stop", ts)
    assert await stage.answers(ALICE, ts) == ["Stopped."]
    assert calls(stage) == ["cancelled", "cancelled"]
    assert not stage.pending("input")


async def test_killed_amid_the_new_answer_it_answers_the_edit_once(stage: Stage) -> None:
    for _ in range(2):
        stage.model.say(reply("You like mlik."), until=asyncio.Event())
    ts = await stage.post("alice", ALICE, OLD)
    await stage.until(lambda: stage.model.requests)
    await edit(stage, ALICE, ts, NEW)
    await stage.until(lambda: len(stage.model.requests) == 2)
    await stage.sleep()
    stage.model.say(reply("You like milk."))
    await stage.wake()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["You like milk."]
    assert OLD not in str(stage.prompt())
    assert NEW in str(stage.prompt())
    assert not stage.entries("restarted")
    assert verify_journal(stage.soul.journal).violations == []


async def test_an_edit_while_the_model_is_away_is_answered_when_it_is_back(stage: Stage) -> None:
    stage.model.fail(429, "rate_limit_error", wait=60)
    ts = await stage.post("alice", ALICE, OLD)
    await stage.until(lambda: stage.entries("outage"))
    stage.model.say(reply("You like milk."))
    await edit(stage, ALICE, ts, NEW)
    await stage.passing(1, lambda: stage.entries("turn-ended"))
    assert (await stage.answers(ALICE, ts))[-1] == "You like milk."
    assert OLD not in str(stage.prompt())


async def test_an_edited_mention_is_answered_in_a_channel(stage: Stage) -> None:
    stage.model.say(reply("You like mlik."), until=asyncio.Event())
    ts = await stage.post("alice", GENERAL, f"{ME} {OLD}")
    await stage.until(lambda: stage.model.requests)
    stage.model.say(reply("You like milk."))
    await edit(stage, GENERAL, ts, f"{ME} {NEW}")
    await stage.settled()
    assert await stage.answers(GENERAL, ts) == ["You like milk."]
    assert OLD not in str(stage.prompt())

"""Rehearsed memory of facts, also after restarts."""

from __future__ import annotations

import asyncio

import pytest

from tests.attention import PATIENCE, rest
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage

WANTED = {
    "remember that my birthday is on 3 March": "your birthday is on 3 March",
    "Please remember that I like tea.": "you like tea",
    "my dog is called Rex, please remember it": "your dog is called Rex",
    "Can you remember that I am a vegetarian?": "you are a vegetarian",
}


async def last(stage: Stage, text: str, channel: str = ALICE, name: str = "alice") -> str:
    return (await stage.answers(channel, await stage.say(name, channel, text)))[-1]


@pytest.mark.parametrize("text", WANTED)
async def test_what_is_to_be_remembered_is_noted_and_told_after_a_restart(stage: Stage, text: str) -> None:
    assert WANTED[text] in await last(stage, text)
    [note] = stage.entries("person")
    assert note.event.text.removeprefix("- Alice said: “").rstrip("”.") in text
    await stage.sleep()
    await stage.wake()
    assert f"You told me that {WANTED[text]}." in await last(stage, "What do you know about me?")
    assert "*1.* - Alice said" in await last(stage, "!memory")


async def test_several_facts_are_kept_and_a_question_about_one_is_answered_with_it(stage: Stage) -> None:
    for text in WANTED:
        await last(stage, text)
    known = await last(stage, "what do you know about me?")
    assert [fact for fact in WANTED.values() if fact not in known] == []
    assert await last(stage, "When is my birthday?") == "You told me that your birthday is on 3 March."
    await last(stage, "remember that my birthday is on 4 March")
    known = await last(stage, "what do you know about me?")
    assert "4 March" in known
    assert "3 March" not in known
    assert "Nothing yet" in await last(stage, "What do you know about me?", BOB, "bob")


async def test_what_a_note_is_corrected_to_counts(stage: Stage) -> None:
    await last(stage, "remember that my birthday is on 3 March")
    await last(stage, "!memory")
    await last(stage, "!memory 1: my birthday is on 5 March")
    assert await last(stage, "When is my birthday?") == "You told me that your birthday is on 5 March."


async def test_an_edited_fact_is_noted_once_and_without_the_mention(stage: Stage) -> None:
    ts = await stage.say("alice", GENERAL, f"{ME} I like my coffee with mlik.")
    await stage.client("alice").chat_update(channel=GENERAL, ts=ts, text=f"{ME} I like my coffee with milk.")
    await stage.say("alice", GENERAL, f"{ME} I live in Oslo.", ts)
    notes = stage.entries("person")[-1].event.text
    assert notes.count("coffee") == 1
    assert "milk" in notes
    assert "@" not in notes


async def test_an_inner_life_thinks_of_what_its_notes_and_its_diary_hold(asleep: Stage) -> None:
    stage = asleep
    await stage.wake(inner_life_enabled=True, inner_life_min_pause=1)

    def thoughts() -> list[str]:
        return [call.event.text for call in stage.entries("model-call") if call.event.name == "tick"]

    async def thinks(words: str) -> None:
        """Wait for a tick with these words."""
        for _ in range(60):
            await stage.clock.advance(2)
            await stage.soul.worker.sweep()
            await rest()
            if any(words in one for one in thoughts()):
                return
        raise AssertionError(f"no tick says {words!r}: {thoughts()}")

    await stage.post("alice", GENERAL, "The printer is out of ink again")
    async with asyncio.timeout(PATIENCE):
        while not stage.entries("noticed"):  # an empty first tick sleeps an hour
            await rest()
    await thinks("My diary holds about it: “The printer is out of ink again”")
    await stage.post("bob", GENERAL, f"{ME} what can you do?")
    await thinks("Bob wrote: “what can you do?”")  # without the mention
    await thinks("Last I wrote down: Bob, in #general")
    assert [one for one in thoughts() if one.startswith("Nothing is new")] == []

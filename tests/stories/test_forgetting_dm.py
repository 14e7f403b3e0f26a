"""Forgetting in all conversations of a DM."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import ClientSession

from daemon.app.journal_commands import verify_journal
from daemon.engine.event import Entry, entry_as_json
from daemon.kinds import ContextCleared, DmContextImported
from tests.signed_in import SHOWN
from tests.soak import SOAK
from tests.stories.choosing import FAST, press, pressed, questions
from tests.stories.stage import ALICE, BOB, Stage, reply
from tests.stories.test_dm_goes_on import ASKED, text
from tests.stories.test_forgetting import (
    BEES,
    NOTED,
    SECRETS,
    forgotten,
    indexed,
    learned,
    streamed,
    traces,
    until_told,
)

SUMMED = "Alice keeps beehives behind the windmill in Zinnwald, and told stories."
APIARY = "- runs an apiary at the mill pond of Geising"
NOTES = ("apiary", "Geising")
"""Words in notes only."""
STORY = "a story of a heron that stood in the rain; "


async def tell(stage: Stage, summed: str) -> None:
    before = len(sums(stage))
    stage.model.say(summed, asks=ASKED, model=FAST)
    while len(sums(stage)) == before:
        stage.model.say(reply("A fine story."))
        await stage.say("alice", ALICE, STORY * 100)
    stage.model.say(reply("That was the last one, I hope."))
    await stage.say("alice", ALICE, "And so it ends.")


async def lived(stage: Stage) -> str:
    stage.model.say(learned("Forty beehives, by the windmill!"))
    stage.model.say(NOTED, model=FAST)
    await stage.say("alice", ALICE, BEES)
    stage.model.say(reply("It is by the windmill, in Zinnwald."))
    second = await stage.say("alice", ALICE, "Where was that again?")
    await tell(stage, SUMMED)
    assert SUMMED in text(stage), "the last conversation begins with the sum"
    stage.model.say(reply("A catamaran!"))
    await stage.say("bob", BOB, "I sail a catamaran")
    return second


async def noted(stage: Stage) -> str:
    stage.model.say(learned("I see.", "Hm."))
    stage.model.say(APIARY, model=FAST)
    first = await stage.say("alice", ALICE, "I am at the pond with my bees most days.")
    stage.model.say(reply("You run an apiary there, in Geising.", "The apiary."))
    second = await stage.say("alice", ALICE, "What do you know of me?")
    assert APIARY in str(stage.model.requests[-1])
    stage.model.say(f"{reply('Still there?')}\n<learned>yes</learned>")
    stage.model.say(f"{APIARY}, still", model=FAST)
    await stage.say("alice", ALICE, "I am still there.", first)
    await tell(stage, "Alice said where she is; I told her that she runs an apiary in Geising.")
    assert "apiary in Geising" in text(stage)
    return second


async def shown(stage: Stage) -> str:
    found = await streamed(stage)
    pages = [f"/console/calls/{entry.seq}" for entry in stage.entries("model-call")]
    pages += [f"/console/threads/{thread}" for thread in sorted({one.thread for one in stage.entries()})]
    async with ClientSession(headers=SHOWN) as session:
        for page in pages:
            async with session.get(f"{stage.soul.url}{page}") as answer:
                found += await answer.text()
    return found


async def assert_gone(stage: Stage, *secrets: str) -> None:
    assert traces(stage, *secrets) == []
    told = str([entry_as_json(entry) for entry in stage.entries()]) + await shown(stage)
    assert not [secret for secret in secrets if secret in told]
    assert not verify_journal(stage.soul.journal).violations
    assert not stage.undone()


async def never_asked(stage: Stage, second: str, *secrets: str) -> list[str]:
    before = len(stage.model.requests)
    await stage.say("alice", ALICE, "Hello?")
    await stage.say("alice", ALICE, "And here?", second)
    await tell(stage, "She told stories.")
    await stage.sleep()
    await stage.wake()
    await stage.say("alice", ALICE, "Are you awake?")
    later = [str(request) for request in [*stage.model.requests][before:]]
    assert len(later) > 5
    assert not [secret for secret in secrets for asked in later if secret in asked]
    assert not verify_journal(stage.soul.journal).violations
    return later


def carriers(stage: Stage) -> list[Entry[DmContextImported]]:
    return stage.entries("carried-over")


def sums(stage: Stage) -> list[Entry[ContextCleared]]:
    return stage.entries("context-cleared")


async def test_who_is_forgotten_is_so_in_every_conversation_of_their_dm(stage: Stage) -> None:
    second = await lived(stage)
    await indexed(stage)
    assert traces(stage, *SECRETS)
    await forgotten(stage)
    await assert_gone(stage, *SECRETS)
    assert "catamaran" in str([entry_as_json(entry) for entry in stage.entries()]), "Bob's DM stays"
    assert all(one.forgotten for one in (*sums(stage), *carriers(stage)))
    await never_asked(stage, second, *SECRETS)


async def test_a_note_is_forgotten_with_all_that_was_made_of_it_in_other_conversations(stage: Stage) -> None:
    second = await noted(stage)
    assert traces(stage, *NOTES)
    assert len(stage.entries("person")) == 2, "the second note was made from the first one"
    await stage.say("alice", ALICE, "!memory")
    await stage.say("alice", ALICE, "!forget 1")
    await pressed(stage, "alice", "Forget it")
    await until_told(stage)
    await assert_gone(stage, *NOTES)
    assert all(one.forgotten for one in (*sums(stage), *stage.entries("person")))
    later = await never_asked(stage, second, *NOTES)
    assert "at the pond with my bees" in later[0], "her messages stay, and go on with the DM"


@SOAK
@pytest.mark.parametrize("ends", [True, False], ids=["ends by itself", "never ends"])
async def test_a_conversation_that_has_it_in_mind_meanwhile_ends_first_or_is_stopped(
    stage: Stage, ends: bool
) -> None:
    await lived(stage)
    await stage.say("alice", ALICE, "!forget me")
    held = asyncio.Event()
    stage.model.say(reply("Of your beehives in Zinnwald."), until=held)
    calls = len(stage.model.requests)
    root = await stage.post("alice", ALICE, "Of what do you think?")
    await stage.until(lambda: len(stage.model.requests) > calls)
    assert SUMMED in text(stage)
    [question] = questions(stage)
    await press(
        stage, "alice", ALICE, stage.soul.journal.entry(question.event.said[-1]).event.ts, "Forget it"
    )
    await stage.until(lambda: stage.pending("to-forget"))
    await stage.clock.advance(5)
    assert not stage.entries("forgotten")
    if ends:
        held.set()
    else:
        await stage.passing(5, lambda: stage.entries("forget-done"))
    await until_told(stage)
    await assert_gone(stage, *SECRETS)
    assert (await stage.answers(ALICE, root) == ["Of your beehives in Zinnwald."]) == ends
    await never_asked(stage, root, *SECRETS)


async def test_killed_with_it_in_mind_the_next_start_forgets_it(stage: Stage) -> None:
    await lived(stage)
    await stage.say("alice", ALICE, "!forget me")
    stage.model.say(reply("Of your beehives."), until=asyncio.Event())
    calls = len(stage.model.requests)
    root = await stage.post("alice", ALICE, "Of what do you think?")
    await stage.until(lambda: len(stage.model.requests) > calls)
    [question] = questions(stage)
    await press(
        stage, "alice", ALICE, stage.soul.journal.entry(question.event.said[-1]).event.ts, "Forget it"
    )
    await stage.until(lambda: stage.pending("to-forget"))
    await stage.sleep()
    stage.model.say(reply("Of your windmill, still."))
    await stage.wake()
    await until_told(stage)
    await assert_gone(stage, *SECRETS)
    await never_asked(stage, root, *SECRETS)

"""Commands that speak to people and bots (H21)."""

from __future__ import annotations

import pytest

from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import ECHO
from tests.soak import SOAK, later
from tests.stories.choosing import pressed, questions
from tests.stories.mending import unasked
from tests.stories.speaking import beep
from tests.stories.stage import ALICE, BOB, GENERAL, Stage, reply
from tests.stories.ticking import (
    did,
    do,
    does,
    live,
    note_of,
    shown,
    thinks,
    tick,
    unlike,
)

DAY = 86_400.0
NEWS = "The lift works again."
YOU = f"<@{ECHO.user}>"


async def owned(stage: Stage) -> None:
    await live(
        stage,
        owner_user_ids=frozenset({ALICE_HERSELF.id}),
        allowed_bots=frozenset({ECHO.user}),
    )


async def in_view(stage: Stage) -> str:
    await stage.say("bob", GENERAL, "The lift is stuck.")
    asked = await does(stage, do("notes.read", ids=[note_of(stage, "lift is stuck")]))
    return asked.setting("in view").removeprefix("#general (").removesuffix(")")


def sent(asked: str) -> bool:
    return "said</sent>" in asked


# message.send


async def test_to_the_conversation_in_view_it_speaks_freely(asleep: Stage) -> None:
    stage = asleep
    await owned(stage)
    there = await in_view(stage)
    asked = await does(stage, do("message.send", to=there, text=NEWS))
    assert await unasked(stage, "alice", GENERAL) == [NEWS]
    assert asked.results["message.send"][0] == "yes"
    assert sent(asked.context(2))
    assert asked.setting("messages sent today") == "1 of 10"
    thinks(stage, unlike(60))
    assert not sent((await tick(stage)).context(2)), "it is told once"
    assert not stage.entries("asked")


async def test_elsewhere_an_owner_says_yes_first(asleep: Stage) -> None:
    stage = asleep
    await owned(stage)
    await stage.say("bob", GENERAL, "The lift is stuck.")
    asked = await does(stage, do("message.send", to="Bob", text=NEWS))
    assert "an owner is asked whether it may be said: a direct message with Bob" in asked.context(2)
    assert await unasked(stage, "bob", BOB) == []
    [question] = await unasked(stage, "alice", ALICE)
    assert NEWS in question
    await pressed(stage, "alice", "Approve")
    assert await unasked(stage, "bob", BOB) == [NEWS]
    thinks(stage, unlike(60))
    assert sent((await tick(stage)).context(2))


async def test_elsewhere_nothing_is_said_where_an_owner_says_no(asleep: Stage) -> None:
    stage = asleep
    await owned(stage)
    await stage.say("bob", GENERAL, "The lift is stuck.")
    await did(stage, do("message.send", to="#general", text=NEWS))
    await pressed(stage, "alice", "Decline")
    assert await unasked(stage, "alice", GENERAL) == []
    thinks(stage, unlike(60))
    asked = await tick(stage)
    assert "declined</sent>" in asked.context(2)
    asked = await does(stage, do("message.send", to="#general", text=NEWS.upper()))
    assert asked.results["message.send"] == (
        "no",
        "the same was to be said there before: it is never said twice",
    )
    assert not questions(stage)


async def test_without_an_owner_it_speaks_in_view_alone(alive: Stage) -> None:
    stage = alive
    there = await in_view(stage)
    asked = await does(
        stage,
        do("message.send", to=there, text=NEWS),
        do("message.send", to="Bob", text=NEWS),
    )
    assert await unasked(stage, "alice", GENERAL) == [NEWS]
    assert "an owner would have to agree to that, and none is set" in asked.context(2)
    assert await unasked(stage, "bob", BOB) == []


async def test_what_is_private_in_view_is_not_even_asked_about(asleep: Stage) -> None:
    stage = asleep
    await owned(stage)
    await stage.say("alice", GENERAL, "What a day.")
    stage.model.say(reply("I see."))
    await stage.say("bob", BOB, "I am going to leave in May.")
    await did(stage, do("notes.read", ids=[note_of(stage, "leave in May")]))
    asked = await does(
        stage,
        do("message.send", to="#general", text="Bob leaves in May."),
        do("mesh.ask", to="Echo", text="Did you know that Bob leaves in May?"),
    )
    assert asked.results["message.send"] == ("no", "what is in view may not be known there")
    assert asked.results["mesh.ask"][0] == "no"
    assert not questions(stage)
    assert await unasked(stage, "alice", GENERAL) == []


@SOAK
async def test_it_sends_only_so_many_messages_a_day(asleep: Stage) -> None:
    stage = asleep
    await live(stage, inner_life_daily_messages=2)
    there = await in_view(stage)
    asked = await does(stage, *(do("message.send", to=there, text=f"News {n}.") for n in range(3)))
    assert sorted(await unasked(stage, "alice", GENERAL)) == ["News 0.", "News 1."]
    assert "2 messages were sent today, which is as many as may be" in asked.context(2)
    assert asked.setting("messages sent today") == "2 of 2"
    thinks(stage, unlike(60))
    await tick(stage, DAY)
    asked = await does(stage, do("message.send", to=there, text="News 3."))
    assert asked.setting("messages sent today") == "1 of 2"
    assert len(await unasked(stage, "alice", GENERAL)) == 3


# mesh.ask and mesh.share


@SOAK
async def test_a_neighbour_is_asked_and_its_answer_is_a_note(asleep: Stage) -> None:
    stage = asleep
    await owned(stage)
    await beep(stage, "beep")
    asked = await does(stage, do("mesh.ask", to="Echo in #general", text="What is new?"))
    assert asked.results["mesh.ask"][0] == "yes"
    [question] = await unasked(stage, "alice", GENERAL)
    assert question == f"{YOU} What is new?"
    assert not stage.entries("asked"), "no owner needs to agree"
    [spoken] = [one for one in stage.entries("spoken") if "What is new?" in one.event.text]
    await beep(stage, "The ferry is late.", spoken.event.ts)
    answer = note_of(stage, "ferry is late")
    asked = await does(stage, do("notes.read", ids=[answer]))
    assert f'<note id="{answer}" priority="low" source="bot" from="Echo"' in asked.context(4)
    assert "The ferry is late." in asked.context(4)


async def test_records_are_shared_without_their_tags_and_ids(asleep: Stage) -> None:
    stage = asleep
    await owned(stage)
    await beep(stage, "beep")
    await did(stage, do("diary.add", text="Ferries are often late.", tags=["private-tag"]))
    record = stage.entries("command")[-1].seq
    asked = await does(stage, do("mesh.share", to="Echo", ids=[record]))
    assert asked.results["mesh.share"][0] == "yes"
    assert await unasked(stage, "alice", GENERAL) == [f"{YOU}\n> Ferries are often late."]
    asked = await does(stage, do("mesh.share", to="Echo", ids=[9_999]))
    assert asked.results["mesh.share"][0] == "no"


@pytest.mark.parametrize("command", ["mesh.ask", later("message.send")])
async def test_whom_nobody_knows_cannot_be_reached(asleep: Stage, command: str) -> None:
    stage = asleep
    await owned(stage)
    asked = await does(stage, do(command, to="Zoe", text="Hello."))
    done, why = asked.results[command]
    assert (done, "is known as 'Zoe'" in why) == ("no", True)
    assert len(shown(stage)) == 2

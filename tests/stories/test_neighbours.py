"""Conversations with other bots, which always end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.inner_life.recipients import ShareableRecord
from daemon.kinds import AudienceChanged
from rehearsal.people import CAROL as CAROL_HERSELF
from rehearsal.people import ECHO, SOUL, TEAM
from tests.soak import SOAK, later, shared
from tests.stories.mending import unasked
from tests.stories.speaking import Commands, beep, heard_out
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply, staged
from tests.stories.test_messages import commanding, conversation

YOU = f"<@{ECHO.user}>"
HELLO = "I am Echo."
WORKSHOP = "C0WORKSHOP3"
OPUS = "claude-opus-5-5"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        await stage.wake(owner_user_ids=frozenset({CAROL_HERSELF.id}), allowed_bots=frozenset({ECHO.user}))
        await stage.say("alice", ALICE, "Hello")
        ts = await stage.say("alice", GENERAL, f"{ME} hello")
        await beep(stage, HELLO, ts)
        await stage.say("alice", WORKSHOP, f"{ME} hello")
        await stage.sleep()
        yield stage


async def meeting(stage: Stage, **given: Any) -> Commands:
    return await commanding(stage, neighbours=frozenset({ECHO.user}), **{"view": "", **given})


def answered(stage: Stage) -> int:
    return sum(entry.event.bot for entry in stage.entries("message"))


# Messages to bots


@pytest.mark.parametrize(
    "to", ["Echo", later("echo in #general"), later(f"{ECHO.user} #general"), later(f"{YOU} in {GENERAL}")]
)
async def test_a_neighbour_is_asked_by_a_mention_without_an_owners_leave(stage: Stage, to: str) -> None:
    commands = await meeting(stage)
    if to == f"{YOU} in {GENERAL}":
        to = f"{YOU} in <#{GENERAL}>"
    assert (await commands.carry_out("mesh.ask", to=to, text=f"What is new? {ME}"))[0]
    [asked] = await unasked(stage, "alice", GENERAL)
    assert asked == f"{YOU} What is new? @{SOUL.user}"
    assert not stage.entries("asked")


@SOAK
async def test_its_answer_below_is_heard_and_no_question(stage: Stage) -> None:
    commands = await meeting(stage)
    await commands.carry_out("mesh.ask", to="Echo", text="What is new?")
    [spoken] = [one for one in stage.entries("spoken") if "new?" in one.event.text]
    paid = len(stage.model.requests)
    await beep(stage, "The ferry is late.", spoken.event.ts)
    assert [one.event.text for one in stage.entries("heard")] == [HELLO, "The ferry is late."]
    assert len(stage.model.requests) == paid


@pytest.mark.parametrize(
    "to", shared(["Alice", "Nobody", "Echo in #workshop", "Echo in #nowhere", "U0NOBODY999"], 5)
)
async def test_whom_it_cannot_meet_it_cannot_ask(stage: Stage, to: str) -> None:
    commands = await meeting(stage)
    assert not (await commands.carry_out("mesh.ask", to=to, text="What is new?"))[0]
    assert not stage.entries("to-say")


async def test_records_are_shared_as_words_alone_if_they_may_be_known_there(stage: Stage) -> None:
    commands = await meeting(stage)
    mine, there = conversation(stage, ALICE), conversation(stage, GENERAL)
    commands.records = [
        ShareableRecord(id=5, text="Ferries are often late.\n```", view=""),
        ShareableRecord(id=6, text=f"{YOU} Alice is leaving us.", view=mine),
        ShareableRecord(id=8, text=f"Bees hum. {YOU}", view=there),
    ]
    ok, told = await commands.carry_out("mesh.share", to="Echo", ids=[5, 6])
    assert (ok, told) == (False, "there are no such records: 6"), "not in sight of public things"
    commands.view = mine
    ok, told = await commands.carry_out("mesh.share", to="Echo", ids=[5, 6])
    assert (ok, told) == (False, "what is in view may not be known there: leave out 6")
    commands.view = ""
    ok, told = await commands.carry_out("mesh.share", to="Echo", ids=[5, 7])
    assert (ok, told) == (False, "there are no such records: 7")
    assert (await commands.carry_out("mesh.share", to="Echo", ids=[5, 8]))[0]
    [shared] = await unasked(stage, "alice", GENERAL)
    assert shared == f"{YOU}\n> Ferries are often late.\n> ```\n> Bees hum. @{ECHO.user}"


async def test_a_record_from_before_outsiders_came_is_none_where_they_read(stage: Stage) -> None:
    commands = await meeting(stage)
    commands.view = conversation(stage, WORKSHOP)
    commands.records = [ShareableRecord(id=5, text="Ferries are often late.", view=commands.view, wrote=5)]
    opened = AudienceChanged(team=TEAM, channel=WORKSHOP, audience="shared")
    await stage.soul.journal.append(f"slack:{TEAM}", opened, key="opened", author="core")
    told = await commands.carry_out("mesh.share", to="Echo", ids=[5])
    assert told == (False, "there are no such records: 5")


async def test_what_is_secret_in_view_reaches_no_neighbour(stage: Stage) -> None:
    commands = await meeting(stage)
    commands.view = conversation(stage, ALICE)
    commands.records = [ShareableRecord(id=5, text="Ferries are often late.", view="")]
    assert not (await commands.carry_out("mesh.ask", to="Echo", text="Alice is leaving us."))[0]
    assert not (await commands.carry_out("mesh.share", to="Echo", ids=[5]))[0]
    assert not stage.entries("to-say")


@SOAK
async def test_they_are_turned_to_only_so_often_a_day(stage: Stage) -> None:
    commands = await meeting(stage, mesh=3)
    ran = [(await commands.carry_out("mesh.ask", to="Echo", text=f"No. {n}?"))[0] for n in range(4)]
    assert ran == [True, True, True, False]
    await stage.clock.leap(86_400)
    assert (await commands.carry_out("mesh.ask", to="Echo", text="No. 5?"))[0]


# Answers


async def test_who_always_mentions_back_is_answered_no_more_until_a_person_speaks(stage: Stage) -> None:
    await stage.wake()
    ts = await beep(stage, f"{ME} beep")
    for _ in range(5):
        await beep(stage, f"{ME} beep", ts)
    assert answered(stage) == 2, "three messages of bots, its own among them, are enough"
    await stage.say("alice", GENERAL, "Well?", ts)
    await beep(stage, f"{ME} beep", ts)
    assert answered(stage) == 3
    await beep(stage, f"{ME} beep", ts)
    await beep(stage, f"{ME} beep", ts)
    assert answered(stage) == 3, "a person's word, and what was answered to it"
    assert not stage.pending("input", "turn-began", "speech")


@SOAK
async def test_a_restart_forgets_none_of_it(stage: Stage) -> None:
    await stage.wake()
    ts = await beep(stage, f"{ME} beep")
    await beep(stage, f"{ME} beep", ts)
    await stage.sleep()
    await stage.wake()
    await beep(stage, f"{ME} beep", ts)
    assert answered(stage) == 2


@SOAK
async def test_who_begins_anew_each_time_is_answered_so_often_a_day(stage: Stage) -> None:
    await stage.wake(mesh_daily=4)
    for _ in range(6):
        await beep(stage, f"{ME} beep")
    assert answered(stage) == 4
    await stage.clock.leap(86_400)
    await beep(stage, f"{ME} beep")
    assert answered(stage) == 5


@SOAK
async def test_what_it_asked_and_what_it_answered_are_counted_together(stage: Stage) -> None:
    stage.settings["mesh_daily"] = 3
    commands = await meeting(stage, mesh=3)
    assert (await commands.carry_out("mesh.ask", to="Echo", text="No. 1?"))[0]
    commands.given = []
    await beep(stage, f"{ME} beep")
    await beep(stage, f"{ME} beep")
    await beep(stage, f"{ME} beep")
    assert answered(stage) == 2
    assert not (await commands.carry_out("mesh.ask", to="Echo", text="No. 2?"))[0]


@asynccontextmanager
async def another(stage: Stage) -> AsyncIterator[Stage]:
    other = replace(stage, home=stage.home.parent / "other", settings={}, processes=None, _soul=None)
    other._life = AsyncExitStack()
    await other.wake(
        slack_bot_token=ECHO.bot_token,
        slack_app_token=ECHO.app_token,
        claude_model=OPUS,
        allowed_bots=frozenset({SOUL.user}),
    )
    try:
        yield other
    finally:
        await other.sleep()


async def test_two_daemons_talk_to_each_other_and_come_to_rest(stage: Stage) -> None:
    await stage.wake()
    async with another(stage) as other:
        for _ in range(20):
            stage.model.say(reply(f"Well, {YOU}, tell me more."), model="claude-sonnet*")
            stage.model.say(reply(f"Well, {ME}, tell me more."), model=OPUS)
        ts = await stage.post("alice", GENERAL, f"{ME} ask Echo what is new")
        await heard_out(stage, other)
        said = [who for who, _ in await stage.thread(GENERAL, ts)]
        assert said == ["Alice", "Claudius", ECHO.user, "Claudius", ECHO.user]
        for one in (stage, other):
            assert not one.pending("input", "turn-began", "speech")

"""message.send: direct, with approval, or refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import BOB as BOB_HIMSELF
from rehearsal.people import CAROL as CAROL_HERSELF
from rehearsal.people import ECHO
from tests.soak import SOAK, later, shared
from tests.stories.choosing import questions
from tests.stories.mending import unasked
from tests.stories.speaking import Commands, became, opened
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, Stage, reply, staged
from tests.stories.test_leave import answered

NEWS = "The ferry is late today."
SECRET = "Alice is leaving us."
OWNERS = frozenset({CAROL_HERSELF.id})


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        await stage.wake(owner_user_ids=OWNERS, allowed_bots=frozenset({ECHO.user}))
        for name, channel, text in (
            ("alice", ALICE, "Hello"),
            ("bob", BOB, "Hello"),
            ("alice", GENERAL, f"{ME} hello"),
            ("bob", "C0BACKROOM4", f"{ME} hello"),
        ):
            await stage.say(name, channel, text)
        await stage.sleep()
        yield stage


async def commanding(stage: Stage, **given: Any) -> Commands:
    commands = Commands(stage=stage, **given)
    commands.plays()
    await stage.wake()
    return commands


def conversation(stage: Stage, channel: str) -> str:
    found = [one for one in stage.entries("thread") if one.event.channel == channel and one.event.ts]
    return found[0].thread


@SOAK
async def test_to_the_view_it_is_said_at_once(stage: Stage) -> None:
    commands = await commanding(stage)
    commands.view = to = conversation(stage, GENERAL)
    assert (await commands.carry_out("message.send", to=to, text=NEWS))[0]
    assert (await stage.answers(GENERAL, opened(stage, to).ts))[-1] == NEWS
    assert (became(stage), stage.entries("asked")) == (["said"], [])


@pytest.mark.parametrize("to", ["Bob", later("@bob"), later(BOB_HIMSELF.id), later(f"<@{BOB_HIMSELF.id}>")])
async def test_to_a_person_an_owner_agrees_first(stage: Stage, to: str) -> None:
    commands = await commanding(stage, view="")
    assert (await commands.carry_out("message.send", to=to, text=NEWS))[0]
    [asked] = await unasked(stage, "carol", CAROL)
    assert "may I say this in a direct message with Bob?" in asked
    assert await unasked(stage, "bob", BOB) == []
    await answered(stage, "carol", "Approve")
    assert await unasked(stage, "bob", BOB) == [NEWS]


@SOAK
@pytest.mark.parametrize(
    "to", [later("#general"), later("#General"), later(GENERAL), f"<#{GENERAL}|general>"]
)
async def test_to_a_channel_too(stage: Stage, to: str) -> None:
    commands = await commanding(stage, view="")
    assert (await commands.carry_out("message.send", to=to, text=NEWS))[0]
    await answered(stage, "carol", "Approve")
    assert await unasked(stage, "alice", GENERAL) == [NEWS]


async def test_to_an_owner_it_is_said_without_a_question(stage: Stage) -> None:
    commands = await commanding(stage, view="")
    assert (await commands.carry_out("message.send", to="Carol", text=NEWS))[0]
    assert await unasked(stage, "carol", CAROL) == [NEWS]
    assert not stage.entries("asked")


@SOAK
@pytest.mark.parametrize(
    "to", shared(["Nobody", "#nowhere", "sess-0000beef", "Echo", ECHO.user, "", "U0NOBODY999"], 7)
)
async def test_whom_nobody_knows_is_refused_with_whom_there_is(stage: Stage, to: str) -> None:
    commands = await commanding(stage, view="")
    ok, told = await commands.carry_out("message.send", to=to, text=NEWS)
    assert not ok
    assert "a person by name or id (Alice)" in told, "of the others only their own DMs have heard"
    assert "#general" in told
    assert "backroom" not in told, "a private channel is nothing public"
    assert not stage.entries("to-say")


async def test_without_an_owner_it_is_refused(stage: Stage) -> None:
    stage.settings["owner_user_ids"] = frozenset()
    commands = await commanding(stage, view="")
    ok, told = await commands.carry_out("message.send", to="Bob", text=NEWS)
    assert (ok, "none is set" in told, stage.entries("to-say")) == (False, True, [])


@SOAK
@pytest.mark.parametrize("text", [later(""), "<think>hm</think>", later("x" * 2_001)])
async def test_what_cannot_be_said_is_refused(stage: Stage, text: str) -> None:
    commands = await commanding(stage, view="")
    assert not (await commands.carry_out("message.send", to="Carol", text=text))[0]
    assert not stage.entries("to-say")


async def test_the_same_is_never_said_twice_whatever_came_of_it(stage: Stage) -> None:
    commands = await commanding(stage, view="")
    commands.given = [("message.send", {"to": "Bob", "text": text}) for text in (NEWS, f" {NEWS.upper()}\n")]
    await stage.say("carol", CAROL, "now")
    assert [entry.event.ok for entry in stage.entries("command")] == [True, False], "nor in one tick"
    await answered(stage, "carol", "Decline")
    await stage.sleep()
    await stage.wake()
    ok, told = await commands.carry_out("message.send", to=BOB_HIMSELF.id, text=NEWS)
    assert (ok, "never said twice" in told) == (False, True)
    assert (await commands.carry_out("message.send", to="#general", text=NEWS))[0], "elsewhere it may be"
    assert became(stage) == ["declined"]


@SOAK
async def test_only_so_many_a_day(stage: Stage) -> None:
    commands = await commanding(stage, view="", daily=2)
    ran = [(await commands.carry_out("message.send", to="Carol", text=f"No. {n}"))[0] for n in range(3)]
    assert ran == [True, True, False]
    await stage.clock.leap(86_400)
    assert (await commands.carry_out("message.send", to="Carol", text="No. 4"))[0]
    assert not (await commands.carry_out("message.send", to="Nobody", text="No. 5"))[0]
    assert (await commands.carry_out("message.send", to="Carol", text="No. 5"))[0], "a refused one is none"


@pytest.mark.parametrize("owner", [ALICE_HERSELF.id, later(BOB_HIMSELF.id), later(CAROL_HERSELF.id)])
async def test_a_secret_of_a_dm_goes_nowhere_and_nobody_is_asked(stage: Stage, owner: str) -> None:
    stage.settings["owner_user_ids"] = frozenset({owner})
    commands = await commanding(stage)
    commands.view = mine = conversation(stage, ALICE)
    private = conversation(stage, "C0BACKROOM4")
    for to in ("Bob", "Carol", "#general", "#backroom", "C0WORKSHOP3", conversation(stage, BOB), private):
        ok, told = await commands.carry_out("message.send", to=to, text=SECRET)
        assert (ok, told) == (False, "what is in view may not be known there")
    assert not stage.entries("to-say", "asked")
    assert (await commands.carry_out("message.send", to=mine, text=SECRET))[0]
    everywhere = [one["channel"] for one in stage.wire.told("chat.postMessage") if SECRET in str(one)]
    assert everywhere == [ALICE]


async def test_her_own_dm_may_know_it_but_an_owner_who_reads_it_may_not(stage: Stage) -> None:
    commands = await commanding(stage)
    commands.view = conversation(stage, ALICE)
    ok, told = await commands.carry_out("message.send", to="Alice", text=SECRET)
    assert (ok, "none may know what is in view" in told) == (False, True)
    assert not stage.entries("to-say", "asked")


async def test_what_a_private_channel_knows_its_public_neighbours_do_not(stage: Stage) -> None:
    commands = await commanding(stage)
    commands.view = conversation(stage, "C0BACKROOM4")
    assert not (await commands.carry_out("message.send", to="#general", text=SECRET))[0]
    commands.view = conversation(stage, GENERAL)
    assert (await commands.carry_out("message.send", to="#backroom", text=NEWS))[0], "what is public may go"


async def test_killed_in_between_it_is_sent_once(stage: Stage) -> None:
    commands = await commanding(stage, view="")
    commands.held = asyncio.Event()
    commands.given = [("message.send", {"to": "Bob", "text": NEWS})] * 2
    await stage.post("carol", CAROL, "now")
    await stage.until(lambda: stage.entries("to-say"))
    await stage.sleep()
    commands.held.set()
    await stage.wake()
    await stage.passing(1.0, lambda: len(stage.entries("command")) == 2)
    await stage.settled()
    assert [entry.event.ok for entry in stage.entries("command")] == [True, False]
    assert len(questions(stage)) == 1
    assert not stage.entries("restarted")


@SOAK
async def test_it_calls_no_neighbour(stage: Stage) -> None:
    commands = await commanding(stage, view="", neighbours=frozenset({ECHO.user}))
    ok, told = await commands.carry_out("message.send", to="Carol", text=f"<@{ECHO.user}> come")
    assert (ok, "mesh.ask" in told) == (False, True)


@SOAK
async def test_whoever_answers_below_what_it_said_is_understood(stage: Stage) -> None:
    commands = await commanding(stage, view="")
    await commands.carry_out("message.send", to="Carol", text=NEWS)
    [spoken] = [one for one in stage.entries("spoken") if one.event.text == NEWS]
    await stage.sleep()
    stage.processes = None
    await stage.wake()
    stage.model.say(reply("An hour."))
    await stage.say("carol", CAROL, "How late?", spoken.event.ts)
    assert NEWS in stage.asked()[-1]

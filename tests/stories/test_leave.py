"""Approval of unprompted messages by an owner."""

from __future__ import annotations

import asyncio

import pytest

from daemon.kinds import AudienceChanged
from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import CAROL as CAROL_HERSELF
from rehearsal.people import TEAM
from tests.soak import SOAK, later
from tests.stories.choosing import press, questions, whispers
from tests.stories.mending import unasked
from tests.stories.speaking import became, top, wanted
from tests.stories.stage import ALICE, CAROL, GENERAL, Stage

NEWS = "The ferry is late today."
DAY = 86_400.0


async def asking(stage: Stage, text: str = NEWS, *, place: str = "#general") -> str:
    if stage.settings.get("owner_user_ids") is None:
        await stage.sleep()
        await stage.wake(owner_user_ids=frozenset({CAROL_HERSELF.id}))
    there = await top(stage, GENERAL)
    theirs = await stage.soul.slack.doors.open_dm(CAROL_HERSELF.id)
    await wanted(stage, theirs, text, to=there, place=place)
    await stage.settled()
    return there


async def answered(stage: Stage, name: str, label: str, nth: int = 0) -> None:
    [spoken] = stage.soul.journal.entries_at(questions(stage)[nth].event.said)
    before = len(stage.entries("answer"))
    await press(stage, name, CAROL, spoken.event.ts, label)
    await stage.until(lambda: len(stage.entries("answer")) > before)
    await stage.settled()


async def test_the_owner_is_shown_where_and_what_and_on_yes_it_is_said_once(stage: Stage) -> None:
    await asking(stage)
    [asked] = await unasked(stage, "carol", CAROL)
    assert asked.startswith(f"<@{CAROL_HERSELF.id}>, may I say this in #general?")
    assert asked.endswith(f"\n> {NEWS}")
    assert await unasked(stage, "alice", GENERAL) == []
    await stage.sleep()
    await stage.wake()
    await answered(stage, "carol", "Approve")
    assert await unasked(stage, "alice", GENERAL) == [NEWS]
    assert became(stage) == ["said"]
    [settled] = await unasked(stage, "carol", CAROL)
    assert "[Carol chose “Approve”]" in settled
    assert len(stage.model.requests) == 0, "nobody thinks about it"
    assert not stage.pending("asked", "waiting", "input", "turn-began", "speech")


async def test_on_no_nothing_is_said(stage: Stage) -> None:
    await asking(stage)
    await answered(stage, "carol", "Decline")
    assert await unasked(stage, "alice", GENERAL) == []
    assert became(stage) == ["declined"]
    assert not stage.pending("asked", "waiting", "input", "turn-began")


@SOAK
async def test_after_a_day_without_an_answer_nothing_is_said(stage: Stage) -> None:
    await asking(stage)
    await stage.clock.leap(DAY - 60)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert len(questions(stage)) == 1
    await stage.clock.leap(120)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert (became(stage), await unasked(stage, "alice", GENERAL)) == (["unanswered"], [])
    assert not stage.pending("asked", "waiting", "input", "turn-began")


@SOAK
async def test_several_wait_each_by_itself(stage: Stage) -> None:
    await asking(stage, "One.")
    await asking(stage, "Two.")
    await asking(stage, "Three.")
    assert len(questions(stage)) == 3
    await answered(stage, "carol", "Decline", 1)
    await answered(stage, "carol", "Approve", 1)
    assert await unasked(stage, "alice", GENERAL) == ["Three."]
    assert len(questions(stage)) == 1
    assert became(stage) == ["declined", "said"]


async def test_nobody_but_that_owner_may_say_yes(stage: Stage) -> None:
    await asking(stage)
    [spoken] = stage.soul.journal.entries_at(questions(stage)[0].event.said)
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({ALICE_HERSELF.id}))
    await press(stage, "carol", CAROL, spoken.event.ts, "Approve")
    await stage.until(lambda: stage.entries("answer"))
    await stage.settled()
    assert len(whispers(stage)) == 1, "she owns it no more"
    assert await unasked(stage, "alice", GENERAL) == []
    assert await unasked(stage, "alice", ALICE) == []


@SOAK
async def test_where_nobody_owns_it_any_more_nobody_is_asked(stage: Stage) -> None:
    there = await top(stage, GENERAL)
    theirs = await stage.soul.slack.doors.open_dm(CAROL_HERSELF.id)
    await wanted(stage, theirs, NEWS, to=there, place="#general")
    await stage.settled()
    assert (became(stage), await unasked(stage, "carol", CAROL)) == (["refused"], [])


@pytest.mark.parametrize("end", ["\n", later("\r"), later("\r\n"), "\u2028", later("\x0b"), later("\u0085")])
async def test_nothing_in_it_can_pose_as_ours(stage: Stage, end: str) -> None:
    text = f"Hello.{end}```{end}</say>{end}**You may approve this.**"
    await asking(stage, text, place="#general\n> yes*")
    [asked] = await unasked(stage, "carol", CAROL)
    ours, *quotation = asked.splitlines()
    assert ours.startswith(f"<@{CAROL_HERSELF.id}>, may I say this in #general yes*?")
    assert all(line.startswith("> ") for line in quotation)
    assert "You may approve this" in quotation[-1]


@SOAK
async def test_a_stop_lets_go_of_it(stage: Stage) -> None:
    await asking(stage)
    [spoken] = stage.soul.journal.entries_at(questions(stage)[0].event.said)
    await stage.client("carol").reactions_add(channel=CAROL, timestamp=spoken.event.ts, name="octagonal_sign")
    await stage.until(lambda: stage.entries("stop"))
    await stage.settled()
    assert (became(stage), await unasked(stage, "alice", GENERAL)) == (["declined"], [])
    assert not stage.pending("asked", "waiting", "input", "turn-began")


@pytest.mark.parametrize("method", ["chat.postMessage", later("chat.update")])
async def test_killed_in_between_it_is_said_once(stage: Stage, method: str) -> None:
    await asking(stage)
    [spoken] = stage.soul.journal.entries_at(questions(stage)[0].event.said)
    held = stage.wire.held[method] = asyncio.Event()
    await press(stage, "carol", CAROL, spoken.event.ts, "Approve")
    before = len(stage.wire.told(method))
    await stage.until(lambda: len(stage.wire.told(method)) > before)
    await stage.sleep()
    held.set()
    stage.wire.held.clear()
    await stage.wake()
    await stage.passing(5.0, lambda: became(stage))
    await stage.settled()
    assert await unasked(stage, "alice", GENERAL) == [NEWS]
    assert became(stage) == ["said"]
    assert len(stage.entries("to-say")) == 2


@pytest.mark.parametrize("audience", ["shared", later("")])
async def test_where_others_have_come_to_read_by_then_nothing_is_said(stage: Stage, audience: str) -> None:
    there = await asking(stage)
    shared = AudienceChanged(team=TEAM, channel=GENERAL, audience=audience)
    await stage.soul.journal.append(f"slack:{TEAM}", shared, key="shared", author="core")
    await answered(stage, "carol", "Approve")
    assert await unasked(stage, "alice", GENERAL) == []
    await wanted(stage, there, NEWS)
    await stage.settled()
    assert await unasked(stage, "alice", GENERAL) == []
    await wanted(stage, there, NEWS, view=there)  # from an earlier tick, whose view was public inside
    await stage.settled()
    assert await unasked(stage, "alice", GENERAL) == []
    assert became(stage) == ["refused"] * 3
    assert not stage.pending("asked", "waiting", "input", "turn-began")

"""INNER_LIFE_READS_DMS: DMs only in their own view."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.kinds import ModelCall
from rehearsal.people import CAROL as CAROL_HERSELF
from tests.stories.choosing import pressed
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply, staged
from tests.stories.test_edited import edit, edits_are_known
from tests.stories.test_forgetting import traces, until_told
from tests.stories.ticking import (
    Shown,
    conversation,
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

BEES = "My bees are behind the windmill"
BOAT = "The boat leaks near the keel"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage
        assert verify_journal(stage.soul.journal).violations == []


async def reading(stage: Stage, **settings: Any) -> None:
    await live(stage, inner_life_reads_dms=True, **settings)


async def tells(stage: Stage, who: str, channel: str, text: str) -> str:
    stage.model.say(reply("I see."))
    return await stage.say(who, channel, text)


async def quiet(stage: Stage) -> Shown:
    thinks(stage, unlike(len(shown(stage))))
    return await tick(stage)


async def test_the_words_of_a_dm_are_in_the_view_of_the_next_tick_once(stage: Stage) -> None:
    await reading(stage)
    ts = await tells(stage, "alice", ALICE, BEES)
    asked = await quiet(stage)
    assert BEES in asked.context(4)
    assert asked.setting("in view").endswith(f"({conversation(stage, ALICE, ts)})")
    assert asked.setting("direct messages") == "you see what was said in the one in view"
    assert BEES not in (await quiet(stage)).text


@pytest.mark.parametrize("commands", [[], [do("cycle.mode", mode="auto")], [do("cycle.idle", seconds=60)]])
async def test_so_it_is_in_each_mode_and_after_a_sleep(stage: Stage, commands: list[Any]) -> None:
    await reading(stage)
    await did(stage, *commands)
    await tells(stage, "alice", ALICE, BEES)
    asked = await quiet(stage)
    assert asked.context(4).count(BEES) == 1
    assert BEES not in (await quiet(stage)).text


@pytest.mark.parametrize("commands", [[], [do("cycle.mode", mode="auto")], [do("cycle.idle", seconds=60)]])
async def test_without_the_setting_no_tick_sees_them_unless_it_reads_them(
    stage: Stage, commands: list[Any]
) -> None:
    await live(stage)
    await did(stage, *commands)
    await tells(stage, "alice", ALICE, BEES)
    for _ in range(2):
        asked = await quiet(stage)
        assert BEES not in asked.text
        assert asked.setting("in view") == "public things only"
        assert "direct messages:" not in asked.context(5)
    asked = await does(stage, do("notes.read", ids=[note_of(stage, BEES)]))
    assert BEES in asked.context(4), "as ever"


async def test_two_dms_are_seen_in_two_ticks_one_at_a_time(stage: Stage) -> None:
    await reading(stage)
    await tells(stage, "alice", ALICE, BEES)
    await tells(stage, "bob", BOB, BOAT)
    await tells(stage, "alice", ALICE, f"{BEES}, truly")
    first, second, third = [await quiet(stage) for _ in range(3)]
    assert first.context(4).count(BEES) == 2
    assert BOAT not in first.text
    assert BOAT in second.context(4)
    assert BEES not in second.text
    assert BEES not in third.text
    assert BOAT not in third.text


async def test_what_was_edited_is_seen_as_it_reads_now(stage: Stage) -> None:
    await reading(stage)
    ts = await tells(stage, "alice", ALICE, BEES)
    await quiet(stage)
    await edit(stage, ALICE, ts, f"{BEES} and the mill")
    await edits_are_known(stage, 1)
    assert f"{BEES} and the mill" in (await quiet(stage)).context(4)


async def test_what_it_keeps_of_a_dm_is_in_sight_of_nothing_else(stage: Stage) -> None:
    await reading(stage)
    await tells(stage, "alice", ALICE, BEES)
    await did(
        stage,
        do("diary.add", text=f"Alice: {BEES}."),
        do("concepts.add", name="Bees", description=BEES),
        do("llm_memory.add", text=f"Task: {BEES}."),
        do("cycle.mode", mode="auto", filter={"tags": [BEES]}),
        do("notes.hide", ids=[9_999]),
        do("diary.delete", ids=[77_777]),
        do("diary.ad", text=BEES),
        words=f"I know: {BEES}.",
    )
    await tells(stage, "bob", BOB, BOAT)
    in_bobs = await does(
        stage, do("diary.search", query="bees windmill"), do("concepts.search", query="Bees")
    )
    assert BOAT in in_bobs.text or BOAT in shown(stage)[-2].text
    await did(stage, do("cycle.idle", seconds=60))
    in_public = await does(stage, do("diary.search", query="bees windmill"), do("llm_memory.list"))
    for asked in shown(stage):
        if BOAT in asked.text or asked.setting("in view") == "public things only":
            assert BEES not in asked.text
    assert in_public.setting("in view") == "public things only"


async def test_no_conversation_but_this_one_hears_of_it(stage: Stage) -> None:
    await reading(stage)
    await tells(stage, "alice", ALICE, BEES)
    await tells(stage, "bob", BOB, "Hello.")
    await did(
        stage,
        do("message.send", to=GENERAL, text=f"Alice says: {BEES}."),
        do("message.send", to="bob", text=f"Alice says: {BEES}."),
        do("message.send", to=CAROL_HERSELF.id, text=f"Alice says: {BEES}."),
    )
    await quiet(stage)
    told = {args.get("channel") for _, args in stage.wire.calls if BEES in str(args)}
    assert told <= {ALICE, None}
    stage.model.say(reply("Fine."))
    await stage.say("bob", BOB, "and you, Bob?")
    assert BEES not in stage.asked()[-1]
    stage.model.say(reply("Fine."))
    await stage.say("carol", GENERAL, f"{ME} and you?")
    assert BEES not in stage.asked()[-1]


async def test_in_that_dm_it_may_say_so(stage: Stage) -> None:
    await reading(stage)
    ts = await tells(stage, "alice", ALICE, BEES)
    thread = conversation(stage, ALICE, ts)
    await did(stage, do("message.send", to=thread, text="How are the bees?"))
    assert (await stage.answers(ALICE, ts))[-1] == "How are the bees?"


async def test_what_nobody_has_seen_is_seen_after_a_restart(stage: Stage) -> None:
    await reading(stage)
    await tells(stage, "alice", ALICE, BEES)
    await stage.sleep()
    await reading(stage)
    assert BEES in (await quiet(stage)).context(4)
    await stage.sleep()
    await reading(stage)
    assert BEES not in (await quiet(stage)).context(4)


async def test_what_was_said_before_it_was_allowed_is_not_read(stage: Stage) -> None:
    await live(stage)
    await tells(stage, "alice", ALICE, BEES)
    await stage.sleep()
    await reading(stage)
    assert BEES not in (await quiet(stage)).text
    await tells(stage, "alice", ALICE, BOAT)
    await stage.sleep()
    await live(stage, inner_life_reads_dms=False)
    assert BOAT not in (await quiet(stage)).text
    await stage.sleep()
    await reading(stage)
    assert BOAT not in (await quiet(stage)).text


async def test_who_is_forgotten_is_forgotten_in_what_came_of_it_too(stage: Stage) -> None:
    await reading(stage)
    await tells(stage, "alice", ALICE, f"{BEES}.")
    await did(
        stage,
        do("diary.add", text=f"Alice: {BEES}."),
        do("notes.hide", ids=[9_999]),
        do("diary.ad", text=BEES),
        words=f"I know: {BEES}.",
    )
    await quiet(stage)
    await stage.say("alice", ALICE, "!forget me")
    await pressed(stage, "alice", "Forget it")
    await until_told(stage)
    assert traces(stage, BEES) == []
    calls = [one for one in stage.entries("model-call") if isinstance(one.event, ModelCall)]
    assert not [one for one in calls if BEES in one.event.text]
    assert BEES not in (await quiet(stage)).text

"""Private thoughts of runs, never sent to Slack."""

from __future__ import annotations

import asyncio

from tests.stories.choosing import ASKED, ON_IT, answers, choice, deciding, ended, turning
from tests.stories.stage import ALICE, GENERAL, ME, Stage

SECRET = "They have no idea what they are asking."
NOTE = {"name": "Remember", "args": {"text": SECRET, "about": "Alice"}}
DONE = "It is the timetable."
ASIDE = f"<aside>{SECRET}</aside><say>It is <aside>{SECRET}</aside>the timetable.</say><mood>neutral</mood>"


def betrayed(stage: Stage) -> list[str]:
    return [method for method, told in stage.wire.calls if "no idea" in str(told)]


async def test_nothing_that_a_run_thinks_is_posted(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think", NOTE, why=SECRET), SECRET, choice("Respond", why=SECRET), ASIDE)
    ts = await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    await stage.say("bob", GENERAL, f"{ME} !trace", ts)
    assert await stage.answers(GENERAL, ts) == [ON_IT, DONE]
    assert SECRET in stage.entries("model-call")[2].event.text
    assert stage.wire.told("chat.postEphemeral")
    assert betrayed(stage) == []


async def test_not_even_where_it_says_nothing_else(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think"), SECRET, choice("DONE", why=SECRET), SECRET, "<say>So.</say>")
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, "So."]
    assert ended(stage) == ["done"]
    assert betrayed(stage) == []


async def test_nor_where_it_is_stopped_while_it_thinks(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think", why=SECRET))
    stage.model.say(SECRET, until=asyncio.Event(), first=20)
    ts = await stage.post("alice", ALICE, ASKED)
    await stage.until(lambda: len(stage.model.requests) == 3)
    await stage.say("alice", ALICE, "stop", ts)
    assert await stage.answers(ALICE, ts) == [ON_IT, "Stopped."]
    assert betrayed(stage) == []

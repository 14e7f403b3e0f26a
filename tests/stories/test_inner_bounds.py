"""Bounds on repetition, pace and sleep of the inner life."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.kinds import INNER
from tests.stories.stage import ALICE, Stage, reply, staged


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        await stage.wake(inner_life_enabled=True)
        await stage.settled()
        yield stage


def answer(thought: str, *commands: dict[str, Any]) -> str:
    lines = [json.dumps({"cmd_id": str(number), **one}) for number, one in enumerate(commands, 1)]
    return "\n".join([thought, "# Commands:", *lines, "# End of commands"])


def wants(type: str, **args: Any) -> dict[str, Any]:
    return {"type": type, "args": args}


async def passes(stage: Stage, seconds: float) -> None:
    await stage.clock.advance(seconds)
    await stage.soul.worker.sweep()
    await stage.settled()


async def tick(stage: Stage, thought: str, *commands: dict[str, Any]) -> None:
    stage.model.say(answer(thought, *commands))
    before = ticks(stage)
    await passes(stage, 60)
    assert ticks(stage) == before + 1


def ticks(stage: Stage) -> int:
    return len([one for one in stage.entries("tick") if one.event.answer])


async def test_what_it_says_again_is_not_done_again(stage: Stage) -> None:
    await tick(stage, "I count.", wants("diary.add", text="one"))
    await tick(stage, "I  count.", wants("diary.add", text="one"))
    assert len(stage.entries("command")) == 1
    assert [one.event.outcome for one in stage.entries("tick")][-2:] == ["thought", "repeated"]


async def test_a_sleep_until_what_is_no_process_ends_is_refused(stage: Stage) -> None:
    await tick(stage, "I sleep.", wants("cycle.idle", processes=[999_999]))
    [ran] = stage.entries("command")
    assert not ran.event.ok
    assert not verify_journal(stage.soul.journal).violations


async def test_a_pause_shorter_than_its_owner_wants_is_refused(stage: Stage) -> None:
    await tick(stage, "Faster!", wants("cycle.pause", seconds=1))
    [ran] = stage.entries("command")
    assert not ran.event.ok


async def test_what_wakes_it_too_soon_is_thought_about_when_the_pause_is_over(stage: Stage) -> None:
    await tick(stage, "I sleep until somebody writes.", wants("cycle.idle", notes={}))
    stage.model.say(reply("Hello Alice."))
    await stage.say("alice", ALICE, "Hello?")
    await passes(stage, 30)
    assert ticks(stage) == 1
    await tick(stage, "Alice wrote to me.")
    assert "notes came" in stage.asked()[-1]


async def test_what_comes_while_it_thinks_ends_the_sleep_that_it_then_begins(stage: Stage) -> None:
    thinks = asyncio.Event()
    stage.model.say(answer("I sleep until somebody writes.", wants("cycle.idle", notes={})), until=thinks)
    await stage.clock.advance(60)
    await stage.soul.worker.sweep()
    await stage.until(lambda: stage.model.requests)
    stage.model.say(reply("Hello Alice."))
    await stage.post("alice", ALICE, "Hello?")
    await stage.until(lambda: stage.entries("spoken"))
    thinks.set()
    await stage.settled()
    await tick(stage, "Alice wrote to me.")
    assert "notes came" in stage.asked()[-1]


async def test_what_woke_it_is_known_after_two_more_starts(stage: Stage) -> None:
    await tick(stage, "I sleep until somebody writes.", wants("cycle.idle", notes={}))
    stage.model.say(reply("Hello Alice."))
    await stage.say("alice", ALICE, "Hello?")
    for _ in range(2):
        await stage.sleep()
        await stage.wake()
        await stage.settled()
        await passes(stage, 10)
    assert ticks(stage) == 1
    assert len([one for one in stage.pending("waiting") if one.thread == INNER]) == 1
    await tick(stage, "Alice wrote to me.")
    assert "notes came" in stage.asked()[-1]
    assert "public things only" not in stage.asked()[-1]


async def test_its_branch_comes_to_an_answer_that_it_hears_of(stage: Stage) -> None:
    stage.model.say(answer("Think.", wants("process.start", name="think", slots={"task": "two and two"})))
    stage.model.say("<claudius-response>Four.</claudius-response>")
    await passes(stage, 60)
    await tick(stage, "So it is four.")
    assert "Four." in stage.asked()[-1], "that is news: nobody is asked whether its words are"
    assert [one for one in stage.entries("inner-message") if one.thread == INNER]
    assert len([one for one in stage.pending("waiting") if one.thread == INNER]) == 1


async def test_without_an_inner_life_nothing_is_thought(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.wake()
        await stage.settled()
        await passes(stage, 600)
        assert not stage.entries("model-call")
        assert not [one for one in stage.entries() if one.thread == INNER]

"""Unreadable inputs, closed and reported."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.soak import later
from tests.stories.stage import ALICE, BOB, PATIENCE, Stage, reply


async def ended(stage: Stage) -> list[str]:
    async with asyncio.timeout(PATIENCE):
        while stage.soul.journal.busy_threads() or stage.soul.worker.is_busy:
            await stage.clock.advance(1)
            await stage.soul.worker.sweep()
    return [str(entry.event.outcome) for entry in stage.entries("turn-ended")][1:]


def damage(stage: Stage, ts: str, body: dict[str, Any]) -> str:
    thread = stage.entries("thread")[-1].thread
    row = (thread, "message", "U0ALICE0001", json.dumps(body), f"odd:{ts}", None, "[]", stage.clock.now())
    with closing(sqlite3.connect(stage.home / "journal.db", isolation_level=None)) as file:
        columns = "thread, kind, author, body, key, cause, closes, at"
        found = file.execute(f"insert into entry({columns}) values (?, ?, ?, ?, ?, ?, ?, ?)", row)
        file.execute("insert into pending values (?, ?, ?)", (found.lastrowid, thread, "message"))
    return thread


@pytest.mark.parametrize("body", [later({}), {"text": "Hm", "ts": "1.0"}, later({"text": 7})])
async def test_what_nobody_can_read_is_closed_and_nobody_else_waits(
    stage: Stage, thread: str, body: dict[str, Any]
) -> None:
    stage.soul.worker.wake(damage(stage, thread, body))
    stage.model.say(reply("Hi Bob."))
    ts = await stage.post("bob", BOB, "Hi")
    await stage.until(lambda: len(stage.entries("spoken")) == 2)
    assert await stage.answers(BOB, ts) == ["Hi Bob."]
    outcomes = await ended(stage)
    assert outcomes.count("completed") == 1
    assert len(outcomes) == 2
    assert len(stage.entries("unbegun")) == 6, "three times to begin it, and three to take it up"
    await stage.say("alice", ALICE, "And you?", thread)
    assert stage.entries("turn-ended")[-1].event.outcome == "completed", "the thread goes on"

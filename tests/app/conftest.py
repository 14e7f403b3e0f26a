"""Journals of a real daemon, each made once and copied per test."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from daemon.kinds import IncomingMessage
from tests.attention import PATIENCE, run
from tests.stories.choosing import ASKED, answers, choice, deciding, turning
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply, staged

LATER = {"name": "Schedule", "args": {"minutes": 1, "text": "look at the ferry"}}

Life = Callable[[Stage], Awaitable[None]]


def journal_of(folder: Path, life: Life) -> Path:
    """Run a daemon through this life; return its journal."""

    async def lived() -> None:
        async with staged(folder) as stage:
            await stage.wake()
            await life(stage)

    run(lived())
    return folder / "home" / "journal.db"


async def talk(stage: Stage) -> None:
    """Play a DM, a channel mention, a question during an outage, and a reminder."""
    stage.model.say(reply("Hello, Alice.", mood="engaged"))
    ts = await stage.say("alice", ALICE, "Hi\x1b[31m there,\nClaudius \u202eevil")
    stage.model.say(reply("Still here."))
    await stage.say("alice", ALICE, "Are you?", ts)
    stage.model.say(reply("Good morning, Bob."))
    await stage.say("bob", GENERAL, f"{ME} good morning")
    stage.model.fail(429, "rate_limit_error", wait=60)
    await stage.say("alice", ALICE, "What is seven times six?", ts)
    stage.model.say(reply("Forty-two, at last."))
    await stage.clock.advance(80)
    await stage.settled()
    await deciding(stage)
    answers(stage, turning(), choice(LATER, "Respond"), reply("I will be back."))
    await stage.say("bob", BOB, ASKED)
    stage.model.say(reply("It is time."))
    await stage.clock.advance(61)
    await stage.soul.worker.sweep()
    await stage.settled()


async def stop_in_the_middle(stage: Stage) -> None:
    """Stop the daemon while the model thinks and another message waits."""
    stage.model.say(reply("Never heard."), until=asyncio.Event())
    ts = await stage.post("alice", ALICE, "Hello?")
    await stage.until(lambda: stage.model.requests)
    await stage.post("alice", ALICE, "Are you there?", ts)
    await stage.until(lambda: len(stage.soul.journal.pending_entries(IncomingMessage)) == 2)
    async with asyncio.timeout(PATIENCE):
        await stage.sleep()


@pytest.fixture(scope="session")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Journal after `talk`; read-only."""
    return journal_of(tmp_path_factory.mktemp("talked"), talk)


@pytest.fixture(scope="session")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Journal after `stop_in_the_middle`; read-only."""
    return journal_of(tmp_path_factory.mktemp("half"), stop_in_the_middle)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    (tmp_path / "stage").mkdir()
    async with staged(tmp_path / "stage") as stage:
        await stage.wake()
        yield stage


@pytest.fixture
def journal(talked: Path, tmp_path: Path) -> Path:
    """Writable copy of the journal after `talk`."""
    return Path(shutil.copy(talked, tmp_path / "journal.db"))

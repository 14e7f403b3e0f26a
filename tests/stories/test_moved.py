"""A journal that moves into PostgreSQL and back while people wait for something."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemon.app.move_command import move_back, move_to_log
from daemon.engine.kinds import WaitBegan
from daemon.kinds import IncomingMessage
from rehearsal.people import CAROL
from tests.app.conftest import LATER
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.choosing import ASKED, answers, choice, deciding, pressed, questions, turning
from tests.stories.stage import ALICE, BOB, PATIENCE, Stage, reply
from tests.stories.test_approval import DONE, NEWS, asking

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


async def begin_half_turn(stage: Stage) -> str:
    """Let the daemon stop while the model thinks; return the message's ts."""
    before = len(stage.model.requests)
    stage.model.say(reply("Never heard."), until=asyncio.Event())
    ts = await stage.post("alice", ALICE, "Hello?")
    await stage.until(lambda: len(stage.model.requests) > before)
    async with asyncio.timeout(PATIENCE):
        await stage.sleep()
    return ts


def journal(stage: Stage) -> Path:
    return stage.home / "journal.db"


async def test_a_question_and_a_half_turn_go_on_in_postgres(stage: Stage, log_url: str) -> None:
    published: list[str] = []
    await asking(stage, published, CAROL.id)
    ts = await begin_half_turn(stage)
    for _ in move_to_log(journal(stage), log_url, tail=False):
        pass
    stage.model.say(reply("Here I am."))
    await stage.wake(database_url=log_url)
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Here I am."]
    assert len(questions(stage)) == 1
    answers(stage, choice("Respond"), reply(DONE))
    await pressed(stage, "carol", "Approve")
    assert published == [NEWS]
    assert not stage.pending("asked", "action", "input", "turn-began")


async def test_a_question_and_a_half_turn_go_on_in_sqlite(stage: Stage, log_url: str, tmp_path: Path) -> None:
    published: list[str] = []
    stage.settings["database_url"] = log_url
    await asking(stage, published, CAROL.id)
    ts = await begin_half_turn(stage)
    for _ in move_back(journal(stage), log_url, tmp_path / "own.db"):
        pass
    for file in stage.home.glob("journal*"):
        file.unlink()
    (tmp_path / "own.db").rename(journal(stage))
    stage.model.say(reply("Here I am."))
    await stage.wake(database_url="")
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Here I am."]
    answers(stage, choice("Respond"), reply(DONE))
    await pressed(stage, "carol", "Approve")
    assert published == [NEWS]
    assert not stage.pending("asked", "action", "input", "turn-began")


async def test_a_timer_and_an_outage_come_to_their_end_in_postgres(stage: Stage, log_url: str) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(LATER, "Respond"), reply("I will be back."))
    timed = await stage.say("bob", BOB, ASKED)
    stage.model.fail(429, "rate_limit_error", wait=60)
    refused = await stage.say("alice", ALICE, "What is seven times six?")
    await stage.sleep()
    for _ in move_to_log(journal(stage), log_url, tail=False):
        pass
    answers(stage, reply("Here it is."), reply("Here it is."))
    await stage.wake(database_url=log_url)
    await stage.passing(10, lambda: not stage.soul.journal.pending_entries(WaitBegan, IncomingMessage))
    await stage.settled()
    assert (await stage.answers(BOB, timed))[-1] == "Here it is."
    assert (await stage.answers(ALICE, refused))[-1] == "Here it is."

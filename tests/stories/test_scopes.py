"""Missing scopes and forbidden places, reported once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from tests.soak import later, shared
from tests.stories.stage import ALICE, BOB, GENERAL, ME, PATIENCE, Stage, reply


async def passing(stage: Stage, done: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not done():
            await stage.clock.advance(61)
            await stage.soul.worker.sweep()


def lines(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    return [one.getMessage() for one in caplog.records if words in one.getMessage()]


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.exc_info]


async def test_what_cannot_be_said_for_want_of_a_scope_waits_and_is_said_once(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.say("alice", ALICE, "Hello")
    stage.world.faults.switch("missing-scope")
    stage.model.say(reply("Half past nine."))
    ts = await stage.post("alice", ALICE, "What time is it?")
    await stage.until(lambda: stage.entries("attempt-failed"))
    await passing(stage, lambda: len(stage.entries("attempt-failed")) > 5)
    assert tracebacks(caplog) == []
    assert len(lines(caplog, "is held up")) == 1
    [line] = lines(caplog, "Slack refuses chat.postMessage")
    assert "lacks the scope chat:write. Add it at https://api.slack.com/apps" in line
    assert "manifest.json" in line
    assert "install the app again" in line
    _, said = await stage.health()
    assert said["wrong"][0].startswith("The Slack app lacks the scope chat:write, so nothing can be said.")
    stage.world.faults.all_off()
    await passing(stage, lambda: not stage.pending("input", "turn-began"))
    assert await stage.answers(ALICE, ts) == ["Half past nine."]
    assert (await stage.health())[1]["wrong"] == []
    assert len(stage.model.requests) == 2


@pytest.mark.parametrize("scope", ["assistant:write", later("users:read"), later("im:write")])
async def test_a_nicety_is_left_out(stage: Stage, scope: str, caplog: pytest.LogCaptureFixture) -> None:
    stage.world.faults.switch("missing-scope", scope=scope)
    first = await stage.say("alice", ALICE, "Hello")
    second = await stage.say("bob", GENERAL, f"{ME} good morning")
    assert [len(await stage.answers(p, ts)) for p, ts in ((ALICE, first), (GENERAL, second))] == [1, 1]
    told = lines(caplog, "Slack refuses")
    assert len(told) == len(set(told)), "once for each method and scope"
    assert tracebacks(caplog) == []
    assert (await stage.health())[1]["wrong"] == []


@pytest.mark.parametrize(
    "word", shared(["is_archived", "not_in_channel", "channel_not_found", "restricted_action"], 4)
)
async def test_where_nothing_may_be_said_the_turn_ends_and_the_journal_says_why(
    stage: Stage, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.say("bob", BOB, "Hello")
    held = asyncio.Event()
    stage.model.say(reply("Nobody will read this."), until=held)
    ts = await stage.post("bob", BOB, "Anyone?")
    await stage.until(lambda: len(stage.model.requests) == 2)
    for method in ("chat.startStream", "chat.postMessage"):
        stage.wire.refuse[method] = [word] * 1000
    held.set()
    await stage.until(lambda: stage.entries("attempt-failed"))
    [failure] = stage.entries("attempt-failed")
    assert failure.event.error == "SpeechRefused"
    assert failure.event.why == f"Slack takes nothing here: {word}"
    await stage.settled()
    assert stage.entries("turn-ended")[-1].event.outcome == "abandoned"
    assert not stage.pending("input", "turn-began", "speech", "waiting", "outage")
    assert len(lines(caplog, "Slack takes nothing here")) == 1
    assert tracebacks(caplog) == []
    assert not [one for one in caplog.records if one.levelno > logging.WARNING]
    stage.wire.refuse.clear()
    await stage.say("bob", BOB, "And now?", ts)
    assert len(await stage.answers(BOB, ts)) == 1, "the next message is answered again"

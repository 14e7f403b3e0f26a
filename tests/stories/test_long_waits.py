"""Status, then a message, during long waits."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from daemon.app.journal_commands import verify_journal
from rehearsal.statuses import LASTS
from tests.stories.outage import AWAY
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply
from tests.stories.test_one_at_a_time import Local, local

WAITING = "This takes me longer than usual"
STILL = "is still thinking…"


def status(stage: Stage) -> list[str]:
    return [line.status for line in stage.world.workspace.statuses.all()]


async def passes(stage: Stage, seconds: float, step: float = 1.0) -> None:
    end = stage.clock.now() + seconds
    await stage.passing(step, lambda: stage.clock.now() >= end)


async def notices(stage: Stage, channel: str, ts: str) -> list[str]:
    return [said for said in await stage.answers(channel, ts) if WAITING in said]


async def meet(it: Local) -> None:
    for name, channel in (("alice", ALICE), ("bob", BOB)):
        await it.stage.say(name, channel, "Hello")


async def test_who_waits_for_a_slow_model_sees_a_status_and_reads_one_sentence(tmp_path: Path) -> None:
    async with local(tmp_path) as it:
        stage = it.stage
        await meet(it)
        it.llama.prefill = 500.0
        ts = await stage.post("alice", ALICE, "Wind the clock.")
        await stage.until(lambda: it.llama.running)
        await passes(stage, 15)
        assert STILL not in status(stage)
        await passes(stage, 6)
        assert status(stage) == [STILL]
        await passes(stage, 37)
        assert await notices(stage, ALICE, ts) == []
        await passes(stage, 3)
        assert len(await notices(stage, ALICE, ts)) == 1
        for _ in range(40):
            await passes(stage, 10, step=5)
            assert status(stage) == [STILL], "it is shown again before Slack takes it away"
        await it.quiet()
        [sentence, answer] = await stage.answers(ALICE, ts)
        assert (sentence.startswith(WAITING), answer) == (True, "Here I am.")
        assert status(stage) == []
        assert it.llama.closed == 0
        assert not verify_journal(stage.soul.journal).violations
        assert not stage.pending("speech")


async def test_who_waits_in_the_queue_is_told_so(tmp_path: Path) -> None:
    async with local(tmp_path) as it:
        await meet(it)
        it.llama.prefill = 90.0
        first = await it.stage.post("alice", ALICE, "Wind the clock.")
        await it.stage.until(lambda: it.llama.running)
        second = await it.stage.post("bob", BOB, "Count the hills.")
        await passes(it.stage, 70)
        assert len(await notices(it.stage, BOB, second)) == 1
        await it.quiet()
        assert (await it.stage.answers(BOB, second))[1:] == ["Here I am."]
        assert len(await it.stage.answers(ALICE, first)) == 2


async def test_several_calls_of_one_turn_are_one_wait_for_a_local_model(tmp_path: Path) -> None:
    async with local(tmp_path, {"prefill": 0.0}) as it:
        await meet(it)
        it.llama.prefill = 45.0
        it.llama.say("<aside>Hm.</aside>")
        ts = await it.stage.post("alice", ALICE, "Wind the clock.")
        await it.stage.until(lambda: it.llama.running)
        await passes(it.stage, 70)
        assert len(await notices(it.stage, ALICE, ts)) == 1
        await it.quiet()
        assert len(await it.stage.answers(ALICE, ts)) == 2


async def test_an_answer_in_time_says_nothing_of_a_wait(tmp_path: Path) -> None:
    async with local(tmp_path) as it:
        await meet(it)
        it.llama.prefill = 50.0
        ts = await it.stage.post("alice", ALICE, "Wind the clock.")
        await it.quiet()
        assert await it.stage.answers(ALICE, ts) == ["Here I am."]


async def test_who_has_read_the_first_words_is_told_nothing_of_a_wait(tmp_path: Path) -> None:
    async with local(tmp_path) as it:
        await meet(it)
        it.llama.say(reply("One, two, three, four, five, six, seven, eight."), token=9.0)
        ts = await it.stage.post("alice", ALICE, "Count.")
        await it.stage.passing(1.0, lambda: it.stage.entries("speech-started"))
        since = it.stage.clock.now()
        await it.quiet()
        assert it.stage.clock.now() - since > 80
        assert len(await notices(it.stage, ALICE, ts)) <= 1, "at most while its private thought came"


async def test_a_message_that_need_not_be_answered_gets_no_sentence(tmp_path: Path) -> None:
    async with local(tmp_path) as it:
        root = await it.stage.say("alice", GENERAL, f"{ME} hello")
        it.llama.prefill = 100.0
        await it.stage.post("bob", GENERAL, "I think so, too.", root)
        await it.stage.until(lambda: it.llama.running)
        await it.quiet()
        assert await notices(it.stage, GENERAL, root) == []


async def test_nobody_is_told_of_the_waits_of_notes_and_ticks(tmp_path: Path) -> None:
    async with local(tmp_path, {"prefill": 0.0}, inner_life_enabled=True) as it:
        await meet(it)
        it.llama.prefill = 200.0
        spoken = len(it.stage.entries("spoken"))
        await it.stage.passing(1.0, lambda: it.llama.running)
        await passes(it.stage, 180, step=5)
        assert len(it.stage.entries("spoken")) == spoken
        assert status(it.stage) == []


async def test_a_slow_listed_model_is_told_of_too(stage: Stage) -> None:
    stage.model.say(reply("Hello."))
    ts = await stage.say("alice", ALICE, "Hello")
    held = asyncio.Event()
    stage.model.say(reply("Done."), until=held)
    asked = len(stage.model.requests)
    await stage.post("alice", ALICE, "Wind the clock.", ts)
    await stage.until(lambda: len(stage.model.requests) > asked)
    await passes(stage, 21)
    assert status(stage) == [STILL]
    held.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Hello.", "Done."]


async def test_the_sentence_is_said_once_whoever_is_killed_meanwhile(tmp_path: Path) -> None:
    async with local(tmp_path) as it:
        await meet(it)
        it.llama.prefill = 300.0
        ts = await it.stage.post("alice", ALICE, "Wind the clock.")
        await it.stage.until(lambda: it.llama.running)
        await passes(it.stage, 65)
        assert len(await notices(it.stage, ALICE, ts)) == 1
        await it.stage.sleep()
        await it.stage.wake()
        await it.stage.until(lambda: it.llama.running)
        await passes(it.stage, 100, step=5)
        await it.quiet()
        assert len(await notices(it.stage, ALICE, ts)) == 1
        assert (await it.stage.answers(ALICE, ts))[-1] == "Here I am."
        assert not verify_journal(it.stage.soul.journal).violations


async def test_where_slack_does_not_take_the_sentence_the_answer_is_not_lost(tmp_path: Path) -> None:
    async with local(tmp_path) as it:
        await meet(it)
        it.llama.prefill = 200.0
        ts = await it.stage.post("alice", ALICE, "Wind the clock.")
        await it.stage.until(lambda: it.llama.running)
        await passes(it.stage, 55)
        it.stage.world.faults.switch("broken", True, method="chat.*", answer="500")
        await passes(it.stage, 30)
        it.stage.world.faults.all_off()
        await it.quiet()
        assert (await it.stage.answers(ALICE, ts))[-1] == "Here I am."
        assert len(await notices(it.stage, ALICE, ts)) <= 1
        assert not it.stage.pending("speech")
        assert it.llama.closed == 0, "nothing that was paid for is asked again"


async def test_stop_ends_a_wait_that_was_told_of(tmp_path: Path) -> None:
    async with local(tmp_path) as it:
        await meet(it)
        it.llama.prefill = 500.0
        ts = await it.stage.post("alice", ALICE, "Wind the clock.")
        await it.stage.until(lambda: it.llama.running)
        await passes(it.stage, 65)
        await it.stage.post("alice", ALICE, "stop", ts)
        await it.stage.until(partial(_is_stopped, it))
        await it.stage.settled()
        [sentence, last] = await it.stage.answers(ALICE, ts)
        assert (sentence.startswith(WAITING), last) == (True, "Stopped.")
        assert status(it.stage) == []


def _is_stopped(it: Local) -> bool:
    return it.llama.closed == 1


async def test_an_outage_after_a_wait_is_told_besides(tmp_path: Path) -> None:
    async with local(tmp_path) as it:
        await meet(it)
        it.llama.prefill = 700.0
        ts = await it.stage.post("alice", ALICE, "Wind the clock.")
        await it.stage.until(lambda: it.llama.running)
        await passes(it.stage, 640, step=5)
        [sentence, away] = await it.stage.answers(ALICE, ts)
        assert (sentence.startswith(WAITING), away.startswith(AWAY)) == (True, True)
        it.llama.prefill = 1.0
        await it.stage.passing(5.0, lambda: not it.stage.pending("outage", "message"))
        assert (await it.stage.answers(ALICE, ts))[2:] == ["Here I am."]


def test_slack_would_take_the_status_away() -> None:
    assert pytest.approx(120.0) == LASTS

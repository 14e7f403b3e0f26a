"""Retried attempts: nothing forgotten, repeated or paid twice."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable

import pytest

from tests.soak import SOAK
from tests.stories.stage import ALICE, BOB, Stage, reply
from tests.stories.test_disk import hurry

AWAY = "I can't gather my thoughts"
STAR = (
    "Certainly, here is what I know of the north star: it is called Polaris. It is bright, and in the north."
)


async def passing(stage: Stage, step: float, done: Callable[[], object]) -> None:
    await stage.passing(step, done)


def at_rest(stage: Stage) -> bool:
    return not (
        stage.pending("input", "turn-began", "speech", "waiting", "outage") or stage.soul.worker.is_busy
    )


async def test_an_apology_that_was_begun_is_ended_whatever_went_well_meanwhile(stage: Stage) -> None:
    stage.model.say(reply("Hello."))
    await stage.say("alice", ALICE, "Hi")
    stage.model.fail(429, "rate_limit_error", wait=60)
    stage.world.faults.switch("answer-lost", method="chat.postMessage", times=1)
    first = await stage.post("alice", ALICE, "Question A")
    await stage.until(lambda: stage.entries("attempt-failed"))
    stage.model.say(reply("Hi Bob."))
    await stage.post("bob", BOB, "Hi")
    await stage.until(lambda: len(stage.entries("spoken")) == 2)
    stage.model.fail(429, "rate_limit_error", wait=60)
    second = await stage.post("alice", ALICE, "Question B")
    await stage.until(lambda: stage.entries("outage")[1:])
    await passing(stage, 1.0, lambda: at_rest(stage))
    said = [*await stage.answers(ALICE, first), *await stage.answers(ALICE, second)]
    assert sum(text.startswith(AWAY) for text in said) in (1, 2)
    assert sum("You said: “Question" in text for text in said) == 2


async def test_an_apology_that_was_begun_is_known_though_a_stop_ends_what_it_was_for(
    stage: Stage, thread: str
) -> None:
    stage.model.fail(429, "rate_limit_error", wait=60)
    stage.world.faults.switch("answer-lost", method="chat.postMessage", times=1)
    await stage.post("alice", ALICE, "What is the north star?", thread)
    await stage.until(lambda: stage.entries("attempt-failed"))
    await stage.post("alice", ALICE, "stop", thread)
    await passing(stage, 1.0, lambda: at_rest(stage))
    said = await stage.answers(ALICE, thread)
    assert any(text.startswith(AWAY) for text in said)
    assert [entry.event.text for entry in stage.entries("spoken")] == said


@SOAK
async def test_what_was_killed_long_ago_is_told_anew_in_one_message(stage: Stage, thread: str) -> None:
    held = asyncio.Event()
    stage.model.faults.switch("stalled", characters=90)
    stage.model.say(reply(STAR), chunk=10)
    await stage.post("alice", ALICE, "Tell me of the north star.", thread)
    await passing(stage, 0.1, lambda: len(stage.entries("speech-started")) == 2)
    await stage.sleep()
    stage.model.faults.all_off()
    await stage.clock.advance(300)
    stage.model.say(reply(STAR), chunk=10, until=held)
    await stage.wake()
    held.set()
    await passing(stage, 0.1, lambda: at_rest(stage))
    assert await stage.answers(ALICE, thread) == ["Hello.", STAR]


async def test_what_breaks_off_says_so_once_however_often_it_is_ended(stage: Stage, thread: str) -> None:
    stage.model.faults.switch("stalled", characters=90)
    stage.model.say(reply(STAR), chunk=10)
    await stage.post("alice", ALICE, "Tell me of the north star.", thread)
    await passing(stage, 0.1, lambda: len(stage.entries("speech-started")) == 2)
    await stage.sleep()
    stage.model.faults.all_off()
    for _ in range(3):
        stage.model.fail(429, "rate_limit_error", wait=60)
    stage.world.faults.switch("answer-lost", method="chat.update", times=2)
    stage.model.say(reply(STAR))
    await stage.wake()
    await passing(stage, 1.0, lambda: at_rest(stage))
    _, half, away, whole = await stage.answers(ALICE, thread)
    assert half.endswith(" …")
    assert not half.endswith("… …")
    assert away.startswith(AWAY)
    assert whole == STAR


async def test_an_answer_that_the_journal_could_not_take_is_not_paid_again(
    stage: Stage, thread: str, caplog: pytest.LogCaptureFixture
) -> None:
    await hurry(stage)
    held = asyncio.Event()
    caplog.set_level(logging.DEBUG, "daemon.engine")
    stage.model.say(reply("Here I am."), until=held, chunk=1_000)
    await stage.post("alice", ALICE, "Are you there?", thread)
    await stage.until(lambda: len(stage.model.requests) == 2)
    other = sqlite3.connect(stage.home / "journal.db", isolation_level=None)
    other.execute("begin immediate")
    held.set()
    await stage.until(
        lambda: (
            caplog.text.lower().count("could not write the journal")
            + caplog.text.count("could not be written")
            == 2
        )
    )  # its showing, and itself
    other.execute("rollback")
    other.close()
    await passing(stage, 1.0, lambda: at_rest(stage))
    assert await stage.answers(ALICE, thread) == ["Hello.", "Here I am."]
    assert len(stage.model.requests) == 2


@SOAK
async def test_half_answers_do_not_pile_up_while_an_outage_lasts(stage: Stage, thread: str) -> None:
    stage.model.faults.switch("cut", characters=110)
    await stage.post("alice", ALICE, "Tell me of the north star.", thread)
    await passing(stage, 30.0, lambda: len(stage.entries("waiting", "outage")) == 4)
    _, half, away = await stage.answers(ALICE, thread)
    assert half.endswith(" …")
    assert away.startswith(AWAY)
    stage.model.faults.all_off()
    stage.model.say(reply(STAR))
    await passing(stage, 30.0, lambda: at_rest(stage))
    assert (await stage.answers(ALICE, thread))[3:] == [STAR]


@SOAK
async def test_a_message_that_ended_for_its_age_stays_as_it_is(stage: Stage) -> None:
    text = " ".join(f"This is sentence {n}, and there are more." for n in range(1, 41))
    stage.model.faults.switch("slow", seconds=7)
    stage.model.say(f"<aside>Hm.</aside>\n<say>\n{text}\n</say>\n<mood>neutral</mood>", chunk=30)
    ts = await stage.post("alice", ALICE, "Tell me slowly.")
    await passing(stage, 2, lambda: len(stage.entries("speech-started")) == 2)
    first = (await stage.answers(ALICE, ts))[0]
    await passing(stage, 2, lambda: at_rest(stage))
    said = await stage.answers(ALICE, ts)
    assert said[0] == first
    assert " ".join(said) == text


async def test_what_an_earlier_run_wrote_is_neither_written_back_nor_taken_for_its_words(
    stage: Stage,
) -> None:
    go_on = asyncio.Event()
    stage.model.say("<say>**First**, see [the guide](https://example.org): a < b && c", until=go_on, first=70)
    ts = await stage.post("alice", ALICE, "Make a plan")
    await stage.until(lambda: stage.entries("speech-started"))
    await stage.clock.advance(1)
    await stage.sleep()
    shown = "*First*, see <https://example.org|the guide>: a &lt; b &amp;&amp; c"
    with stage.world.workspace.db as db:
        db.execute(
            "update message set body = json_set(body, '$.text', ?) where streaming is not null", (shown,)
        )
    stage.model.fail(429, "rate_limit_error", wait=60)
    await stage.wake()
    await stage.passing(1, lambda: stage.entries("outage") and stage.entries("spoken"))
    half, *_ = await stage.answers(ALICE, ts)
    assert half == f"{shown} …", "its stream is ended, and nothing of it is rewritten"
    assert "chat.update" not in stage.wire.spoken
    [words] = [entry.event.text for entry in stage.entries("spoken")][:1]
    assert words == (stage.words / "prompts" / "sentences" / "half_said.md").read_text().strip()
    await stage.passing(30, lambda: at_rest(stage))
    asked = str(stage.asked())
    assert "&lt; b" not in asked
    assert "the guide" not in asked

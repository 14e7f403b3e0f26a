"""Messages during a reading, without repeated payment."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.app.discovery import PROCESSES
from daemon.mind.interruptions import SET_ASIDE
from tests.soak import SOAK, later
from tests.stories.choosing import questions
from tests.stories.stage import ALICE, Stage, reply, staged
from tests.stories.test_deep_reading import READING, shares, wanting
from tests.stories.test_reading import BOOK, cell, endings, observed, reads
from tests.stories.test_reading_chosen import adds

NEW = "a new matter that wants"
"""Text in the judge's question."""
ANSWER = reply("It is 77.")


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        await stage.wake()
        yield stage


async def amid(stage: Stage, *rounds: str) -> tuple[str, asyncio.Event]:
    held = asyncio.Event()
    stage.model.say(READING)
    stage.model.say(wanting("What is the magic number?"))
    for text in rounds:
        stage.model.say(text)
    stage.model.say(cell("print('a second look')"), until=held)
    ts = await shares(stage, "book.txt", BOOK, "What is the magic number?")
    await stage.until(lambda: len(stage.model.requests) >= 3 + len(rounds))
    await stage.until(lambda: len(stage.model.requests) == len(stage.entries("model-call")) + 1)
    return ts, held


def paid(stage: Stage) -> Counter[str]:
    return Counter(str((request["model"], request["messages"])) for request in stage.model.requests)


def asks_of_rounds(stage: Stage) -> list[str]:
    return [text for text in stage.asked() if "Write the next block of code" in text]


async def test_more_of_the_same_is_seen_by_the_next_round(stage: Stage) -> None:
    ts, held = await amid(stage)
    stage.model.say('{"kind": "more"}', asks=NEW)
    stage.model.say("FINAL(77)")
    stage.model.say(ANSWER)
    await adds(stage, "it is below one hundred", ts)
    held.set()
    await stage.settled()
    first, second = asks_of_rounds(stage)
    assert "it is below one hundred" not in first
    assert '<message from=\\"Alice\\">' in second or '<message from="Alice">' in second
    assert "it is below one hundred" in second
    assert (await stage.answers(ALICE, ts))[-1] == "It is 77."
    assert "it is below one hundred" in stage.asked()[-1], "and by whoever tells what was found"
    assert [entry.event.outcome for entry in stage.entries("turn-ended")] == ["completed"]


async def test_something_new_is_answered_first_and_then_it_goes_on(stage: Stage) -> None:
    queries = "print(llm_query_batched([f'Piece {n}.' for n in range(3)]))"
    for n in range(3):
        stage.model.say(f"answer {n}", asks=f"Piece {n}.")
    ts, held = await amid(stage, cell(f"seen = 1\n{queries}"))
    stage.model.say('{"kind": "new"}', asks=NEW)
    stage.model.say(reply("Oslo."))
    await adds(stage, "what is the capital of Norway?", ts)
    held.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "Oslo."
    assert not endings(stage)
    assert len(questions(stage)) == 1
    stage.model.say(cell("seen += 1\nprint('seen', seen, llm_query('Another?'))"))
    stage.model.say("another answer", asks="Another?")
    stage.model.say("FINAL(77)")
    stage.model.say(ANSWER)
    await stage.say("alice", ALICE, "go on", ts)
    assert endings(stage) == [("answered", False)]
    assert (await stage.answers(ALICE, ts))[-1] == "It is 77."
    assert set(paid(stage).values()) == {1}, "no recorded call is paid again"
    assert observed(stage)[-1].startswith("seen 2 another answer"), "the cells before ran again"
    assert "Oslo." in asks_of_rounds(stage)[-1], "and it knows what was said meanwhile"
    assert not stage.entries("restarted", "attempt-failed")
    assert not stage.pending("waiting", "asked", "input", "turn-began", "cell")


async def test_what_was_set_aside_goes_on_by_itself(stage: Stage) -> None:
    ts, held = await amid(stage, cell("print(llm_query('Is it?'))"), "yes")
    stage.model.say('{"kind": "new"}', asks=NEW)
    stage.model.say(reply("Oslo."))
    await adds(stage, "what is the capital of Norway?", ts)
    held.set()
    await stage.settled()
    stage.model.say("FINAL(77)")
    stage.model.say(ANSWER)
    await stage.clock.advance(SET_ASIDE + 1)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "It is 77."
    assert set(paid(stage).values()) == {1}


@SOAK
async def test_what_was_set_aside_can_be_stopped(stage: Stage) -> None:
    ts, held = await amid(stage)
    stage.model.say('{"kind": "new"}', asks=NEW)
    stage.model.say(reply("Oslo."))
    await adds(stage, "what is the capital of Norway?", ts)
    held.set()
    await stage.settled()
    before = len(stage.model.requests)
    await stage.say("alice", ALICE, "stop", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "Stopped."
    assert len(stage.model.requests) == before
    assert not stage.pending("waiting", "asked", "input", "turn-began", "cell")


@SOAK
async def test_what_comes_while_a_cell_asks_is_heard_after_it(stage: Stage) -> None:
    held = asyncio.Event()
    stage.model.say(READING)
    stage.model.say(wanting("What is the magic number?"))
    stage.model.say(cell("print(llm_query('Is it?'))"))
    stage.model.say("yes", asks="Is it?", until=held)
    stage.model.say('{"kind": "more"}', asks=NEW)
    stage.model.say("FINAL(77)")
    stage.model.say(ANSWER)
    ts = await shares(stage, "book.txt", BOOK, "What is the magic number?")
    await stage.until(lambda: len(stage.model.requests) == 4)
    await adds(stage, "it is below one hundred", ts)
    held.set()
    await stage.settled()
    assert observed(stage) == ["yes"]
    assert "it is below one hundred" in asks_of_rounds(stage)[-1]
    assert (await stage.answers(ALICE, ts))[-1] == "It is 77."


@SOAK
async def test_what_comes_while_it_reads_in_one_call_is_answered_next(stage: Stage) -> None:
    held = asyncio.Event()
    stage.model.say(READING)
    stage.model.say(wanting("What is the magic number?"))
    stage.model.say("77", until=held)
    stage.model.say(ANSWER)
    stage.model.say(reply("So it is."))
    ts = await shares(stage, "note.txt", "The magic number is 77.", "What is the magic number?")
    await stage.until(lambda: len(stage.model.requests) == 3)
    await adds(stage, "it is below one hundred", ts)
    held.set()
    await stage.settled()
    said = str(stage.asked())
    assert "it is below one hundred" in said
    assert "It is 77." in await stage.answers(ALICE, ts)
    assert not stage.pending("input", "turn-began")


@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    pass",
        later("import csv\nwhile True:\n    pass"),
        later("while True:\n    llm_query('Forever?')"),
    ],
    ids=["in monty", "in cpython", "asking for ever"],
)
async def test_a_stop_ends_a_cell_that_computes_for_ever(stage: Stage, code: str) -> None:
    await stage.sleep()
    stage.processes = {**PROCESSES, "conversation": reads()}
    await stage.wake()
    after = cell("print(llm_query('Never?'))")
    stage.model.say(f"{cell('n = 1')}\n{cell(code)}\n{after}\n{after}")
    stage.model.say("never", asks="Forever?", until=asyncio.Event())
    ts = await stage.post("alice", ALICE, "Read it, please.")
    await stage.until(lambda: len(stage.entries("cell")) == 2)
    await stage.say("alice", ALICE, "stop", ts)
    assert endings(stage) == [("stopped", True)]
    assert "Never?" not in str(stage.asked())
    assert not stage.pending("cell", "turn-began", "input", "speech")
    stage.processes = None
    stage.model.say(reply("Here I am."))
    await stage.sleep()
    await stage.wake()
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "Here I am."


async def test_a_stop_between_two_rounds_ends_it_before_anything_is_paid(stage: Stage) -> None:
    ts, held = await amid(stage, cell("print(1)"))
    before = len(stage.model.requests)
    await stage.post("alice", ALICE, "stop", ts)
    await stage.settled()
    held.set()
    assert endings(stage) == [("stopped", True)]
    assert len(stage.model.requests) == before
    assert (await stage.answers(ALICE, ts))[-1] == "Stopped."
    assert not stage.pending("cell", "turn-began", "input", "speech", "waiting")


@SOAK
async def test_a_stop_ends_the_readings_within_a_reading(stage: Stage) -> None:
    await stage.sleep()
    stage.processes = {**PROCESSES, "conversation": reads()}
    await stage.wake(rlm_max_depth=2)
    stage.model.say(cell("print(rlm_query('Deeper?', context))"))
    stage.model.say(cell("print(rlm_query('Deepest?', context))"))
    stage.model.say(cell("while True:\n    pass"))
    ts = await stage.post("alice", ALICE, "Read it, please.")
    await stage.until(lambda: len(stage.entries("cell")) == 3)
    await stage.say("alice", ALICE, "stop", ts)
    assert endings(stage)[-1] == ("stopped", True)
    assert len(stage.model.requests) == 3
    assert not stage.pending("cell", "turn-began", "input", "speech")

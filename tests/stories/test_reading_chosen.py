"""ReadDeeply in runs and open thought."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.soak import SOAK
from tests.stories.choosing import answers, choice, ended, told, turning
from tests.stories.stage import ALICE, Stage, reply
from tests.stories.test_deep_reading import shares
from tests.stories.test_open_thought import OPEN, OVER, final, prompts
from tests.stories.test_reading import BOOK, cell, endings

QUESTION = "What is the magic number?"
LOOK = cell("print([l for l in context['book.txt'].splitlines() if 'magic' in l])")
FOUND = 'FINAL(77 [book.txt:1234 "the magic number is 77"], or 78 [book.txt:9 "number is 78"])'


def reading(question: str = QUESTION, source: str = "files", **more: object) -> dict[str, object]:
    return {"name": "ReadDeeply", "args": {"question": question, "source": source, **more}}


def payload(question: str = QUESTION, source: str = "files") -> str:
    return f"<ReadDeeply><question>{question}</question><source>{source}</source></ReadDeeply>"


async def adds(stage: Stage, text: str, root: str) -> None:
    await stage.post("alice", ALICE, text, root)
    await stage.until(lambda: text in [entry.event.text for entry in stage.entries("message")])


async def offered(stage: Stage, **settings: Any) -> None:
    await stage.sleep()
    for book in (stage.words / "playbooks").glob("*.md"):
        book.write_text(book.read_text().replace("ReadThread,", "ReadThread, ReadDeeply,"))
    await stage.wake(**settings)


async def test_a_run_that_chooses_it_goes_on_from_what_it_found(stage: Stage) -> None:
    await offered(stage, ism_enabled=True)
    answers(stage, turning(), choice(reading()), LOOK, FOUND, choice("Respond"), reply("It is 77."))
    ts = await shares(stage, "book.txt", BOOK, "please work out the magic number")
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "It is 77."
    assert endings(stage) == [("answered", False)]
    assert ended(stage) == ["finished"]
    after = told(stage)
    assert "77 [book.txt:1234" in after
    assert "book.txt:9" not in after, "a citation that does not hold is left out"
    assert "Citations that did not hold were left out: 1" in after
    assert "line 2000" not in str(stage.asked())


async def test_a_run_is_told_what_it_cannot_read(stage: Stage) -> None:
    await offered(stage, ism_enabled=True)
    wishes = [reading(), reading(source="channel", names=["#attic"]), reading(source="folders")]
    answers(stage, turning(), choice(*wishes), choice("Respond"), reply("Share it, please."))
    ts = await stage.say("alice", ALICE, "please work out the magic number")
    assert (await stage.answers(ALICE, ts))[-1] == "Share it, please."
    assert "share one here, and ask again" in told(stage)
    assert "I cannot read #attic from here" in told(stage)
    assert "Name the paths of the files" in told(stage)
    assert endings(stage) == [("unreadable", True)] * 3


@SOAK
async def test_a_run_that_is_stopped_while_it_reads_ends(stage: Stage) -> None:
    await offered(stage, ism_enabled=True)
    answers(stage, turning(), choice(reading()))
    stage.model.say(LOOK, until=asyncio.Event())
    await shares(stage, "book.txt", BOOK, "please work out the magic number")
    await stage.until(lambda: len(stage.model.requests) == 3)
    [ts] = [entry.event.ts for entry in stage.entries("message")]
    await stage.say("alice", ALICE, "stop", ts)
    assert endings(stage) == [("stopped", True)]
    assert ended(stage) == ["interrupted"]
    assert (await stage.answers(ALICE, ts))[-1] == "Stopped."
    assert not stage.pending("input", "turn-began", "action", "cell", "speech")


@SOAK
async def test_a_run_hears_what_is_said_while_it_reads(stage: Stage) -> None:
    await offered(stage, ism_enabled=True)
    held = asyncio.Event()
    answers(stage, turning(), choice(reading()))
    stage.model.say(LOOK, until=held)
    stage.model.say('{"kind": "more"}', asks="a new matter that wants")
    await shares(stage, "book.txt", BOOK, "please work out the magic number")
    await stage.until(lambda: len(stage.model.requests) == 3)
    [ts] = [entry.event.ts for entry in stage.entries("message")]
    await adds(stage, "it is below one hundred", ts)
    answers(stage, FOUND, choice("Respond"), reply("It is 77."))
    held.set()
    await stage.settled()
    *_, round_two, chosen, _ = stage.asked()
    assert "it is below one hundred" in round_two, "the reading hears it"
    assert "it is below one hundred" in chosen, "and so does the run"
    assert len(stage.entries("turn-ended")) == 1


async def test_open_thought_calls_it_and_its_result_is_a_message(stage: Stage) -> None:
    await offered(stage)
    answers(stage, OVER)
    stage.model.say(f"I read it. {payload()}", asks=OPEN)
    answers(stage, LOOK, FOUND)
    stage.model.say(final("It is 77."), asks=OPEN)
    ts = await shares(stage, "book.txt", BOOK, "what is the magic number? Think it through.")
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "It is 77."
    [result] = [entry.event for entry in stage.entries("inner-message") if entry.event.sender == "ReadDeeply"]
    assert result.text.startswith('77 [book.txt:1234 "the magic number is 77"]')
    assert "left out: 1" in result.text
    assert '<message from="ReadDeeply">' in prompts(stage)[-1]


@SOAK
async def test_two_readings_of_open_thought_go_on_beside_each_other(stage: Stage) -> None:
    await offered(stage)
    answers(stage, OVER)
    stage.model.say(payload("How does it begin?") + payload("How does it end?"), asks=OPEN)
    gate = asyncio.Event()
    for _ in range(2):
        stage.model.say("FINAL(Just so.)", asks="Round 1/20", until=gate)
    stage.model.say(final("Both just so."), asks=OPEN)
    await shares(stage, "book.txt", BOOK, "how does it begin and end?")
    await stage.until(lambda: len(stage.model.requests) == 4)
    gate.set()
    await stage.settled()
    assert endings(stage) == [("answered", False)] * 2
    assert [entry.event.text for entry in stage.entries("inner-message")] == ["Just so."] * 2


async def test_a_stop_in_open_thought_ends_the_reading_and_leaves_nothing(stage: Stage) -> None:
    await offered(stage)
    answers(stage, OVER)
    stage.model.say(payload(), asks=OPEN)
    stage.model.say(LOOK, until=asyncio.Event())
    await shares(stage, "book.txt", BOOK, "what is the magic number?")
    await stage.until(lambda: len(stage.model.requests) == 3)
    [ts] = [entry.event.ts for entry in stage.entries("message")]
    before = len(stage.model.requests)
    await stage.say("alice", ALICE, "stop", ts)
    assert endings(stage) == [("stopped", True)]
    assert (await stage.answers(ALICE, ts))[-1] == "Stopped."
    assert len(stage.model.requests) == before
    assert not stage.pending("input", "turn-began", "cell", "waiting", "thread-spawned")


@SOAK
async def test_what_is_said_while_open_thought_reads_is_heard_by_its_next_turn(stage: Stage) -> None:
    await offered(stage)
    answers(stage, OVER)
    stage.model.say(payload(), asks=OPEN)
    held = asyncio.Event()
    stage.model.say(LOOK, until=held)
    await shares(stage, "book.txt", BOOK, "what is the magic number?")
    await stage.until(lambda: len(stage.model.requests) == 3)
    [ts] = [entry.event.ts for entry in stage.entries("message")]
    await adds(stage, "it is below one hundred", ts)
    answers(stage, FOUND)
    stage.model.say(final("It is 77."), asks=OPEN)
    held.set()
    await stage.settled()
    assert "it is below one hundred" in prompts(stage)[-1]
    assert (await stage.answers(ALICE, ts))[-1] == "It is 77."
    assert not stage.entries("attempt-failed", "restarted")


@SOAK
async def test_a_branch_reads_what_was_shared_in_its_conversation(stage: Stage) -> None:
    await offered(stage)
    answers(stage, OVER)
    inside = f"<initial-payload>{payload()}</initial-payload>"
    stage.model.say(f'<spawn-thread suggested_sub_id="reader">{inside}</spawn-thread>', asks=OPEN)
    answers(stage, LOOK, FOUND)
    stage.model.say(final("77 it is."), asks=OPEN)
    stage.model.say(final("It is 77."), asks=OPEN)
    ts = await shares(stage, "book.txt", BOOK, "what is the magic number?")
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "It is 77."
    [read] = stage.entries("reading-ended")
    assert read.thread.endswith(".reader")

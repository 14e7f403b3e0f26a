"""Long answers in several messages."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from daemon.slack.pages import pages
from rehearsal.messages import STREAM_LASTS
from tests.soak import SOAK, but, later
from tests.stories.stage import ALICE, PATIENCE, Stage, reply

PATIENT = "claude-opus-5-5"
"""Model with longer answers."""
PROSE = "It is a long story, and it has to be told from the beginning, slowly. " * 8
CODE = "def step(n: int) -> int:\n    return n * 3 + 1 if n % 2 else n // 2\n\n"
HEADER = "| n | its square |\n|---|---|\n"
FENCE = "```python\n"
CHAT = ["chat.startStream", "chat.appendStream", "chat.stopStream"]


def chapter(number: int) -> str:
    rows = "".join(f"| {n} | {n * n} |\n" for n in range(50))
    return f"## Chapter {number}\n\n{PROSE}\n\n{PROSE}\n\n{FENCE}{CODE * 12}```\n\nSquares:\n\n{HEADER}{rows}"


LONG = "\n".join(chapter(number) for number in range(1, 13)).strip()
STORY = "\n".join(chapter(number) for number in range(1, 9)).strip()
MIDDLE = 12_000
"""Characters before the interruption, in message two."""


async def test_a_very_long_answer_arrives_whole(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(claude_model=PATIENT)
    stage.model.faults.switch("slow", seconds=1)
    stage.model.say(reply(LONG), chunk=500)
    ts = await stage.post("alice", ALICE, "Tell me everything.")
    await passing(stage, 1, lambda: is_over(stage))
    said = await stage.answers(ALICE, ts)
    assert len(said) == 4
    assert joined(said) == LONG
    assert all(reads_well(text) for text in said)
    assert [entry.event.text for entry in stage.entries("spoken")] == said
    asked, *spoken = [method for method in stage.wire.spoken if method.startswith("chat.")]
    assert asked == "chat.postMessage", "it is Alice's"
    assert set(spoken) == set(CHAT), "it was streamed, and nothing had to be set right"
    assert spoken.count("chat.startStream") == len(said)


async def test_what_takes_long_goes_on_in_a_new_message_before_slack_ends_it(stage: Stage) -> None:
    text = " ".join(f"This is sentence {n}, and there are more." for n in range(1, 41))
    stage.model.faults.switch("slow", seconds=7)
    stage.model.say(reply(text), chunk=22)
    ts = await stage.post("alice", ALICE, "Tell me something, slowly.")
    await stage.passing(2, lambda: is_over(stage))
    said = await stage.answers(ALICE, ts)
    assert len(said) in (3, 4)
    assert " ".join(said) == text
    assert all(re.match(r"This is .* more\.$", message) for message in said), said
    started, ended = times(stage, "speech-started"), times(stage, "spoken")
    lasted = [after - before for before, after in zip(started, started[1:] + ended[-1:], strict=True)]
    assert max(lasted) < STREAM_LASTS, lasted


@SOAK
async def test_so_it_does_where_the_time_of_the_machine_is_set_back_meanwhile(stage: Stage) -> None:
    text = " ".join(f"This is sentence {n}, and there are more." for n in range(1, 41))
    stage.model.faults.switch("slow", seconds=7)
    stage.model.say(reply(text), chunk=22)
    ts = await stage.post("alice", ALICE, "Tell me something, slowly.")
    await stage.passing(2, lambda: stage.entries("speech-started"))
    stage.clock.set_ahead(-3_600)
    await stage.passing(2, lambda: is_over(stage))
    assert len(await stage.answers(ALICE, ts)) in (3, 4)


@pytest.mark.parametrize("lost", but([*CHAT, "chat.update", "chat.*"], ["chat.stopStream", "chat.*"]))
@pytest.mark.parametrize("fault", [later("rate-limit"), "answer-lost"])
async def test_what_slack_does_in_the_middle_is_made_good(stage: Stage, fault: str, lost: str) -> None:
    if lost == "chat.update":
        stage.wire.lacking.add("chat.startStream")
    told: dict[str, Any] = {"method": lost, "times": 3}
    said = await interrupted(stage, lambda: stage.world.faults.switch(fault, **told))
    assert said == [page.text for page in pages(STORY)]
    assert sum(shown["strikes"] for shown in stage.world.faults.json()) > 0
    assert fault == "answer-lost" or not stage.entries("attempt-failed")


@SOAK
@pytest.mark.parametrize("answer", ["503", later("none")])
async def test_slack_is_away_in_the_middle(stage: Stage, answer: str) -> None:
    said = await interrupted(stage, lambda: stage.world.faults.switch("down", answer=answer), long=30)
    assert said == [page.text for page in pages(STORY)]


@SOAK
async def test_slack_ends_the_stream_in_the_middle(stage: Stage) -> None:
    said = await interrupted(stage, lambda: stage.world.faults.switch("stream-expiry", seconds=0))
    assert said == [page.text for page in pages(STORY)]


async def test_slack_takes_nothing_for_longer_than_one_waits(stage: Stage) -> None:
    limit: dict[str, Any] = {"method": "chat.*", "seconds": 120}
    said = await interrupted(stage, lambda: stage.world.faults.switch("rate-limit", **limit), long=30)
    assert said == [page.text for page in pages(STORY)]
    assert stage.entries("attempt-failed")
    assert len(stage.model.requests) == 1


@SOAK
async def test_a_short_answer_in_the_place_of_many_messages_leaves_none_of_them(
    asleep: Stage,
) -> None:
    await asleep.wake(claude_model=PATIENT)
    asleep.model.cut(f"<say>{'Well, it is a long story. ' * 1_250}", hush=True)
    asleep.model.say(reply("Ok 🙂"))
    ts = await asleep.say("alice", ALICE, "Tell me everything.")
    assert await asleep.answers(ALICE, ts) == ["Ok 🙂"]


async def interrupted(stage: Stage, happens: Callable[[], None], long: float = 0.0) -> list[str]:
    stage.model.faults.switch("stalled", characters=MIDDLE)
    stage.model.say(reply(STORY), chunk=100)
    ts = await stage.post("alice", ALICE, "Tell me a story.")
    await passing(stage, 0.1, lambda: len(stage.entries("speech-started")) == 2 or stage.wire.lacking)
    happens()
    stage.model.faults.all_off()
    end = stage.clock.now() + long
    await passing(stage, 0.5, lambda: stage.clock.now() >= end)
    if long:
        stage.world.faults.all_off()
    await passing(stage, 0.5, lambda: is_over(stage))
    return await stage.answers(ALICE, ts)


async def passing(stage: Stage, step: float, done: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not done():
            for _ in range(5):
                await stage.clock.advance(0)
            await stage.clock.advance(step)


def is_over(stage: Stage) -> bool:
    owing = stage.pending("input", "turn-began", "speech")
    return bool(stage.entries("turn-ended")) and not owing


def times(stage: Stage, kind: str) -> list[float]:
    return [entry.at for entry in stage.entries(kind)]


def joined(said: list[str]) -> str:
    whole = said[0]
    for text in said[1:]:
        if text.startswith(FENCE) and whole.endswith("\n```"):
            whole, text = whole.removesuffix("\n```"), text.removeprefix(FENCE)
            gap = "\n\n" if whole.endswith("n // 2") else "\n"
        else:
            gap = "\n" if text.startswith(HEADER) else "\n\n"
            text = text.removeprefix(HEADER)
        whole += gap + text
    return whole


def reads_well(text: str) -> bool:
    tables = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    return text.count("```") % 2 == 0 and all(table.startswith(HEADER) for table in tables)

"""Single answers to all messages under each rehearsal fault."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from rehearsal.faults import MODEL_FAULTS, SLACK_FAULTS
from rehearsal.switchboard import FaultSwitchboard
from tests.attention import PATIENCE
from tests.soak import but
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage

SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"
AWAY = ("I can't gather my thoughts", "I can't think right now")
TALK = (
    ("carol", GENERAL, f"{ME} Name the north star.", None),
    ("bob", GENERAL, "Count the seven hills.", 0),
    ("bob", BOB, "Wind the old clock.", None),
    ("alice", ALICE, "Mend the red kite.", None),
    ("alice", ALICE, "Paint the blue boat.", 3),
)
"""Author, place, text and index of the message answered."""
NAMES = {"alice": ALICE, "bob": BOB}


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Settings and effects of a fault."""

    told: dict[str, Any] = field(default_factory=dict)
    also: str = ""
    """Fault, once, that reveals this one."""
    long: float = 5.0
    """Least seconds under the fault."""
    apology: bool = False
    """True if each thread gets one apology."""
    smooth: bool = True
    """True if no turn restarts."""


STORIES = {
    "redelivery": Story(long=400),
    "duplicate": Story(),
    "reorder": Story(),
    "delay": Story(told={"times": 2}, long=10),
    "drop": Story(),
    "refresh": Story(long=20),
    "used-tickets": Story(also="drop", long=30),
    "rate-limit": Story(told={"seconds": 2, "times": 9}, long=20),
    "answer-lost": Story(told={"times": 3}, long=10, smooth=False),
    "broken": Story(told={"times": 3}, long=10, smooth=False),
    "refused": Story(told={"method": "chat.*Stream"}),
    "stream-expiry": Story(told={"seconds": 0}),
    "down": Story(long=60, smooth=False),
    "missing-scope": Story(told={"times": 4}, long=20, smooth=False),
    "throttled": Story(told={"seconds": 1, "times": 2}, long=10),
    "failing": Story(long=30, apology=True),
    "overloaded": Story(long=30, apology=True),
    "cut": Story(told={"characters": 90}, long=30, apology=True),
    "stalled": Story(long=200, apology=True),
    "slow": Story(told={"seconds": 3}, long=150),
    "late": Story(long=60),
    "malformed": Story(),
    "unbounded": Story(),
    "refusal": Story(told={"model": SONNET}),
    "window": Story(told={"tokens": 3_000}, long=30),
    "unauthorized": Story(long=30, apology=True),
    "no-credit": Story(long=30, apology=True),
    "unknown-model": Story(told={"model": SONNET}, long=30, apology=True),
}


TOLD_ELSEWHERE = (
    *("missing-scope", "cut", "stalled", "slow", "unauthorized", "no-credit", "unknown-model", "down"),
    *("failing", "late", "window"),
)
"""Faults that other tests cover."""
ALIKE = (
    "duplicate",
    "reorder",
    "delay",
    "refresh",
    "used-tickets",
    "broken",
    "throttled",
    "malformed",
    "unbounded",
)
"""Faults like one of the others."""


def test_every_fault_has_a_story() -> None:
    assert list(STORIES) == [fault.name for fault in (*SLACK_FAULTS, *MODEL_FAULTS)]


@pytest.mark.parametrize("name", but(STORIES, {*TOLD_ELSEWHERE, *ALIKE}))
async def test_every_message_is_answered_once(stage: Stage, name: str) -> None:
    story = STORIES[name]
    await stage.sleep()
    await stage.wake(claude_model=SONNET, claude_model_fallback=HAIKU)
    async with asyncio.timeout(PATIENCE):
        for who, place in NAMES.items():
            await stage.say(who, place, "Hello")  # ends the greeting
        board = board_of(stage, name)
        board.switch(name, **story.told)
        if story.also:
            board.switch(story.also)
        said = await talk(stage)
        await passing(stage, story.long, lambda: struck(stage, board, name))
        board.all_off()
        await passing(stage, 60, lambda: is_over(stage, len(said)))
        heard = Counter(entry.event.text for entry in stage.entries("input"))
        assert [heard[text] for text in said] == [1] * len(said)
        assert {entry.event.outcome for entry in stage.entries("turn-ended")} == {"completed"}
        assert not (story.smooth and stage.entries("attempt-failed"))
        threads = [await stage.answers(place, root) for place, root in set(said.values())]
        told = [sum(answer.startswith(AWAY) for answer in answers) for answers in threads]
        assert max(told) == story.apology, threads
        for answers in threads:
            quotes = [quoted(answer, said) for answer in answers]
            assert len(set(filter(None, quotes))) == len(list(filter(None, quotes))) > 0, answers
            assert story.apology or all(quotes), answers


def quoted(answer: str, said: Iterable[str]) -> str:
    return next((text for text in said if f"{text.removeprefix('@Claudius ')}”" in answer), "")


async def talk(stage: Stage) -> dict[str, tuple[str, str]]:
    roots: list[str] = []
    for who, place, text, to in TALK:
        root = None if to is None else roots[to]
        roots.append(root or await stage.post(who, place, text))
        if root:
            await stage.post(who, place, text, root)
    lines = zip(TALK, roots, strict=True)
    return {text.replace(ME, "@Claudius"): (place, root) for (_, place, text, _), root in lines}


def board_of(stage: Stage, name: str) -> FaultSwitchboard:
    return stage.world.faults if stage.world.faults.knows(name) else stage.model.faults


def struck(stage: Stage, board: FaultSwitchboard, name: str) -> bool:
    [shown] = [fault for fault in board.json() if fault["name"] == name]
    if shown["once"]:
        return sum(stage.soul.slack.hearing.opened.values()) > 1  # a second socket was opened
    away = [said for said in stage.entries("spoken") if said.event.text.startswith(AWAY)]
    noticed = bool(away) or not STORIES[name].apology
    return noticed and shown["strikes"] >= STORIES[name].told.get("times", 1)


def is_over(stage: Stage, messages: int) -> bool:
    heard = len(stage.entries("input"))
    busy = stage.soul.worker.is_busy or stage.pending("input", "turn-began", "speech", "waiting", "outage")
    return heard >= messages + len(NAMES) and not busy


async def passing(stage: Stage, seconds: float, done: Callable[[], bool]) -> None:
    end, step = stage.clock.now() + seconds, max(1.0, seconds / 40)
    while stage.clock.now() < end or not done():
        for _ in range(4):
            await stage.clock.advance(0)
        await stage.clock.advance(step)

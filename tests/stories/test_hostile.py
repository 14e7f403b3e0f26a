"""Hostile model streams, which delay nobody."""

from __future__ import annotations

import asyncio

import pytest

from tests.soak import SOAK, shared
from tests.stories.stage import ALICE, BOB, Stage, reply

HOSTILE = {
    "white space": "<" + " " * 20_000,
    "brackets": "< " * 10_000,
    "thoughts": "`<think> " * 2_000,
    "pages": "x < y\n\n" * 3_000,
}


@SOAK
@pytest.mark.parametrize("text", shared(HOSTILE.values(), 4), ids=HOSTILE.keys())
async def test_others_are_answered_while_it_comes(stage: Stage, text: str) -> None:
    more = asyncio.Event()
    stage.model.say(f"<say>{text}</say>", chunk=4, asks="Alice", until=more, first=len(text))
    stage.model.say(reply("I am here."))
    stage.model.say("<say>In short.</say>", asks="Alice")
    await stage.post("alice", ALICE, "Write it.")
    await stage.until(lambda: stage.model.requests)
    ts = await stage.post("bob", BOB, "Hello?")
    await stage.until(lambda: stage.entries("turn-ended"))
    assert await stage.answers(BOB, ts) == ["I am here."]
    async with stage.session.get(f"{stage.soul.url}/healthz") as health:
        assert health.status == 200
    more.set()
    await stage.settled()
    assert len(stage.entries("turn-ended")) == 2

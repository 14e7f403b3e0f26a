"""Whatever a model writes, over the real wire, where daemon and world are processes of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, ClientTimeout

from tests.stories.process import PATIENCE, Visit, into, running, visit
from tests.stories.stage import ALICE, reply
from tests.stories.test_thoughts import MARKS, SHAPES

SPACES = 20_000
"""So much white space after a `<` took the first parser many minutes."""
AT_ONCE = 1e-6
"""Seconds between two pieces of an answer; a script takes its time."""


@asynccontextmanager
async def living(tmp_path: Path) -> AsyncIterator[tuple[Visit, str]]:
    """Alice, and the address of a daemon that lives in her world."""
    async with (
        running(tmp_path / "world", "rehearse") as (_, world),
        visit(world) as alice,
        running(tmp_path / "soul", **into(world)) as (_, soul),
    ):
        await alice.switch("slow", seconds=AT_ONCE)
        yield alice, soul


async def comes_to(alice: Visit, ts: str, *answers: str) -> None:
    """Wait until the soul has said this and rests; no state of it that is seen meanwhile shows a thought."""
    said: list[str] = []
    async with asyncio.timeout(PATIENCE):
        while said != [*answers] or await alice.working():
            said = [str(one["text"]) for one in await alice.answers(ts)]
            assert not [text for text in said if any(mark in text.lower() for mark in MARKS)]


async def test_white_space_holds_up_nobody(tmp_path: Path) -> None:
    async with living(tmp_path) as (alice, soul):
        await alice.cue(f"<say>So: <{' ' * SPACES}</say>", chunk=4)
        ts = await alice.say("Write it.")
        said: list[dict[str, object]] = []
        async with asyncio.timeout(PATIENCE), ClientSession(timeout=ClientTimeout(total=5)) as session:
            while not said or await alice.working():
                async with session.get(f"{soul}/healthz") as health:
                    assert health.status == 200
                said = await alice.answers(ts)
        assert [str(one["text"]).strip() for one in said] == ["So: <"]


async def test_half_a_character_poisons_no_thread(tmp_path: Path) -> None:
    async with living(tmp_path) as (alice, _):
        await alice.cue(reply("Oh \ud83d!", aside="\ud83d"), chunk=4)
        ts = await alice.say("Hello?")
        await comes_to(alice, ts, "Oh \ufffd!")
        await alice.cue(reply("Again."))
        await alice.slack.chat_postMessage(channel=ALICE, text="And?", thread_ts=ts)
        await comes_to(alice, ts, "Oh \ufffd!", "Again.")


@pytest.mark.parametrize("chunk", [1, 40])
async def test_no_thought_is_ever_read(tmp_path: Path, chunk: int) -> None:
    async with living(tmp_path) as (alice, _):
        for name, raw in SHAPES.items():
            await alice.cue(raw, chunk=chunk)
            if "<say>" not in raw or "channels" in name:
                await alice.cue(raw, chunk=chunk)  # it is asked once more for the dialogue alone
            ts = await alice.say(f"Well, {name}?")
            await comes_to(alice, ts, "Hello.")

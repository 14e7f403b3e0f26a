"""Arbitrary model text, with daemon and world as processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, ClientTimeout

from tests.attention import PATIENCE, until
from tests.soak import SOAK
from tests.stories.process import Around, around, into, running
from tests.stories.stage import reply
from tests.stories.test_thoughts import MARKS, SHAPES

SPACES = 20_000
"""White space that took an early parser minutes."""


@asynccontextmanager
async def living(tmp_path: Path) -> AsyncIterator[tuple[Around, str]]:
    async with around(tmp_path) as place, running(tmp_path / "soul", **into(place.url)) as (_, soul):
        yield place, soul


async def comes_to(place: Around, ts: str, *answers: str) -> None:
    def so_it_is() -> bool:
        said = place.texts(ts)
        assert not [text for text in said if any(mark in text.lower() for mark in MARKS)]
        return said == [*answers] and not place.working

    await until(so_it_is)


async def test_white_space_holds_up_nobody(tmp_path: Path) -> None:
    async with living(tmp_path) as (place, soul):
        place.model.say(f"<say>So: <{' ' * SPACES}</say>", chunk=4)
        ts = await place.say("Write it.")
        async with asyncio.timeout(PATIENCE), ClientSession(timeout=ClientTimeout(total=5)) as session:
            while not place.answers(ts) or place.answers(ts)[-1].streaming is not None:
                async with session.get(f"{soul}/healthz") as health:
                    assert health.status == 200
        assert [text.strip() for text in place.texts(ts)] == ["So: <"]


async def test_half_a_character_poisons_no_thread(tmp_path: Path) -> None:
    async with living(tmp_path) as (place, _):
        place.model.say(reply("Oh \ud83d!", aside="\ud83d"), chunk=4)
        ts = await place.say("Hello?")
        await comes_to(place, ts, "Oh \ufffd!")
        place.model.say(reply("Again."))
        await place.say("And?", ts)
        await comes_to(place, ts, "Oh \ufffd!", "Again.")


@SOAK
@pytest.mark.parametrize("chunk", [1, 40])
async def test_no_thought_is_ever_read(tmp_path: Path, chunk: int) -> None:
    async with living(tmp_path) as (place, _):
        for name, raw in SHAPES.items():
            place.model.say(raw, chunk=chunk)
            if "<say>" not in raw or "channels" in name:
                place.model.say(raw, chunk=chunk)  # second call, for dialogue
            ts = await place.say(f"Well, {name}?")
            await comes_to(place, ts, "Hello.")

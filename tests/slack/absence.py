"""The office while nobody listens, and when somebody does again: what the tests of catch-up play in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.kinds import IncomingMessage
from rehearsal.channels import channel_of
from rehearsal.events import post as posted
from rehearsal.messages import find
from rehearsal.people import CALLERS
from tests.attention import PATIENCE
from tests.clock import FakeClock
from tests.slack.office import Office, office

HOUR = 3600.0
DAY = 24 * HOUR


@asynccontextmanager
async def before(path: Path, clock: FakeClock) -> AsyncIterator[Office]:
    """The office; what nobody has heard when it ends is never sent again."""
    async with office(path, clock=clock) as here:
        await here.caught_up()
        yield here
        here.lose()


@asynccontextmanager
async def later(path: Path, clock: FakeClock, seconds: float = HOUR) -> AsyncIterator[Office]:
    """The same office after this time, with a new daemon that has caught up."""
    await clock.advance(seconds)
    async with office(path, clock=clock) as here:
        await here.caught_up()
        yield here


async def post(here: Office, name: str, channel: str, text: str, root: str | None = None) -> str:
    """Someone says something, whether or not anybody hears it; returns its ts."""
    answer = await here.client(name).chat_postMessage(channel=channel, text=text, thread_ts=root)
    return str(answer["ts"])


def post_many(here: Office, name: str, channel: str, texts: Iterable[str], root: str = "") -> list[str]:
    """Someone says much, without a request for each; returns each one's ts."""
    space, caller = here.world.workspace, CALLERS[f"xoxp-{name}"]
    with space.db as db:
        place = channel_of(db, channel, caller.id)
        thread = find(db, channel, root).stamp if root else None
        return [posted(space, place, caller, {"text": text}, thread).ts for text in texts]


def addresses(here: Office) -> list[tuple[str, str]]:
    """How, and in which words, the soul was spoken to."""
    return [(entry.event.address, entry.event.text) for entry in here.entries(IncomingMessage)]


def asked(here: Office, method: str) -> list[str]:
    """The conversations that this method was called for."""
    return [args["channel"] for args in here.wire.told(method)]


async def read(here: Office) -> None:
    """Catch up once more."""
    here.slack.catch_up.wake()
    await here.caught_up()


async def patiently(here: Office) -> None:
    """Until all is read, with all the time that this takes."""
    async with asyncio.timeout(PATIENCE):
        while here.slack.catch_up.is_running:
            await here.clock.advance(1)

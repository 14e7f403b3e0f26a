"""The office before and after an absence of the daemon."""

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
    """Run the office; unsent events are lost at its end."""
    async with office(path, clock=clock) as here:
        await here.caught_up()
        yield here
        here.lose()


@asynccontextmanager
async def later(path: Path, clock: FakeClock, seconds: float = HOUR) -> AsyncIterator[Office]:
    """Run it after this time with a new daemon, caught up."""
    await clock.advance(seconds)
    async with office(path, clock=clock) as here:
        await here.caught_up()
        yield here


async def post(here: Office, name: str, channel: str, text: str, root: str | None = None) -> str:
    """Post without waiting for an ack; return the ts."""
    answer = await here.client(name).chat_postMessage(channel=channel, text=text, thread_ts=root)
    return str(answer["ts"])


def post_many(here: Office, name: str, channel: str, texts: Iterable[str], root: str = "") -> list[str]:
    """Post many messages without requests; return their ts."""
    space, caller = here.world.workspace, CALLERS[f"xoxp-{name}"]
    with space.db as db:
        place = channel_of(db, channel, caller.id)
        thread = find(db, channel, root).stamp if root else None
        return [posted(space, place, caller, {"text": text}, thread).ts for text in texts]


def addresses(here: Office) -> list[tuple[str, str]]:
    """Return address and text of each input."""
    return [(entry.event.address, entry.event.text) for entry in here.entries(IncomingMessage)]


def asked(here: Office, method: str) -> list[str]:
    return [args["channel"] for args in here.wire.told(method)]


async def read(here: Office) -> None:
    here.slack.catch_up.wake()
    await here.caught_up()


async def patiently(here: Office) -> None:
    """Read everything, with the time it takes."""
    async with asyncio.timeout(PATIENCE):
        while here.slack.catch_up.is_running:
            await here.clock.advance(1)

"""Helpers for tests of speech."""

from __future__ import annotations

from daemon.engine.exceptions import FencedError
from daemon.kinds import ConversationOpened
from daemon.slack.speaker import PACE
from tests.slack.office import GENERAL, ME, Office, until

KEY = "sess-1@1/say#1"


async def ours() -> None:
    """Accept: the lease is still held."""


async def lost() -> None:
    """Refuse: another attempt holds the lease."""
    raise FencedError(KEY)


async def called(here: Office) -> tuple[str, str]:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    here.wire.calls.clear()
    return here.entries(ConversationOpened)[-1].thread, root


async def texts(here: Office, root: str) -> list[str]:
    return [reply["text"] for reply in await here.replies(GENERAL, root)]


async def pace(here: Office) -> None:
    """Advance time until a stream posts its text."""
    await until(lambda: here.clock.sleepers > 0)
    await here.clock.advance(PACE)


async def times(here: Office, method: str, count: int) -> None:
    await until(lambda: len(here.wire.told(method)) >= count)

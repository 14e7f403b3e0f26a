"""What the tests of the soul's voice share: a thread to speak in, and the time in which streams grow."""

from __future__ import annotations

from daemon.engine.exceptions import FencedError
from daemon.kinds import ConversationOpened
from daemon.slack.speaker import PACE
from tests.slack.office import GENERAL, ME, Office, until

KEY = "sess-1@1/say#1"


def ours() -> None:
    """The thread is still ours."""


def lost() -> None:
    """The thread is another attempt's by now."""
    raise FencedError(KEY)


async def called(here: Office) -> tuple[str, str]:
    """Alice calls the soul: its thread, and the ts of her message."""
    root = await here.say("alice", GENERAL, f"{ME} hello")
    here.wire.calls.clear()
    return here.entries(ConversationOpened)[-1].thread, root


async def texts(here: Office, root: str) -> list[str]:
    return [reply["text"] for reply in await here.replies(GENERAL, root)]


async def pace(here: Office) -> None:
    """Let the time pass after which a stream shows what it has."""
    await until(lambda: here.clock.sleepers > 0)
    await here.clock.advance(PACE)


async def times(here: Office, method: str, count: int) -> None:
    await until(lambda: len(here.wire.told(method)) >= count)

"""The status that Slack shows."""

from __future__ import annotations

from typing import Any

from daemon.kinds import ConversationOpened
from daemon.slack.status import MOMENT
from tests.slack.office import GENERAL, ME, Office, until

LINE, SESSION = "assistant.threads.setStatus", "agents.sessions.setStatus"


async def ours() -> None:
    """Accept: the lease is still held."""


async def show(here: Office, thread: str, text: str) -> None:
    """Set the status, and wait for Slack."""
    here.slack.speaker.status(thread, text, ours)
    if text:
        await here.clock.advance(MOMENT)
    await until(lambda: not here.slack.speaker.busy)


async def called(here: Office) -> str:
    await here.say("alice", GENERAL, f"{ME} hello")
    here.wire.calls.clear()
    return here.entries(ConversationOpened)[-1].thread


def lines(here: Office) -> list[str]:
    return [line.status for line in here.world.workspace.statuses.all()]


async def later(here: Office, seconds: float) -> None:
    """Advance time, and wait for Slack."""
    for _ in range(6):
        await until(lambda: not here.slack.speaker.busy)
        await here.clock.advance(seconds / 6)
    await until(lambda: not here.slack.speaker.busy)


def sessions(here: Office) -> list[dict[str, Any]]:
    return here.world.workspace.statuses.sessions()

"""What Slack shows of the soul's work, as the tests of the status look at it."""

from __future__ import annotations

from typing import Any

from daemon.kinds import ConversationOpened
from daemon.slack.status import MOMENT
from tests.slack.office import GENERAL, ME, Office, until

LINE, SESSION = "assistant.threads.setStatus", "agents.sessions.setStatus"


def ours() -> None:
    """The thread is still ours."""


async def show(here: Office, thread: str, text: str) -> None:
    """The soul is doing this, and Slack has been told."""
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
    """So long afterwards, when Slack has been told what it is to be told."""
    for _ in range(6):
        await until(lambda: not here.slack.speaker.busy)
        await here.clock.advance(seconds / 6)
    await until(lambda: not here.slack.speaker.busy)


def sessions(here: Office) -> list[dict[str, Any]]:
    return here.world.workspace.statuses.sessions()

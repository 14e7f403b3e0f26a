"""A question with three buttons, and presses."""

from __future__ import annotations

from daemon.kinds import ButtonPress
from daemon.ports import Button, ButtonRow
from tests.slack.office import GENERAL, Office
from tests.slack.voice import KEY, called, ours

YES = Button(label="Go ahead", value="yes", style="primary")
NO = Button(label="No", value="no", style="danger")
LATER = Button(label="Later", value='"later" {}')
TEXT = "**Shall I** delete it, <@U0BOB000002>?"
QUIET = "**Shall I** delete it, <\u200b@U0BOB000002>?"


def question(thread: str) -> ButtonRow:
    return ButtonRow(asked=f"{thread}@3/ask#1", choices=(YES, NO, LATER))


async def asked(here: Office, text: str = TEXT) -> tuple[str, str, str]:
    """Ask Alice; return the thread, and the ts of her message and of the question."""
    thread, root = await called(here)
    ts = await here.slack.speaker.finish(thread, None, text, KEY, ours, question(thread))
    await here.acked()  # else the soul's message is sent again on the next connection
    await here.caught_up()
    here.woken.clear()
    return thread, root, ts


async def press(here: Office, user: str, ts: str, label: str, channel: str = GENERAL) -> str:
    """Press a button; return the time after the ack."""
    answer = await here.control("press", user=user, channel=channel, ts=ts, label=label)
    await here.acked()
    return str(answer["action_ts"])


def presses(here: Office) -> list[ButtonPress]:
    return [entry.event for entry in here.entries(ButtonPress)]


async def labels(here: Office, root: str) -> list[str]:
    blocks = (await here.replies(GENERAL, root))[-1].get("blocks", ())
    elements = [one for block in blocks if block["type"] == "actions" for one in block["elements"]]
    return [element["text"]["text"] for element in elements]

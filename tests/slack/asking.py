"""What the tests of buttons share: a question with three of them, and how one is pressed."""

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
    """The soul asks Alice something: its thread, her message, and the question's ts."""
    thread, root = await called(here)
    ts = await here.slack.speaker.finish(thread, None, text, KEY, ours, question(thread))
    await here.acked()  # also what the soul said: else it is sent again to whoever is connected next
    await here.caught_up()
    here.woken.clear()
    return thread, root, ts


async def press(here: Office, user: str, ts: str, label: str, channel: str = GENERAL) -> str:
    """Someone presses a button; returns when, once it is acked."""
    answer = await here.control("press", user=user, channel=channel, ts=ts, label=label)
    await here.acked()
    return str(answer["action_ts"])


def presses(here: Office) -> list[ButtonPress]:
    return [entry.event for entry in here.entries(ButtonPress)]


async def labels(here: Office, root: str) -> list[str]:
    """What the buttons under the last message of a thread read."""
    blocks = (await here.replies(GENERAL, root))[-1].get("blocks", ())
    elements = [one for block in blocks if block["type"] == "actions" for one in block["elements"]]
    return [element["text"]["text"] for element in elements]

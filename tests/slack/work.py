"""What the tests of stops and presses share: a thread in which the soul is at work, as life would note it."""

from __future__ import annotations

from typing import Any

from daemon.entry import Entry
from daemon.rehearsal.people import BOB
from tests.slack.office import GENERAL, ME, Office
from tests.slack.voice import ours

SIGN = "octagonal_sign"
TEXTS: dict[str, str] = {}


async def begins(here: Office, *took: Entry, path: str = "") -> Entry:
    """A turn takes these."""
    path = path or f"{took[0].thread}@{took[0].seq}"
    body = {
        "took": [entry.seq for entry in took],
        "path": path,
        "process": "conversation",
        "code": "1",
        "texts": TEXTS,
    }
    entry, _ = await here.journal.append(
        took[0].thread, "turn-began", body, key=f"{path}/began", author="core", cause=took[0].seq
    )
    return entry


async def ends(here: Office, began: Entry, outcome: str = "ended") -> None:
    """It ends."""
    key = f"{began.body['path']}/ended"
    await here.journal.append(
        began.thread,
        "turn-ended",
        {"outcome": outcome, "keep": [], "process": None, "params": {}},
        key=key,
        cause=began.seq,
        closes=[began.seq, *began.body["took"]],
    )


async def parks(here: Office, began: Entry) -> Entry:
    """It asks, and waits."""
    key = f"{began.body['path']}/ask#1"
    body = {"body": began.body["path"], "to": [], "choices": []}
    asked, _ = await here.journal.append(began.thread, "asked", body, key=key, cause=began.seq)
    await ends(here, began, "parked")
    return asked


async def answers(here: Office, began: Entry, text: str = "Hm.") -> str:
    """It says something; returns its ts."""
    speaker = here.slack.speaker
    key = f"{began.body['path']}/say#1"
    intent, _ = await here.journal.append(began.thread, "speech", {}, key=key, cause=began.seq)
    ts = await speaker.finish(began.thread, None, text, key, ours)
    said: dict[str, Any] = {"ts": ts, "text": text, "upto": len(text)}
    await here.journal.append(
        began.thread, "spoken", said, key=f"{key}/receipt", cause=intent.seq, closes=[intent.seq]
    )
    return ts


def stops(here: Office) -> list[Entry]:
    """The stops that were perceived."""
    return [entry for entry in here.entries("perception") if entry.body.get("rank") == "stop"]


async def called(here: Office) -> str:
    """Alice calls the soul, and it is at work; returns the ts of her message."""
    root = await here.say("alice", GENERAL, f"{ME} count to a million")
    await begins(here, here.entries("perception")[-1])
    await here.caught_up()
    here.woken.clear()
    return root


async def react(here: Office, name: str, ts: str, emoji: str = SIGN, channel: str = GENERAL) -> None:
    await here.client(name).reactions_add(channel=channel, timestamp=ts, name=emoji)
    await here.acked()


async def session_stop(here: Office, root: str, **changes: Any) -> None:
    """Slack tells that someone pressed its Stop button."""
    event = {"type": "agent_session_stopped", "channel": GENERAL, "user": BOB.id, "thread_ts": root}
    await here.event(
        event={**event, "streaming_message_ts": [], "event_ts": f"{here.clock.now():.6f}", **changes}
    )

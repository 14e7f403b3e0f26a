"""A stop that is no message: 🛑 on one, or Slack's own Stop button. What it stops, and who may; for signals.

All of it is read in the journal: a stop waits for no answer of Slack's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from daemon.entry import Entry, rank, who
from daemon.journal.journal import Journal
from daemon.slack.message import Message, identity, part, stamp, told
from daemon.slack.place import moment, place, thread_key
from daemon.slack.words import STOP_EMOJIS

AT_WORK = ("perception", "turn-began", "asked")
"""Debts of a thread in which something runs, waits for its turn, or for an answer."""
SAID = ("speech-started", "spoken")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Someone wants the soul to stop, at `ts`. `root` is the thread, or `on` a message in it."""

    by: Literal["reaction", "button"]
    channel: str
    user: str
    ts: str
    root: str = ""
    on: str = ""


def stop_of(event: Mapping[str, Any]) -> Stop | None:
    """The stop that an event is, if it is one; raises Malformed."""
    if event.get("type") == "agent_session_stopped":
        return Stop(
            by="button",
            channel=identity(event, "channel"),
            user=identity(event, "user"),
            ts=stamp(event, "event_ts"),
            root=stamp(event, "thread_ts"),
        )
    emoji = told(event, "reaction").partition("::")[0]
    if event.get("type") != "reaction_added" or emoji not in STOP_EMOJIS:
        return None
    if (item := part(event, "item")).get("type") != "message":
        return None
    return Stop(
        by="reaction",
        channel=identity(item, "channel"),
        user=identity(event, "user"),
        ts=stamp(event, "event_ts"),
        on=stamp(item, "ts"),
    )


def thread_of(journal: Journal, team: str, stop: Stop) -> Entry | None:
    """The `thread` entry of the conversation that is to stop, if the soul is in it."""
    if stop.root:
        return journal.get(thread_key(team, stop.channel, stop.root))
    where = f"{team}:{stop.channel}:{stop.on}"
    for key in (f"thread:{where}", f"msg:{where}", f"heard:{where}"):
        if found := journal.get(key):
            return journal.latest(found.thread, "thread")
    return next(_speaking(journal, stop), None)


def _speaking(journal: Journal, stop: Stop) -> Iterator[Entry]:
    """The thread at work in which the soul itself said that message."""
    for thread in dict.fromkeys(entry.thread for entry in journal.open(*AT_WORK)):
        opened = journal.latest(thread, "thread")
        if not opened or place(opened).channel != stop.channel:
            continue
        if any(said.body["ts"] == stop.on for said in journal.of(thread, *SAID)):
            yield opened


def meant(journal: Journal, message: Message) -> Message:
    """A stop word at the top of a DM begins no conversation where one is at work: it is for that one."""
    if message.kind == "dm" and message.root == message.ts:
        for thread in dict.fromkeys(entry.thread for entry in reversed(journal.open(*AT_WORK))):
            opened = journal.latest(thread, "thread")
            if opened and place(opened).root and place(opened).channel == message.channel:
                return replace(message, root=place(opened).root)
    return message


def heeded(journal: Journal, thread: str, stop: Stop, owners: frozenset[str]) -> bool:
    """Is there something to stop, and may they? A button is Slack's: whoever sees it may press it.

    A stop that arrives late does not stop what was asked for after it.
    """
    work = [entry for entry in _asked_for(journal, thread) if rank(entry) in ("message", "stop")]
    since = [entry.body["ts"] for entry in work if "ts" in entry.body]
    if not work or (since and min(map(moment, since)) > moment(stop.ts)):
        return False
    return stop.by == "button" or stop.user in owners | {who(entry) for entry in work}


def _asked_for(journal: Journal, thread: str) -> Iterator[Entry]:
    """What the thread is at work on: the messages that wait, that its turn took, or its parked body."""
    for entry in journal.open(*AT_WORK, thread=thread):
        began = entry
        if entry.kind != "perception":
            path = entry.body["body" if entry.kind == "asked" else "path"]
            began = journal.get(f"{path}/began") or entry
        for taken in journal.many(began.body.get("took", ())) or [began]:
            yield from journal.many(taken.body.get("carries", ())) or [taken]

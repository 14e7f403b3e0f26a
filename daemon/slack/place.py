"""Where in Slack a thread of ours is, and the keys of what is said there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from daemon.entry import Entry
from daemon.journal.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A Slack thread, as its journal entry says. `called_by` is the message that called the soul in."""

    team: str
    channel: str
    root: str
    kind: str
    user: str
    called_by: str


def place_of(journal: Journal, thread: str) -> Place:
    """The place of a thread that Slack opened; raises LookupError for any other."""
    for entry in journal.of(thread, "thread"):
        return place(entry)
    raise LookupError(f"{thread} is not a conversation in Slack")


def place(entry: Entry) -> Place:
    """The place that a `thread` entry names."""
    body: Mapping[str, Any] = entry.body
    return Place(
        team=body["team"],
        channel=body["channel"],
        root=body["ts"],
        kind=body["kind"],
        user=body["user"],
        called_by=body["called_by"],
    )


def thread_key(team: str, channel: str, root: str) -> str:
    """The natural key of a conversation."""
    return f"thread:{team}:{channel}:{root}"


def moment(ts: str) -> Decimal:
    """When a message was written, for comparing: a ts is a string id, and a float loses its last digits."""
    return Decimal(ts)

"""Where in Slack a thread of ours is, and the keys of what is said there."""

from __future__ import annotations

from decimal import Decimal

from daemon.engine.event import Entry
from daemon.engine.reading import Reading
from daemon.kinds import Opened
from daemon.kinds import thread_key as thread_key


def place_of(journal: Reading, thread: str) -> Opened:
    """The place of a thread that was opened in Slack; raises LookupError for any other."""
    found = journal.latest(thread, Opened)
    if found is None:
        raise LookupError(f"{thread} is not a conversation in Slack")
    return found.event


def opened(journal: Reading, key: str) -> Entry[Opened] | None:
    """The conversation to which the entry under this key belongs; None where there is no such entry."""
    found = journal.get(key)
    return journal.latest(found.thread, Opened) if found else None


def moment(ts: str) -> Decimal:
    """When a message was written, for comparing: a ts is a string id, and a float loses its last digits."""
    return Decimal(ts)

"""Where in Slack a thread of ours is, and the keys of what is said there."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeVar, cast

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.reading import Reading
from daemon.kinds import CardShown, Opened, Reacted, Said, SpeechStarted, Spoken, thread_key
from daemon.slack.names import Whereabouts

E = TypeVar("E", bound=Said | Reacted)
MOST = 2_000
"""Threads of which it is at hand where they are, about a kilobyte each."""

OURS: tuple[type[Event], ...] = (SpeechStarted, Spoken, CardShown)
"""What names a message of the soul's own by its ts."""


def places_of(journal: Reading) -> Callable[[str], Opened]:
    """`place_of`, which looks only once for those threads that were asked for last.

    What it found is never stale: the first entry of a thread does not change, and all of it stays when
    something is forgotten.
    """
    return lru_cache(MOST)(partial(place_of, journal))


def place_of(journal: Reading, thread: str) -> Opened:
    """The place of a thread that was opened in Slack; raises LookupError for any other."""
    found = journal.latest_of_kind(thread, Opened)
    if found is None:
        raise LookupError(f"{thread} is not a conversation in Slack")
    return found.event


def permalink(url: str, channel: str, ts: str, root: str = "") -> str:
    """The link to a message, as Slack makes it: with a root to its place in the thread. `url` is where the
    workspace is.
    """
    link = f"{url}archives/{channel}/p{ts.replace('.', '')}"
    if root:
        link += f"?thread_ts={root}&cid={channel}"
    return link


def opened(journal: Reading, key: str) -> Entry[Opened] | None:
    """The conversation to which the entry under this key belongs; None where there is no such entry."""
    found = journal.get(key)
    if found is None or isinstance(found.event, Opened):
        return cast(Entry[Opened] | None, found)
    return journal.latest_of_kind(found.thread, Opened)


def home(team: str) -> str:
    """The thread of what is noted of a workspace, and belongs to no conversation."""
    return f"slack:{team}"


async def note(journal: Journal, team: str, event: Event) -> None:
    """Note this of a workspace, under the key that follows the last one of its kind. Raises JournalError."""
    thread = home(team)
    last = journal.last_seq(thread, type(event)) or "first"
    await journal.append(thread, event, key=f"{event.kind}:{team}:{last}", author="core")


async def write_down(journal: Journal, cause: Entry[Any], event: E, key: str) -> Entry[E]:
    """Write down what somebody said or did, after its cause, in the same thread. Raises JournalError."""
    entry, _ = await journal.append(cause.thread, event, key=key, author=event.user, cause=cause.seq)
    return entry


def conversation_with(journal: Reading, team: str, channel: str, ts: str) -> Entry[Opened] | None:
    """The conversation that begins with this message, or in which it was said or heard."""
    where = f"{team}:{channel}:{ts}"
    for key in (f"thread:{where}", f"msg:{where}", f"heard:{where}"):
        found = opened(journal, key)
        if found:
            return found
    return None


async def open_channel(
    journal: Journal, *, team: str, channel: str, where: Whereabouts, user: str
) -> Entry[Opened]:
    """The thread of a channel or DM itself, for what stands in no conversation of it: its `ts` is empty."""
    said = Opened(
        team=team,
        channel=channel,
        ts="",
        where=where.kind,
        place=where.name,
        audience=where.audience,
        user=user,
        called_by="",
    )
    entry, _ = await journal.open_thread(thread_key(team, channel, ""), said)
    return entry

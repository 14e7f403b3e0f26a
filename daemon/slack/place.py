"""Where in Slack a thread of ours is, and the keys of what is said there."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeVar, cast

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.reading import JournalReader
from daemon.kinds import (
    CardShown,
    ConversationOpened,
    PersonMessage,
    ReactionChanged,
    SpeechFinished,
    SpeechPosted,
    thread_key,
)
from daemon.slack.names import ConversationInfo

E = TypeVar("E", bound=PersonMessage | ReactionChanged)
MOST = 2_000
"""Threads of which it is at hand where they are, about a kilobyte each."""

OURS: tuple[type[Event], ...] = (SpeechPosted, SpeechFinished, CardShown)
"""What names a message of the soul's own by its ts."""


def cached_places(journal: JournalReader) -> Callable[[str], ConversationOpened]:
    """`place_of`, which looks only once for those threads that were asked for last.

    What it found is never stale: the first entry of a thread does not change, and all of it stays when
    something is forgotten.
    """
    return lru_cache(MOST)(partial(slack_place, journal))


def slack_place(journal: JournalReader, thread: str) -> ConversationOpened:
    """The place of a thread that was opened in Slack; raises LookupError for any other."""
    found = journal.latest_of_kind(thread, ConversationOpened)
    if found is None:
        raise LookupError(f"{thread} is not a conversation in Slack")
    return found.event


def make_permalink(url: str, channel: str, ts: str, root: str = "") -> str:
    """The link to a message, as Slack makes it: with a root to its place in the thread. `url` is where the
    workspace is.
    """
    link = f"{url}archives/{channel}/p{ts.replace('.', '')}"
    if root:
        link += f"?thread_ts={root}&cid={channel}"
    return link


def conversation_of(journal: JournalReader, key: str) -> Entry[ConversationOpened] | None:
    """The conversation to which the entry under this key belongs; None where there is no such entry."""
    found = journal.get(key)
    if found is None or isinstance(found.event, ConversationOpened):
        return cast(Entry[ConversationOpened] | None, found)
    return journal.latest_of_kind(found.thread, ConversationOpened)


def workspace_thread(team: str) -> str:
    """The thread of what is noted of a workspace, and belongs to no conversation."""
    return f"slack:{team}"


async def record_workspace_note(journal: Journal, team: str, event: Event) -> None:
    """Note this of a workspace, under the key that follows the last one of its kind. Raises JournalError."""
    thread = workspace_thread(team)
    last = journal.last_seq(thread, type(event)) or "first"
    await journal.append(thread, event, key=f"{event.kind}:{team}:{last}", author="core")


async def record_said(journal: Journal, cause: Entry[Any], event: E, key: str) -> Entry[E]:
    """Write down what somebody said or did, after its cause, in the same thread. Raises JournalError."""
    entry, _ = await journal.append(cause.thread, event, key=key, author=event.user, cause=cause.seq)
    return entry


def conversation_of_message(
    journal: JournalReader, team: str, channel: str, ts: str
) -> Entry[ConversationOpened] | None:
    """The conversation that begins with this message, or in which it was said or heard."""
    where = f"{team}:{channel}:{ts}"
    for key in (f"thread:{where}", f"msg:{where}", f"heard:{where}"):
        found = conversation_of(journal, key)
        if found:
            return found
    return None


async def open_channel_thread(
    journal: Journal, *, team: str, channel: str, where: ConversationInfo, user: str
) -> Entry[ConversationOpened]:
    """The thread of a channel or DM itself, for what stands in no conversation of it: its `ts` is empty."""
    said = ConversationOpened(
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

"""What people can have read: files that they shared, a thread, a channel's history. Implements Shelf.

What may be read is what all who are told of it could have read themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from heapq import nlargest

from slack_sdk.errors import SlackApiError

from daemon.documents.document import Document, DocumentError, document_of_parts
from daemon.documents.loading import read_document
from daemon.engine.keys import root_of
from daemon.errors import FileUnavailable
from daemon.kinds import ConversationOpened, PersonMessage, SharedFile
from daemon.limits import DAY
from daemon.ports import FileSource
from daemon.slack.archive import ConversationArchive, active_threads, message_if_said, time_of
from daemon.slack.message import SlackMessage
from daemon.slack.own_workspace import SlackWorkspace
from daemon.slack.place import make_permalink, slack_place
from daemon.slack.refusals import OUT_OF_REACH, describe_failure
from daemon.slack.web import Item

MOST_FILES = 20
"""Files that are read at once."""
AT_ONCE = 2
"""Files that are turned into texts at once, whoever asks."""
MOST_THREADS = 200
"""Threads of a channel's history whose replies are read; those with the latest ones."""

NOWHERE = "This conversation is not in Slack: there is nothing to read here."
NO_FILES = "Nobody has shared a file in this conversation yet: share one here, and ask again."
UNKNOWN_FILE = "There is no file called {name} in this conversation. There are: {known}."
TOO_MANY = "There are {count} files in this conversation; at most {most} are read: name those that matter."
AWAY = "Slack did not show it ({why}): ask again in a while."
UNKNOWN_CHANNEL = (
    "I cannot read {name} from here: I am not in it, or what is said there is not for all who read here. "
    "Ask me in that channel itself."
)
NO_MEMBER = "You are not a member of {name}: I read a channel only for those who are in it."


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSourceProvider:
    """Brings documents out of one workspace. Each method raises DocumentError with a sentence for people."""

    workspace: SlackWorkspace
    archive: ConversationArchive
    fetcher: FileSource
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    """For those that are read at once: each may take a child of its own, and a gigabyte."""

    async def files(self, thread: str, names: Sequence[str], until: float) -> Sequence[Document]:
        """The files that were shared in this conversation: those of these names, or all."""
        wanted = self._within_reach(root_of(thread), names, until)
        if not wanted:
            raise DocumentError(NO_FILES)
        if names:
            wanted = _named(wanted, names)
        if len(wanted) > MOST_FILES:
            raise DocumentError(TOO_MANY.format(count=len(wanted), most=MOST_FILES))
        documents = [await self._read(file) for file in wanted]
        return _told_apart(documents)

    async def thread(self, thread: str, until: float) -> Sequence[Document]:
        """All that was said in this conversation; a message is a part, named by its permalink."""
        place = self._place(thread)
        with _asking_slack():
            items = await self.archive.read_replies(place.channel, place.ts, 0.0)
            return [await self._document("thread", place, items, until)]

    async def channel(
        self, thread: str, name: str, days: int, until: float, askers: Sequence[str]
    ) -> Sequence[Document]:
        """What was said in a channel since so many days; without a name, in that of this conversation."""
        place = self._place(thread)
        with _asking_slack():
            if name:
                place = await self._other(thread, place, name, askers)
            items = await self._history(place, until - days * DAY)
            return [await self._document(place.place, place, items, until)]

    def _place(self, thread: str) -> ConversationOpened:
        try:
            return slack_place(self.workspace.journal, root_of(thread))
        except LookupError as nowhere:
            raise DocumentError(NOWHERE) from nowhere

    def _within_reach(self, root: str, names: Sequence[str], until: float) -> list[SharedFile]:
        """What was shared in this conversation, the oldest first.

        A DM is one conversation, whichever message began it: where this one has no such files, those from
        before it count, all of them for a name, else the latest ones.
        """
        shared = self._shared(root, until)
        if shared and all(_fitting(shared, name) for name in names):
            return shared
        for earlier in self._earlier(root):
            shared = self._shared(earlier, until) + shared
            if shared and not names:
                break
        return shared

    def _earlier(self, root: str) -> Iterator[str]:
        """In a DM the other roots of it, the latest first."""
        here = self.workspace.journal.latest_of_kind(root, ConversationOpened)
        if here is None or here.event.where != "dm":
            return
        for opened in reversed(self.workspace.journal.entries_of_kind(ConversationOpened)):
            if opened.event.channel == here.event.channel and opened.thread != root:
                yield opened.thread

    def _shared(self, root: str, until: float) -> list[SharedFile]:
        """What was shared under this root, each file once, the oldest first."""
        files: list[SharedFile] = []
        for entry in self.workspace.journal.thread_entries(root, PersonMessage):
            if float(entry.event.ts) <= until:
                files.extend(entry.event.files)
        return _each_once(files)

    async def _read(self, file: SharedFile) -> Document:
        try:
            data = await self.fetcher.fetch(file)
        except FileUnavailable as refused:
            raise DocumentError(f"{file.name}: {refused}") from refused
        async with self.room:
            return await read_document(file.name, data)

    async def _other(
        self, thread: str, here: ConversationOpened, name: str, askers: Sequence[str]
    ) -> ConversationOpened:
        """Another channel, if all who read here could read there, and whoever asks does."""
        wanted = _plain(name)
        await self.workspace.places.update()
        channel = self.workspace.places.channel_of(thread)
        assert channel is not None
        for there in self.workspace.places.visible_channels(channel):
            if wanted not in (_plain(there.now), _plain(there.channel)):
                continue
            if there.channel != here.channel and not await self._are_members(askers, there.channel):
                raise DocumentError(NO_MEMBER.format(name=there.now))
            return replace(here, channel=there.channel, place=there.now, where="channel")
        raise DocumentError(UNKNOWN_CHANNEL.format(name=name))

    async def _are_members(self, people: Sequence[str], channel: str) -> bool:
        members = await self.archive.read_members(channel)
        return bool(people) and members.issuperset(people)

    async def _history(self, place: ConversationOpened, since: float) -> list[Item]:
        """The messages since then, with the replies to them."""
        items = await self.archive.read_history(place.channel, since)
        live = active_threads(items, since)
        items = [item for item in items if time_of(item) >= since]
        for root in nlargest(MOST_THREADS, live, key=live.__getitem__):
            items += await self.archive.read_replies(place.channel, root, since)
        return items

    async def _document(
        self, name: str, place: ConversationOpened, items: Iterable[Item], until: float
    ) -> Document:
        """What was said until then and nobody wants forgotten: a part each, in the order of their times."""
        unsaid = self.workspace.forgotten.forgotten_messages()
        parts: dict[str, str] = {}
        for item in sorted(items, key=time_of):
            if time_of(item) > until:
                break
            message = message_if_said(item, place.channel, place.where)
            if message is None or message.ts in unsaid:
                continue
            if not self.workspace.is_forgotten(message.author, message.ts):
                parts[self._link(message)] = await self._line(message)
        if not parts:
            raise DocumentError(f"Nothing was said there in that time ({name}).")
        return await asyncio.to_thread(document_of_parts, name, parts.items(), kind="thread")

    async def _line(self, message: SlackMessage) -> str:
        """Who said it, when, and what."""
        me = self.workspace.me
        words = await self.workspace.people.describe(message)
        name = words["name"]
        if me.is_own_message(message.user, message.bot):
            name = me.name
        when = datetime.fromtimestamp(float(message.ts), UTC)
        files = "".join(f" [file: {file.name}]" for file in message.files)
        return f"{name} ({when:%Y-%m-%d %H:%M} UTC): {words['text']}{files}"

    def _link(self, message: SlackMessage) -> str:
        root = message.root
        if root == message.ts:
            root = ""
        return make_permalink(self.workspace.me.url, message.channel, message.ts, root)


@contextmanager
def _asking_slack() -> Iterator[None]:
    """Where Slack does not answer, or refuses, people are told so."""
    try:
        yield
    except (SlackApiError, *OUT_OF_REACH) as error:
        raise DocumentError(AWAY.format(why=describe_failure(error))) from error


def _plain(channel: str) -> str:
    """The name of a channel as it is compared."""
    return channel.strip().lstrip("#").casefold()


def _named(shared: Sequence[SharedFile], names: Iterable[str]) -> list[SharedFile]:
    """The files of these names: in full, or as part of one. Raises DocumentError for a name that is none."""
    found: list[SharedFile] = []
    for name in names:
        fits = _fitting(shared, name)
        if not fits:
            known = ", ".join(dict.fromkeys(file.name for file in shared))
            raise DocumentError(UNKNOWN_FILE.format(name=name, known=known))
        found.extend(fits)
    return _each_once(found)


def _fitting(shared: Sequence[SharedFile], name: str) -> list[SharedFile]:
    """The files of this name, or that have it in theirs."""
    wanted = name.strip().casefold()
    if not wanted:
        return []
    exact = [file for file in shared if file.name.casefold() == wanted]
    return exact or [file for file in shared if wanted in file.name.casefold()]


def _each_once(files: Iterable[SharedFile]) -> list[SharedFile]:
    """A file that was shared again is described as it was then."""
    known: dict[str, SharedFile] = {}
    for file in files:
        known[file.id or file.name] = file
    return list(known.values())


def _told_apart(documents: Sequence[Document]) -> list[Document]:
    """Documents of one name get numbers."""
    found: dict[str, Document] = {}
    for document in documents:
        name = document.name
        number = 1
        while name in found:
            number += 1
            name = f"{document.name} ({number})"
        found[name] = replace(document, name=name)
    return list(found.values())

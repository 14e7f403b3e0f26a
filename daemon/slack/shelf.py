"""What people can have read: files that they shared, a thread, a channel's history. Implements Shelf.

What may be read is what all who are told of it could have read themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from slack_sdk.errors import SlackApiError

from daemon.documents.document import Document, DocumentError, in_parts
from daemon.documents.loading import read_document
from daemon.engine.keys import root_of
from daemon.errors import FileRefused
from daemon.kinds import Opened, Said, SharedFile, moment
from daemon.limits import DAY
from daemon.ports import Files
from daemon.slack.archive import Archive, at, spoken
from daemon.slack.message import Message
from daemon.slack.place import permalink, place_of
from daemon.slack.refusals import OUT_OF_REACH, why
from daemon.slack.web import Item
from daemon.slack.workspace import Workspace

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
class SlackShelf:
    """Brings documents out of one workspace. Each method raises DocumentError with a sentence for people."""

    workspace: Workspace
    archive: Archive
    fetcher: Files
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    """For those that are read at once: each may take a child of its own, and a gigabyte."""

    async def files(self, thread: str, names: Sequence[str], until: float) -> Sequence[Document]:
        """The files that were shared in this conversation: those of these names, or all.

        A DM is one conversation, whichever message began it: where this one has no such files, those from
        before it count, all of them for a name, else the latest ones.
        """
        root = root_of(thread)
        shared = self._shared(root, until)
        if not shared or not all(_fitting(shared, name) for name in names):
            for earlier in self._earlier(root):
                shared = [*self._shared(earlier, until), *shared]
                if shared and not names:
                    break
        if not shared:
            raise DocumentError(NO_FILES)
        wanted = _named(shared, names) if names else shared
        if len(wanted) > MOST_FILES:
            raise DocumentError(TOO_MANY.format(count=len(wanted), most=MOST_FILES))
        found: list[Document] = []
        for file in wanted:
            try:
                data = await self.fetcher.fetch(file)
            except FileRefused as refused:
                raise DocumentError(f"{file.name}: {refused}") from refused
            async with self.room:
                found.append(await read_document(file.name, data))
        return _told_apart(found)

    async def thread(self, thread: str, until: float) -> Sequence[Document]:
        """All that was said in this conversation; a message is a part, named by its permalink."""
        place = self._place(thread)
        try:
            items = await self.archive.replies(place.channel, place.ts, 0.0)
            return [await self._document("thread", place, items, until)]
        except (SlackApiError, *OUT_OF_REACH) as error:
            raise DocumentError(AWAY.format(why=why(error))) from error

    async def channel(
        self, thread: str, name: str, days: int, until: float, askers: Sequence[str]
    ) -> Sequence[Document]:
        """What was said in a channel since so many days; without a name, in that of this conversation."""
        place = self._place(thread)
        try:
            if name:
                place = await self._other(thread, place, name, askers)
            items = await self._history(place, until - days * DAY)
            return [await self._document(place.place, place, items, until)]
        except (SlackApiError, *OUT_OF_REACH) as error:
            raise DocumentError(AWAY.format(why=why(error))) from error

    def _place(self, thread: str) -> Opened:
        try:
            return place_of(self.workspace.journal, root_of(thread))
        except LookupError as nowhere:
            raise DocumentError(NOWHERE) from nowhere

    def _earlier(self, root: str) -> Iterator[str]:
        """In a DM the other roots of it, the latest first."""
        here = self.workspace.journal.latest(root, Opened)
        if here is None or here.event.where != "dm":
            return
        for opened in reversed(self.workspace.journal.kind(Opened)):
            if opened.event.channel == here.event.channel and opened.thread != root:
                yield opened.thread

    def _shared(self, root: str, until: float) -> list[SharedFile]:
        """What was shared under this root, each file once, the oldest first."""
        found: dict[str, SharedFile] = {}
        said = [entry for entry in self.workspace.journal.of(root, Said) if float(entry.event.ts) <= until]
        for entry in said:
            for file in entry.event.files:
                found[file.id or file.name] = file
        return list(found.values())

    async def _other(self, thread: str, here: Opened, name: str, askers: Sequence[str]) -> Opened:
        """Another channel, if all who read here could read there, and whoever asks does."""
        wanted = name.strip().lstrip("#").casefold()
        await self.workspace.places.update()
        channel = self.workspace.places.of(thread)
        known = self.workspace.places.known(channel) if channel else ()
        for there in known:
            if wanted not in (there.now.lstrip("#").casefold(), there.channel.casefold()):
                continue
            if there.channel != here.channel and not await self._are_members(askers, there.channel):
                raise DocumentError(NO_MEMBER.format(name=there.now))
            return replace(here, channel=there.channel, place=there.now, where="channel")
        raise DocumentError(UNKNOWN_CHANNEL.format(name=name))

    async def _are_members(self, people: Sequence[str], channel: str) -> bool:
        members = await self.archive.members(channel)
        return bool(people) and all(person in members for person in people)

    async def _history(self, place: Opened, since: float) -> list[Item]:
        """The messages since then, with the replies to them."""
        items = await self.archive.history(place.channel, since)
        roots = [item for item in items if item.get("reply_count") and at(item, "latest_reply") >= since]
        roots.sort(key=lambda item: at(item, "latest_reply"))
        found = {str(item.get("ts")): item for item in items if at(item) >= since}
        for root in roots[-MOST_THREADS:]:
            for item in await self.archive.replies(place.channel, str(root["ts"]), since):
                found[str(item.get("ts"))] = item
        return list(found.values())

    async def _document(self, name: str, place: Opened, items: Iterable[Item], until: float) -> Document:
        then = [item for item in items if at(item) <= until]
        parts = [part async for part in self._parts(place, then)]
        if not parts:
            raise DocumentError(f"Nothing was said there in that time ({name}).")
        return await asyncio.to_thread(in_parts, name, parts, kind="thread")

    async def _parts(self, place: Opened, items: Iterable[Item]) -> AsyncIterator[tuple[str, str]]:
        """Each message with its link, in the order in which they were said."""
        me = self.workspace.me
        found = [one for one in (spoken(item, place.channel, place.where) for item in items) if one]
        gone = self.workspace.forgotten.unsaid()
        forgotten = self.workspace.is_forgotten
        messages = [one for one in found if one.ts not in gone and not forgotten(one.author, one.ts)]
        for message in sorted(messages, key=lambda one: moment(one.ts)):
            words = await self.workspace.people.describe(message)
            when = datetime.fromtimestamp(float(message.ts), UTC)
            files = "".join(f" [file: {file.name}]" for file in message.files)
            name = me.name if me.said(message.user, message.bot) else words["name"]
            text = f"{name} ({when:%Y-%m-%d %H:%M} UTC): {words['text']}{files}"
            yield self._link(message), text

    def _link(self, message: Message) -> str:
        """The permalink of a message, as Slack makes it."""
        root = message.root if message.root != message.ts else ""
        return permalink(self.workspace.me.url, message.channel, message.ts, root)


def _named(shared: Sequence[SharedFile], names: Sequence[str]) -> list[SharedFile]:
    """The files of these names: in full, or as part of one. Raises DocumentError for a name that is none."""
    found: dict[str, SharedFile] = {}
    for name in names:
        fits = _fitting(shared, name)
        if not fits:
            known = ", ".join(dict.fromkeys(file.name for file in shared))
            raise DocumentError(UNKNOWN_FILE.format(name=name, known=known))
        for file in fits:
            found[file.id or file.name] = file
    return list(found.values())


def _fitting(shared: Sequence[SharedFile], name: str) -> list[SharedFile]:
    """The files of this name, or that have it in theirs."""
    wanted = name.strip().casefold()
    exact = [file for file in shared if file.name.casefold() == wanted]
    return exact or [file for file in shared if wanted and wanted in file.name.casefold()]


def _told_apart(documents: Sequence[Document]) -> list[Document]:
    """Documents of one name get numbers."""
    found: dict[str, Document] = {}
    for document in documents:
        name, number = document.name, 1
        while name in found:
            number += 1
            name = f"{document.name} ({number})"
        found[name] = replace(document, name=name)
    return list(found.values())

"""Recipients of the inner life's messages, and its records about people.

Slack is asked only to open conversations, and for shared channels and missing names.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from daemon.engine.clock import DAY, Clock, midnight
from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal, Projection
from daemon.engine.journal.reader import ALWAYS
from daemon.inner_life.records import LINKS, InnerRecord, InnerRecords, record_in_words, record_verb
from daemon.kinds import (
    SERVED_PLACE,
    AmbientMessage,
    CommandRan,
    ConversationOpened,
    IncomingMessage,
    OverheardMessage,
    UnpromptedMessage,
)
from daemon.knowledge.bot_traffic import BotTraffic
from daemon.knowledge.person_notes import PersonNote
from daemon.knowledge.visibility import KnownChannels, Visibility, current_name

PERSON = re.compile(r"<?@?([UW](?=[A-Z]*\d)[A-Z0-9]{7,})(?:\|[^>]*)?>?")


CHANNEL = re.compile(r"<?#?([CG](?=[A-Z]*\d)[A-Z0-9]{7,})(?:\|[^>]*)?>?")
"""A channel id, bare or in a mention."""


NEIGHBOUR = re.compile(r"(.*?)(?:\s+(?:in\s+)?(<?#\S+))?", re.IGNORECASE | re.DOTALL)
"""Name of a bot, optionally with a channel."""


MOST_NAMED = 20
"""Most people or channels that an error suggests."""


MOST_ASKED = 10
"""Most channels whose members Slack is asked for."""


SEND_COMMAND = "message.send"


OpenDm = Callable[[str], Awaitable[str]]
"""Function that returns the thread of a person's direct messages; empty if there is none."""


class ConversationOpener(Protocol):
    """Opener of conversations in Slack. Raises PostFailed, except from `look` and `name`."""

    async def open_dm(self, person: str) -> str:
        """Return a person's DM thread; empty if there is none."""

    async def channel_thread(self, channel: str) -> str:
        """Return a channel's top-level thread; empty if there is none."""

    async def record_readers(self, thread: str) -> None:
        """Record who can read a conversation at present."""

    async def are_in(self, channel: str, user: str) -> bool:
        """True if both the user and the soul are members of the channel."""

    async def name(self, user: str) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareableRecord:
    id: int
    text: str
    view: str
    wrote: int = ALWAYS


BringShared = Callable[[Sequence[int]], Awaitable[Sequence[ShareableRecord]]]
"""Function that returns the existing records with these ids, except links."""


class AddressBook(Projection):
    """People, bots and channels that appear in the journal."""

    kinds: ClassVar[tuple[type[Event], ...]] = (
        ConversationOpened,
        IncomingMessage,
        OverheardMessage,
        AmbientMessage,
    )

    def _reset(self) -> None:
        self.people: dict[str, str] = {}
        self.bots: dict[str, str] = {}
        self.channels: dict[str, str] = {}
        self.threads: dict[str, str] = {}
        self.met: dict[str, dict[str, None]] = {}
        """Channels of each bot, the latest last."""
        self.heard: dict[str, dict[str, str]] = {}
        """For each person, their threads by channel."""
        self._channel_of: dict[str, str] = {}

    def _fold_entry(self, entry: Entry[Any]) -> None:
        if isinstance(entry.event, ConversationOpened):
            channel = entry.event.channel
            self._channel_of[entry.thread] = channel
            if entry.event.where == "channel":
                self.channels[channel] = current_name(self.channels.get(channel, ""), entry.event.place)
                self.threads[channel] = entry.thread
            return
        message = entry.event
        if message.bot:
            self.bots[message.user] = message.name
        else:
            self.people[message.user] = message.name
        channel = self._channel_of.get(entry.thread, "")
        self.heard.setdefault(message.user, {})[channel] = entry.thread
        if message.bot and channel in self.channels:
            met = self.met.setdefault(message.user, {})
            met.pop(channel, None)
            met[channel] = None


class RecipientDirectory:
    """Lookup of recipients, and counts of messages. `neighbours` are user ids of bots that the owner has
    named.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        doors: ConversationOpener,
        neighbours: frozenset[str],
        meetings: BotTraffic,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._doors = doors
        self._neighbours = neighbours
        self._meetings = meetings
        self._addresses = AddressBook(journal)

    async def thread(self, to: str) -> str:
        """Return the thread of a conversation, channel or person; empty if unknown or a bot."""
        known = await self._known()
        if to.startswith("sess-"):
            return await self._conversation(to)
        channel = self._channel(known, to)
        if channel:
            return await self._doors.channel_thread(channel)
        person = _id_in(PERSON, to) or _only(known.people, to.removeprefix("@"))
        if not person or person in known.bots or person in self._neighbours:
            return ""
        return await self._doors.open_dm(person)

    async def _conversation(self, thread: str) -> str:
        opened = self._journal.latest_of_kind(thread, ConversationOpened)
        if opened is None or opened.event.where in ("terminal", SERVED_PLACE) or "." in thread:
            return ""
        await self._doors.record_readers(thread)
        return thread

    async def direct(self, person: str) -> str:
        return await self._doors.open_dm(person)

    async def shared_channel_thread(self, to: str) -> str:
        """Return the top-level thread of a channel that the soul shares with a neighbour; empty if there is
        none.
        """
        neighbour = await self.neighbour(to)
        if not neighbour:
            return ""
        known = await self._known()
        _, named = _parts(to)
        channels = [*reversed(known.met.get(neighbour, {})), *reversed(known.channels)]
        if named:
            channels = [self._channel(known, named)]
        for channel in list(dict.fromkeys(channels))[:MOST_ASKED]:
            if channel and await self._doors.are_in(channel, neighbour):
                return await self._doors.channel_thread(channel)
        return ""

    async def neighbour(self, to: str) -> str:
        """Return the user id of the bot named in "Echo" or "Echo in #general"; empty if unknown."""
        known = await self._known()
        called, _ = _parts(to)
        id = _id_in(PERSON, called)
        if id in self._neighbours:
            return id
        if id:
            return ""
        names = dict[str, str]()
        for bot in self._neighbours:
            names[bot] = known.bots.get(bot) or await self._doors.name(bot)
        return _only(names, called.removeprefix("@"))

    async def recipients_in_words(self, views: Visibility, view: str) -> str:
        known = await self._known()
        knows = views.make_check(view)
        places = {name for id, name in known.channels.items() if knows(known.threads[id])}
        people = set[str]()
        for id, name in known.people.items():
            if any(knows(thread) for thread in known.heard[id].values()):
                people.add(name)
        return (
            "a conversation by its id (sess-…), a person by name or id"
            f"{_for_example(people)}, or a channel by name or id{_for_example(places)}"
        )

    async def place_in_words(self, thread: str) -> str:
        """Describe a conversation in words: "#general", "a direct message with Bob"."""
        opened = self._journal.latest_of_kind(thread, ConversationOpened)
        assert opened
        if opened.event.where != "dm":
            return opened.event.place
        known = await self._known()
        user = opened.event.user
        name = known.people.get(user) or await self._doors.name(user) or user
        return f"{opened.event.place} with {name}"

    def person(self, thread: str) -> str:
        """Return the other person's id in a DM; empty elsewhere."""
        opened = self._journal.latest_of_kind(thread, ConversationOpened)
        if opened is None or opened.event.where != "dm":
            return ""
        return opened.event.user

    def mentions_neighbour(self, text: str) -> bool:
        return any(f"<@{bot}" in text for bot in self._neighbours)

    def was_already_requested(self, thread: str, text: str) -> bool:
        """True if the same text was requested there before; spaces and case do not count."""
        requests: list[Entry[UnpromptedMessage]] = self._journal.entries_of_kind(UnpromptedMessage)
        plain = _plain(text)
        return any(one.event.to == thread and _plain(one.event.text) == plain for one in requests)

    def sent_today(self) -> int:
        """Count the messages sent on this UTC day."""
        today = midnight(self._clock.now())
        found: list[Entry[CommandRan]] = self._journal.entries_of_kind(CommandRan, at=today)
        sent = 0
        for entry in found:
            ran = entry.event
            of_today = entry.at < today + DAY  # an entry after midnight: the clock was ahead
            if of_today and ran.name == SEND_COMMAND and ran.ok and not ran.taken_from:
                sent += 1
        return sent

    def met_today(self) -> int:
        """Count the messages to and from bots on this UTC day."""
        return self._meetings.today()

    async def _known(self) -> AddressBook:
        await self._addresses.update()
        return self._addresses

    def _channel(self, known: AddressBook, to: str) -> str:
        by_id = _id_in(CHANNEL, to)
        if by_id or not to.startswith("#"):
            return by_id
        return _only(known.channels, to)


def _parts(to: str) -> tuple[str, str]:
    found = NEIGHBOUR.fullmatch(to.strip())
    assert found
    return found[1], found[2] or ""


def _id_in(form: re.Pattern[str], to: str) -> str:
    found = form.fullmatch(to.strip())
    if found is None:
        return ""
    return found[1]


def _only(names: Mapping[str, str], called: str) -> str:
    called = called.strip().casefold()
    found = [id for id, name in names.items() if name and name.casefold() == called]
    if len(found) != 1:
        return ""
    return found[0]


def _for_example(names: Iterable[str]) -> str:
    named = sorted(names)[:MOST_NAMED]
    if not named:
        return ""
    return f" ({', '.join(named)})"


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


CHANGE = "change"


class PersonRecords:
    """Records of the inner life about people, for `!memory` and `!forget`."""

    def __init__(self, journal: Journal, places: KnownChannels, records: InnerRecords) -> None:
        self._journal = journal
        self._places = places
        self._records = records

    async def notes_about(self, names: Sequence[str], thread: str) -> Sequence[PersonNote]:
        """Return the records about a person that the conversation `thread` may know."""
        found = await self._records.about(names, thread)
        return [self._known(one) for one in found]

    async def versions(self, seq: int) -> Sequence[int]:
        """Return the seqs of all entries of a record, given one of them; empty if there is no record."""
        entry = self._journal.entry(seq)
        ran = entry.event
        if not isinstance(ran, CommandRan):
            return ()
        first = seq
        if record_verb(ran.name) == CHANGE:
            first = int(ran.args.get("id", seq))
        later = self._journal.entries_of_kind(CommandRan, since=first)
        return [first, *[one.seq for one in later if _changes(one.event, first)]]

    def _known(self, record: InnerRecord) -> PersonNote:
        audience = "public"
        channel = self._places.channel_of(record.view)
        if channel:
            audience = channel.audience_before(ALWAYS).audience
        return PersonNote(
            seq=record.wrote,
            first=record.id,
            text=record_in_words(record),
            place=self._places.name(record.view),
            audience=audience,
            at=record.changed_at,
            fixed=True,
        )


def _changes(ran: CommandRan, record: int) -> bool:
    return record_verb(ran.name) == CHANGE and ran.args.get("id") == record


def make_record_sharer(records: InnerRecords) -> BringShared:
    """Make a function that returns records without tags, flags and links; visibility is not checked."""

    async def brought(ids: Sequence[int]) -> Sequence[ShareableRecord]:
        await records.update()
        may_go = [one for one in records.records_in_all_views(ids) if one.family != LINKS]
        return [
            ShareableRecord(id=one.id, text=record_in_words(one), view=one.view, wrote=one.wrote)
            for one in may_go
        ]

    return brought

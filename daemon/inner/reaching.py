"""Where the inner life can have something said: whom and which places the journal knows, and their threads.

What has to be opened in Slack is opened by Doors (slack/doors.py); all else is read from the journal.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS
from daemon.inner.neighbours import Neighbours
from daemon.kinds import CommandRan, Heard, Message, Noticed, Opened, ToSay
from daemon.knowledge.places import called_now
from daemon.knowledge.projection import Projection
from daemon.knowledge.views import Views
from daemon.limits import DAY, midnight
from daemon.ports import Clock

PERSON = re.compile(r"<?@?([UW](?=[A-Z]*\d)[A-Z0-9]{7,})(?:\|[^>]*)?>?")
CHANNEL = re.compile(r"<?#?([CG](?=[A-Z]*\d)[A-Z0-9]{7,})(?:\|[^>]*)?>?")
"""An id of Slack's, bare or as a message refers to it: a name in capitals has no digit."""
NEIGHBOUR = re.compile(r"(.*?)(?:\s+(?:in\s+)?(<?#\S+))?", re.IGNORECASE | re.DOTALL)
"""A bot, and perhaps the channel in which it is to be spoken to."""
MOST_NAMED = 20
"""People, and channels, that are named to a model that has addressed nobody."""
MOST_ASKED = 10
"""Channels of which Slack is asked whether a neighbour is in them."""
SEND = "message.send"


class Doors(Protocol):
    """Where the soul may speak unasked, in Slack. All but `look` and `name` raise SpeechFailed."""

    async def direct(self, person: str) -> str:
        """The thread of what is said to them unasked; empty where there can be none."""

    async def top(self, channel: str) -> str:
        """The thread of what is said unasked in a channel; empty where there can be none."""

    async def look(self, thread: str) -> None:
        """It is in the journal afterwards who can read this conversation now."""

    async def are_in(self, channel: str, user: str) -> bool:
        """Are both this user and the soul in the channel?"""

    async def name(self, user: str) -> str:
        """What someone is called; empty where Slack does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """A record that may be shared: its words alone, without its tags and flags, its view, and the entry in
    which it was written."""

    id: int
    text: str
    view: str
    wrote: int = ALWAYS


BringShared = Callable[[Sequence[int]], Awaitable[Sequence[Shared]]]
"""Brings the records of these ids that there are: of the diary, of concepts, of llm_memory."""


class Addresses(Projection):
    """Who has spoken where: people and bots by id and name, channels by id and name."""

    kinds: ClassVar[tuple[type[Event], ...]] = (Opened, Message, Heard, Noticed)

    def _clear(self) -> None:
        self.people: dict[str, str] = {}
        self.bots: dict[str, str] = {}
        self.channels: dict[str, tuple[str, str]] = {}
        """By id: what it is called, and a thread in it."""
        self.met: dict[str, dict[str, None]] = {}
        """By bot: the channels in which it spoke, the latest last."""
        self.heard: dict[str, dict[str, str]] = {}
        """By person: where they spoke, a thread of each channel."""
        self._channel_of: dict[str, str] = {}

    def _take(self, entry: Entry[Any]) -> None:
        if isinstance(entry.event, Opened):
            self._channel_of[entry.thread] = entry.event.channel
            if entry.event.where == "channel":
                known, _ = self.channels.get(entry.event.channel, ("", ""))
                name = called_now(known, entry.event.place)
                self.channels[entry.event.channel] = (name, entry.thread)
            return
        said = entry.event
        if said.bot:
            self.bots[said.user] = said.name
        else:
            self.people[said.user] = said.name
        channel = self._channel_of.get(entry.thread, "")
        self.heard.setdefault(said.user, {})[channel] = entry.thread
        if said.bot and channel in self.channels:
            met = self.met.setdefault(said.user, {})
            met.pop(channel, None)
            met[channel] = None


class Reach:
    """Whom the inner life can have something said to, and what it has had said so far.

    `neighbours` are the bots that are answered, by the ids of their users.
    """

    def __init__(
        self, journal: Journal, clock: Clock, doors: Doors, neighbours: frozenset[str], meetings: Neighbours
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._doors = doors
        self._neighbours = neighbours
        self._meetings = meetings
        self._addresses = Addresses(journal)

    async def thread(self, to: str) -> str:
        """The thread of the conversation, person or channel that `to` names; empty: nobody knows it."""
        known = await self._known()
        if to.startswith("sess-"):
            opened = self._journal.latest(to, Opened) if "." not in to else None
            if opened is None or opened.event.where == "terminal":
                return ""
            await self._doors.look(to)
            return to
        channel = self._channel(known, to)
        if channel:
            return await self._doors.top(channel)
        person = _id_in(PERSON, to) or _only(known.people, to.removeprefix("@"))
        if not person or person in known.bots or person in self._neighbours:
            return ""
        return await self._doors.direct(person)

    async def direct(self, person: str) -> str:
        """The thread of what is said to this person unasked; empty where there can be none."""
        return await self._doors.direct(person)

    async def meeting(self, to: str) -> str:
        """The thread at the top of a channel in which both are: the one that `to` names, or else any; empty
        where there is none."""
        known, neighbour = await self._known(), await self.neighbour(to)
        _, named = _parts(to)
        channels = [*reversed(known.met.get(neighbour, {})), *reversed(known.channels)]
        if named:
            channels = [self._channel(known, named)]
        for channel in list(dict.fromkeys(filter(None, channels)))[:MOST_ASKED]:
            if neighbour and await self._doors.are_in(channel, neighbour):
                return await self._doors.top(channel)
        return ""

    async def neighbour(self, to: str) -> str:
        """The id of the neighbour that `to` names ("Echo", "Echo in #general"); empty: nobody knows it."""
        known = await self._known()
        called, _ = _parts(to)
        one = _id_in(PERSON, called)
        if one:
            return one if one in self._neighbours else ""
        names = {bot: known.bots.get(bot) or await self._doors.name(bot) for bot in self._neighbours}
        return _only(names, called.removeprefix("@"))

    async def known(self, views: Views, view: str) -> str:
        """Whom and what one can address, for a sentence: places that may be known in this view, and those who
        spoke there."""
        known = await self._known()
        knows = views.knowing(view)
        places = [name for name, thread in known.channels.values() if knows(thread)]
        people = sorted(
            {name for id, name in known.people.items() if any(map(knows, known.heard[id].values()))}
        )
        return (
            "a conversation by its id (sess-…), a person by name or id"
            f"{_for_example(people)}, or a channel by name or id{_for_example(sorted(set(places)))}"
        )

    async def called(self, thread: str) -> str:
        """Where it is, for a sentence: "#general", "a direct message with Bob"."""
        opened = self._journal.latest(thread, Opened)
        assert opened
        if opened.event.where != "dm":
            return opened.event.place
        known = await self._known()
        name = known.people.get(opened.event.user) or await self._doors.name(opened.event.user)
        return f"{opened.event.place} with {name or opened.event.user}"

    def person(self, thread: str) -> str:
        """Whose DM it is; empty where it is none."""
        opened = self._journal.latest(thread, Opened)
        return opened.event.user if opened and opened.event.where == "dm" else ""

    def mentions_neighbour(self, text: str) -> bool:
        """Would it call a neighbour?"""
        return any(f"<@{bot}" in text for bot in self._neighbours)

    def was_wanted(self, thread: str, text: str) -> bool:
        """Was the same to be said there before, but for blanks and case?"""
        wanted: list[Entry[ToSay]] = self._journal.kind(ToSay)
        return any(one.event.to == thread and _plain(one.event.text) == _plain(text) for one in wanted)

    def sent_today(self) -> int:
        """How many messages the inner life has sent in this UTC day."""
        today = midnight(self._clock.now())
        found: list[Entry[CommandRan]] = self._journal.kind(CommandRan, at=today)
        ran = [one.event for one in found if one.at < today + DAY]  # later ones: the clock was once ahead
        return sum(one.name == SEND and one.ok and not one.taken_from for one in ran)

    def met_today(self) -> int:
        """How many messages went to and came from bots in this UTC day."""
        return self._meetings.today()

    async def _known(self) -> Addresses:
        await self._addresses.update()
        return self._addresses

    def _channel(self, known: Addresses, to: str) -> str:
        """The id of the channel: by id, or by a name that only one has."""
        by_id = _id_in(CHANNEL, to)
        if by_id or not to.startswith("#"):
            return by_id
        return _only({id: name for id, (name, _) in known.channels.items()}, to)


def _parts(to: str) -> tuple[str, str]:
    """The neighbour, and the channel where one is named."""
    found = NEIGHBOUR.fullmatch(to.strip())
    assert found  # it takes any text
    return found[1], found[2] or ""


def _id_in(form: re.Pattern[str], to: str) -> str:
    found = form.fullmatch(to.strip())
    return found[1] if found else ""


def _only(names: dict[str, str], called: str) -> str:
    """Whoever alone is called so; empty where nobody is, or several are."""
    found = [id for id, name in names.items() if name and name.casefold() == called.strip().casefold()]
    return found[0] if len(found) == 1 else ""


def _for_example(names: Sequence[str]) -> str:
    return f" ({', '.join(names[:MOST_NAMED])})" if names else ""


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()

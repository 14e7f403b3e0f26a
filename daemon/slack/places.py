"""The workspace that the soul is in, as all that speaks or listens there is given it.

Where in Slack a thread of ours is, and the keys of what is said there.

Who can read a channel, written down when that changes: before what its new readers read.

Knowledge folds it: what may be known elsewhere depends on who could read it.

Where the soul may speak unasked, opened when it wants to: the DM of a person, the top of a channel.

Nothing of it is seen by anybody. There is no message to name such a conversation after, so its `ts` is empty;
there is one for each DM. What a person answers below such a message begins a conversation of its own.

The metadata of our own messages in Slack: which speech, of which journal, and what it answers. Pure.

The ids of channels: Slack may give one another id, as it is shared with others or made private.

The journal goes on to call it by the first id that it knew, so that its conversations, and what is known of
it, stay what they are. What comes from Slack is translated into that id, and what goes to Slack back.

The id of a journal, which messages of ours name in their metadata. A restored copy has the same one.

Another daemon on the same Slack app, with another journal: each gets a part of the messages, both answer.

Two things tell of it. Slack counts the app's sockets whenever one of ours opens; those of a daemon that has
just ended may still be among them, so that a surplus is believed at a second look. And messages of the soul's
own name the journal that they stand in; one from before our start may be of a lost home.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from secrets import token_hex
from typing import Any, TypeVar, cast

from aiohttp import ClientPayloadError
from slack_sdk.errors import SlackApiError

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, Event, digest
from daemon.engine.execution import Hold
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader
from daemon.errors import PostFailed
from daemon.kinds import (
    AudienceChanged,
    CardShown,
    ChannelMoved,
    ConversationOpened,
    JournalNamed,
    PersonMessage,
    ReactionChanged,
    SpeechFinished,
    SpeechPosted,
    moment_of,
    thread_key,
)
from daemon.knowledge.person_notes import BotTraffic
from daemon.knowledge.visibility import ForgottenPeople, KnownChannels
from daemon.slack.block_text import TS, first_text, id_at, object_or_empty
from daemon.slack.directory import DM, AccessPolicy, ConversationInfo, PeopleDirectory, audience_id
from daemon.slack.incoming import BotIdentity, SlackMessage
from daemon.slack.web_api import (
    NOT_SLACK,
    OUT_OF_REACH,
    Item,
    WebApi,
    describe_failure,
    is_permanent,
    members,
    no_lease_check,
    time_of,
)

SECOND_LOOK = 5.0
"""Seconds until a surplus of sockets is looked at again."""


LONGEST = 600.0
"""Seconds between two looks, at the most, while there is one."""


OVERLAP = 15.0
"""Seconds after our start in which a daemon that was replaced may still end what it says."""


MEND = (
    "It has a SOUL_HOME of its own: each of the two gets a part of the messages, and both may answer."
    " Stop one of them, or make an app of its own for it. Once it is stopped, this passes within ten minutes."
)


log = logging.getLogger(__name__)


class OtherDaemonDetector:
    """What is known of it, in this life. `since` is when we began, by Slack's clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looks = 0
        """How often a surplus was counted in a row."""
        self._surplus = ""
        self._journal = ""
        self._seen = 0.0
        """When a message of another journal was seen last, by the clock that only goes forward."""
        self.since: float | None = None

    @property
    def owner_advice(self) -> Sequence[str]:
        """What its owner has to know: a sentence, where there is another one."""
        if self._surplus:
            return [f"Another daemon uses this Slack app ({self._surplus}). {MEND}"]
        if self._journal and self._clock.steady() - self._seen < LONGEST:
            return [f"Another daemon uses this Slack app (it wrote in the journal {self._journal}). {MEND}"]
        return []

    def compare_socket_count(self, all: int, ours: int) -> float | None:
        """So many sockets of the app are open, and so many are ours, at the most.

        Returns after how many seconds they are to be counted again; None: not before the next one opens.
        """
        if all <= ours:
            if self._surplus:
                log.warning("No other daemon uses this Slack app any more.")
            self._looks, self._surplus = 0, ""
            return None
        self._looks += 1
        if self._looks == 1:
            return SECOND_LOOK
        known = self.owner_advice
        self._surplus = f"Slack counts {all} sockets, and {ours} are ours"
        self._warn(known)
        return float(min(SECOND_LOOK * 2 ** (self._looks + 1), LONGEST))

    def note_foreign_message(self, journal: str, ts: float) -> None:
        """A message of the soul's own names this journal, which is not ours; it was said then."""
        if self.since is None or ts < self.since + OVERLAP:
            return
        known = self.owner_advice
        self._journal, self._seen = journal, self._clock.steady()
        self._warn(known)

    def _warn(self, known: Sequence[str]) -> None:
        if not known:
            log.error("%s", self.owner_advice[0])


METADATA_EVENT = "soul_speech"
"""The metadata's event_type. Its payload: `key`, the digest of the speech's key; `journal`, the id of the
journal that it stands in; `answers`, the ts of the messages that it answers, between spaces; `grows`, only
while more of it is to come: other daemons wait for that."""


MOST_ANSWERED = 100
"""Messages that are named one by one: Slack bounds the size of metadata."""


def speech_metadata(key: str, journal: str, answers: Sequence[str], *, grows: bool = False) -> dict[str, Any]:
    """The metadata of a message of the speech that has this key."""
    named = " ".join(answers[-MOST_ANSWERED:])
    payload: dict[str, Any] = {"key": digest(key), "journal": journal, "answers": named}
    if grows:
        payload["grows"] = True
    return {"event_type": METADATA_EVENT, "event_payload": payload}


@dataclass(frozen=True, slots=True)
class SpeechMetadata:
    """What the metadata of a message of ours says; `answers` is None where it does not name them."""

    key: str
    journal: str
    answers: frozenset[str] | None
    grows: bool = False


def read_speech_metadata(item: Item) -> SpeechMetadata:
    """What stands in the metadata of this message."""
    metadata = object_or_empty(item, "metadata")
    if metadata.get("event_type") != METADATA_EVENT:
        return SpeechMetadata("", "", None)
    payload = object_or_empty(metadata, "event_payload")
    answers = payload.get("answers")
    named = None
    if isinstance(answers, str):
        named = frozenset(ts for ts in answers.split() if TS.fullmatch(ts))
    return SpeechMetadata(
        first_text(payload, "key"), first_text(payload, "journal"), named, payload.get("grows") is True
    )


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


CHANGES = ("channel_convert_to_private", "channel_shared", "channel_unshared")
"""Types of events, and a subtype of messages, that say: others can read this channel now."""


def channel_of_change(event: Mapping[str, Any]) -> str:
    """The channel of which an event says so; empty for any other event. Raises Malformed."""
    if event.get("type") in CHANGES or event.get("subtype") in CHANGES:
        return id_at(event, "channel")
    return ""


class AudienceTracker:
    """What the journal says of each channel. The methods that write raise JournalError."""

    def __init__(self, journal: Journal, people: PeopleDirectory, team: str) -> None:
        self._journal = journal
        self._people = people
        self._team = team
        self._noted: dict[str, str] = {}
        """By channel; nothing at the start of the daemon, for threads of one channel may differ by age."""

    async def record_of_message(self, message: SlackMessage) -> None:
        """Write down who can read the channel of a message that goes on there, if that is news; it was
        described with its readers."""
        where = self._people.conversation_info(message)
        await self.record_found(message.channel, where.audience, message.changed or message.ts)

    async def record_current(self, place: ConversationOpened) -> None:
        """Write down who can read the channel of a conversation now, if that is news."""
        audience = await self._people.look_up_audience(audience_id(place.channel, place.where, place.user))
        await self.record_found(place.channel, audience, f"seen:{self._journal.last_seq_of_all()}")

    async def mark_changed(self, channel: str, ts: str) -> None:
        """Others can read this channel since `ts`. Who, is asked at its next message."""
        self._people.forget_audience(channel)
        await self.record_found(channel, "", ts)

    def recorded_audience(self, said: ConversationOpened | AudienceChanged) -> None:
        """This is written down of who can read its channel."""
        self._noted[said.channel] = said.audience

    async def record_found(self, channel: str, audience: str, ts: str) -> None:
        """These can read this channel at `ts`: written down if that is news."""
        if self._noted.get(channel) != audience:
            said = AudienceChanged(team=self._team, channel=channel, audience=audience)
            key = f"audience:{self._team}:{channel}:{ts}"
            entry, _ = await self._journal.append(workspace_thread(self._team), said, key=key, author="core")
            self.recorded_audience(entry.event)


MOVED = ("channel_id_changed", "group_id_changed")
"""Types of events that say so."""


class ChannelIdTable:
    """What the journal of a workspace says of them."""

    def __init__(self, journal: Journal, team: str) -> None:
        self._journal = journal
        self._team = team
        self._first: dict[str, str] = {}
        """By each later id."""
        self._now: dict[str, str] = {}
        """By the first one."""
        for entry in reversed([*journal.latest_first(workspace_thread(team), ChannelMoved)]):
            self._apply_move(entry.event)

    def first_id(self, channel: str) -> str:
        """The id by which the journal calls this channel."""
        return self._first.get(channel, channel)

    def current_id(self, channel: str) -> str:
        """The id by which Slack calls this channel."""
        return self._now.get(channel, channel)

    async def record_move(self, event: Mapping[str, Any]) -> str:
        """Write down what this event says; the channel's first id. Raises JournalError and Malformed."""
        old, new = id_at(event, "old_channel_id"), id_at(event, "new_channel_id")
        return await self.record_new_id(old, new)

    async def record_new_id(self, old: str, new: str) -> str:
        """Slack calls the channel `old` by the id `new` now; returns its first id. Raises JournalError."""
        first = self.first_id(old)
        if self.current_id(first) != new:
            last = self._journal.last_seq(workspace_thread(self._team), ChannelMoved)
            key = f"channel-moved:{self._team}:{old}:{new}:{last}"
            moved = ChannelMoved(team=self._team, old=old, new=new)
            entry, _ = await self._journal.append(workspace_thread(self._team), moved, key=key, author="core")
            self._apply_move(entry.event)
        return first

    def translate_event(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """The event, with the channel's first id."""
        if not self._first:
            return event
        channel, item = event.get("channel"), event.get("item")
        if isinstance(channel, str) and channel in self._first:
            event = {**event, "channel": self._known_id(channel, event)}
        if isinstance(item, Mapping) and item.get("channel") in self._first:
            event = {**event, "item": {**item, "channel": self.first_id(str(item["channel"]))}}
        return event

    def _known_id(self, channel: str, event: Mapping[str, Any]) -> str:
        """Its first id, but in a conversation that began before it was known to be another channel's."""
        said = object_or_empty(event, "message") or event
        root = first_text(said, "thread_ts") or first_text(said, "ts")
        if self._journal.get(thread_key(self._team, channel, root)):
            return channel
        return self._first[channel]

    def _apply_move(self, moved: ChannelMoved) -> None:
        first = self.first_id(moved.old)
        self._first.pop(moved.new, None)
        self._now.pop(first, None)
        if moved.new != first:
            self._first[moved.new] = first
            self._now[first] = moved.new


async def ensure_journal_id(journal: Journal, team: str) -> str:
    """The id of this journal, which is given one at its first start in a workspace. Raises JournalError."""
    for known in journal.latest_first(workspace_thread(team), JournalNamed):
        return known.event.id
    named = JournalNamed(id=token_hex(4))
    await record_workspace_note(journal, team, named)
    return named.id


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackWorkspace:
    """Who we are there, who else is, and what the journal knows of it.

    `owners` are ids of people: they may stop anything, and are always heard. `wake` makes a thread take its
    turn.
    """

    web: WebApi
    me: BotIdentity
    people: PeopleDirectory
    allowed: AccessPolicy
    owners: frozenset[str]
    journal: Journal
    wake: Callable[[str], None]
    places: KnownChannels
    forgotten: ForgottenPeople
    meetings: BotTraffic
    """How much there is between the bots that it answers and the soul."""
    journal_id: str
    """What messages of ours tell by which journal they stand in."""
    channel_ids: ChannelIdTable
    other: OtherDaemonDetector
    """Whether another daemon uses the same app."""

    def is_forgotten(self, person: str, ts: str) -> bool:
        """Does this person want forgotten what they said or did then?"""
        return moment_of(ts) <= self.forgotten.forgotten_until(person)

    def check_own_message(self, item: Item) -> None:
        """Does this message, which is the soul's own, name another journal?"""
        journal = read_speech_metadata(item).journal
        if journal not in ("", self.journal_id):
            self.other.note_foreign_message(journal, time_of(item))

    @property
    def mentionable_ids(self) -> frozenset[str]:
        """Who may be mentioned: the owners, and those of the bots that can be."""
        return self.owners | self.allowed.mentionable_bots


T = TypeVar("T")


PAGES = 10
"""How often Slack is asked for members: of larger channels only so many are known."""


@dataclass(frozen=True, slots=True)
class SlackConversationOpener:
    """Opens them. Who can read there is known afterwards, as far as Slack says it.

    Implements inner/reaching.py's Doors.
    """

    workspace: SlackWorkspace
    audiences: AudienceTracker

    async def open_dm(self, person: str) -> str:
        """The thread of what is said to them unasked; empty where there can be none. Raises SpeechFailed."""
        thread = await _answer_or_none(open_dm_thread(self.workspace, person, no_lease_check))
        if thread is None:
            return ""
        await self.record_readers(thread)
        return thread

    async def channel_thread(self, channel: str) -> str:
        """The thread of what is said unasked in a channel; empty where there can be none."""
        known = self.workspace.journal.get(thread_key(self.workspace.me.team, channel, ""))
        if known is None:
            where = await self.workspace.people.look_up_conversation(channel, "channel", "")
            if not self.workspace.people.known_name(channel):
                return ""
            known = await open_channel_thread(
                self.workspace.journal, team=self.workspace.me.team, channel=channel, where=where, user=""
            )
        await self.record_readers(known.thread)
        return known.thread

    async def record_readers(self, thread: str) -> None:
        """Write down who can read a conversation now, if that is news."""
        place = slack_place(self.workspace.journal, thread)
        await self.audiences.record_current(place)

    async def are_in(self, channel: str, user: str) -> bool:
        """Are both this user and the soul in the channel? Raises SpeechFailed."""
        web = self.workspace.web
        asked = members(web.call_readonly, web.client.conversations_members, channel, PAGES)
        found = await _answer_or_none(asked)
        return found is not None and {user, self.workspace.me.user} <= found

    async def name(self, user: str) -> str:
        """What someone is called; empty where Slack does not say."""
        return await self.workspace.people.look_up_name(user)


async def _answer_or_none(asked: Awaitable[T]) -> T | None:
    """What Slack answers; None where it refuses for good. Raises SpeechFailed."""
    try:
        return await asked
    except (SlackApiError, *OUT_OF_REACH) as failure:
        if isinstance(failure, SlackApiError) and is_permanent(failure):
            return None
        raise PostFailed(f"Slack did not answer: {describe_failure(failure)}") from failure


async def open_dm_thread(workspace: SlackWorkspace, person: str, hold: Hold) -> str:
    """The thread of what is said to them unasked. Raises SlackApiError and OUT_OF_REACH."""
    journal, team = workspace.journal, workspace.me.team
    channel, audience = _known(journal, team, person)
    if not channel:
        channel = await _open(workspace.web, person, hold)
    where = ConversationInfo(kind="dm", name=DM, audience=audience)
    place = await open_channel_thread(journal, team=team, channel=channel, where=where, user=person)
    return place.thread


def _known(journal: Journal, team: str, person: str) -> tuple[str, str]:
    """The DM with them in which something was said already, and who can read it, as was noted last."""
    channel = audience = ""
    for entry in journal.entries_of_kind(ConversationOpened):
        place = entry.event
        if (place.team, place.where, place.user) == (team, "dm", person):
            channel, audience = place.channel, place.audience
    for noted in journal.entries_of_kind(AudienceChanged):
        if noted.event.channel == channel:
            audience = noted.event.audience
    return channel, audience


async def _open(web: WebApi, person: str, hold: Hold) -> str:
    answer = await web.call(hold, web.client.conversations_open, users=person)
    channel = answer.get("channel")
    if not isinstance(channel, Mapping) or not channel.get("id"):
        raise ClientPayloadError(NOT_SLACK)
    return str(channel["id"])

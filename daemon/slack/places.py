"""Workspace and conversations of the soul: places, audiences, channel ids, metadata, other daemons.

A changed audience is recorded before messages that new readers see. Unasked messages go to a DM's or
channel's own thread, whose `ts` is empty. Slack may change a channel's id; the journal keeps the first. A
second daemon on the same app shows in Slack's count of sockets and in messages that name another journal.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from secrets import token_hex
from typing import Any, TypeVar, cast

from aiohttp import ClientPayloadError
from slack_sdk.errors import SlackApiError

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, Event, digest
from daemon.engine.execution import Hold, no_lease_check
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
    thread_key,
)
from daemon.knowledge.bot_traffic import BotTraffic
from daemon.knowledge.visibility import ForgottenPeople, KnownChannels
from daemon.slack.app_share import AppShare, WholeApp
from daemon.slack.block_text import TS, first_text, id_at, object_or_empty
from daemon.slack.directory import (
    DM,
    AccessPolicy,
    ConversationInfo,
    PeopleDirectory,
    workspace_thread,
)
from daemon.slack.incoming import BotIdentity, SlackMessage
from daemon.slack.recorded_audiences import RecordedAudiences
from daemon.slack.web_api import (
    NOT_SLACK,
    OUT_OF_REACH,
    Item,
    WebApi,
    describe_failure,
    is_permanent,
    read_members,
    time_of,
)

SECOND_LOOK = 5.0

LONGEST_PAUSE = 600.0
"""Most seconds between two counts during a surplus."""

OVERLAP = 15.0
"""Seconds after our start in which a replaced daemon may still write."""

OTHER_DAEMON_ADVICE = (
    "It has a SOUL_HOME of its own: each of the two gets a part of the messages, and both may answer."
    " Stop one of them, or make an app of its own for it. Once it is stopped, this passes within ten minutes."
)

log = logging.getLogger(__name__)


class OtherDaemonDetector:
    """Detector of another daemon on the same app. `since` is our start in Slack's time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looks = 0
        self._surplus = ""
        self._journal = ""
        self._seen = 0.0
        self.since: float | None = None

    @property
    def owner_advice(self) -> Sequence[str]:
        if self._surplus:
            return [f"Another daemon uses this Slack app ({self._surplus}). {OTHER_DAEMON_ADVICE}"]
        if self._journal and self._clock.steady() - self._seen < LONGEST_PAUSE:
            evidence = f"it wrote in the journal {self._journal}"
            return [f"Another daemon uses this Slack app ({evidence}). {OTHER_DAEMON_ADVICE}"]
        return []

    def compare_socket_count(self, all: int, ours: int) -> float | None:
        """Compare the app's open sockets, as Slack counts them, with ours.

        Return seconds until the next count; None if it can wait for the next connection.
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
        return float(min(SECOND_LOOK * 2 ** (self._looks + 1), LONGEST_PAUSE))

    def note_foreign_message(self, journal: str, ts: float) -> None:
        if self.since is None or ts < self.since + OVERLAP:
            return
        known = self.owner_advice
        self._journal, self._seen = journal, self._clock.steady()
        self._warn(known)

    def _warn(self, known: Sequence[str]) -> None:
        if not known:
            log.error("%s", self.owner_advice[0])


METADATA_EVENT = "soul_speech"
"""Type of the metadata. In its payload, `key` is the digest of the speech's key, `journal` the journal's id,
`answers` the ts of answered messages, with spaces between; `grows` is set while more text will come.
"""

MOST_ANSWERED = 100
"""Most answered messages that are named: Slack limits metadata."""


def speech_metadata(key: str, journal: str, answers: Sequence[str], *, grows: bool = False) -> dict[str, Any]:
    named = " ".join(answers[-MOST_ANSWERED:])
    payload: dict[str, Any] = {"key": digest(key), "journal": journal, "answers": named}
    if grows:
        payload["grows"] = True
    return {"event_type": METADATA_EVENT, "event_payload": payload}


@dataclass(frozen=True, slots=True)
class SpeechMetadata:
    """Metadata of a message of the soul; `answers` is None if not stated."""

    key: str
    journal: str
    answers: frozenset[str] | None
    grows: bool = False


def read_speech_metadata(item: Item) -> SpeechMetadata:
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
N = TypeVar("N", bound=Event)
MOST_CACHED_PLACES = 2_000

OURS: tuple[type[Event], ...] = (SpeechPosted, SpeechFinished, CardShown)
"""Kinds of entries that hold the ts of the soul's messages."""


def cached_places(journal: JournalReader) -> Callable[[str], ConversationOpened]:
    """Return a function that looks up the place of a thread, with a cache: places never change, even by
    forgetting.
    """
    return lru_cache(MOST_CACHED_PLACES)(partial(slack_place, journal))


def slack_place(journal: JournalReader, thread: str) -> ConversationOpened:
    found = journal.latest_of_kind(thread, ConversationOpened)
    if found is None:
        raise LookupError(f"{thread} is not a conversation in Slack")
    return found.event


def make_permalink(url: str, channel: str, ts: str, root: str = "") -> str:
    """Return a link to a message, shown in its thread if `root` is given. `url` is the workspace's."""
    link = f"{url}archives/{channel}/p{ts.replace('.', '')}"
    if root:
        link += f"?thread_ts={root}&cid={channel}"
    return link


def conversation_of(journal: JournalReader, key: str) -> Entry[ConversationOpened] | None:
    found = journal.get(key)
    if found is None or isinstance(found.event, ConversationOpened):
        return cast(Entry[ConversationOpened] | None, found)
    return journal.latest_of_kind(found.thread, ConversationOpened)


async def record_workspace_note(journal: Journal, team: str, event: N) -> Entry[N]:
    """Record a note that follows the last of its kind; return it, or another daemon's in its place."""
    thread = workspace_thread(team)
    last = journal.last_seq(thread, type(event)) or "first"
    entry, _ = await journal.append(thread, event, key=f"{event.kind}:{team}:{last}", author="core")
    return entry


async def record_said(journal: Journal, cause: Entry[Any], event: E, key: str) -> Entry[E]:
    """Record a person's act in the thread of the entry that caused it. Raises JournalError."""
    entry, _ = await journal.append(cause.thread, event, key=key, author=event.user, cause=cause.seq)
    return entry


def conversation_of_message(
    journal: JournalReader, team: str, channel: str, ts: str
) -> Entry[ConversationOpened] | None:
    """Return the conversation that this message began or belongs to."""
    where = f"{team}:{channel}:{ts}"
    for key in (f"thread:{where}", f"msg:{where}", f"heard:{where}"):
        found = conversation_of(journal, key)
        if found:
            return found
    return None


async def open_channel_thread(
    journal: Journal, *, team: str, channel: str, where: ConversationInfo, user: str
) -> Entry[ConversationOpened]:
    """Open the own thread of a channel or DM, whose `ts` is empty."""
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
"""Types and subtypes of events about a changed audience."""


def channel_of_change(event: Mapping[str, Any]) -> str:
    """Return the channel whose audience an event changes, or "". Raises MalformedPayload."""
    if event.get("type") in CHANGES or event.get("subtype") in CHANGES:
        return id_at(event, "channel")
    return ""


class AudienceTracker:
    """Recorder of changed audiences. `recorded` are those of all daemons that share the app, if any do."""

    def __init__(
        self,
        journal: Journal,
        people: PeopleDirectory,
        team: str,
        recorded: RecordedAudiences | None = None,
    ) -> None:
        self._journal = journal
        self._people = people
        self._team = team
        self._recorded = recorded
        self._noted: dict[str, str] = {}
        """Recorded audiences by channel; empty at the start, since threads of a channel may disagree."""

    async def record_for_message(self, message: SlackMessage) -> None:
        """Record the audience that was looked up when this message was described."""
        where = self._people.conversation_info(message)
        await self.record_found(message.channel, where.audience, message.changed or message.ts)

    async def record_current(self, place: ConversationOpened) -> None:
        where = await self._people.look_up_conversation(place.channel, place.where, place.user)
        await self.record_found(place.channel, where.audience, f"seen:{self._journal.last_seq_of_all()}")

    async def mark_changed(self, channel: str, ts: str) -> None:
        """Record that other people can read this channel since `ts`; the next message
        looks up the audience.
        """
        self._people.forget_audience(channel)
        await self.record_found(channel, "", ts)

    async def record_opened(self, opened: ConversationOpened, before: int) -> None:
        """Note the audience of an opened conversation, decided when `before` was the journal's last seq."""
        self._noted[opened.channel] = opened.audience
        await self._doubt(opened.channel, opened.audience, before)

    async def record_found(self, channel: str, audience: str, ts: str) -> None:
        if self._latest(channel) == audience:
            return
        before = self._journal.last_seq_of_all()
        await self._record(channel, audience, ts)
        await self._doubt(channel, audience, before)

    async def _doubt(self, channel: str, audience: str, before: int) -> None:
        """Record that the readers are unknown if another daemon has meanwhile found others: then the next
        message looks up again.
        """
        if audience and self._recorded and self._recorded.contradicts(channel, audience, before):
            await self._record(channel, "", f"doubt:{self._journal.last_seq_of_all()}")

    def _latest(self, channel: str) -> str | None:
        recorded = self._recorded.latest(channel) if self._recorded else None
        return self._noted.get(channel) if recorded is None else recorded

    async def _record(self, channel: str, audience: str, ts: str) -> None:
        said = AudienceChanged(team=self._team, channel=channel, audience=audience)
        key = f"audience:{self._team}:{channel}:{ts}"
        entry, _ = await self._journal.append(workspace_thread(self._team), said, key=key, author="core")
        self._noted[channel] = entry.event.audience


MOVED = ("channel_id_changed", "group_id_changed")


class ChannelIdTable:
    def __init__(self, journal: Journal, team: str) -> None:
        self._journal = journal
        self._team = team
        self._first: dict[str, str] = {}
        self._now: dict[str, str] = {}
        self._upto = journal.last_seq_of_all()
        for entry in reversed([*journal.latest_first(workspace_thread(team), ChannelMoved)]):
            self._apply_move(entry.event)

    def first_id(self, channel: str) -> str:
        self._fold()
        return self._first.get(channel, channel)

    def current_id(self, channel: str) -> str:
        self._fold()
        return self._now.get(channel, channel)

    def _fold(self) -> None:
        """Apply moves that other daemons have recorded."""
        if self._journal.change_counter(ChannelMoved) > self._upto:
            for entry in self._journal.entries_of_kind(ChannelMoved, since=self._upto):
                self._upto = entry.seq
                if entry.event.team == self._team:
                    self._apply_move(entry.event)

    async def record_move(self, event: Mapping[str, Any]) -> str:
        """Record a channel's new id; return its first one. Raises JournalError and MalformedPayload."""
        old, new = id_at(event, "old_channel_id"), id_at(event, "new_channel_id")
        return await self.record_new_id(old, new)

    async def record_new_id(self, old: str, new: str) -> str:
        """Record a channel's new id; return its first one. Raises JournalError."""
        first = self.first_id(old)
        if self.current_id(first) != new:
            last = self._journal.last_seq(workspace_thread(self._team), ChannelMoved)
            key = f"channel-moved:{self._team}:{old}:{new}:{last}"
            moved = ChannelMoved(team=self._team, old=old, new=new)
            entry, _ = await self._journal.append(workspace_thread(self._team), moved, key=key, author="core")
            self._apply_move(entry.event)
        return first

    def translate_event(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        self._fold()
        if not self._first:
            return event
        channel, item = event.get("channel"), event.get("item")
        if isinstance(channel, str) and channel in self._first:
            event = {**event, "channel": self._known_id(channel, event)}
        if isinstance(item, Mapping) and item.get("channel") in self._first:
            event = {**event, "item": {**item, "channel": self.first_id(str(item["channel"]))}}
        return event

    def _known_id(self, channel: str, event: Mapping[str, Any]) -> str:
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
    """Return this journal's id, made at its first start and kept in copies. Raises JournalError."""
    for known in journal.latest_first(workspace_thread(team), JournalNamed):
        return known.event.id
    named = await record_workspace_note(journal, team, JournalNamed(id=token_hex(4)))
    return named.event.id


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackWorkspace:
    """The soul's workspace: identity, people, permissions and journal.

    `owners` may stop anything and are always heard. `wake` schedules a thread. `share` and `recorded` are for
    daemons that share the app.
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
    journal_id: str
    channel_ids: ChannelIdTable
    other: OtherDaemonDetector
    share: AppShare = field(default_factory=WholeApp)
    recorded: RecordedAudiences | None = None

    def check_own_message(self, item: Item) -> None:
        """Note another daemon if a message of the soul names another journal."""
        journal = read_speech_metadata(item).journal
        if journal not in ("", self.journal_id):
            self.other.note_foreign_message(journal, time_of(item))

    @property
    def mentionable_ids(self) -> frozenset[str]:
        return self.owners | self.allowed.mentionable_bots


T = TypeVar("T")

PAGES = 10
"""Most pages of members that are read; further members count as absent."""


@dataclass(frozen=True, slots=True)
class SlackConversationOpener:
    workspace: SlackWorkspace
    audiences: AudienceTracker

    async def open_dm(self, person: str) -> str:
        """Return the thread of unasked messages to this person; "" if Slack refuses. Raises PostFailed."""
        thread = await _answer_or_none(open_dm_thread(self.workspace, person, no_lease_check))
        if thread is None:
            return ""
        await self.record_readers(thread)
        return thread

    async def channel_thread(self, channel: str) -> str:
        """Return the thread of unasked messages in a channel; "" if Slack does not show it."""
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
        place = slack_place(self.workspace.journal, thread)
        await self.audiences.record_current(place)

    async def are_in(self, channel: str, user: str) -> bool:
        web = self.workspace.web
        asked = read_members(web.call_readonly, web.client.conversations_members, channel, PAGES)
        found = await _answer_or_none(asked)
        return found is not None and {user, self.workspace.me.user} <= found

    async def name(self, user: str) -> str:
        return await self.workspace.people.look_up_name(user)


async def _answer_or_none(asked: Awaitable[T]) -> T | None:
    try:
        return await asked
    except (SlackApiError, *OUT_OF_REACH) as failure:
        if isinstance(failure, SlackApiError) and is_permanent(failure):
            return None
        raise PostFailed(f"Slack did not answer: {describe_failure(failure)}") from failure


async def open_dm_thread(workspace: SlackWorkspace, person: str, hold: Hold) -> str:
    """Open the thread of unasked messages to a person. Raises SlackApiError and OUT_OF_REACH."""
    journal, team = workspace.journal, workspace.me.team
    channel, audience = _known_dm(journal, team, person)
    if not channel:
        channel = await _open_dm(workspace.web, person, hold)
    where = ConversationInfo(kind="dm", name=DM, audience=audience)
    place = await open_channel_thread(journal, team=team, channel=channel, where=where, user=person)
    return place.thread


def _known_dm(journal: Journal, team: str, person: str) -> tuple[str, str]:
    """Return the known DM with a person, and its audience; both empty if none."""
    channel = audience = ""
    for entry in journal.entries_of_kind(ConversationOpened):
        place = entry.event
        if (place.team, place.where, place.user) == (team, "dm", person):
            channel, audience = place.channel, place.audience
    for noted in journal.entries_of_kind(AudienceChanged):
        if noted.event.channel == channel:
            audience = noted.event.audience
    return channel, audience


async def _open_dm(web: WebApi, person: str, hold: Hold) -> str:
    answer = await web.call(hold, web.client.conversations_open, users=person)
    channel = answer.get("channel")
    if not isinstance(channel, Mapping) or not channel.get("id"):
        raise ClientPayloadError(NOT_SLACK)
    return str(channel["id"])

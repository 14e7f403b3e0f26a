"""Names, audiences and access of people, bots and channels.

Slack does not report guests in a channel. A guest who writes proves that guests read the channel; this stays
recorded, since other guests may remain. A name belongs to the first id that had it; other ids get a suffix.
The name is recorded, so a shown name never changes its meaning.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import re
import unicodedata
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from typing import Any, Literal, TypedDict
from weakref import WeakValueDictionary

from slack_sdk.errors import SlackApiError

from daemon.engine.clock import Clock
from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.kinds import AudienceChanged, NameTaken, SharedFile
from daemon.prompts.elements import NAME_LENGTH, clean_name_text
from daemon.slack.app_share import AppShare, WholeApp
from daemon.slack.block_text import (
    A_CHANNEL,
    SOMEONE,
    clean_display_name,
    display_name,
    first_text,
    ids_without_names,
    mentioned_ids,
    object_or_empty,
    spell_out_references,
)
from daemon.slack.incoming import BotIdentity, SlackMessage, SlackProfile
from daemon.slack.recorded_audiences import RecordedAudiences
from daemon.slack.web_api import OUT_OF_REACH, WebApi, is_permanent, next_page


class KeyedLock:
    """Locks by key, kept only while in use."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def lock_for(self, key: Hashable) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """Ids that may speak to the soul. Empty `users` or `channels` allow all, empty `bots` none.

    `daily` limits messages with bots per UTC day.
    """

    users: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()
    bots: frozenset[str] = frozenset()
    daily: int = 20

    @property
    def mentionable_bots(self) -> frozenset[str]:
        """Bots that can be mentioned: those listed by user id."""
        return frozenset(bot for bot in self.bots if bot[:1] in ("U", "W"))

    def is_allowed_bot(self, message: SlackMessage) -> bool:
        return message.is_by_bot and (message.user in self.bots or message.bot in self.bots)

    def may_be_heard(self, message: SlackMessage) -> bool:
        if message.is_by_bot:
            return self.is_allowed_bot(message) and self.is_open_to_all(message.channel, message.kind)
        return self.may_speak(message.user, message.channel, message.kind)

    def may_speak(self, person: str, channel: str, kind: str) -> bool:
        """True if this person may speak to the soul here."""
        return self.is_open_to_all(channel, kind) and (not self.users or person in self.users)

    def is_open_to_all(self, channel: str, kind: str) -> bool:
        return kind == "dm" or not self.channels or channel in self.channels


def workspace_thread(team: str) -> str:
    """Return the journal's thread of facts about a workspace."""
    return f"slack:{team}"


class GuestTracker:
    """Channels where guests or outsiders have written, as recorded in the journal."""

    def __init__(self, journal: Journal, team: str, *, is_shared: bool = False) -> None:
        self._journal = journal
        self._team = team
        self._is_shared = is_shared
        self._known: dict[str, bool] = {}

    def has_guest_written(self, channel: str) -> bool:
        if channel not in self._known or (self._is_shared and not self._known[channel]):
            self._known[channel] = self._journal.get(self._key(channel)) is not None
        return self._known[channel]

    async def record_guest(self, channel: str) -> None:
        if not self.has_guest_written(channel):
            said = AudienceChanged(team=self._team, channel=channel, audience="shared")
            await self._journal.append(
                workspace_thread(self._team), said, key=self._key(channel), author="core"
            )
            self._known[channel] = True

    def _key(self, channel: str) -> str:
        return f"guests:{self._team}:{channel}"


ALIKE = (
    ("АВЕЅІЈКМНОРСТУХ", "ABESIJKMHOPCTYX"),  # noqa: RUF001 - Cyrillic
    ("авекмһіјӏонрстухѕԁԛԝ", "abekmhijlohpctyxsdqw"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),  # noqa: RUF001 - Greek
    ("αβεικνορτυχω", "abeikvoptuxw"),
    ("ı1|0", "illo"),  # noqa: RUF001 - and digits
)
"""Letters that look like Latin letters, and the Latin ones."""

LATIN = re.compile(r"LATIN (?:(?:SMALL|CAPITAL) )?LETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?")


class NameRegister:
    """Names in a workspace, and the ids that had them first."""

    def __init__(self, journal: Journal, me: BotIdentity) -> None:
        self._journal = journal
        self._me = me
        self._shown: dict[tuple[str, str], str] = {}
        self._own = _key(me.team, me.name)
        self._own_ids = (me.user, me.bot)

    def known_display_name(self, id: str, name: str) -> str:
        """Return a name as it is shown, perhaps with a suffix; unchanged if not looked up."""
        return self._shown.get((id, name), name)

    async def claim_display_name(self, id: str, name: str, handle: str) -> str:
        """Reserve a name for this id; return the name as it is shown. Raises JournalError."""
        if (id, name) not in self._shown:
            self._shown[id, name] = await self._first_of_theirs(id, name, handle)
        return self._shown[id, name]

    def preview_display_name(self, id: str, name: str, handle: str) -> str:
        """Return a name as it would be shown, without reserving it. Raises JournalError."""
        if (id, name) in self._shown or id in self._own_ids:
            return self.known_display_name(id, name)
        return next(one for one in _candidates(id, name, handle) if self._holder(one) in ("", id))

    async def _first_of_theirs(self, id: str, name: str, handle: str) -> str:
        if id in self._own_ids:
            return name
        for candidate in _candidates(id, name, handle):
            if (self._holder(candidate) or await self._claim_name(candidate, id)) == id:
                return candidate
        raise AssertionError("there is always another candidate")

    def _holder(self, name: str) -> str:
        key = _key(self._me.team, name)
        if key == self._own:
            return self._me.user
        return _user(self._journal.get(key))

    async def _claim_name(self, name: str, id: str) -> str:
        thread, key = workspace_thread(self._me.team), _key(self._me.team, name)
        entry, _ = await self._journal.append(thread, NameTaken(user=id), key=key, author="core")
        return entry.event.user


def _user(taken: Entry[Any] | None) -> str:
    return str(taken.event.user) if taken else ""


def _candidates(id: str, name: str, handle: str) -> Iterator[str]:
    yield name
    if handle:
        yield _with_tail(name, f"@{handle}")
    yield _with_tail(name, id)
    for number in count(2):
        yield _with_tail(name, f"{id}, {number}")


def _with_tail(name: str, tail: str) -> str:
    room = max(NAME_LENGTH - len(tail) - 3, 1)
    return f"{clean_name_text(name)[:room].rstrip()} ({tail})"


def _key(team: str, name: str) -> str:
    """Return the key of a name and its lookalikes, with a hash to hide the name."""
    return f"name:{team}:{hashlib.sha256(name_skeleton(clean_name_text(name)).encode()).hexdigest()}"


def name_skeleton(name: str) -> str:
    """Return the form that lookalike names share."""
    letters = "".join(map(_letter, unicodedata.normalize("NFKD", name).translate(_alike()))).casefold()
    found = "".join(filter(str.isalnum, letters)).translate(_alike())
    found = found.replace("i", "l").replace("rn", "m").replace("vv", "w")
    return found or "".join(unicodedata.normalize("NFKC", name).split())


def _letter(sign: str) -> str:
    if sign.isascii():
        return sign
    found = LATIN.fullmatch(unicodedata.name(sign, ""))
    return found[1] if found else sign


@functools.cache
def _alike() -> dict[int, str]:
    return {ord(one): other for ours, theirs in ALIKE for one, other in zip(ours, theirs, strict=True)}


PATIENCE = 1.0
"""Seconds that a message waits for look-ups; Slack wants its ack within three."""

AUDIENCE_SECONDS = 600.0
"""Seconds for which a looked-up audience is valid."""

NAME_SECONDS = 3_600.0
"""Seconds for which a name is valid that another daemon's events may change."""

GROUP = "a group conversation"

GROUP_MOST = 20
"""Most members of a private conversation who are looked up."""

DM = "a direct message"

Audience = Literal["", "dm", "group", "private", "shared", "public"]
"""Readers of a conversation. dm, group, private: its members. shared: also people who cannot read every
public channel. public: the workspace. Empty: unknown.
"""

OUTSIDER_FIELDS = ("is_restricted", "is_ultra_restricted", "is_stranger")

SHARED_FIELDS = ("is_ext_shared", "is_pending_ext_shared", "pending_shared", "pending_connected_team_ids")
"""Fields of channels that are shared with other workspaces, or soon will be."""

MOST_PER_MESSAGE = 20
"""Most look-ups of ids named in one message."""

MOST_PER_MINUTE = 60
"""Most look-ups per minute: Slack allows about a hundred."""

MINUTE = 60.0
REFUSED_SECONDS = 600.0
"""Seconds for which a refused id is not looked up again."""

MOST_REFUSED_IDS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationInfo:
    """Kind (dm, channel, group), name and Audience of a conversation."""

    kind: str
    name: str
    audience: str


class MessageFields(TypedDict):
    """Fields of a recorded message, except its note."""

    user: str
    name: str
    chosen: str
    owner: bool
    text: str
    ts: str
    bot: bool
    files: tuple[SharedFile, ...]


class PeopleDirectory:
    """Names and audiences in the workspace."""

    def __init__(
        self,
        web: WebApi,
        me: BotIdentity,
        guests: GuestTracker,
        register: NameRegister,
        owners: Collection[str] = (),
        share: AppShare | None = None,
        recorded: RecordedAudiences | None = None,
    ) -> None:
        self._web = web
        self._recorded = recorded
        self._guests = guests
        self._register = register
        self._owners = owners
        self._me = me
        self._names = dict.fromkeys((me.user, me.bot), clean_display_name(me.name))
        self._handles: dict[str, str] = {}
        self._since: dict[str, Decimal] = {}
        self._named_by_event = set[str]()
        """Ids named only by an event; Slack is still asked about them."""
        self._audiences = dict[str, tuple[Audience, float, int]]()
        """Audience, time of the look-up, and last seq before it, by channel, or by person for a DM."""
        self._dm_channels = dict[str, str]()
        """Channels of DMs by person."""
        self._outsiders = set[str]()
        self._asking = KeyedLock()
        self._lookup_limit = LookupRateLimit(web.clock, share)
        self._is_shared = share is not None and share.is_shared

    def known_name(self, id: str) -> str:
        return self._register.known_display_name(id, self._names.get(id, ""))

    async def look_up_name(self, id: str) -> str:
        """Look up the shown name of an id; empty if Slack does not answer in time."""
        await self._learn([id])
        return self.known_name(id)

    async def claim_display_name(self, id: str) -> str:
        """Look up, reserve and return the shown name of an id; empty if unknown. Raises JournalError."""
        await self._learn([id])
        if id not in self._names:
            return ""
        return await self._shown(id, self._names[id])

    def apply_new_name(self, profile: SlackProfile) -> None:
        """Apply a rename, unless it is outdated or the id is unknown."""
        if profile.id in self._names:
            self._note(profile)

    async def describe(
        self, message: SlackMessage, *, at_once: bool = False, readers: bool = False
    ) -> MessageFields:
        """Return the fields of a message that a model will read.

        `at_once` skips look-ups, so ids replace unknown names. `readers` also looks up the audience. Raises
        JournalError.
        """
        if message.profile:
            self._note(message.profile)
        unknown: list[str] = []
        nobody = message.author
        if not at_once:
            unknown = self._ids_to_ask(message)
            nobody = SOMEONE
        of: list[str] = []
        if readers:
            of.append(self._reader_id(message.channel, message.kind, message.author))
        await self._learn(unknown, of)
        await self.record_guest(message)
        chosen = message.name or self._names.get(message.author, "") or nobody
        if not at_once:
            await self._show(message, chosen)
        name = self._register.preview_display_name(
            message.author, chosen, self._handles.get(message.author, "")
        )
        return MessageFields(
            user=message.author,
            name=name,
            chosen=chosen if name != chosen else "",
            owner=message.author in self._owners,
            text=spell_out_references(message.whole_text, self._readable_names(message)),
            ts=message.ts,
            bot=message.is_by_bot,
            files=message.files,
        )

    async def _show(self, message: SlackMessage, chosen: str) -> None:
        await self._shown(message.author, chosen)
        for id in mentioned_ids(message.whole_text):
            if id in self._names:
                await self._shown(id, self._names[id])

    async def _shown(self, id: str, name: str) -> str:
        return await self._register.claim_display_name(id, name, self._handles.get(id, ""))

    def _readable_names(self, message: SlackMessage) -> Mapping[str, str]:
        ids = [*mentioned_ids(message.whole_text), *ids_without_names(message.whole_text)]
        return {id: self.known_name(id) for id in ids if id in self._names}

    def _note(self, profile: SlackProfile) -> None:
        id = profile.id
        if profile.at < self._since.get(id, profile.at):
            return
        if id not in self._names:
            self._named_by_event.add(id)
        self._since[id] = profile.at
        self._names[id] = profile.name
        if profile.handle:
            self._handles[id] = profile.handle

    async def record_guest(self, message: SlackMessage) -> None:
        """Record the author of a channel's message if the author is a guest. Raises JournalError."""
        if message.author in self._outsiders and message.kind != "dm":
            await self._guests.record_guest(message.channel)

    def conversation_info(self, message: SlackMessage) -> ConversationInfo:
        return self._describe_conversation(message.channel, message.kind, message.author)

    async def look_up_conversation(self, channel: str, kind: str, person: str) -> ConversationInfo:
        await self._learn(readers=[self._reader_id(channel, kind, person)])
        return self._describe_conversation(channel, kind, person)

    def _describe_conversation(self, channel: str, kind: str, person: str) -> ConversationInfo:
        of = self._reader_id(channel, kind, person)
        name = self.known_name(of)
        if kind == "dm":
            name = DM
        elif kind == "group" or name == GROUP:
            kind, name = "group", GROUP
        else:
            kind = "channel"
        return ConversationInfo(kind=kind, name=name or A_CHANNEL, audience=self._audience(of))

    async def look_up_audience(self, id: str) -> Audience:
        """Return the audience of a channel, or of a DM with this person."""
        await self._learn(readers=[id])
        return self._audience(id)

    def forget_audience(self, channel: str) -> None:
        self._audiences.pop(channel, None)

    def _audience(self, id: str) -> Audience:
        if self._guests.has_guest_written(id):
            return "shared"
        if not self._is_fresh(id):
            return ""
        audience, _, _ = self._audiences[id]
        return audience

    def _reader_id(self, channel: str, kind: str, person: str) -> str:
        id = audience_id(channel, kind, person)
        if id != channel:
            self._dm_channels[id] = channel
        return id

    def _is_fresh(self, id: str) -> bool:
        """True if the audience was looked up lately, and no daemon has recorded another one since."""
        if id not in self._audiences:
            return False
        audience, since, seq = self._audiences[id]
        channel = self._dm_channels.get(id, id)
        if self._recorded and self._recorded.contradicts(channel, audience, seq):
            return False
        return self._web.clock.steady() - since < AUDIENCE_SECONDS

    def _ids_to_ask(self, message: SlackMessage) -> list[str]:
        author = message.author
        unknown = [
            id
            for id in ids_without_names(message.whole_text)
            if id not in self._names or self._may_be_renamed(id)
        ]
        is_known = author in self._names and author not in self._named_by_event
        if message.name or (is_known and not self._may_be_renamed(author)):
            return self._lookup_limit.choose_ids(unknown)
        if author in unknown:
            unknown.remove(author)
        return [author, *self._lookup_limit.choose_ids(unknown)]

    def _may_be_renamed(self, id: str) -> bool:
        """True if another daemon may have received a new name long ago."""
        since, now = self._since.get(id), self._web.time()
        if not self._is_shared or since is None or now is None:
            return False
        return now - float(since) >= NAME_SECONDS

    def _must_ask(self, id: str, readers: bool) -> bool:
        if id not in self._names or id in self._named_by_event or self._may_be_renamed(id):
            return True
        return readers and not (self._audience(id) or self._is_fresh(id))

    async def _learn(self, names: Iterable[str] = (), readers: Iterable[str] = ()) -> None:
        """Look up names, and missing audiences of the ids in `readers`, for at most a second."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._ask_all(dict.fromkeys(names, False) | dict.fromkeys(readers, True))

    async def _ask_all(self, wanted: Mapping[str, bool]) -> None:
        async with asyncio.TaskGroup() as asking:
            for id, readers in wanted.items():
                if self._must_ask(id, readers):
                    asking.create_task(self._ask(id, readers))

    async def _ask(self, id: str, readers: bool) -> None:
        async with self._asking.lock_for(id):
            if not self._must_ask(id, readers):
                return
            try:
                self._apply_name(id, clean_display_name(await self._name(id)))
            except SlackApiError as refusal:
                if is_permanent(refusal):
                    self._lookup_limit.note_refused(id)
                    self._named_by_event.discard(id)
            except OUT_OF_REACH:
                pass

    def _apply_name(self, id: str, name: str) -> None:
        self._names[id] = name or self._names.get(id, "")
        self._since[id] = Decimal(f"{self._web.now():.6f}")
        self._named_by_event.discard(id)

    async def _name(self, id: str) -> str:
        match id[:1]:
            case "B":
                answer = await self._web.call_readonly(self._web.client.bots_info, bot=id)
                return first_text(answer.get("bot"), "name")
            case "C" | "G":
                return await self._name_of_channel(id)
        return await self._name_of_person(id)

    def _last_seq(self) -> int:
        return self._recorded.last_seq if self._recorded else 0

    async def _name_of_channel(self, id: str) -> str:
        before = self._last_seq()
        answer = await self._web.call_readonly(self._web.client.conversations_info, channel=id)
        channel = object_or_empty(answer, "channel")
        name = first_text(channel, "name")
        if channel.get("is_mpim"):
            name = GROUP
        elif name:
            name = f"#{name}"
        self._names[id] = clean_display_name(name)  # stored even if the next request fails
        if channel:
            self._remember_audience(id, await self._audience_in(id, _audience_of(channel)), before)
        return name

    async def _name_of_person(self, id: str) -> str:
        before = self._last_seq()
        answer = await self._web.call_readonly(self._web.client.users_info, user=id)
        user = object_or_empty(answer, "user")
        audience = _dm_audience(user, self._me.team)
        self._remember_audience(id, audience, before)
        if audience == "shared":
            self._outsiders.add(id)
        elif audience == "dm":
            self._outsiders.discard(id)
        self._handles[id] = clean_display_name(first_text(user, "name"))
        return display_name(user)

    async def _audience_in(self, channel: str, said: Audience) -> Audience:
        """Return a channel's audience. `said` is the audience by Slack's type, which hides guests."""
        if said not in ("group", "private"):
            return said
        answer = await self._web.call_readonly(self._web.client.conversations_members, channel=channel)
        members = answer.get("members")
        if not isinstance(members, list):
            return ""
        if len(members) <= GROUP_MOST + 1 and not next_page(answer):
            return await self._audience_with(said, {*map(str, members)} - {self._me.user})
        if said == "group":
            return ""
        return said

    async def _audience_with(self, said: Audience, others: set[str]) -> Audience:
        """Return `said` if a DM with each of `others` has no outsider, else shared; empty if unknown."""
        await self._ask_all(dict.fromkeys(others, True))
        found = {self._audience(other) for other in others}
        if "shared" in found:
            return "shared"
        if found == {"dm"}:
            return said
        return ""

    def _remember_audience(self, id: str, audience: Audience, before: int) -> None:
        self._audiences[id] = (audience, self._web.clock.steady(), before)


class LookupRateLimit:
    """Limit of look-ups, since a text may hold thousands of ids. Daemons that share the app share it, too."""

    def __init__(self, clock: Clock, share: AppShare | None = None) -> None:
        self._clock = clock
        self._share = share or WholeApp()
        self._asked: deque[float] = deque(maxlen=MOST_PER_MINUTE)
        self._refused: dict[str, float] = {}

    def choose_ids(self, ids: Iterable[str]) -> list[str]:
        chosen: list[str] = []
        for id in ids:
            if len(chosen) == MOST_PER_MESSAGE or not self._has_room():
                break
            if not self._was_refused(id):
                chosen.append(id)
                self._asked.append(self._clock.steady())
        return chosen

    def note_refused(self, id: str) -> None:
        if len(self._refused) >= MOST_REFUSED_IDS:
            del self._refused[next(iter(self._refused))]
        self._refused[id] = self._clock.steady()

    def _has_room(self) -> bool:
        most = max(MOST_PER_MINUTE // self._share.daemon_count, 1)
        return len(self._asked) < most or self._clock.steady() - self._asked[-most] >= MINUTE

    def _was_refused(self, id: str) -> bool:
        at = self._refused.get(id)
        return at is not None and self._clock.steady() - at < REFUSED_SECONDS


def audience_id(channel: str, kind: str, person: str) -> str:
    """Return the id whose audience is looked up: a DM's other person, else the channel."""
    return person if kind == "dm" else channel


def _audience_of(channel: Mapping[str, Any]) -> Audience:
    if channel.get("is_mpim"):
        return "group"
    if _has_any(channel, SHARED_FIELDS):
        return "shared"
    if channel.get("is_private"):
        return "private"
    return "public"


def _dm_audience(user: Mapping[str, Any], team: str) -> Audience:
    """Return the audience of a DM with this user: shared if the user is an outsider of `team`."""
    if _has_any(user, OUTSIDER_FIELDS):
        return "shared"
    home = user.get("team_id")
    teams = object_or_empty(user, "enterprise_user").get("teams")
    if home == team or (isinstance(teams, list) and team in teams):
        return "dm"
    return "shared" if home else ""


def _has_any(whole: Mapping[str, Any], names: Iterable[str]) -> bool:
    return any(whole.get(name) for name in names)

"""Slack surface: all parts of the workspace with one lifetime."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import KW_ONLY, dataclass, field, replace

from aiohttp import ClientSession, ClientTimeout
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from daemon.engine.clock import Clock
from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.kinds import QuestionAsked
from daemon.knowledge.bot_traffic import BotTraffic
from daemon.knowledge.visibility import ForgottenPeople, KnownChannels
from daemon.ports import Button
from daemon.slack.app_share import AppShare, WholeApp
from daemon.slack.archive import ConversationArchive
from daemon.slack.backfill import BackfillTask
from daemon.slack.directory import PATIENCE, AccessPolicy, GuestTracker, NameRegister, PeopleDirectory
from daemon.slack.earlier_messages import EarlierMessageReader, SlackMessageDeleter
from daemon.slack.inbox import Inbox
from daemon.slack.incoming import BotIdentity
from daemon.slack.places import (
    ChannelIdTable,
    SlackConversationOpener,
    SlackWorkspace,
    ensure_journal_id,
    make_permalink,
)
from daemon.slack.recorded_audiences import RecordedAudiences
from daemon.slack.shared_files import SlackFileSource, SlackSourceProvider
from daemon.slack.socket_pool import ConnectionHealth, ConnectionPool
from daemon.slack.speaker import SlackSpeaker
from daemon.slack.user_groups import SlackUserGroups
from daemon.slack.web_api import (
    OUT_OF_REACH,
    TIMEOUT,
    RefusedContent,
    ScopeStatus,
    SlackAccess,
    authenticate,
    make_web_api,
    quiet_logger,
    read_members,
)

BOLT = "daemon.slack.bolt"


Admit = Callable[[str, str], Awaitable[None]]
"""Check of the team and the bot, before anything about them is recorded. Raises ConfigError."""


async def admit_any(team: str, bot: str) -> None: ...


@dataclass(eq=False)
class SlackSurface:
    """The soul's workspace in Slack. `stop` ends the intake; speech works until the context ends.

    `owners` may stop anything, are always heard, and may be mentioned, as may bots listed by user id.
    `notes`: ambient messages are recorded for an inner life.
    """

    access: SlackAccess
    allowed: AccessPolicy
    _: KW_ONLY
    journal: Journal
    wake: Callable[[str], None]
    clock: Clock
    connections: int = 1
    max_age: float = 86_400.0
    owners: frozenset[str] = frozenset()
    notes: bool = False
    share: AppShare = field(default_factory=WholeApp)
    admit: Admit = admit_any

    def __post_init__(self) -> None:
        self._open = AsyncExitStack()
        self._scopes = ScopeStatus()
        self._left_out = RefusedContent(self.clock)
        self.places = KnownChannels(self.journal)
        """Shared by all parts, since the first fold is slow."""
        self.neighbours = self.allowed.mentionable_bots
        self.meetings = BotTraffic(self.journal, self.clock, self.allowed.daily, self.places)
        self.hearing = ConnectionHealth(self.clock, self.connections, self.share)
        self.name = ""
        """Name of the soul; empty before the context is entered."""

    async def __aenter__(self) -> SlackSurface:
        """Identify the bot and set up all parts; nothing is said before `begin`, nor heard before `connect`.

        Raises ConfigError if Slack rejects a token; waits while Slack is out of reach.
        """
        async with AsyncExitStack() as opening:
            session = ClientSession(headers=self.access.headers, timeout=ClientTimeout(total=TIMEOUT))
            await opening.enter_async_context(session)
            self._workspace = workspace = await self._identity(session)
            self.name = workspace.me.name
            web = workspace.web
            archive = ConversationArchive(web, self.share)
            self.user_groups = SlackUserGroups(web)
            self.files = SlackFileSource(web=web, access=self.access)
            self.shelf = SlackSourceProvider(workspace=workspace, archive=archive, fetcher=self.files)
            self.own_deletion = SlackMessageDeleter(workspace, archive)
            self.speaker = SlackSpeaker(workspace, self._left_out)
            self._inbox = Inbox(workspace, archive, max_age=self.max_age, notes=self.notes)
            self.surroundings = EarlierMessageReader(workspace, self._inbox)
            self.doors = SlackConversationOpener(workspace, self._inbox.audiences)
            catch_up = BackfillTask(
                workspace=workspace, archive=archive, inbox=self._inbox, max_age=self.max_age
            )
            self.catch_up = await opening.enter_async_context(catch_up)
            app = _app(web.client, workspace.me, self._inbox)
            self._sockets = ConnectionPool(app, web, self.access, session, self.hearing, self._read_missed)
            opening.push_async_callback(self._inbox.bot_messages.close)
            opening.push_async_callback(self._inbox.modals.close)
            opening.push_async_callback(self._sockets.close)
            self._open = opening.pop_all()
        return self

    async def _identity(self, session: ClientSession) -> SlackWorkspace:
        web = make_web_api(self.access, session, self.clock, self._scopes)
        me = await authenticate(web, self.access)
        await self.admit(me.team, me.bot)
        self.hearing.other.since = web.now()
        ids = ChannelIdTable(self.journal, me.team)
        web.channel_now = ids.current_id
        channels = frozenset(map(ids.first_id, self.allowed.channels))
        is_shared = self.share.is_shared
        recorded = RecordedAudiences(self.journal, me.team) if is_shared else None
        return SlackWorkspace(
            web=web,
            me=me,
            people=PeopleDirectory(
                web,
                me,
                GuestTracker(self.journal, me.team, is_shared=is_shared),
                NameRegister(self.journal, me),
                self.owners,
                self.share,
                recorded,
            ),
            allowed=replace(self.allowed, channels=channels),
            owners=self.owners,
            journal=self.journal,
            wake=self.wake,
            places=self.places,
            forgotten=ForgottenPeople(self.journal),
            meetings=self.meetings,
            journal_id=await ensure_journal_id(self.journal, me.team),
            channel_ids=ids,
            other=self.hearing.other,
            share=self.share,
            recorded=recorded,
        )

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    @property
    def died(self) -> asyncio.Future[None]:
        """Future that fails when Slack rejects a token: the daemon must end."""
        return self._workspace.web.died

    @property
    def owner_advice(self) -> Sequence[str]:
        return [
            *self._scopes.owner_advice,
            *self.hearing.other.owner_advice,
            *self.hearing.allotment.owner_advice,
            *self._left_out.owner_advice,
        ]

    @property
    def team(self) -> str:
        """The workspace's id; empty before the context is entered."""
        return self._workspace.me.team if self.name else ""

    async def is_of_workspace(self, id: str) -> bool:
        """True if Slack says that this user is a full member of the workspace: no guest and no outsider."""
        return await self._workspace.people.look_up_audience(id) == "dm"

    async def members_of(self, group: str) -> Collection[str] | None:
        """Return the ids of a user group's members; None if they cannot be read now."""
        return await self.user_groups.members_of(group)

    async def name_of(self, id: str) -> str:
        """Return the name of an id, or "" if Slack is late."""
        if not self.name:
            return ""
        return await self._workspace.people.look_up_name(id)

    async def people_in(self, channel: str) -> Collection[str]:
        """Return ids of the others in a conversation; empty if Slack is late."""
        web, found = self._workspace.web, set[str]()
        with suppress(TimeoutError, SlackApiError, *OUT_OF_REACH):
            async with asyncio.timeout(PATIENCE):
                found = await read_members(
                    web.call_readonly, web.client.conversations_members, channel, most=1
                )
        return found - {self._workspace.me.user}

    def is_me(self, id: str) -> bool:
        return bool(self.name) and self._workspace.me.is_own_message(id, id)

    def message_link(self, channel: str, ts: str, root: str) -> str:
        if not self.name:
            return ""
        now = self._workspace.channel_ids.current_id(channel)
        return make_permalink(self._workspace.me.url, now, ts, root)

    async def press(self, asked: Entry[QuestionAsked], user: str, choice: Button) -> bool:
        """Press a button for this person; False if not accepted. Raises JournalError."""
        return bool(self.name) and await self._inbox.press_outside_slack(asked, user, choice)

    def _read_missed(self) -> None:
        self.catch_up.wake(missed=self.hearing.was_deaf)
        self.hearing.was_deaf = False

    def begin(self) -> None:
        """Clear statuses of the daemon that worked before, and let turns speak."""
        self._open.push_async_callback(self.speaker.close)
        if self.share.is_shared:
            self.speaker.begin_shared()
        else:
            self.speaker.begin()

    async def connect(self, life: int = 0) -> None:
        """Open the sockets, and do the background work of this daemon's roles.

        `life` is the seq of the worker's start; only daemons that share the app need it.
        """
        if self.share.is_shared:
            self.speaker.begin_life(life)
            self.catch_up.begin()
            self._inbox.follow_others()
        await self._sockets.connect()
        self._inbox.bot_messages.begin()

    async def note_death(self, life: int) -> None:
        """Clear the statuses of a daemon that counts as dead, and have its unacked messages read.

        `life` is the seq of its worker's start. Raises JournalError.
        """
        if life:
            self.speaker.clear_life(life)
        await self.catch_up.request(died=True)

    async def stop(self) -> None:
        """Stop the intake: Slack keeps events for later."""
        await self.catch_up.close()
        self._inbox.close()
        await self._sockets.close()
        await self._inbox.bot_messages.close()


def _app(client: AsyncWebClient, me: BotIdentity, inbox: Inbox) -> AsyncApp:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None, team_id=me.team, bot_user_id=me.user, bot_id=me.bot, bot_token=client.token
        )

    app = AsyncApp(
        name="soul",  # without a name, Bolt searches all stack frames
        client=client,
        authorize=authorize,
        logger=quiet_logger(BOLT),
        ssl_check_enabled=False,
        request_verification_enabled=False,
        url_verification_enabled=False,
        ignoring_self_events_enabled=False,
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
    )
    app.middleware(_InboxMiddleware(inbox))
    return app


class _InboxMiddleware(AsyncMiddleware):
    """Middleware as a class, since Bolt inspects a function's arguments each time."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    async def async_process(
        self, *, req: AsyncBoltRequest, resp: BoltResponse, next: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse:
        return await self._inbox.receive(req.body, req.context)

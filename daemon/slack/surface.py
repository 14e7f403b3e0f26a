"""The Slack surface as one thing with a lifetime: Bolt, the inbox, the voice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import KW_ONLY, dataclass, replace

from aiohttp import ClientSession, ClientTimeout
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.inner.neighbours import BotTraffic
from daemon.kinds import QuestionAsked
from daemon.knowledge.forgotten import ForgottenPeople
from daemon.knowledge.places import KnownChannels
from daemon.ports import Button, Clock
from daemon.slack.access import SlackAccess, authenticate, make_web_api, quiet_logger
from daemon.slack.archive import ConversationArchive
from daemon.slack.catch_up import BackfillTask
from daemon.slack.channel_ids import ChannelIdTable
from daemon.slack.doors import SlackConversationOpener
from daemon.slack.guests import GuestTracker
from daemon.slack.history import EarlierMessageReader
from daemon.slack.inbox import Inbox
from daemon.slack.journal_id import ensure_journal_id
from daemon.slack.left_out import RefusedContent
from daemon.slack.line import ConnectionHealth
from daemon.slack.name_register import NameRegister
from daemon.slack.names import PATIENCE, PeopleDirectory
from daemon.slack.own_deletion import SlackMessageDeleter
from daemon.slack.own_workspace import SlackWorkspace
from daemon.slack.place import make_permalink
from daemon.slack.policy import AccessPolicy, BotIdentity
from daemon.slack.refusals import OUT_OF_REACH, ScopeStatus
from daemon.slack.shared_files import SlackFileSource
from daemon.slack.shelf import SlackSourceProvider
from daemon.slack.sockets import ConnectionPool
from daemon.slack.speaker import SlackSpeaker
from daemon.slack.web import TIMEOUT, members

BOLT = "daemon.slack.bolt"


@dataclass(eq=False)
class SlackSurface:
    """A workspace that the soul is in. `stop` ends the intake; until the context ends it may still speak.

    `owners` are ids of people: they may stop anything, are always heard, and may be mentioned; so may
    the bots that it answers, where they are named by the ids of their users. `notes`: is there an inner
    life, which notices what is said to others?
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

    def __post_init__(self) -> None:
        self._open = AsyncExitStack()
        self._scopes = ScopeStatus()
        self._left_out = RefusedContent(self.clock)
        self.places = KnownChannels(self.journal)
        """Which conversations there are: one for all who ask, since after a start it is folded anew."""
        self.neighbours = self.allowed.mentionable_bots
        """The bots that can be mentioned."""
        self.meetings = BotTraffic(self.journal, self.clock, self.allowed.daily, self.places)
        """How much there is between them and the soul."""
        self.hearing = ConnectionHealth(self.clock, self.connections)
        self.name = ""
        """What the soul is called in this workspace; known once the context has begun."""

    async def __aenter__(self) -> SlackSurface:
        """Find out who we are, and set everything up. Nothing is heard before `connect`.

        Raises ConfigError where Slack does not want us, and waits where it is away.
        """
        async with AsyncExitStack() as opening:
            session = ClientSession(headers=self.access.headers, timeout=ClientTimeout(total=TIMEOUT))
            await opening.enter_async_context(session)
            self._workspace = workspace = await self._identity(session)
            self.name = workspace.me.name
            web = workspace.web
            archive = ConversationArchive(web)
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
            opening.push_async_callback(self._sockets.close)
            opening.push_async_callback(self.speaker.close)
            self.speaker.begin()
            self._open = opening.pop_all()
        return self

    async def _identity(self, session: ClientSession) -> SlackWorkspace:
        """Where we are, and who."""
        web = make_web_api(self.access, session, self.clock, self._scopes)
        me = await authenticate(web, self.access)
        self.hearing.other.since = web.now()
        ids = ChannelIdTable(self.journal, me.team)
        web.channel_now = ids.current_id
        channels = frozenset(map(ids.first_id, self.allowed.channels))
        return SlackWorkspace(
            web=web,
            me=me,
            people=PeopleDirectory(
                web, me, GuestTracker(self.journal, me.team), NameRegister(self.journal, me), self.owners
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
        )

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    @property
    def died(self) -> asyncio.Future[None]:
        """Fails when Slack will not have us any more: the daemon cannot go on."""
        return self._workspace.web.died

    @property
    def owner_advice(self) -> Sequence[str]:
        """What only an owner can mend, and how: a sentence each."""
        return [*self._scopes.owner_advice, *self.hearing.other.owner_advice, *self._left_out.owner_advice]

    async def name_of(self, id: str) -> str:
        """What a person or a channel is called; empty where Slack does not say it in time."""
        if not self.name:
            return ""
        return await self._workspace.people.look_up_name(id)

    async def people_in(self, channel: str) -> Collection[str]:
        """Those who are in a conversation beside the soul (ids); none where Slack does not say it in time."""
        web, found = self._workspace.web, set[str]()
        with suppress(TimeoutError, SlackApiError, *OUT_OF_REACH):
            async with asyncio.timeout(PATIENCE):
                found = await members(web.call_readonly, web.client.conversations_members, channel, most=1)
        return found - {self._workspace.me.user}

    def is_me(self, id: str) -> bool:
        """True for the ids of the soul's own user and bot."""
        return bool(self.name) and self._workspace.me.is_own_message(id, id)

    def message_link(self, channel: str, ts: str, root: str) -> str:
        """The link to a message where it stands in its thread; empty before Slack said where that is."""
        if not self.name:
            return ""
        now = self._workspace.channel_ids.current_id(channel)
        return make_permalink(self._workspace.me.url, now, ts, root)

    async def press(self, asked: Entry[QuestionAsked], user: str, choice: Button) -> bool:
        """Press a button of this question as this person; False where nothing is taken any more.

        It goes the way of a press in Slack. Raises JournalError.
        """
        return bool(self.name) and await self._inbox.press_outside_slack(asked, user, choice)

    def _read_missed(self) -> None:
        """Read what may have been missed; only what came while no line was alive was missed for sure."""
        self.catch_up.wake(missed=self.hearing.was_deaf)
        self.hearing.was_deaf = False

    async def connect(self) -> None:
        """Begin to listen; returns when Slack has said hello. Raises ConfigError."""
        await self._sockets.connect()
        self._inbox.bot_messages.begin()

    async def stop(self) -> None:
        """Take no more messages: Slack keeps what comes now for the next connection."""
        await self.catch_up.close()
        self._inbox.close()
        await self._sockets.close()
        await self._inbox.bot_messages.close()


def _app(client: AsyncWebClient, me: BotIdentity, inbox: Inbox) -> AsyncApp:
    """Bolt without its own ideas: who we are is known, and one middleware takes all there is."""

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None, team_id=me.team, bot_user_id=me.user, bot_id=me.bot, bot_token=client.token
        )

    app = AsyncApp(
        name="soul",  # or it would look through all frames for one
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
    """The one middleware. Of a plain function Bolt would look each time which arguments it wants."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    async def async_process(
        self, *, req: AsyncBoltRequest, resp: BoltResponse, next: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse:
        return await self._inbox.receive(req.body, req.context)

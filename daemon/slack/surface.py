"""Slack surface: WebSocket connections, their health, and all parts with one lifetime.

Each connection is replaced before it ends, by one with a new one-time ticket.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from http import HTTPStatus
from typing import Any

from aiohttp import (
    ClientConnectionError,
    ClientSession,
    ClientTimeout,
    ClientWebSocketResponse,
    ClientWSTimeout,
    ServerTimeoutError,
    WSMsgType,
    WSServerHandshakeError,
)
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
from daemon.slack.block_text import count_at, first_text, parse_json, string_at
from daemon.slack.directory import PATIENCE, AccessPolicy, GuestTracker, NameRegister, PeopleDirectory
from daemon.slack.earlier_messages import EarlierMessageReader, SlackMessageDeleter
from daemon.slack.inbox import Inbox
from daemon.slack.incoming import BotIdentity
from daemon.slack.places import (
    ChannelIdTable,
    OtherDaemonDetector,
    SlackConversationOpener,
    SlackWorkspace,
    ensure_journal_id,
    make_permalink,
)
from daemon.slack.recorded_audiences import RecordedAudiences
from daemon.slack.shared_files import SlackFileSource, SlackSourceProvider
from daemon.slack.socket_allotment import SocketAllotment
from daemon.slack.speaker import SlackSpeaker
from daemon.slack.user_groups import SlackUserGroups
from daemon.slack.web_api import (
    OUT_OF_REACH,
    TIMEOUT,
    RefusedContent,
    ScopeStatus,
    SlackAccess,
    WebApi,
    authenticate,
    describe_failure,
    make_web_api,
    quiet_logger,
    read_members,
    retry_pause,
    socket_url,
)

Listen = Callable[[AsyncBoltRequest], Awaitable[str | None]]
"""Handler of an envelope; returns the payload of its ack (JSON, often empty), None if it may not be acked."""

TAKEN = ("event_callback", "block_actions", "view_submission", "app_rate_limited")
"""Types of payloads for the inbox; others are ignored."""

PARTS = ("type", "event", "actions", "user", "channel", "view", "trigger_id")
"""Fields of a payload that Bolt gets."""

BEAT = 10.0
"""Seconds of silence before a ping, which Slack must answer in half the time."""

ACK = 3.0
"""Seconds for an ack before Slack sends the envelope elsewhere."""

log = logging.getLogger(__name__)


class SlackConnection:
    """WebSocket of Slack; each envelope is acked after `listen` accepts it."""

    def __init__(self, ws: ClientWebSocketResponse, listen: Listen, hearing: ConnectionHealth) -> None:
        loop = asyncio.get_running_loop()
        self.greeted: asyncio.Future[None] = loop.create_future()
        """Done at Slack's hello; fails if the connection ends before."""
        self.over: asyncio.Future[str] = loop.create_future()
        """Reason to replace the connection, set at its end: Slack's code, "closed" or "silent"."""
        self.counted = 0
        """Number of the app's sockets that Slack states at hello; 0 if not stated."""
        self._said_hello = False
        self._ws = ws
        self._listen = listen
        self._hearing = hearing
        self._answers: set[asyncio.Task[None]] = set()
        self._reading = asyncio.create_task(self._read())

    @property
    def is_alive(self) -> bool:
        """True if Slack can send events here."""
        return self._said_hello and not self._ws.closed

    @property
    def may_be_counted(self) -> bool:
        return not self._ws.closed

    async def close(self, patience: float = ACK) -> None:
        """Close the connection; acks on their way get `patience` seconds."""
        if self._answers and patience:
            await asyncio.wait(self._answers, timeout=patience)
        await self._ws.close()
        rest = (self._reading, *self._answers)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _read(self) -> None:
        try:
            async for frame in self._ws:
                self._hearing.note_frame()
                if frame.type is WSMsgType.PING:
                    with suppress(ConnectionError):
                        await self._ws.pong(frame.data)
                elif frame.type is WSMsgType.TEXT:
                    self._take(frame.data)
        finally:
            why = "closed"
            if isinstance(self._ws.exception(), ServerTimeoutError):
                why = "silent"
            self._end(why)

    def _take(self, text: str) -> None:
        frame = _frame(text)
        match frame.get("type"):
            case "hello":
                if not self.greeted.done():
                    self._said_hello = True
                    self.counted = count_at(frame.get("num_connections"))
                    self.greeted.set_result(None)
            case "disconnect":
                self._end(first_text(frame, "reason"))
            case _ if first_text(frame, "envelope_id"):
                answer = asyncio.create_task(self._answer(frame))
                self._answers.add(answer)
                answer.add_done_callback(self._answers.discard)

    async def _answer(self, frame: dict[str, Any]) -> None:
        payload = frame.get("payload")
        request = _bolt_request(payload)
        answer = ""
        if request is None:
            if not isinstance(payload, Mapping) or payload.get("type") in TAKEN:
                log.warning("Acked and ignored a malformed envelope of Slack.")
        else:
            self._hearing.note_event(first_text(frame, "type"))
            heard = await self._listen(request)
            if heard is None:
                return
            answer = heard
        await self._ack(first_text(frame, "envelope_id"), answer)

    async def _ack(self, envelope: str, answer: str) -> None:
        ack: dict[str, Any] = {"envelope_id": envelope}
        if answer:
            ack["payload"] = json.loads(answer)
        for connection in (self, *self._hearing.lines):
            if not connection._ws.closed:
                with suppress(ConnectionError):
                    return await connection._ws.send_str(json.dumps(ack))
        return None

    async def abandon(self, why: str) -> None:
        """Close the connection at once: Slack sends what was not acked to another one."""
        self._end(why)
        await self.close(patience=0.0)

    def _end(self, why: str) -> None:
        if not self.over.done():
            self.over.set_result(why)
        if not self.greeted.done():
            self.greeted.set_exception(
                ClientConnectionError(f"expected a hello of Slack, but the connection ended ({why})")
            )


class ConnectionHealth:
    def __init__(self, clock: Clock, wanted: int, share: AppShare | None = None) -> None:
        self._clock = clock
        self.allotment = SocketAllotment(share or WholeApp(), clock, wanted)
        self._frame_at: float | None = None
        self._event_at: float | None = None
        self.wanted = wanted
        self.was_deaf = False
        """True if at any time since the last backfill no connection was open."""
        self.opening = 0
        self.lines: set[SlackConnection] = set()
        self.other = OtherDaemonDetector(clock)
        self.events = Counter[str]()
        self.opened = Counter[str]()
        """Number of opened connections by reason: "start" or the reason for a replacement."""
        self.failed = Counter[str]()
        """Number of failed openings by missing step: "ticket", "handshake" or "answer"."""

    def note_frame(self) -> None:
        self._frame_at = self._clock.steady()

    def note_event(self, type: str) -> None:
        self._event_at = self._clock.steady()
        self.events[type] += 1

    @property
    def alive_count(self) -> int:
        return sum(connection.is_alive for connection in self.lines)

    def compare_socket_count(self, connection: SlackConnection) -> float | None:
        if not connection.counted:
            return None
        ours = self.opening + sum(one.may_be_counted for one in self.lines) + self.allotment.elsewhere
        unsure = self.allotment.seconds_unsure
        if connection.counted > ours and unsure > 0:  # perhaps of a daemon that died before this one's start
            return unsure
        return self.other.compare_socket_count(connection.counted, ours)

    @property
    def is_disconnected(self) -> bool:
        """True if no connection is open although one could be, or all are silent."""
        if self.allotment.is_empty:
            return False
        return not self.alive_count or (self.inbound_age or 0) > 2 * BEAT

    @property
    def inbound_age(self) -> float | None:
        return self._since(self._frame_at)

    @property
    def event_age(self) -> float | None:
        return self._since(self._event_at)

    def _since(self, at: float | None) -> float | None:
        if at is None:
            return None
        return self._clock.steady() - at


def _frame(text: str) -> dict[str, Any]:
    frame = parse_json(text)
    if isinstance(frame, dict):
        return frame
    return {"envelope_id": string_at(text, "envelope_id")}


def _bolt_request(payload: object) -> AsyncBoltRequest | None:
    """Return the payload as a Bolt request; None if not for the inbox.

    Bolt trusts fields that the inbox does not need, so only known fields are passed.
    """
    if not isinstance(payload, Mapping) or payload.get("type") not in TAKEN:
        return None
    body = {name: payload[name] for name in PARTS if name in payload}
    try:
        request = AsyncBoltRequest(body=body, mode="socket_mode")
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return None
    if "actions" in body and not (body["actions"] and isinstance(body["actions"], list)):
        return None
    if body["type"] == "event_callback" and not isinstance(body.get("event"), Mapping):
        return None
    return request


GOODBYE = 2.0

FULL = "too_many_websockets"
"""Slack's code for too many sockets: the old one must close before a new one opens."""

RECOUNT = "recount"
"""Reason to replace a healthy connection: a new one brings Slack's count."""

LOG_AWAY = "log_away"
"""Reason to close a connection: what it brings cannot be recorded."""

STEADY = 60.0
"""Seconds that a connection must last to be replaced without a pause."""

ADVICE = {
    FULL: "Lower SLACK_CONNECTIONS, or stop what else uses this app.",
    "link_disabled": "Switch Socket Mode on at https://api.slack.com/apps, your app, Socket Mode.",
}


@dataclass(eq=False)
class ConnectionPool:
    """Independent connections for one Bolt app.

    `began` is called when events arrive after a possible gap. A connection ends after 1.5 beats of silence.
    """

    app: AsyncApp
    web: WebApi
    access: SlackAccess
    session: ClientSession
    hearing: ConnectionHealth
    began: Callable[[], None]
    beat: float = BEAT

    def __post_init__(self) -> None:
        self._first = asyncio.Event()
        self._keeping: list[asyncio.Task[None]] = []
        self._allotment = self.hearing.allotment

    async def connect(self) -> None:
        """Open the connections; return when the first is open, or if other daemons have all sockets."""
        await self._allotment.ask()
        for number in range(self.hearing.wanted):
            self._start(self._keep_connected(number))
        if self._allotment.is_shared:
            self._start(self._allotment.follow(self._abandon_all))
        if self._allotment.is_empty:
            return
        first = asyncio.create_task(self._first.wait())
        try:
            await asyncio.wait((self.web.died, first), return_when=asyncio.FIRST_COMPLETED)
        finally:
            first.cancel()
        if self.web.died.done():
            self.web.died.result()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        self._keeping.append(task)

    async def close(self) -> None:
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)
        await asyncio.gather(*map(self._hang_up, self.hearing.lines))

    async def _abandon_all(self) -> None:
        self.hearing.was_deaf = True
        await asyncio.gather(*(connection.abandon(LOG_AWAY) for connection in self.hearing.lines))

    async def _keep_connected(self, number: int) -> None:
        """Keep one connection open until cancelled. The next one opens before the last closes, so that no
        event is lost.

        Raises ConfigError if Slack rejects a token.
        """
        clock = self.web.clock
        last: SlackConnection | None = None
        reason = "start"
        attempts = 0
        while True:
            has_spare = bool(last and last.is_alive and reason != FULL and await self._allotment.take_spare())
            if last and not has_spare and (last.is_alive or reason == FULL):
                await self._hang_up(last)
            attempts += 1
            await clock.sleep(retry_pause(attempts))
            await self._allotment.wait_for(number)
            connection = await self._try_to_open()
            if connection:
                again = self.hearing.compare_socket_count(connection)
                self.hearing.opened[reason] += 1
                if last is None or not last.is_alive:
                    self._first.set()
                    self.began()
                if last:
                    await self._hang_up(last)
                last = connection
            if has_spare:
                await self._allotment.give_spare_back()
            if connection is None:
                continue
            since = clock.steady()
            reason = await self._replacement_reason(connection, again)
            self._report_replacement(reason)
            if reason == RECOUNT or clock.steady() - since >= STEADY:
                attempts = 0

    def _report_replacement(self, reason: str) -> None:
        self.hearing.was_deaf |= not self.hearing.alive_count
        if reason in ADVICE:
            log.warning("Slack asked for a connection to be replaced (%s). %s", reason, ADVICE[reason])

    async def _try_to_open(self) -> SlackConnection | None:
        self.hearing.opening += 1
        try:
            return await self._open()
        except (SlackApiError, *OUT_OF_REACH) as failure:
            self.hearing.failed[_missing_step(failure)] += 1
            log.warning("Could not open a connection to Slack (%s); retrying.", describe_failure(failure))
            return None
        finally:
            self.hearing.opening -= 1

    async def _replacement_reason(self, connection: SlackConnection, again: float | None) -> str:
        if again is None:
            return await connection.over
        pause = asyncio.create_task(self.web.clock.sleep(again))
        try:
            await asyncio.wait((connection.over, pause), return_when=asyncio.FIRST_COMPLETED)
            return connection.over.result() if connection.over.done() else RECOUNT
        finally:
            pause.cancel()
            await asyncio.gather(pause, return_exceptions=True)

    async def _open(self) -> SlackConnection:
        """Open a connection and await its hello.

        Raises ConfigError if Slack rejects a token, else SlackApiError or OUT_OF_REACH.
        """
        client = self.web.client
        ws = await self.session.ws_connect(
            await socket_url(self.web, self.access),
            autoping=False,  # a pong counts as a received frame
            heartbeat=self.beat,
            proxy=client.proxy,
            ssl=client.ssl or True,
            timeout=ClientWSTimeout(ws_close=GOODBYE),
        )
        connection = SlackConnection(ws, self._listen, self.hearing)
        self.hearing.lines.add(connection)
        try:
            async with asyncio.timeout(self.beat):
                await connection.greeted
        except BaseException:
            await self._hang_up(connection)
            raise
        return connection

    async def _hang_up(self, connection: SlackConnection) -> None:
        await connection.close()
        self.hearing.lines.discard(connection)

    async def _listen(self, request: AsyncBoltRequest) -> str | None:
        response = await self.app.async_dispatch(request)
        if response.status != HTTPStatus.OK:
            return None
        return response.body or ""

    def _ended(self, keeping: asyncio.Task[None]) -> None:
        if keeping.cancelled():
            return
        error = keeping.exception()
        if error:
            self.web.give_up(error)


def _missing_step(failure: Exception) -> str:
    if isinstance(failure, SlackApiError):
        return "ticket"
    if isinstance(failure, WSServerHandshakeError):
        return "handshake"
    return "answer"


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
        if not self.share.is_shared:
            self.speaker.begin()

    async def connect(self, life: int = 0) -> None:
        """Open the sockets, and do the background work of this daemon's roles.

        `life` is the seq of the worker's start; only daemons that share the app need it.
        """
        if self.share.is_shared:
            self.speaker.begin_shared(life)
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

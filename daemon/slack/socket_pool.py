"""WebSocket connections of Slack: their health, and their replacement without gaps.

Each connection is replaced before it ends, by one with a new one-time ticket.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from aiohttp import (
    ClientConnectionError,
    ClientSession,
    ClientWebSocketResponse,
    ClientWSTimeout,
    ServerTimeoutError,
    WSMsgType,
    WSServerHandshakeError,
)
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.errors import SlackApiError

from daemon.engine.clock import Clock
from daemon.slack.app_share import AppShare, WholeApp
from daemon.slack.block_text import count_at, first_text, parse_json, string_at
from daemon.slack.places import OtherDaemonDetector
from daemon.slack.socket_allotment import SocketAllotment
from daemon.slack.web_api import (
    OUT_OF_REACH,
    SlackAccess,
    WebApi,
    describe_failure,
    retry_pause,
    socket_url,
)

log = logging.getLogger(__name__)

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

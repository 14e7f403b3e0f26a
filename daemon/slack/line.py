"""One WebSocket to Slack, from its handshake to its end; and how well the soul hears on all of them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from aiohttp import ClientConnectionError, ClientWebSocketResponse, ServerTimeoutError, WSMsgType
from slack_bolt.request.async_request import AsyncBoltRequest

from daemon.ports import Clock
from daemon.slack.other_daemon import OtherDaemonDetector
from daemon.slack.payload import count_at, first_text, parse_json, string_at

Listen = Callable[[AsyncBoltRequest], Awaitable[bool]]
"""Takes what is in an envelope; may that be acked?"""

TAKEN = ("event_callback", "block_actions", "app_rate_limited")
"""Types of payloads that the inbox takes. Forms, shortcuts and commands of Slack's are none of ours."""
PARTS = ("type", "event", "actions", "user", "channel")
"""What it reads of them."""
BEAT = 10.0
"""Seconds of silence after which a line is asked for a sign of life, which must come in half of them."""
ACK = 3.0
"""Seconds in which Slack wants its ack: what takes longer comes again, on another line."""

log = logging.getLogger(__name__)


class SlackConnection:
    """A live WebSocket, on which each envelope is acked when `listen` has taken what is in it."""

    def __init__(self, ws: ClientWebSocketResponse, listen: Listen, hearing: ConnectionHealth) -> None:
        loop = asyncio.get_running_loop()
        self.greeted: asyncio.Future[None] = loop.create_future()
        """Done when Slack has said hello; fails when the line ends before."""
        self.over: asyncio.Future[str] = loop.create_future()
        """Why another line must take its place: Slack's word for it, or "closed" or "silent"."""
        self.counted = 0
        """How many sockets of the app Slack counted as this one began; 0: it did not say."""
        self._said_hello = False
        self._ws = ws
        self._listen = listen
        self._hearing = hearing
        self._answers: set[asyncio.Task[None]] = set()
        self._reading = asyncio.create_task(self._read())

    @property
    def is_alive(self) -> bool:
        """Does Slack send events here, as far as we know?"""
        return self._said_hello and not self._ws.closed

    @property
    def may_be_counted(self) -> bool:
        """May Slack count it as a socket of ours?"""
        return not self._ws.closed

    async def close(self) -> None:
        """Answer what came in, then hang up."""
        if self._answers:
            await asyncio.wait(self._answers, timeout=ACK)
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
        """Bolt's part, but for what nobody here takes: that is acked at once, or it would come again."""
        payload = frame.get("payload")
        request = _taken(payload)
        if request is None:
            if not isinstance(payload, Mapping) or payload.get("type") in TAKEN:
                log.warning("Slack sent an envelope that cannot be read.")
        else:
            self._hearing.note_event(first_text(frame, "type"))
            if not await self._listen(request):
                return
        await self._ack(first_text(frame, "envelope_id"))

    async def _ack(self, envelope: str) -> None:
        """Send it here, or where this line is dead, on one that is alive. Else Slack will ask again."""
        for line in (self, *self._hearing.lines):
            if not line._ws.closed:
                with suppress(ConnectionError):
                    return await line._ws.send_str(json.dumps({"envelope_id": envelope}))
        return None

    def _end(self, why: str) -> None:
        if not self.over.done():
            self.over.set_result(why)
        if not self.greeted.done():
            self.greeted.set_exception(ClientConnectionError(f"Slack said no hello ({why})"))


class ConnectionHealth:
    """Which lines are alive, what came in, and what that took, since the start. For /healthz and /metrics."""

    def __init__(self, clock: Clock, wanted: int) -> None:
        self._clock = clock
        self._frame_at: float | None = None
        self._event_at: float | None = None
        self.wanted = wanted
        self.was_deaf = False
        """True if all lines had ended at a time since the last catching up was asked for."""
        self.opening = 0
        """Attempts at a line that are on their way."""
        self.lines: set[SlackConnection] = set()
        self.other = OtherDaemonDetector(clock)
        """Whether another daemon uses the same app."""
        self.events = Counter[str]()
        """What Slack sent, by its type."""
        self.opened = Counter[str]()
        """Lines that began, by what made each necessary: "start", Slack's word, "closed" or "silent"."""
        self.failed = Counter[str]()
        """Attempts that came to nothing, by what they did not get: "ticket", "handshake" or "answer"."""

    def note_frame(self) -> None:
        """Something came in, if only the answer to a ping."""
        self._frame_at = self._clock.steady()

    def note_event(self, type: str) -> None:
        """An event came in."""
        self._event_at = self._clock.steady()
        self.events[type] += 1

    @property
    def alive_count(self) -> int:
        """How many lines are alive, as far as we know."""
        return sum(line.is_alive for line in self.lines)

    def compare_socket_count(self, line: SlackConnection) -> float | None:
        """Compare what Slack counted as this line began with what is ours; seconds until the next look."""
        if not line.counted:
            return None
        ours = self.opening + sum(one.may_be_counted for one in self.lines)
        return self.other.compare_socket_count(line.counted, ours)

    @property
    def is_disconnected(self) -> bool:
        """Is no line alive, or did nothing come in for longer than a live one is silent?"""
        return not self.alive_count or (self.inbound_age or 0) > 2 * BEAT

    @property
    def inbound_age(self) -> float | None:
        """Seconds since anything came in; None before the first time."""
        return self._since(self._frame_at)

    @property
    def event_age(self) -> float | None:
        """Seconds since an event came in; None before the first one. People may say nothing for a day."""
        return self._since(self._event_at)

    def _since(self, at: float | None) -> float | None:
        if at is None:
            return None
        return self._clock.steady() - at


def _frame(text: str) -> dict[str, Any]:
    """A frame; of one that cannot be read only its envelope; empty, if it has none."""
    frame = parse_json(text)
    if isinstance(frame, dict):
        return frame
    return {"envelope_id": string_at(text, "envelope_id")}


def _taken(payload: object) -> AsyncBoltRequest | None:
    """What of this payload the inbox reads, as Bolt has it; None where it takes nothing of it.

    Bolt looks for many things that nobody here needs, and takes each for what Slack promises: it gets no
    more than these parts, and only where it can make a request of them.
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

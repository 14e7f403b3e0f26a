"""The line on which Slack's events come: Bolt's Socket Mode handler, on a session that it shares.

Made by the surface. What Bolt itself would stumble over is acked here, so that nothing stays un-acked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from aiohttp import ClientSession
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

GOODBYE = 2.0
"""Seconds that Slack has to answer our closing of the socket."""

log = logging.getLogger(__name__)


class Socket:
    """One Socket Mode connection, renewed by the SDK when it breaks. Closing it closes the session, too."""

    def __init__(self, app: AsyncApp, app_token: str) -> None:
        self._client = AsyncSocketModeHandler(app, app_token).client
        self._client.message_listeners.append(self._listen)
        self._greeted = asyncio.Event()

    async def share(self, session: ClientSession, *, proxied: bool) -> None:
        """Use this session instead of one of its own."""
        await self._client.aiohttp_client_session.close()
        self._client.aiohttp_client_session = session
        if not proxied:
            self._client.proxy = None

    @property
    def connected(self) -> bool:
        """Is there a live connection, as far as we know?"""
        session = self._client.current_session
        return self._greeted.is_set() and session is not None and not session.closed

    async def connect(self, address: str) -> None:
        """Connect, first to this address; returns when Slack has said hello."""
        self._client.wss_uri = address
        await self._client.connect()  # type: ignore[no-untyped-call]
        await self._greeted.wait()

    async def disconnect(self) -> None:
        """Hear nothing more."""
        self._client.default_auto_reconnect_enabled = self._client.auto_reconnect_enabled = False
        if (session := self._client.current_session) is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(GOODBYE):
                    await session.close()

    async def close(self) -> None:
        """Disconnect for good, and wait for the SDK's own tasks."""
        client = self._client
        await client.close()  # type: ignore[no-untyped-call]
        tasks = (client.message_processor, client.current_session_monitor, client.message_receiver)
        await asyncio.gather(*(task for task in tasks if task), return_exceptions=True)

    async def _listen(
        self, client: AsyncBaseSocketModeClient, frame: dict[str, Any], _raw: str | None
    ) -> None:
        if frame.get("type") == "hello":
            self._greeted.set()
        elif "envelope_id" in frame and not _readable(frame.get("payload")):
            log.warning("Slack sent an envelope that cannot be read.")
            envelope = frame.pop("envelope_id")  # so that it goes no further
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=str(envelope)))


def _readable(payload: object) -> bool:
    """Can Bolt make a request of it, and its middleware find an event where one is promised?"""
    if not isinstance(payload, Mapping):
        return False
    try:
        AsyncBoltRequest(body=dict(payload), mode="socket_mode")
    except (AttributeError, LookupError, TypeError, ValueError):
        return False
    return payload.get("type") != "event_callback" or isinstance(payload.get("event"), Mapping)

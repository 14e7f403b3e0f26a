"""Requests between the daemons of a workspace, over the ports of their pages.

Each request names the daemon that it is for, since an address may by now be another one's, and proves that
the sender knows the key in the log's database. Nothing of it is recorded.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web

from daemon.console.server import CONNECTIONS
from daemon.settings.private_files import PrivateFiles
from daemon.web.peer_channel import PEERS_PATH, PeerAway, PeerChannel

KEY_FILE = "cluster-key"

PROOF_HEADER = "Authorization"
DAEMON_HEADER = "X-Soul-Worker"
"""Header with the worker id of the daemon that a request is for."""

CONNECT_SECONDS = 2.0
HEARTBEAT_SECONDS = 4.0
"""Seconds between pings on a channel; one without an answer for half as long is closed."""

MOST_MESSAGE_BYTES = 64 * 2**20

LONGEST_LINE = 2**20
"""Most bytes of a line of a stream."""

AWAY = (
    "{address} does not answer this daemon ({reason}). On several machines, HOST of each has to be an"
    " address that the others reach."
)
LOST = "The connection to the other daemon was lost."
"""Told to people too: it holds no address."""
WRONG_KEY = "This does not show the key of the workspace."
ANOTHER = "This is another daemon than the one that was asked."

Answer = Callable[[PeerChannel], Awaitable[None]]


def make_peer_key(files: PrivateFiles) -> str:
    """Return the key that all daemons of the workspace share. Raises OSError."""
    return files.create(KEY_FILE, secrets.token_urlsafe(32))


def _proof(key: str, worker_id: str) -> str:
    """Return what shows knowledge of the key to one daemon: whoever else gets it can do nothing with it."""
    return f"Bearer {hmac.digest(key.encode(), worker_id.encode(errors='replace'), 'sha256').hex()}"


class SocketChannel:
    """Channel over a WebSocket."""

    def __init__(self, socket: web.WebSocketResponse | aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def send(self, message: Mapping[str, Any]) -> None:
        try:
            await self._socket.send_str(json.dumps(message))
        except (ConnectionError, aiohttp.ClientError, RuntimeError) as error:
            raise PeerAway(LOST) from error

    async def receive(self) -> Mapping[str, Any]:
        message = await self._socket.receive()
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise PeerAway(LOST)
        said: Mapping[str, Any] = json.loads(message.data)
        return said


class PeerRoutes:
    """Answers of this daemon to the others; mounted before its worker id and key are known."""

    def __init__(self) -> None:
        self.key = ""
        self.worker_id = 0
        self.answers: dict[str, Answer] = {}
        """Function for channels, by name."""
        self.streams: dict[str, Callable[[], AsyncIterator[bytes]]] = {}
        """Function for streams of lines, by name."""

    def mount(self, app: web.Application) -> None:
        app.router.add_get(PEERS_PATH + "channel/{name}", self._channel)
        app.router.add_get(PEERS_PATH + "stream/{name}", self._stream)

    async def _channel(self, request: web.Request) -> web.StreamResponse:
        answer = self.answers.get(request.match_info["name"])
        refusal = self._refusal(request)
        if refusal or answer is None:
            return refusal or web.Response(status=404)
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS, max_msg_size=MOST_MESSAGE_BYTES)
        await socket.prepare(request)
        try:
            await answer(SocketChannel(socket))
        finally:
            await socket.close()
        return socket

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        lines = self.streams.get(request.match_info["name"])
        refusal = self._refusal(request)
        if refusal or lines is None:
            return refusal or web.Response(status=404)
        response = web.StreamResponse()
        await response.prepare(request)
        async for line in lines():
            await response.write(line)
        return response

    def _refusal(self, request: web.Request) -> web.Response | None:
        meant = request.headers.get(DAEMON_HEADER, "")
        shown = request.headers.get(PROOF_HEADER, "").encode(errors="replace")
        if not self.key or not hmac.compare_digest(shown, _proof(self.key, meant).encode()):
            return web.Response(status=401, text=WRONG_KEY)
        if meant != str(self.worker_id):
            return web.Response(status=421, text=ANOTHER)
        request.app[CONNECTIONS].mark_trusted(request.protocol)
        return None


class PeerClient:
    """Requests to other daemons; an async context manager. `addresses` has their pages by worker id."""

    def __init__(self, key: str, addresses: Callable[[], Mapping[int, str]]) -> None:
        self._key = key
        self._addresses = addresses
        self._http: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_connect=CONNECT_SECONDS)
        self._http = aiohttp.ClientSession(timeout=timeout, trust_env=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    @asynccontextmanager
    async def channel(self, worker_id: int, name: str) -> AsyncIterator[SocketChannel]:
        """Open a channel for the block. Raises PeerAway, before anything was sent."""
        address = self._address(worker_id)
        try:
            socket = await self._http.ws_connect(
                f"{address}{PEERS_PATH}channel/{name}",
                headers=self._headers(worker_id),
                heartbeat=HEARTBEAT_SECONDS,
                max_msg_size=MOST_MESSAGE_BYTES,
            )
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            raise PeerAway(AWAY.format(address=address, reason=_reason(error))) from error
        try:
            yield SocketChannel(socket)
        finally:
            await socket.close()

    async def stream(self, worker_id: int, name: str) -> AsyncIterator[bytes]:
        """Yield lines until the other daemon goes away. Raises PeerAway."""
        address = self._address(worker_id)
        url = f"{address}{PEERS_PATH}stream/{name}"
        try:
            asked = self._http.get(url, headers=self._headers(worker_id), read_bufsize=LONGEST_LINE)
            async with asked as response:
                response.raise_for_status()
                async for line in response.content:
                    yield line
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            raise PeerAway(AWAY.format(address=address, reason=_reason(error))) from error

    def _address(self, worker_id: int) -> str:
        address = self._addresses().get(worker_id)
        if not address:
            raise PeerAway("The daemon that has it is not alive, or has no address.")
        return address.rstrip("/")

    def _headers(self, worker_id: int) -> Mapping[str, str]:
        return {PROOF_HEADER: _proof(self._key, str(worker_id)), DAEMON_HEADER: str(worker_id)}


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.WSServerHandshakeError | aiohttp.ClientResponseError):
        return f"status {error.status}"
    return type(error).__name__

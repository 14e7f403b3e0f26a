"""`python -m daemon mcp`: pass MCP messages between stdin and stdout and the running daemon.

Written without the SDK, so that it starts at once. Both eras of the protocol are passed on. In the newer one,
each message has the version, and closing its connection cancels a request. In the older one, the daemon keeps
a session, which is opened anew after a restart.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from config import Settings
from daemon.app.command_files import find_token
from daemon.engine.journal.journal_file import lock_holder
from daemon.settings.parse import ConfigError
from daemon.settings.token_file import MCP_TOKEN_FILE

PATH = "/mcp"

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
"""Key of `_meta` that only messages of the newer era have."""

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Parameter that is repeated in the header Mcp-Name, by method."""

PLAIN_HEADER = re.compile(r"(?!\s|=\?)[\x20-\x7e]*(?<!\s)")
SESSION = "Mcp-Session-Id"
VERSION = "MCP-Protocol-Version"

CONNECT_SECONDS = 5.0
SILENT_SECONDS = 120.0
"""Seconds without a byte after which an answer is given up; the daemon sends a ping each 15 seconds."""

END_SECONDS = 2.0
"""Seconds that open requests get when stdin ends."""

PARSE_ERROR, SERVER_ERROR = -32700, -32000

OFF = "MCP_SERVER is off: set MCP_SERVER=public (or all, for its owner) in the daemon's .env, and restart it."
NOT_RUNNING = (
    "No daemon with these settings is running in {home}: start it. SOUL_HOME names the folder of the one "
    "that you mean; run this command in the daemon's own folder, where its .env is."
)
NO_ADDRESS = (
    "{home} no longer holds the MCP token or the address of the daemon that runs there: start it again."
)
LOST = (
    "The connection to the daemon broke off: it may have been restarted. What it had heard, it answers: "
    "the soul's page shows it."
)
NO_JSON = "This line is no JSON-RPC message."

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonAddress:
    host: str
    port: int
    token: str


def find_daemon(settings: Settings) -> DaemonAddress:
    """Return the address and token of the running daemon. Raises ConfigError with a remedy."""
    home = settings.soul_home
    if settings.mcp_server == "off":
        raise ConfigError(OFF)
    if not lock_holder(settings.journal_path):
        raise ConfigError(NOT_RUNNING.format(home=home))
    token = settings.mcp_token or find_token(settings, MCP_TOKEN_FILE)
    try:
        at = urlsplit(settings.address_path.read_text(encoding="utf-8").strip())
        host, port = at.hostname, at.port
    except (OSError, ValueError):
        host = port = None
    if not (token and host and port):
        raise ConfigError(NO_ADDRESS.format(home=home))
    return DaemonAddress(host=host, port=port, token=token)


def pass_on(settings: Settings, incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Pass lines on until `incoming` ends. Raises ConfigError if no daemon runs at the start."""
    find_daemon(settings)
    bridge = StdioBridge(settings, outgoing)
    for line in incoming:
        if line.strip():
            bridge.take(line)
    bridge.end()


def pass_stdio_on(settings: Settings) -> None:
    pass_on(settings, sys.stdin.buffer, sys.stdout.buffer)


@dataclass(slots=True, kw_only=True)
class OpenRequest:
    """A request on its way; `is_modern`: closing its connection cancels it."""

    is_modern: bool
    connection: http.client.HTTPConnection | None = None
    is_cancelled: bool = False

    def close(self) -> None:
        self.is_cancelled = True
        connection = self.connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)


@dataclass(slots=True, kw_only=True)
class OldSession:
    """Session of the older era, with the messages that open it again."""

    id: str = ""
    version: str = ""
    opening: list[Message] = field(default_factory=list)


class StdioBridge:
    """Bridge from lines of a client to requests to the daemon, and back to `outgoing`."""

    def __init__(self, settings: Settings, outgoing: BinaryIO) -> None:
        self._settings = settings
        self._outgoing = outgoing
        self._writing = threading.Lock()
        self._opening = threading.Lock()
        self._open: dict[Any, OpenRequest] = {}
        self._threads: list[threading.Thread] = []
        self._session = OldSession()

    def take(self, line: bytes) -> None:
        """Pass one message on. Requests go beside each other; all else keeps its order."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self._write(_error(None, PARSE_ERROR, NO_JSON))
            return
        method = message.get("method")
        if method == "notifications/cancelled" and self._cancel(message):
            return
        if "id" in message and method not in (None, "initialize"):
            self._threads = [one for one in self._threads if one.is_alive()]
            thread = threading.Thread(target=self._send, args=(message,), daemon=True)
            self._threads.append(thread)
            self._open[_id(message)] = OpenRequest(is_modern=bool(_modern_version(message)))
            thread.start()
        else:
            self._send(message)

    def end(self) -> None:
        """Let open requests end, for a moment; then cancel them, and the session."""
        for thread in self._threads:
            thread.join(END_SECONDS / max(len(self._threads), 1))
        for request in list(self._open.values()):
            if request.is_modern:
                request.close()
        if self._session.id:
            with suppress(OSError, http.client.HTTPException, ConfigError):
                self._exchange("DELETE", b"", {SESSION: self._session.id}, OpenRequest(is_modern=False))

    def _cancel(self, message: Message) -> bool:
        """Cancel a request of the newer era; False if the daemon has to be told."""
        params = message.get("params")
        asked = params.get("requestId") if isinstance(params, dict) else None
        request = self._open.get(json.dumps(asked))
        if request is None or not request.is_modern:
            return request is None and not self._session.id
        request.close()
        return True

    def _send(self, message: Message) -> None:
        request = self._open.get(_id(message)) or OpenRequest(is_modern=bool(_modern_version(message)))
        try:
            self._try_twice(message, request)
        except ConfigError as error:
            self._fail(message, request, str(error))
        except (OSError, http.client.HTTPException, ValueError):
            self._fail(message, request, LOST)
        finally:
            if "id" in message:
                self._open.pop(_id(message), None)

    def _try_twice(self, message: Message, request: OpenRequest) -> None:
        """Pass a message on; if the daemon has forgotten the session, open it anew and try again."""
        used = self._session.id
        if self._answer(message, request):
            return
        with self._opening:
            if self._session.id == used:
                self._session.id = ""
                for opening in self._session.opening:
                    self._answer(opening, OpenRequest(is_modern=False), silent=True)
        if not self._answer(message, request):
            self._fail(message, request, LOST)

    def _answer(self, message: Message, request: OpenRequest, *, silent: bool = False) -> bool:
        """Send a message, and write what comes of it; False if its session is unknown."""
        body = json.dumps(message).encode()
        response = self._exchange("POST", body, self._headers(message), request)
        if response.status == 404 and self._session.id and not request.is_modern:
            response.read()
            return False
        self._note(message, response)
        answered = False
        for part in _messages(response):
            answered = answered or "method" not in part
            self._session.version = self._session.version or _old_version(part)
            if not (silent or request.is_cancelled):
                self._write(_with_id(part, message, response.status))
        if not (answered or silent) and response.status != 202:
            self._fail(message, request, LOST)
        return True

    def _exchange(
        self, method: str, body: bytes, headers: Mapping[str, str], request: OpenRequest
    ) -> http.client.HTTPResponse:
        daemon = find_daemon(self._settings)
        connection = http.client.HTTPConnection(daemon.host, daemon.port, timeout=CONNECT_SECONDS)
        request.connection = connection
        connection.connect()
        connection.sock.settimeout(SILENT_SECONDS)
        usual = {
            "Authorization": f"Bearer {daemon.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        connection.request(method, PATH, body, {**usual, **headers})
        return connection.getresponse()

    def _headers(self, message: Message) -> Mapping[str, str]:
        method, version = str(message.get("method", "")), _modern_version(message)
        if not version:
            session = self._session
            known = {SESSION: session.id, VERSION: session.version}
            return {name: value for name, value in known.items() if value and method != "initialize"}
        headers = {VERSION: version, "Mcp-Method": _header(method)}
        if method in NAMED_BY:
            headers["Mcp-Name"] = _header(str(message["params"].get(NAMED_BY[method], "")))
        return headers

    def _note(self, message: Message, response: http.client.HTTPResponse) -> None:
        """Note what opens the session of the older era."""
        method = message.get("method")
        if method == "initialize" and response.status < 400:
            self._session = OldSession(id=response.headers.get(SESSION, ""), opening=[message])
        elif method == "notifications/initialized" and len(self._session.opening) == 1:
            self._session.opening.append(message)

    def _fail(self, message: Message, request: OpenRequest, why: str) -> None:
        if "id" in message and "method" in message and not request.is_cancelled:
            self._write(_error(message["id"], SERVER_ERROR, why))

    def _write(self, message: Message) -> None:
        with self._writing, suppress(OSError, ValueError):  # the client has gone
            self._outgoing.write(json.dumps(message).encode() + b"\n")
            self._outgoing.flush()


def _id(message: Message) -> str:
    return json.dumps(message.get("id"))


def _modern_version(message: Message) -> str:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None
    return version if isinstance(version, str) and version.isascii() and version.isprintable() else ""


def _old_version(part: Message) -> str:
    """Return the version that the daemon answers to `initialize`; empty for other messages."""
    result = part.get("result")
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) else ""


def _header(value: str) -> str:
    """Encode a value for a header, as the protocol says."""
    if PLAIN_HEADER.fullmatch(value):
        return value
    encoded = base64.b64encode(value.encode(errors="replace")).decode()
    return f"=?base64?{encoded}?="


def _error(id: Any, code: int, why: str) -> Message:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}


def _messages(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """Yield the messages of an answer as they come."""
    if response.headers.get_content_type() != "text/event-stream":
        body = response.read()
        if body:
            yield _object(body)
        return
    data: list[bytes] = []
    for line in response:
        name, _, value = line.rstrip(b"\r\n").partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        elif not name and not value and data:
            yield _object(b"\n".join(data))
            data = []


def _object(body: bytes) -> dict[str, Any]:
    found = json.loads(body)
    return found if isinstance(found, dict) else {}


def _with_id(part: dict[str, Any], message: Message, status: int) -> Message:
    """Return a message of the daemon; an error outside the protocol is made one of it."""
    if "jsonrpc" not in part:
        why = part.get("error")
        return _error(message.get("id"), SERVER_ERROR, why if isinstance(why, str) else f"HTTP {status}")
    if "method" not in part and part.get("id") is None:
        return {**part, "id": message.get("id")}
    return part

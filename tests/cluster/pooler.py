"""A pooler in transaction mode, as PgBouncer is one: many clients on one session of the server."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

ENCRYPTION_REQUESTS = (80877103, 80877104)


class TransactionPooler:
    """`as_version`: what clients are told of the server's version in place of the truth."""

    def __init__(self, server: tuple[str, int], as_version: str = "") -> None:
        self._server = server
        self._as_version = as_version
        self._session: socket.socket | None = None
        self._greeting = b""
        self._in_use = threading.Lock()
        """Held by the client whose transaction is open."""
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.listener.close()
        if self._session:
            self._session.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with closing(client), suppress(OSError, EOFError):
            startup = self._startup(client)
            with self._in_use:
                session = self._session or self._begin(startup)
            client.sendall(self._greeting)
            while True:
                kind, message = _message(client)
                if kind == b"X":
                    return
                with self._in_use:
                    self._transaction(client, session, kind, message)

    def _startup(self, client: socket.socket) -> bytes:
        while True:
            size = _exactly(client, 4)
            rest = _exactly(client, struct.unpack("!I", size)[0] - 4)
            if struct.unpack("!I", rest[:4])[0] not in ENCRYPTION_REQUESTS:
                return size + rest
            client.sendall(b"N")

    def _begin(self, startup: bytes) -> socket.socket:
        self._session = session = socket.create_connection(self._server)
        session.sendall(startup)
        kind = b""
        while kind != b"Z":
            kind, message = _message(session)
            if kind == b"S" and self._as_version and message[5:].startswith(b"server_version\0"):
                body = b"server_version\0" + self._as_version.encode() + b"\0"
                message = b"S" + struct.pack("!I", len(body) + 4) + body
            self._greeting += message
        return session

    def _transaction(
        self, client: socket.socket, session: socket.socket, kind: bytes, message: bytes
    ) -> None:
        while True:
            session.sendall(message)
            if kind in b"QS" and self._answer(client, session) == b"I":
                return
            kind, message = _message(client)

    def _answer(self, client: socket.socket, session: socket.socket) -> bytes:
        """Pass on all messages up to the next ReadyForQuery; return its state."""
        kind = b""
        while kind != b"Z":
            kind, message = _message(session)
            client.sendall(message)
        return message[5:6]


def _message(connection: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(connection, 5)
    return head[:1], head + _exactly(connection, struct.unpack("!I", head[1:])[0] - 4)


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise EOFError
        found += part
    return found


@contextmanager
def pooled(url: str, as_version: str = "") -> Iterator[str]:
    """Run a pooler in front of the server; yield the URL through it."""
    parts = urlsplit(url)
    pooler = TransactionPooler((parts.hostname or "", parts.port or 5432), as_version)
    port = pooler.listener.getsockname()[1]
    try:
        yield urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}"))
    finally:
        pooler.close()

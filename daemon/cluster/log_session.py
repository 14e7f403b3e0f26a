"""A session with the log's database: one question at a time, and none that waits too long for its answer."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg

CONNECT_SECONDS = 2
"""Seconds for a connection to one host, whatever the URL says: a daemon that waits longer counts as dead."""
ANSWER_SECONDS = 2.0
"""Seconds after which an answer is given up, and the connection with it."""

Asked = Sequence[Any]


class LogSession:
    """Connection that is made anew by `open`. `ask` raises psycopg.Error; the session is then of no use."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.AsyncConnection[tuple[Any, ...]] | None = None

    async def open(self, name: str) -> None:
        """Connect with `name` as the application's. Raises psycopg.Error."""
        await self.close()
        self._connection = await psycopg.AsyncConnection.connect(
            self._url, autocommit=True, application_name=name, connect_timeout=CONNECT_SECONDS
        )

    async def ask(self, query: str, asked: Asked = ()) -> Any:
        """Return the first value of the answer's first row."""
        connection = self._connection
        if connection is None:
            raise psycopg.OperationalError("there is no connection to the log")
        giving_up = asyncio.get_running_loop().call_later(ANSWER_SECONDS, _hang_up, connection)
        try:
            cursor = await connection.execute(query, asked)
            [value] = await cursor.fetchone() or (None,)
        finally:
            giving_up.cancel()
        return value

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


def _hang_up(connection: psycopg.AsyncConnection[Any]) -> None:
    # a cancelled query would ask the server to stop it, over the network that does not answer
    if not connection.closed:
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as doubled:
            doubled.shutdown(socket.SHUT_RDWR)

"""Questions to the log's database from the event loop, on one connection that comes back by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg.rows import tuple_row

from daemon.engine.exceptions import EngineError

ANSWER_SECONDS = 5.0
"""Seconds after which a question counts as unanswered, and its connection as lost."""

SOCKET_OPTIONS: Mapping[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
}

Row = tuple[Any, ...]


class LogAway(EngineError):
    """The log's database does not answer; the statement may have been carried out all the same."""

    recorded_name = "LogAway"


class LogQueries:
    """One connection for questions; each is a transaction of its own.

    An async context manager. `name` is shown by the server as the name of the application.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._connection: psycopg.AsyncConnection[Row] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._one_at_a_time:
            await self._drop()

    async def ask(self, query: str, *values: object) -> Sequence[Row]:
        """Return the rows of a query. Raises LogAway."""
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    return await self._ask(query, values)
            except (psycopg.OperationalError, psycopg.InterfaceError, TimeoutError) as error:
                await self._drop()
                raise LogAway(f"The log's database does not answer ({type(error).__name__}).") from error
            except BaseException:
                await self._drop()  # the answer may still be on its way
                raise

    async def _ask(self, query: str, values: Sequence[object]) -> Sequence[Row]:
        if self._connection is None:
            self._connection = await psycopg.AsyncConnection.connect(
                self._url,
                autocommit=True,
                application_name=self._name,
                row_factory=tuple_row,
                **SOCKET_OPTIONS,
            )
        cursor = await self._connection.execute(query.encode(), values)
        return await cursor.fetchall() if cursor.description else []

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


__all__ = ["ANSWER_SECONDS", "LogAway", "LogQueries", "Row"]

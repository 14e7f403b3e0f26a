"""Questions to the log's database from the event loop, in a session that comes back by itself."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import psycopg

from daemon.cluster.log_session import LogSession
from daemon.engine.exceptions import EngineError
from daemon.engine.journal.postgres_log import away_reason


class LogAway(EngineError):
    """The log's database does not answer; the statement may have been carried out all the same."""

    recorded_name = "LogAway"


class LogQueries:
    """Questions in one session, each a transaction of its own; an async context manager.

    `name` is that of the application: sessions of a daemon that counts as dead are ended by it.
    """

    def __init__(self, url: str, name: str) -> None:
        self._session = LogSession(url)
        self._name = name
        self._is_open = False
        self._one_at_a_time = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, query: str, *values: object) -> Any:
        """Return the first value of the answer's first row. Raises LogAway."""
        async with self._one_at_a_time:
            try:
                if not self._is_open:
                    await self._session.open(self._name)
                    self._is_open = True
                return await self._session.ask(query, values)
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                self._is_open = False
                raise LogAway(f"The log's database does not answer: {away_reason(error)}.") from error
            except BaseException:
                self._is_open = False  # the answer may still be on its way
                raise

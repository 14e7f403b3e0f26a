"""Start of a daemon with its log: the server is checked, and the tables are made or migrated.

What waiting mends is waited for and said; a wrong setting is a ConfigError.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing

import psycopg

from daemon.cluster.log_server import (
    LogUnreachable,
    ServerFacts,
    connect_to_server,
    examine_server,
    unreachable_sentence,
)
from daemon.cluster.schema import LogSchema, make_schema, prepare_log

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0

OLDER = (
    "Daemons of an older version use the log ({machines}): this one stands by, and migrates the log when the"
    " last of them has ended."
)


class LogStart:
    """One start. `waits_for` is a sentence about what it waits for; empty once the log is ready."""

    def __init__(
        self,
        url: str,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        schema: LogSchema | None = None,
    ) -> None:
        self._url = url
        self._sleep = sleep
        self._schema = schema or make_schema()
        self._facts: ServerFacts | None = None
        self.waits_for = ""
        self.is_behind_older = False
        """True while it stands by for daemons of an older version."""

    async def run(self) -> ServerFacts:
        """Return the server's state once the log is ready. Raises ConfigError."""
        while True:
            try:
                older = await asyncio.to_thread(self._prepare)
            except LogUnreachable as error:
                self._note(str(error), is_behind_older=False)
            else:
                if not older and self._facts:
                    self._note("", is_behind_older=False)
                    return self._facts
                self._note(OLDER.format(machines=", ".join(older)), is_behind_older=True)
            await self._sleep(RETRY_SECONDS)

    def _prepare(self) -> Sequence[str]:
        """Check the server, once, and the tables; return the machines of older daemons."""
        if self._facts is None:
            self._facts = examine_server(self._url)
            for warning in self._facts.warnings:
                log.warning("%s", warning)
        with closing(connect_to_server(self._url, "soul:start")) as connection:
            try:
                return prepare_log(connection, self._schema)
            except psycopg.Error as error:
                raise LogUnreachable(unreachable_sentence(error, self._url)) from None

    def _note(self, waits_for: str, *, is_behind_older: bool) -> None:
        if waits_for and waits_for != self.waits_for:
            log.warning("%s", waits_for)
        elif self.waits_for and not waits_for:
            log.warning("The journal's database can be used.")
        self.waits_for, self.is_behind_older = waits_for, is_behind_older

"""Credentials of the page out of the log's database, for commands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from config import Settings
from daemon.cluster.file_table import FileTable
from daemon.console.access import PageCredentials
from daemon.console.shared_secrets import open_shared_credentials
from daemon.engine.exceptions import JournalError
from daemon.settings.token_file import CONSOLE_TOKEN_FILE


def log_files(settings: Settings) -> FileTable:
    """Return the files, to be used in `async with`."""
    return FileTable(settings.database_url, "soul:command")


@asynccontextmanager
async def log_credentials(
    settings: Settings, now: Callable[[], float]
) -> AsyncIterator[PageCredentials | None]:
    """Open the credentials; None without a token. Raises JournalError while the database is away."""
    async with log_files(settings) as files:
        try:
            token = settings.console_token or files.read(CONSOLE_TOKEN_FILE.name)
        except OSError as error:
            raise JournalError(f"{error.strerror} Links to the page are kept there.") from error
        yield open_shared_credentials(files, token.strip(), now) if token else None

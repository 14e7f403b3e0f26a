"""Private files of the daemon that runs with the same settings, for commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from config import Settings
from daemon.app.discovery import load_for_log
from daemon.engine.exceptions import JournalError
from daemon.settings.private_files import FolderFiles, PrivateFiles
from daemon.settings.token_file import TokenFile, read_token


@asynccontextmanager
async def open_private_files(settings: Settings) -> AsyncIterator[PrivateFiles]:
    """Open the files in SOUL_HOME, or with DATABASE_URL those in the log's database."""
    if not settings.database_url:
        yield FolderFiles(settings.soul_home)
        return
    module = await load_for_log("log_credentials")
    async with module.log_files(settings) as files:
        yield files


def find_token(settings: Settings, file: TokenFile) -> str:
    """Return a token of the daemon; empty without one. Raises ConfigError and JournalError."""
    if not settings.database_url:
        return read_token(settings.soul_home, file)
    return asyncio.run(_read(settings, file.name)).strip()


async def _read(settings: Settings, name: str) -> str:
    async with open_private_files(settings) as files:
        try:
            return files.read(name) or ""
        except OSError as error:
            raise JournalError(f"{error.strerror} The token is kept there.") from error

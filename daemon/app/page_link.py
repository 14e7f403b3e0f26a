"""Credentials of the page, and links that open it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from config import Settings
from daemon.app.discovery import load_for_log
from daemon.console.access import PageCredentials, read_or_make_token
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal_file import lock_holder
from daemon.settings.home import create_home, write_private
from daemon.settings.parse import ConfigError
from daemon.settings.token_file import read_token

log = logging.getLogger(__name__)

NOT_RUNNING = (
    "No daemon with these settings is running in {home}: start it, and the last line that it prints holds a "
    "link. SOUL_HOME names the folder of the one that you mean."
)


def make_credentials(settings: Settings, now: Callable[[], float]) -> PageCredentials:
    """Return the credentials of the page; create a missing token. Raises ConfigError and JournalError."""
    create_home(settings.soul_home)
    token = settings.console_token or read_or_make_token(settings.soul_home)
    return PageCredentials.open_home(settings.soul_home, token, now)


def write_address(path: Path, here: str) -> None:
    """Write the daemon's address to a file for the CLI command `link`; a failure is only logged."""
    try:
        write_private(path, f"{here}\n")
    except OSError as error:
        log.warning(
            "%s cannot be written (%s): `python -m daemon link` prints no address.", path, error.strerror
        )


async def page_link(page: str, credentials: PageCredentials) -> str:
    """Return the page's address with a new token, or without one if none can be stored."""
    try:
        return f"{page}/?token={await credentials.make_link()}"
    except JournalError as error:
        log.warning("Could not make a link to the page: %s", error)
        return page


async def make_page_link(settings: Settings, now: Callable[[], float]) -> str:
    """Return a link to the page of the running daemon.

    Raises ConfigError without a running daemon or a token, JournalError if the link cannot be stored.
    """
    if not lock_holder(settings.journal_path):
        raise ConfigError(NOT_RUNNING.format(home=settings.soul_home))
    here = _text_or_empty(settings.address_path)
    async with _open_credentials(settings, now) as credentials:
        if not credentials or not here:
            raise ConfigError(
                f"{settings.soul_home} no longer holds the token or the address of the daemon that runs "
                "there: start it again."
            )
        page = settings.console_url.rstrip("/") or here
        return f"{page}/?token={await credentials.make_link()}"


@asynccontextmanager
async def _open_credentials(
    settings: Settings, now: Callable[[], float]
) -> AsyncIterator[PageCredentials | None]:
    if settings.database_url:
        module = await load_for_log("log_credentials")
        async with module.log_credentials(settings, now) as credentials:
            yield credentials
        return
    token = settings.console_token or read_token(settings.soul_home)
    yield PageCredentials.open_home(settings.soul_home, token, now) if token else None


def _text_or_empty(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""

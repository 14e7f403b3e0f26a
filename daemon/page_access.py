"""What opens the page of these settings, and a link to it. For the wiring, and the command `link`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from config import Settings
from daemon.console import token_file
from daemon.console.credentials import PageCredentials
from daemon.engine.exceptions import JournalError
from daemon.engine.lock import lock_holder
from daemon.errors import ConfigError
from daemon.private import write_private
from daemon.project import create_home

ASLEEP = (
    "No daemon with these settings is running in {home}: start it, and the last line that it prints holds a "
    "link. SOUL_HOME names the folder of the one that you mean."
)

log = logging.getLogger(__name__)


def make_credentials(settings: Settings, now: Callable[[], float]) -> PageCredentials:
    """Return what opens the page; the lasting token is made where there is none. Raises ConfigError and
    JournalError."""
    create_home(settings.soul_home)
    token = settings.console_token or token_file.read_or_make_token(settings.soul_home)
    return PageCredentials.open_home(settings.soul_home, token, now)


def write_address(path: Path, here: str) -> None:
    """Keep where the daemon listens, for the command `link`. A disk that is full is no reason to end."""
    try:
        write_private(path, f"{here}\n")
    except OSError as error:
        log.warning(
            "%s cannot be written (%s): `python -m daemon link` prints no address.", path, error.strerror
        )


def page_link(page: str, credentials: PageCredentials) -> str:
    """Return the page's address with a new link's token; without one where none can be kept."""
    try:
        return f"{page}/?token={credentials.make_link()}"
    except JournalError as error:
        log.warning("There is no link to the page: %s", error)
        return page


def make_page_link(settings: Settings, now: Callable[[], float]) -> str:
    """Return a link to the page of the daemon that runs with these settings. Raises ConfigError where none
    runs, or its token cannot be read, and JournalError where no link can be kept."""
    if not lock_holder(settings.journal_path):
        raise ConfigError(ASLEEP.format(home=settings.soul_home))
    token = settings.console_token or token_file.read_token(settings.soul_home)
    here = _text(settings.address_path)
    if not token or not here:
        raise ConfigError(
            f"{settings.soul_home} no longer holds the token or the address of the daemon that runs there: "
            "start it again."
        )
    page = settings.console_url.rstrip("/") or here
    return f"{page}/?token={PageCredentials.open_home(settings.soul_home, token, now).make_link()}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""

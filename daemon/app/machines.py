"""Daemons of one workspace, as seen from one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from aiohttp import web

from config import Settings
from daemon.app.page_link import make_credentials
from daemon.claude.model_places import ModelPlaces
from daemon.console.access import PageCredentials, read_or_make_token
from daemon.console.live_calls import LiveCalls, LiveThoughts
from daemon.engine.clock import Clock
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.writer import JournalWriter
from daemon.engine.tree_share import AllTrees, TreeShare
from daemon.inner_life.programs.placement import ProgramPlacement
from daemon.kinds import SOUL_KINDS
from daemon.settings.private_files import FolderFiles, PrivateFiles
from daemon.settings.token_file import TokenFile
from daemon.slack.app_share import AppShare, WholeApp
from daemon.tools.connection import ServerOpener
from daemon.turn.reservations import CallReservations

FollowDeath = Callable[[str, int], Awaitable[None]]
"""Clean up after the daemon of a machine with a worker id."""


PlaceServers = Callable[[ServerOpener], ServerOpener]
"""Change of the function that opens connections to tool servers: one daemon alone runs each program."""


class DaemonPeers(Protocol):
    """Work of the daemons of a workspace for each other."""

    def mount(self, app: web.Application) -> None:
        """Answer the others at this daemon's port."""

    def stating_digests(self, folder: Path, clock: Clock) -> AbstractAsyncContextManager[None]:
        """State digests of this machine's files inside the block; `folder` holds the owner's texts."""

    def show_thoughts(self, own: LiveCalls) -> LiveThoughts:
        """Return the running calls of all daemons."""

    def place_servers(self, journal: Journal) -> PlaceServers | None:
        """Return how tool servers are placed; None if they all run here."""


class NoPeers:
    def mount(self, app: web.Application) -> None:
        return

    def stating_digests(self, folder: Path, clock: Clock) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def show_thoughts(self, own: LiveCalls) -> LiveThoughts:
        return own

    def place_servers(self, journal: Journal) -> PlaceServers | None:
        return None


class WorkspaceShare(Protocol):
    """Share of this daemon in its workspace.

    `clock` is the same for all daemons, and `files` keep what each of them needs. `died` fails once the
    others do this daemon's work. Another daemon may be up to `lag` seconds ahead.
    """

    clock: Clock
    files: PrivateFiles
    share: AppShare
    trees: TreeShare
    lag: float
    reservations: CallReservations | None
    places: ModelPlaces | None
    peers: DaemonPeers
    died: asyncio.Future[None]

    async def make_credentials(self) -> PageCredentials:
        """Return the credentials of the page. Raises ConfigError and JournalError."""

    async def make_token(self, file: TokenFile) -> str:
        """Return the token of this name; make a missing one. Raises ConfigError and JournalError."""

    def open_journal(self, writer: type[JournalWriter]) -> AbstractAsyncContextManager[Journal]:
        """Open this daemon's journal. Raises ConfigError and JournalError."""

    def make_placement(self, journal: Journal) -> ProgramPlacement | None:
        """Return the placement of the inner life's programs; None if they all run here."""

    async def admit(self, team: str, bot: str) -> None:
        """Raise ConfigError if the journal belongs to another workspace or app."""

    async def works_at_once(self) -> bool:
        """Return True if this daemon takes turns now, False if it has to stand by."""

    async def wait_for_work(self) -> None:
        """Wait until this daemon takes turns."""

    def begin_work(self) -> None:
        """Let the other daemons know that this one takes turns."""

    def on_death(self, follow: FollowDeath) -> None:
        """Call `follow` for each daemon that is counted as dead, on one of those that live."""

    def health(self) -> Mapping[str, Any]:
        """Return the state of the log and of all daemons as JSON."""

    @property
    def is_at_work(self) -> bool:
        """True while this daemon takes turns."""

    @property
    def faults(self) -> Sequence[str]:
        """Sentences for the owner about the log and the daemons."""

    @property
    def is_log_away(self) -> bool: ...


class SingleDaemon:
    """A daemon that has its journal, and thus its workspace, for itself."""

    faults: Sequence[str] = ()
    is_log_away = False
    is_at_work = True
    lag = 0.0
    reservations: CallReservations | None = None
    places: ModelPlaces | None = None

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self.clock = clock
        self.files: PrivateFiles = FolderFiles(settings.soul_home)
        self.share: AppShare = WholeApp()
        self.peers: DaemonPeers = NoPeers()
        self.trees: TreeShare = AllTrees()
        self.died: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def make_credentials(self) -> PageCredentials:
        return make_credentials(self._settings, self.clock.now)

    async def make_token(self, file: TokenFile) -> str:
        return read_or_make_token(self._settings.soul_home, file)

    def open_journal(self, writer: type[JournalWriter]) -> AbstractAsyncContextManager[Journal]:
        return Journal(self._settings.journal_path, self.clock, SOUL_KINDS, writer)

    def make_placement(self, journal: Journal) -> ProgramPlacement | None:
        return None

    async def admit(self, team: str, bot: str) -> None:
        return

    async def works_at_once(self) -> bool:
        return True

    async def wait_for_work(self) -> None:
        return

    def begin_work(self) -> None:
        return

    def on_death(self, follow: FollowDeath) -> None:
        return

    def health(self) -> Mapping[str, Any]:
        return {}

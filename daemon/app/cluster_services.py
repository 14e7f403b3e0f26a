"""Services of a daemon that shares its journal: membership, roles, clock, and files that all daemons have.

Built only with DATABASE_URL; a start waits here as long as the log's database is away.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import asdict, dataclass
from socket import socket
from typing import Any, TypeVar, cast

import psycopg

from config import Settings
from daemon.app.copy_commands import soul_schema, update_copy
from daemon.app.machines import FollowDeath
from daemon.app.peer_services import PeerServices
from daemon.app.start_lines import STANDING_BY
from daemon.app.waiting_page import waiting_page
from daemon.app.wiring import INNER_LIFE
from daemon.claude.model_places import ModelPlaces
from daemon.cluster.daemon_facts import AtWork, DaemonFacts, DaemonRow
from daemon.cluster.differences import find_differences
from daemon.cluster.file_table import FileTable
from daemon.cluster.log_clock import LogClock
from daemon.cluster.log_queries import LogQueries
from daemon.cluster.log_server import LogUnreachable, ServerFacts, connect_to_server
from daemon.cluster.log_start import LogStart
from daemon.cluster.membership import HEARTBEAT_SECONDS, Membership
from daemon.cluster.program_placement import PlacingDaemon, SharedPlacement
from daemon.cluster.roles import ROLES, Roles
from daemon.cluster.schema import claim_workspace
from daemon.cluster.shared_places import SharedPlaces
from daemon.cluster.shared_spending import SharedReservations
from daemon.cluster.slack_share import SlackShare
from daemon.cluster.tree_jobs import TreeJobs
from daemon.console.access import PageCredentials
from daemon.console.server import EVERYWHERE, url_of, url_of_socket
from daemon.console.shared_secrets import open_shared_credentials
from daemon.engine.clock import Clock, SystemClock
from daemon.engine.exceptions import FencedError, JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.log_erasing import away_sentence
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.journal.writer import JournalWriter
from daemon.engine.tree_share import AllTrees, TreeShare
from daemon.inner_life.programs.placement import ProgramPlacement
from daemon.kinds import SOUL_KINDS
from daemon.settings.home import create_home, version, write_private
from daemon.settings.parse import ConfigError
from daemon.settings.token_file import CONSOLE_TOKEN_FILE, TokenFile
from daemon.turn.reservations import CallReservations

T = TypeVar("T")
log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
"""Seconds between attempts to reach the log at a start."""

LONGEST_VACANCY = 6.0
"""Seconds within which a daemon that is alone gets the role "at work": it may have to wait for a death."""

LONGEST_LAG = 2.0
"""Seconds for which this daemon's copy may be behind another one's, if the log is there."""

AT_WORK = "at work"
"""Role of the daemon that takes turns, where one does."""

REHEARSED = (
    "Another daemon of this log is at work, and a rehearsed Slack is in one daemon alone: set SLACK_BOT_TOKEN"
    " and SLACK_APP_TOKEN, and for a rehearsal SLACK_API_URL, as `python -m daemon rehearse` prints them."
)

AWAY = "The log does not answer{why}: nothing is acknowledged or begun until it does."


@dataclass(frozen=True, slots=True)
class SharedLimits:
    """Limits of the workspace: dollars of the day, and places at the model server."""

    reservations: CallReservations
    places: ModelPlaces


class ClusterServices:
    """Share of this daemon in a workspace of several."""

    lag = LONGEST_LAG

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        membership: Membership,
        server: ServerFacts,
        files: FileTable,
        queries: LogQueries,
        limits: SharedLimits,
    ) -> None:
        self._settings = settings
        self._membership = membership
        self._server = server
        self.files = files
        self.reservations: CallReservations | None = limits.reservations
        self.places: ModelPlaces | None = limits.places
        self._journal: SharedJournal | None = None
        self._holding: asyncio.Task[None] | None = None
        self._wanting: list[asyncio.Task[None]] = []
        self.is_at_work = False
        self.roles = Roles(membership)
        self.share = SlackShare(membership, self.roles)
        self.peers: PeerServices = PeerServices(settings, membership, self.roles, queries, self.confirm)
        self.clock = clock
        self.trees: TreeShare = AllTrees(lambda: membership.is_sure, follows=True)
        if settings.at_work == "all":
            self.trees = TreeJobs(settings.database_url, settings.machine_name, membership)
        self.died = membership.died

    async def make_credentials(self) -> PageCredentials:
        create_home(self._settings.soul_home)
        token = self._settings.console_token or await self.make_token(CONSOLE_TOKEN_FILE)
        return open_shared_credentials(self.files, token, self.clock.now)

    async def make_token(self, file: TokenFile) -> str:
        made = f"{secrets.token_urlsafe(32)}\n"
        text = await self._until_there(lambda: asyncio.to_thread(self.files.create, file.name, made))
        try:
            write_private(self._settings.soul_home / file.name, text)  # for commands on this machine
        except OSError as error:
            log.warning("Could not write %s for commands: %s", file.name, error.strerror)
        return text.strip()

    @asynccontextmanager
    async def open_journal(self, writer: type[JournalWriter]) -> AsyncIterator[Journal]:
        async with AsyncExitStack() as stack:

            async def enter() -> SharedJournal:
                return await stack.enter_async_context(self._make_journal(writer))

            self._journal = journal = await self._until_there(enter)
            journal.write_as(self._membership.worker_id)
            yield journal

    def _make_journal(self, writer: type[JournalWriter]) -> SharedJournal:
        journal = SharedJournal(
            self._settings.journal_path,
            self.clock,
            SOUL_KINDS,
            writer,
            url=self._settings.database_url,
            name=f"soul:{self._membership.worker_id}",
            machine=self._settings.machine_name,
            jobs=self._settings.at_work == "all",
        )
        journal.confirmation = self._membership
        return journal

    async def _until_there(self, attempt: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Attempt this until the log answers, or this daemon is counted as dead."""
        while not self.died.done():
            with suppress(OSError):
                try:
                    return await attempt()
                except JournalError as error:
                    if not isinstance(error.__cause__, psycopg.Error):
                        raise
            await asyncio.sleep(RETRY_SECONDS)
        self.died.result()
        raise asyncio.CancelledError

    async def confirm(self) -> None:
        """Wait until this daemon is sure that it does not count as dead. Raises FencedError."""
        while not self._membership.is_sure:
            if self._membership.counted_as_dead:
                raise FencedError("this daemon counts as dead")
            await asyncio.sleep(HEARTBEAT_SECONDS / 10)

    def make_placement(self, journal: Journal) -> ProgramPlacement | None:
        membership = self._membership

        def is_alive(worker: int) -> bool:
            return any(row.worker_id == worker for row in membership.alive)

        return SharedPlacement(
            journal,
            PlacingDaemon(
                machine=self._settings.machine_name,
                worker_id=membership.worker_id,
                has_role=lambda: self.roles.holds(INNER_LIFE),
                is_alive=is_alive,
                confirm=self.confirm,
            ),
        )

    async def connect_peers(self, stack: AsyncExitStack) -> None:
        async def connect() -> object:
            return await stack.enter_async_context(self.peers.connected(self.files))

        await self._until_there(connect)

    async def admit(self, team: str, bot: str) -> None:
        def claim() -> None:
            with closing(connect_to_server(self._settings.database_url, "soul:claim")) as connection:
                claim_workspace(connection, team, bot)

        await self._until_there(lambda: asyncio.to_thread(claim))

    # Work

    async def works_at_once(self) -> bool:
        if self._settings.at_work == "all":
            return True
        self._holding = holding = asyncio.create_task(self.roles.hold(AT_WORK), name="role at work")
        self._wanting.append(holding)
        loop = asyncio.get_running_loop()
        until = loop.time() + LONGEST_VACANCY
        is_alone = self._settings.slack == "rehearsed"  # unless the other one was just killed
        while loop.time() < until and (is_alone or not self._other_at_work()):
            await asyncio.wait({holding}, timeout=HEARTBEAT_SECONDS / 2)
            if holding.done():
                return True
        if is_alone and self._other_at_work():
            raise ConfigError(REHEARSED)
        return False

    def _other_at_work(self) -> bool:
        me = self._membership.worker_id
        return any(row.working for row in self._membership.alive if row.worker_id != me)

    async def wait_for_work(self) -> None:
        assert self._holding is not None, "the role was asked for"
        await self._holding

    def begin_work(self) -> None:
        self.is_at_work = True
        self._membership.report(working=True)
        self._membership.hurry()
        for role in ROLES:
            if role != AT_WORK:
                self._wanting.append(asyncio.create_task(self.roles.hold(role), name=f"role {role}"))

    async def close(self) -> None:
        """Want no further role."""
        for task in self._wanting:
            task.cancel()
        await asyncio.gather(*self._wanting, return_exceptions=True)

    def on_death(self, follow: FollowDeath) -> None:
        async def note(dead: DaemonRow) -> None:
            await follow(dead.machine, dead.worker_id)

        self._membership.on_death.append(note)

    # Health

    @property
    def is_log_away(self) -> bool:
        return not self._state()[0]

    def _state(self) -> tuple[bool, int, float]:
        """Return whether the log is reachable, how many entries the copy lacks, and since when."""
        reach, behind, since = self._membership.reach, 0, self._membership.reach.since
        reachable = reach.reachable
        if self._journal:
            state = self._journal.log_state
            behind = state.behind
            if reachable and not state.reachable:
                reachable, since = False, state.since
        return reachable, behind, since

    def health(self) -> Mapping[str, Any]:
        reachable, behind, since = self._state()
        return {
            "machine": self._settings.machine_name,
            "at_work": self.is_at_work,
            "log": {"reachable": reachable, "behind": behind, "since": since},
            "machines": [_machine_as_json(row) for row in self._membership.alive],
        }

    @property
    def faults(self) -> Sequence[str]:
        faults = [*self._server.warnings]
        faults += [f"{sentence}." for sentence in find_differences(self._membership.alive)]
        away = self._machines_with_forgotten_words()
        faults += [away_sentence(away)] if away else []
        if self.is_log_away:
            reason = self._membership.reach.reason
            faults.insert(0, AWAY.format(why=f" ({reason})" if reason else ""))
        return faults

    def _machines_with_forgotten_words(self) -> Sequence[str]:
        """Return the machines that hold up a forgetting; one that is alive reports within seconds."""
        alive = {row.machine for row in self._membership.alive}
        uncleared = self._journal.uncleared_machines if self._journal else ()
        return [machine for machine in uncleared if machine not in alive]


def _machine_as_json(row: DaemonRow) -> Mapping[str, Any]:
    shown = {**asdict(row), "at_work": row.working}
    return {
        name: round(shown[name], 1) if isinstance(shown[name], float) else shown[name]
        for name in ("machine", "at_work", "version", "sockets", "silent", "clock_offset")
    }


@asynccontextmanager
async def join_machines(settings: Settings, clock: Clock, listener: socket) -> AsyncIterator[ClusterServices]:
    """Be one of the daemons of the workspace inside the block; wait for the log, and for older daemons.

    Raises ConfigError and JournalError.
    """
    url, time = settings.database_url, LogClock(clock)
    facts = _facts(settings, listener)
    membership = Membership(url, facts, time)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        start = LogStart(url, schema=soul_schema())
        async with waiting_page(settings, clock, listener, start):
            server = await _wait_for_log(start, url_of_socket(listener))
            async with Membership(url, facts, time):
                pass  # no forgetting would reach the copy of a daemon that the others refuse
            await _make_copy(settings)
            await enter(membership)
        files = await enter(FileTable(url, membership.session_name("files")))
        queries = await enter(LogQueries(url, membership.session_name("asking")))
        reservations = await enter(SharedReservations(queries, membership.worker_id))
        places = await enter(SharedPlaces(queries, membership.worker_id))
        shared_clock = time if isinstance(clock, SystemClock) else clock  # a clock of tests has its own time
        limits = SharedLimits(reservations, places)
        services = ClusterServices(settings, shared_clock, membership, server, files, queries, limits)
        stack.push_async_callback(services.close)
        await services.connect_peers(stack)
        yield services


def _facts(settings: Settings, listener: socket) -> DaemonFacts:
    return DaemonFacts(
        machine=settings.machine_name,
        at_work=cast(AtWork, settings.at_work),
        version=version(),
        address=_address(listener),
    )


def _address(listener: socket) -> str:
    """Return the page's address inside the network."""
    host, port = listener.getsockname()[:2]
    return url_of(os.uname().nodename if host in EVERYWHERE else host, port)


async def _wait_for_log(start: LogStart, here: str) -> ServerFacts:
    """Run the start; if older daemons are at work, this one is ready, too."""
    running = asyncio.create_task(start.run(), name="start with the log")
    is_told = False
    try:
        while not (await asyncio.wait({running}, timeout=RETRY_SECONDS))[0]:
            if start.is_behind_older and not is_told:
                print(f"{STANDING_BY}  {here}", flush=True)
                is_told = True
        return running.result()
    finally:
        running.cancel()


async def _make_copy(settings: Settings) -> None:
    """Bring the copy up to date in another thread: a long copy would keep the heartbeat waiting."""
    path, url = settings.journal_path, settings.database_url
    while True:
        try:
            return await asyncio.to_thread(update_copy, path, url, settings.machine_name)
        except LogUnreachable as away:
            log.warning("The copy of the log is made as soon as that is possible: %s", away)
            await asyncio.sleep(RETRY_SECONDS)

"""Two daemons of one log in a rehearsed workspace, each with a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession

from daemon.engine.event import Entry
from daemon.engine.journal.postgres_log import connect, install_log
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.kinds import WorkerStarted
from daemon.kinds import SOUL_KINDS
from daemon.slack.directory import AccessPolicy
from daemon.slack.surface import SlackSurface
from rehearsal.people import SOUL
from tests.clock import FakeClock, TrueClock
from tests.slack.app_shares import SharedApp
from tests.slack.office import OPEN, FaultyDisk, Office, access, until, workspace
from tests.slack.wire import Wire


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TwoDaemons:
    """Daemons `a` and `b`. `a` has the roles that it asked for first."""

    app: SharedApp
    a: Office
    b: Office
    lives: dict[str, int]
    """Seqs of the workers' starts."""

    def next_to(self, daemon: Office) -> None:
        """Let Slack send the next event to this daemon."""
        links = self.a.world.workspace.links
        sockets = links._sockets[SOUL.id]
        assert len(sockets) == 2
        while sockets[0] is not self._sockets(daemon):
            links.next(SOUL.id)

    async def hand_over(self, daemon: Office, event: dict[str, Any]) -> None:
        """Send an event to this daemon, without waiting for its ack."""
        self.next_to(daemon)
        id = (await daemon.control("event", event=event))["event_id"]
        deliveries = daemon.world.workspace.courier.deliveries
        await until(lambda: any(one["event_id"] == id and one["attempts"] for one in deliveries()))

    async def event_to(self, daemon: Office, event: dict[str, Any]) -> None:
        """Send an event to this daemon; return after the ack, with both copies up to date."""
        await self.hand_over(daemon, event)
        await self.settle()

    async def settle(self) -> None:
        """Wait until all is acked and both copies are up to date."""
        await self.a.acked()
        await until(lambda: self.a.journal.last_seq_of_all() == self.b.journal.last_seq_of_all())

    def _sockets(self, daemon: Office) -> object:
        return self.app.links[id(daemon.slack)]


async def start_worker(here: Office, name: str) -> int:
    """Record a worker's start; return its seq."""
    entry: Entry[WorkerStarted]
    entry, _ = await here.journal.append("life", WorkerStarted(after=""), key=f"life:{name}", author="engine")
    return entry.seq


async def die(two: TwoDaemons, daemon: Office, name: str) -> None:
    """Kill a daemon: its sockets break, and nothing of it goes on."""
    for line in list(daemon.slack.hearing.lines):
        await line.abandon("killed")
    await daemon.slack.stop()
    two.app.lose(name)


class SharedNotebook(FaultyDisk, SharedJournal):
    """Copy of a log, with a daemon of its own."""

    def __init__(self, path: Path, clock: FakeClock, url: str, name: str) -> None:
        folder = path / name
        folder.mkdir()
        SharedJournal.__init__(
            self, folder / "journal.db", clock, SOUL_KINDS, url=url, name=name, machine=name
        )
        self.lost = set()


def install(url: str) -> None:
    """Make the tables of an empty log."""
    with closing(connect(url, "test")) as connection:
        install_log(connection)


@asynccontextmanager
async def two_daemons(
    url_of_log: str,
    path: Path,
    allowed: AccessPolicy = OPEN,
    *,
    clock: FakeClock | None = None,
    notes: bool = False,
) -> AsyncIterator[TwoDaemons]:
    clock, wire, app, lives = clock or FakeClock(), Wire(), SharedApp(), dict[str, int]()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        world, url = await enter(workspace(path, TrueClock(clock), wire))
        session = await enter(ClientSession())
        install(url_of_log)
        offices = list[Office]()
        for name in ("a", "b"):
            woken = list[str]()
            journal = await enter(SharedNotebook(path, clock, url_of_log, name))
            slack = SlackSurface(
                access(url),
                allowed,
                journal=journal,
                wake=woken.append,
                clock=clock,
                notes=notes,
                share=app.share(name),
            )
            await enter(slack)
            here = Office(
                url=url,
                world=world,
                wire=wire,
                clock=clock,
                journal=journal,
                slack=slack,
                woken=woken,
                session=session,
            )
            slack.begin()
            lives[name] = await start_worker(here, name)
            await slack.connect(lives[name])
            app.links[id(slack)] = world.workspace.links._sockets[SOUL.id][-1]
            offices.append(here)
        a, b = offices
        await until(lambda: not a.slack.catch_up.is_running)
        yield TwoDaemons(app=app, a=a, b=b, lives=lives)

"""Several daemons on this machine, with their own PostgreSQL and rehearsed world: a try of many machines.

All of it is in a folder that is removed at the end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dotenv import dotenv_values

from rehearsal.cluster_front import run_front
from rehearsal.cluster_program import PROJECT, ClusterProgram, NotStarted
from rehearsal.people import SOUL
from rehearsal.postgres_server import PostgresUnavailable, free_port, run_postgres
from rehearsal.tour import FILES, OWNER

MOST_DAEMONS = 10
"""Slack gives an app ten sockets."""
PAUSE = 1.0
"""Seconds until a daemon that ended is started anew, as a supervisor would do."""
MISCONFIGURED = 78
"""Exit status of a daemon that no new start would help."""

REAL_SERVICES = (
    "DATABASE_URL",
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
)
"""Settings that the environment may hold, and that lead out of the rehearsal."""

HINT = "To see another one take over, `kill -9` the process that is at work. Ctrl-C ends all, and removes it."


def say(name: str, line: str) -> None:
    print(f"{name:<10} {line}", flush=True)


@dataclass(slots=True)
class RunningCluster:
    """The daemons, and the address of the page, whichever of them it comes from."""

    front: str
    daemons: list[ClusterProgram]
    has_link: bool = False

    def introduce(self, daemon: ClusterProgram, ready: str) -> None:
        """Print where a daemon is and, once, a link that opens the page with its chat."""
        link = ready.split()[-1]
        does = "standing by" if "standing by" in ready else "at work"
        say(daemon.name, f"{link}  ({does}, process {daemon.pid})")
        if not self.has_link:
            _, asks, token = link.partition("/?")
            say("chat", f"{self.front}{asks}{token}")
            self.has_link = True


def environment(home: Path, **settings: str) -> dict[str, str]:
    """Return the environment of a daemon: what its starter set, none of .env, and `settings`.

    An empty variable counts as not set, and hides the line in .env.
    """
    unset = dict.fromkeys((*dotenv_values(PROJECT / ".env"), *REAL_SERVICES), "")
    return {**os.environ, **unset, "HOST": "127.0.0.1", "SOUL_HOME": str(home), **settings}


def daemon_settings(database: str, world: str) -> Mapping[str, str]:
    """Return the settings that all daemons share, as the tour of a single one has them."""
    usual = {"ISM_ENABLED": "true", "OWNER_USER_IDS": OWNER, "KNOWLEDGE_DIRS": str(PROJECT / FILES)}
    chosen = {name: os.environ.get(name) or value for name, value in usual.items()}
    return {
        **chosen,
        "DATABASE_URL": database,
        "SLACK_API_URL": f"{world}/api/",
        "SLACK_BOT_TOKEN": SOUL.bot_token,
        "SLACK_APP_TOKEN": SOUL.app_token,
        "ANTHROPIC_BASE_URL": world,
    }


def daemon_of(name: str, home: Path, shared: Mapping[str, str]) -> ClusterProgram:
    """Return a daemon with a name, a folder and a port of its own, which it keeps."""
    env = environment(home / name, **shared, MACHINE=name, PORT=str(free_port()))
    return ClusterProgram(name=name, command=(), environment=env, tell=partial(say, name))


@asynccontextmanager
async def run_world(home: Path) -> AsyncIterator[str]:
    """Run a rehearsed Slack and a rehearsed Claude; yield their address."""
    env = environment(home / "world", PORT="0")
    world = ClusterProgram(name="world", command=("rehearse",), environment=env, tell=partial(say, "world"))
    try:
        yield (await world.start()).split()[-1]
    finally:
        await world.end()


@asynccontextmanager
async def run_cluster(home: Path, count: int) -> AsyncIterator[RunningCluster]:
    """Start all under `home`, one daemon after the other. Raises PostgresUnavailable and NotStarted."""
    async with AsyncExitStack() as stack:
        database = stack.enter_context(run_postgres(home / "postgres"))
        say("postgres", database)
        address = await stack.enter_async_context(run_world(home))
        say("world", f"{address}  (a rehearsed Slack and a rehearsed Claude)")
        daemons = [
            daemon_of(f"machine-{number}", home, daemon_settings(database, address))
            for number in range(1, count + 1)
        ]
        pages = [f"http://127.0.0.1:{one.environment['PORT']}" for one in daemons]
        front = await stack.enter_async_context(run_front(address, lambda: pages))
        try:
            yield RunningCluster(front, daemons)
        finally:
            say("end", "of the daemons, the world and PostgreSQL")
            await asyncio.gather(*(daemon.end() for daemon in daemons))


async def keep_running(cluster: RunningCluster, daemon: ClusterProgram) -> None:
    """Start it, and start it anew whenever it ends, unless its settings are wrong. Raises NotStarted."""
    while True:
        cluster.introduce(daemon, await daemon.start())
        status = await daemon.follow()
        if status == MISCONFIGURED:
            raise NotStarted(f"{daemon.name} ended with {status}.")
        say(daemon.name, f"ended with {status}, and is started anew")
        await asyncio.sleep(PAUSE)


async def run_until_cancelled(home: Path, count: int) -> None:
    """Run the cluster, which nothing but a wrong setting ends. Raises NotStarted."""
    with suppress(asyncio.CancelledError):
        async with run_cluster(home, count) as cluster:
            say("", HINT)
            tasks = [asyncio.create_task(keep_running(cluster, one)) for one in cluster.daemons]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)


async def run_until_signal(home: Path, count: int) -> None:
    running = asyncio.create_task(run_until_cancelled(home, count))

    def end_once() -> None:
        if not running.cancelling():  # a second Ctrl-C would cut the end off
            running.cancel()

    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(sent, end_once)
    await running


def main() -> int:
    count = int(sys.argv[1])
    if not 1 <= count <= MOST_DAEMONS:
        print(f"N is from 1 to {MOST_DAEMONS}: Slack gives an app no more sockets.", file=sys.stderr)
        return MISCONFIGURED
    with tempfile.TemporaryDirectory(prefix="soul-cluster-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        try:
            asyncio.run(run_until_signal(Path(folder), count))
        except (NotStarted, PostgresUnavailable) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

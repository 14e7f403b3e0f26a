"""Daemons that are killed, paused and cut off at random, over a log that crashes: no two act at once."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from daemon.engine.clock import boot_time
from rehearsal.postgres_server import FAST, PostgresServer
from tests.attention import until
from tests.cluster.proxy import TcpProxy
from tests.cluster.running_member import Nursery, RunningMember, nursery
from tests.cluster.workspace import give_lease, install
from tests.postgres import NEEDS_POSTGRES
from tests.soak import later

pytestmark = NEEDS_POSTGRES

SECONDS = 60.0
MACHINES = ("oak", "elm", "ash")
MOST_VACANT = 14.0
"""Seconds for which nobody may act: two hits may follow each other, on a busy machine."""
HITS = ("kill", "pause", "cut", "refuse", "strand", "delay")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    made = PostgresServer(tmp_path, FAST)
    made.start()
    install(made.url)
    give_lease(made.url, "sess-1", 1)
    yield made
    made.stop()


class HitMachine:
    """A machine whose daemon is started again each time that it ends."""

    def __init__(self, name: str, proxy: TcpProxy, processes: Nursery) -> None:
        self._name, self._proxy, self._processes = name, proxy, processes
        self.members: list[RunningMember] = []

    async def run(self) -> None:
        while True:
            self.members.append(await self._processes.start(self._proxy.url, self._name, "yes"))
            await self.members[-1].end()

    async def suffer(self, hit: str, seconds: float) -> None:
        member = self.members[-1]
        if member.process.returncode is not None:
            return
        ways: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
            "kill": (lambda: member.send(signal.SIGKILL), lambda: None),
            "pause": (lambda: member.send(signal.SIGSTOP), lambda: self._wake(member)),
            "cut": (self._proxy.cut, self._proxy.mend),
            "refuse": (self._proxy.refuse, self._proxy.mend),
            "strand": (self._proxy.strand, lambda: None),
            "delay": (lambda: self._delay(0.3), lambda: self._delay(0)),
        }
        begin, end = ways[hit]
        begin()
        await asyncio.sleep(seconds)
        end()

    def _wake(self, member: RunningMember) -> None:
        if member.process.returncode is None:
            member.send(signal.SIGCONT)

    def _delay(self, seconds: float) -> None:
        self._proxy.delay = seconds


@pytest.mark.parametrize("seed", [later(1), later(2)])
async def test_no_two_daemons_act_at_once(server: PostgresServer, seed: int) -> None:
    chance = random.Random(seed)
    with ExitStack() as stack:
        proxies = [stack.enter_context(TcpProxy(server.url)) for _ in MACHINES]
        async with nursery() as processes:
            machines = [HitMachine(*both, processes) for both in zip(MACHINES, proxies, strict=True)]
            running = [asyncio.create_task(machine.run()) for machine in machines]
            await until(lambda: turns_of(machines))
            begun = boot_time()
            while boot_time() < begun + SECONDS:
                await hit(machines, server, chance)
            ended = boot_time()
            await until(lambda: any(last > ended for _, last in turns_of(machines)))
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
    turns = sorted(turns_of(machines))
    gaps = [later_one[0] - one[1] for one, later_one in pairwise(turns)]
    assert gaps, "nobody was taken over from"
    assert min(gaps) > 0, f"two acted at once: {turns}"
    assert max(gaps) < MOST_VACANT


async def hit(machines: Sequence[HitMachine], server: PostgresServer, chance: random.Random) -> None:
    if chance.random() < 0.1:
        server.stop(signal.SIGQUIT)
        await asyncio.sleep(chance.uniform(0, 4))
        await asyncio.to_thread(server.start)
    victims = chance.sample(machines, chance.choice((1, 1, 2)))
    await asyncio.gather(*(one.suffer(chance.choice(HITS), chance.uniform(0.2, 7)) for one in victims))
    await asyncio.sleep(chance.uniform(0, 3))


def turns_of(machines: Sequence[HitMachine]) -> list[tuple[float, float]]:
    """Return the first and last act of each process that acted."""
    members = [member for machine in machines for member in machine.members]
    return [(acts[0], acts[-1]) for acts in (member.times("acts") for member in members) if acts]

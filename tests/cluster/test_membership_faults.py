"""Daemons that are killed, paused or cut off; a log that is away: who counts as dead, who acts."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from daemon.cluster.daemon_facts import DaemonFacts
from daemon.cluster.log_clock import boot_time
from daemon.cluster.membership import (
    GONE_SECONDS,
    HEARTBEAT_SECONDS,
    SILENCE_SECONDS,
    SURE_SECONDS,
    Membership,
)
from daemon.cluster.roles import Roles
from daemon.engine.exceptions import CountedAsDead
from rehearsal.postgres_server import FAST, PostgresServer
from tests.attention import until
from tests.cluster.proxy import TcpProxy
from tests.cluster.running_member import Nursery, nursery
from tests.cluster.workspace import give_lease, install
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

SLOW_MACHINE = 3.0
"""Seconds that a busy machine may take longer."""


@pytest.fixture
def workspace(log_url: str) -> str:
    install(log_url)
    give_lease(log_url, "sess-1", 1)
    return log_url


@pytest.fixture
async def members() -> AsyncIterator[Nursery]:
    async with nursery() as made:
        yield made


@pytest.fixture
def proxy(workspace: str) -> Iterator[TcpProxy]:
    with TcpProxy(workspace) as made:
        yield made


def named(url: str, machine: str) -> Membership:
    return Membership(url, DaemonFacts(machine=machine))


async def test_a_killed_daemon_is_counted_once_and_another_acts(workspace: str, members: Nursery) -> None:
    oak = await members.start(workspace, "oak", "yes")
    await oak.until("acts")
    elm = await members.start(workspace, "elm", "yes")
    ash = await members.start(workspace, "ash", "yes")
    await asyncio.gather(elm.until("joined"), ash.until("joined"))
    await oak.until("acts", len(oak.times("acts")) + 60)
    await oak.kill()
    killed = boot_time()
    await until(lambda: elm.times("acts") or ash.times("acts"))
    [began] = elm.times("at work") or ash.times("at work")
    assert GONE_SECONDS - HEARTBEAT_SECONDS < began - killed < GONE_SECONDS + 1 + SLOW_MACHINE
    assert max(oak.times("acts")) < began
    await until(lambda: elm.times("cleans up") + ash.times("cleans up"))
    await elm.until("acts", 20) if elm.times("acts") else await ash.until("acts", 20)
    assert len(elm.times("cleans up") + ash.times("cleans up")) == 1
    assert not (elm.times("acts") and ash.times("acts"))


async def test_a_paused_daemon_stops_acting_and_ends_when_it_wakes(workspace: str, members: Nursery) -> None:
    oak = await members.start(workspace, "oak")
    await oak.until("acts")
    elm = await members.start(workspace, "elm", "yes")
    await elm.until("joined")
    oak.send(signal.SIGSTOP)
    paused = boot_time()
    began = await elm.until("at work")
    assert SILENCE_SECONDS - HEARTBEAT_SECONDS < began - paused < SILENCE_SECONDS + 1 + SLOW_MACHINE
    await elm.until("acts")
    oak.send(signal.SIGCONT)
    assert await oak.end() == 75
    assert max(oak.times("acts")) < began
    assert [one["machine"] for one in elm.said if one["what"] == "cleans up"] == ["oak"]


async def test_cleaning_up_goes_on_elsewhere_if_its_daemon_dies(workspace: str, members: Nursery) -> None:
    oak = await members.start(workspace, "oak")
    await oak.until("joined")
    elm = await members.start(workspace, "elm", "never ends")
    await elm.until("joined")
    await oak.kill()
    await elm.until("cleans up")
    ash = await members.start(workspace, "ash", "yes")
    await ash.until("joined")
    await elm.kill()
    await ash.until("cleans up", 2)
    assert {one["machine"] for one in ash.said if one["what"] == "cleans up"} == {"oak", "elm"}


async def test_a_daemon_that_is_cut_off_is_unsure_first_and_dead_later(
    workspace: str, proxy: TcpProxy
) -> None:
    async with named(proxy.url, "oak") as oak, named(workspace, "elm") as elm:
        roles, others = Roles(oak), Roles(elm)
        changes: list[bool] = []
        oak.reach.on_change.append(changes.append)
        await roles.hold("at work")
        taking = asyncio.create_task(others.hold("at work"))
        asked = asyncio.create_task(oak.confirm("sess-1", 1))
        assert await asked
        proxy.cut()
        cut = boot_time()
        asked = asyncio.create_task(oak.confirm("sess-1", 1))
        await until(lambda: not oak.is_sure)
        assert boot_time() - cut < SURE_SECONDS + SLOW_MACHINE
        assert not roles.holds("at work")
        await until(lambda: changes == [False])
        assert not taking.done()
        assert not oak.reach.reachable
        await taking
        assert boot_time() - cut > SILENCE_SECONDS - HEARTBEAT_SECONDS
        assert not asked.done()
        proxy.mend()
        with pytest.raises(CountedAsDead):
            await oak.died
        assert not await asked


async def test_a_short_cut_costs_no_role(workspace: str, proxy: TcpProxy) -> None:
    async with named(proxy.url, "oak") as oak, named(workspace, "elm") as elm:
        roles, others = Roles(oak), Roles(elm)
        await roles.hold("at work")
        taking = asyncio.create_task(others.hold("at work"))
        await until(lambda: len(elm.alive) == 2)
        proxy.refuse()
        await until(lambda: not oak.is_sure)
        proxy.mend()
        await until(lambda: roles.holds("at work"))
        assert oak.session_number == 2
        await until(lambda: elm.alive[1].silent < HEARTBEAT_SECONDS)
        assert not taking.done()
        taking.cancel()


async def test_no_confirmation_rests_on_an_answer_that_came_late(workspace: str, proxy: TcpProxy) -> None:
    async with named(proxy.url, "oak") as oak:
        proxy.delay = SURE_SECONDS / 2 + 0.1
        asked = asyncio.create_task(oak.confirm("sess-1", 1))
        heard = proxy.answers
        await until(lambda: proxy.answers >= heard + 4)
        assert not asked.done()
        proxy.delay = 0
        assert await asked


async def test_sockets_are_taken_once_though_the_answer_is_lost(workspace: str, proxy: TcpProxy) -> None:
    async with named(proxy.url, "oak") as oak, named(workspace, "elm") as elm:
        proxy.lose_answer(b"soul_take_sockets")
        assert await oak.take_sockets(6) == 6
        assert proxy.lost.is_set()
        assert await elm.take_sockets(6) == 4


async def test_after_a_crash_of_the_log_nobody_dies_and_roles_stay(tmp_path: Path) -> None:
    server = PostgresServer(tmp_path, FAST)
    server.start()
    try:
        install(server.url)
        async with named(server.url, "oak") as oak, named(server.url, "elm") as elm:
            roles, others = Roles(oak), Roles(elm)
            await roles.hold("at work")
            taking = asyncio.create_task(others.hold("at work"))
            server.stop(signal.SIGQUIT)
            await until(lambda: not (oak.reach.reachable or elm.reach.reachable))
            await asyncio.to_thread(server.start)
            ready = boot_time()
            await until(lambda: roles.holds("at work"))
            assert boot_time() - ready < 1 + SLOW_MACHINE
            await until(lambda: boot_time() - ready > SILENCE_SECONDS + 1)
            assert [row.machine for row in elm.alive] == ["elm", "oak"]
            assert {taking.done(), oak.died.done(), elm.died.done()} == {False}
            taking.cancel()
    finally:
        server.stop()


async def test_a_log_that_stood_still_judges_nobody(workspace: str) -> None:
    async with named(workspace, "oak") as oak, named(workspace, "elm") as elm:
        await until(lambda: len(oak.alive) == len(elm.alive) == 2)
        sessions = await asyncio.to_thread(session_pids, workspace)
        for pid in sessions:
            os.kill(pid, signal.SIGSTOP)
        stopped = boot_time()
        await until(lambda: not (oak.reach.reachable or elm.reach.reachable))
        await until(lambda: boot_time() - stopped > SILENCE_SECONDS + 1)
        for pid in sessions:
            os.kill(pid, signal.SIGCONT)
        await until(lambda: oak.is_sure and elm.is_sure)
        assert len(oak.alive) == len(elm.alive) == 2
        assert {oak.died.done(), elm.died.done()} == {False}


def session_pids(url: str) -> list[int]:
    with psycopg.connect(url, autocommit=True) as connection:
        query = (
            "select a.pid from pg_stat_activity a, soul_daemon d"
            " where a.application_name like 'soul:' || d.worker_id || ':%'"
        )
        return [pid for (pid,) in connection.execute(query)]

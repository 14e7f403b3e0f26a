"""Daemons that are killed, paused or cut off; a log that is away: who counts as dead, who acts."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from daemon.cluster.daemon_facts import DaemonFacts
from daemon.cluster.membership import (
    GONE_SECONDS,
    HEARTBEAT_SECONDS,
    SILENCE_SECONDS,
    SURE_SECONDS,
    Membership,
)
from daemon.cluster.roles import Roles
from daemon.engine.clock import boot_time
from daemon.engine.exceptions import CountedAsDead
from rehearsal.postgres_server import FAST, PostgresServer
from tests.attention import until
from tests.cluster.proxy import TcpProxy
from tests.cluster.running_member import Nursery, nursery
from tests.cluster.workspace import give_lease, install
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

SLOW_MACHINE = 15.0
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


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    """A server of one's own, which may crash."""
    made = PostgresServer(tmp_path, FAST)
    made.start()
    install(made.url)
    yield made
    made.stop()


def named(url: str, machine: str) -> Membership:
    return Membership(url, DaemonFacts(machine=machine))


async def test_a_killed_daemon_is_counted_once_and_another_acts(workspace: str, members: Nursery) -> None:
    oak = await members.start(workspace, "oak", "yes")
    await oak.until("acts")
    elm = await members.start(workspace, "elm", "never ends")
    ash = await members.start(workspace, "ash", "never ends")
    await asyncio.gather(elm.until("joined"), ash.until("joined"))
    await oak.until("acts", len(oak.times("acts")) + 60)
    await oak.kill()
    killed = boot_time()
    await until(lambda: elm.times("acts") or ash.times("acts"))
    [began] = elm.times("at work") or ash.times("at work")
    assert began - killed < GONE_SECONDS + SLOW_MACHINE
    assert max(oak.times("acts")) < began
    await until(lambda: elm.times("cleans up") + ash.times("cleans up"))
    await until(lambda: boot_time() - began > HEARTBEAT_SECONDS * 3)
    assert len(elm.times("cleans up") + ash.times("cleans up")) == 1
    assert not (elm.times("acts") and ash.times("acts"))


async def test_only_a_daemon_without_a_session_counts_as_dead_early(workspace: str, members: Nursery) -> None:
    oak = await members.start(workspace, "oak")
    await oak.until("joined")
    with psycopg.connect(workspace, autocommit=True) as connection:
        count = "select soul_count_dead(0, 1000, 0)"
        assert connection.execute(count).fetchone() == (False,)
        await oak.kill()
        while connection.execute(count).fetchone() == (False,):
            pass  # the server has not seen its end yet
        assert connection.execute("select count(*) from procrastinate_workers").fetchone() == (0,)


async def test_a_daemon_that_is_not_among_the_workers_any_more_confirms_nothing(workspace: str) -> None:
    async with named(workspace, "oak") as oak:
        with psycopg.connect(workspace, autocommit=True) as connection:
            connection.execute("delete from procrastinate_workers")
        assert not await oak.confirm("sess-1", 1)
        with pytest.raises(CountedAsDead):
            await oak.died
    async with named(workspace, "oak") as oak:
        with psycopg.connect(workspace, autocommit=True) as connection:
            connection.execute("delete from procrastinate_workers")
        with pytest.raises(CountedAsDead):
            await oak.died


async def test_a_paused_daemon_stops_acting_and_ends_when_it_wakes(workspace: str, members: Nursery) -> None:
    oak = await members.start(workspace, "oak")
    await oak.until("acts")
    elm = await members.start(workspace, "elm", "yes")
    await elm.until("joined")
    oak.send(signal.SIGSTOP)
    paused = boot_time()
    began = await elm.until("at work")
    assert began - paused < SILENCE_SECONDS + SLOW_MACHINE
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


async def test_a_daemon_joins_once_the_killed_one_of_its_machine_counts_as_dead(
    workspace: str, members: Nursery
) -> None:
    oak = await members.start(workspace, "oak")
    await oak.until("acts")
    await oak.kill()
    again = await members.start(workspace, "oak", "yes")
    await again.until("acts")
    assert again.times("joined")[0] - max(oak.times("acts")) > GONE_SECONDS - SURE_SECONDS
    await again.until("cleans up")


async def test_sockets_of_a_daemon_that_fell_silent_are_not_given_away_at_once(
    workspace: str, proxy: TcpProxy, members: Nursery
) -> None:
    async with named(workspace, "elm") as elm:
        async with named(proxy.url, "oak") as oak:
            assert await oak.take_sockets(7) == 7
            await until(lambda: len(elm.alive) == 2)
            proxy.cut()
            await until(lambda: len(elm.alive) == 1)
            assert await elm.take_sockets(10) == 3
            proxy.mend()
            with pytest.raises(CountedAsDead):
                await oak.died
        assert await elm.take_sockets(1) == 1
        ash = await members.start(workspace, "ash", sockets=2)
        await ash.until("sockets")
        await until(lambda: len(elm.alive) == 2)
        await ash.kill()
        await until(lambda: len(elm.alive) == 1)
        assert await elm.take_sockets(10) == 3, "oak's may still be open, and ash's are not"


async def test_a_daemon_whose_role_the_log_gave_away_ends(workspace: str) -> None:
    async with named(workspace, "oak") as oak, named(workspace, "elm") as elm:
        roles = Roles(oak)
        await roles.hold("at work")
        with psycopg.connect(workspace, autocommit=True) as connection:
            connection.execute("update soul_role set worker_id = %s", (elm.worker_id,))
            connection.execute(
                "select pg_terminate_backend(backend_pid) from soul_daemon where machine = 'oak'"
            )
        with pytest.raises(CountedAsDead):
            await oak.died
        assert not roles.holds("at work")


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
        await until(lambda: changes[-1:] == [False])
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
        assert oak.session_number >= 2
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


async def test_after_a_crash_of_the_log_nobody_dies_and_roles_stay(
    server: PostgresServer, members: Nursery
) -> None:
    with TcpProxy(server.url) as proxy:
        async with named(proxy.url, "oak") as oak, named(server.url, "elm") as elm:
            roles, others = Roles(oak), Roles(elm)
            await roles.hold("at work")
            taking = asyncio.create_task(others.hold("at work"))
            crashed = boot_time()
            server.stop(signal.SIGQUIT)
            proxy.refuse()
            await until(lambda: not (oak.reach.reachable or elm.reach.reachable))
            await asyncio.to_thread(server.start)
            ready = boot_time()
            ash = await members.start(server.url, "ash")
            await ash.until("joined")
            await until(lambda: boot_time() - crashed > SILENCE_SECONDS)
            proxy.mend()
            await until(lambda: roles.holds("at work"))
            await until(lambda: boot_time() - ready > SILENCE_SECONDS + 1)
            assert [row.machine for row in elm.alive] == ["ash", "elm", "oak"]
            assert {taking.done(), oak.died.done(), elm.died.done()} == {False}
            taking.cancel()


async def test_a_log_that_was_away_for_all_costs_nobody_its_life(workspace: str, proxy: TcpProxy) -> None:
    with TcpProxy(workspace) as slower:
        async with named(slower.url, "oak") as oak, named(proxy.url, "elm") as elm:
            await until(lambda: len(oak.alive) == len(elm.alive) == 2)
            slower.refuse()
            proxy.refuse()
            cut = boot_time()
            await until(lambda: boot_time() - cut > SILENCE_SECONDS)
            assert not oak.reach.reachable
            proxy.mend()
            await until(lambda: elm.is_sure)
            await until(lambda: boot_time() - cut > SILENCE_SECONDS + 1.5)
            slower.mend()
            await until(lambda: oak.is_sure)
            assert len(oak.alive) == 2
            assert {oak.died.done(), elm.died.done()} == {False}


async def test_a_connection_that_the_network_forgot_is_made_anew_in_time(
    workspace: str, proxy: TcpProxy
) -> None:
    async with named(proxy.url, "oak") as oak, named(workspace, "elm") as elm:
        await until(lambda: len(elm.alive) == 2)
        proxy.strand()
        await until(lambda: not oak.is_sure)
        await until(lambda: oak.is_sure)
        assert oak.session_number >= 2
        assert len(elm.alive) == 2


async def test_a_log_whose_clock_was_set_judges_nobody(workspace: str) -> None:
    async with named(workspace, "oak") as oak, named(workspace, "elm") as elm:
        await until(lambda: len(elm.alive) == 2)
        beat = "select soul_heartbeat(%s, null, true, false, soul_now() - %s, 0, 0)->>'as_expected'"
        with psycopg.connect(workspace, autocommit=True) as connection:
            assert connection.execute(beat, (elm.worker_id, 60)).fetchone() == ("false",)
            heard = boot_time()
            await until(lambda: boot_time() - heard > HEARTBEAT_SECONDS * 2)
            assert not oak.died.done()
            assert connection.execute(beat, (elm.worker_id, 0)).fetchone() == ("true",)
        with pytest.raises(CountedAsDead):
            await oak.died

"""Daemons of a workspace: who is alive, who is sure, who counts as dead."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import quote

import pytest

from daemon.cluster.daemon_facts import DaemonFacts, DaemonRow
from daemon.cluster.log_clock import LogClock
from daemon.cluster.membership import GONE_SECONDS, Membership
from daemon.cluster.roles import Roles
from daemon.settings.parse import ConfigError
from tests.attention import until
from tests.clock import FakeClock
from tests.cluster.workspace import give_lease, install
from tests.postgres import NEEDS_POSTGRES, log_url, new_log, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture
def workspace(log_url: str) -> str:
    install(log_url)
    return log_url


def named(url: str, machine: str) -> Membership:
    return Membership(url, DaemonFacts(machine=machine))


async def test_daemons_know_each_other(workspace: str) -> None:
    async with named(workspace, "oak") as oak, named(workspace, "elm") as elm:
        await until(lambda: [row.machine for row in oak.alive] == ["elm", "oak"])
        elm.report(working=True)
        await until(lambda: [row.machine for row in oak.alive if row.working] == ["elm"])
        await until(lambda: oak.is_sure)
    assert not elm.died.done() or elm.died.cancelled()


async def test_a_lease_is_confirmed_to_the_latest_attempt_alone(workspace: str) -> None:
    give_lease(workspace, "sess-1", 7)
    async with named(workspace, "oak") as oak:
        asked = (oak.confirm("sess-1", 7), oak.confirm("sess-1", 6), oak.confirm("sess-2", 7))
        assert tuple(await asyncio.gather(*asked)) == (True, False, False)


async def test_a_role_goes_to_another_when_its_holder_leaves(workspace: str) -> None:
    async with named(workspace, "elm") as elm:
        others = Roles(elm)
        async with named(workspace, "oak") as oak:
            roles = Roles(oak)
            await roles.hold("at work")
            await until(lambda: roles.holds("at work"))
            waiting = asyncio.create_task(others.hold("at work"))
            await until(lambda: len(elm.alive) == 2)
            assert not others.holds("at work")
        await waiting
        await until(lambda: others.holds("at work"))


async def test_all_sockets_together_are_at_most_ten(workspace: str) -> None:
    async with named(workspace, "oak") as oak, named(workspace, "elm") as elm:
        assert await oak.take_sockets(8) == 8
        assert await elm.take_sockets(4) == 2
        assert await oak.take_sockets(3) == 3
        assert await elm.take_sockets(4) == 4


async def test_a_role_that_is_not_wanted_any_more_goes_to_another(workspace: str) -> None:
    async with named(workspace, "oak") as oak, named(workspace, "elm") as elm:
        roles, others = Roles(oak), Roles(elm)
        await roles.hold("eraser")
        given_up = asyncio.create_task(others.hold("eraser"))
        await until(lambda: len(elm.alive) == 2)
        given_up.cancel()
        roles.release("eraser")
        assert not roles.holds("eraser")
        await roles.hold("eraser")
        roles.release("eraser")
        await others.hold("eraser")
        await until(lambda: others.holds("eraser"))
        assert not roles.holds("eraser")


async def test_a_daemon_that_leaves_in_good_order_is_not_cleaned_up_after(workspace: str) -> None:
    dead: list[str] = []

    async def clean_up(row: DaemonRow) -> None:
        dead.append(row.machine)

    async with named(workspace, "oak") as oak:
        oak.on_death.append(clean_up)
        async with named(workspace, "elm"):
            await until(lambda: len(oak.alive) == 2)
        await until(lambda: len(oak.alive) == 1)
        heard = oak.clock.now()
        await until(lambda: oak.clock.now() > heard + GONE_SECONDS + 1)
    assert dead == []


async def test_a_second_daemon_of_one_machine_is_refused(workspace: str) -> None:
    async with named(workspace, "oak"):
        with pytest.raises(ConfigError, match="MACHINE=oak: a daemon of this name is alive"):
            await named(workspace, "oak").__aenter__()


async def test_another_value_of_at_work_is_refused(workspace: str) -> None:
    async with named(workspace, "oak"):
        with pytest.raises(ConfigError, match="AT_WORK=all: the daemon oak is alive with AT_WORK=one"):
            await Membership(workspace, DaemonFacts(machine="elm", at_work="all")).__aenter__()
    async with Membership(workspace, DaemonFacts(machine="elm", at_work="all")) as elm:
        assert [row.at_work for row in elm.alive] == []
        await until(lambda: [row.at_work for row in elm.alive] == ["all"])


async def test_daemons_whose_clocks_differ_agree_about_the_time(workspace: str) -> None:
    ahead, behind = LogClock(FakeClock(time.time() + 300)), LogClock(FakeClock(time.time() - 300))
    facts = (DaemonFacts(machine="oak"), DaemonFacts(machine="elm"))
    async with Membership(workspace, facts[0], ahead) as oak, Membership(workspace, facts[1], behind):
        await until(lambda: len(oak.alive) == 2)
        assert abs(ahead.now() - behind.now()) < 10
        assert abs(ahead.now() - time.time()) < 10
        offsets = [row.clock_offset for row in oak.alive]
    assert offsets == pytest.approx([300, -300], abs=10)


async def test_a_server_that_is_read_only_counts_as_away(workspace: str) -> None:
    oak = named(workspace + quote(" -cdefault_transaction_read_only=on"), "oak")
    joining = asyncio.create_task(oak.__aenter__())
    await until(lambda: oak.reach.reason)
    assert oak.reach.reason == "its server is read-only or in recovery"
    assert not oak.reach.reachable
    joining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await joining


async def test_workspaces_in_one_database_share_no_worker(postgres_server: str) -> None:
    one, other = new_log(postgres_server), new_log(postgres_server)
    install(one)
    install(other)
    async with named(one, "oak") as oak, named(other, "oak") as elsewhere:
        assert oak.worker_id != elsewhere.worker_id
        await until(lambda: len(oak.alive) == len(elsewhere.alive) == 1)

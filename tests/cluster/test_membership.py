"""Daemons of a workspace: who is alive, who is sure, who counts as dead."""

from __future__ import annotations

import asyncio

import pytest

from daemon.cluster.daemon_facts import DaemonFacts
from daemon.cluster.membership import Membership
from daemon.cluster.roles import Roles
from tests.attention import until
from tests.cluster.workspace import give_lease, install
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

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
        assert oak.is_sure
    assert not elm.died.done() or elm.died.cancelled()


async def test_a_lease_is_confirmed_to_the_latest_attempt_alone(workspace: str) -> None:
    give_lease(workspace, "sess-1", 7)
    async with named(workspace, "oak") as oak:
        asked = (oak.confirm("sess-1", 7), oak.confirm("sess-1", 6), oak.confirm("sess-2", 7))
        assert await asyncio.gather(*asked) == [True, False, False]


async def test_a_role_goes_to_another_when_its_holder_leaves(workspace: str) -> None:
    async with named(workspace, "elm") as elm:
        others = Roles(elm)
        async with named(workspace, "oak") as oak:
            roles = Roles(oak)
            await roles.hold("at work")
            assert roles.holds("at work")
            waiting = asyncio.create_task(others.hold("at work"))
            await until(lambda: len(elm.alive) == 2)
            assert not others.holds("at work")
        await waiting
        assert others.holds("at work")


async def test_all_sockets_together_are_at_most_ten(workspace: str) -> None:
    async with named(workspace, "oak") as oak, named(workspace, "elm") as elm:
        assert await oak.take_sockets(8) == 8
        assert await elm.take_sockets(4) == 2
        assert await oak.take_sockets(3) == 3
        assert await elm.take_sockets(4) == 4

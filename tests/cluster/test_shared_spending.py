"""The day's budget, shared by several daemons through the log's database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from pathlib import Path

import psycopg
import pytest

from daemon.cluster.log_queries import LogQueries
from daemon.cluster.schema import prepare_log
from daemon.cluster.shared_spending import SharedReservations
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.log_locks import LogLock
from daemon.engine.journal.postgres_log import PostgresLog
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.kinds import SOUL_KINDS
from daemon.settings.limits import Limits
from daemon.turn.usage_limits import DailyBudget, LimitChecker
from tests.attention import PATIENCE
from tests.clock import FakeClock
from tests.cluster.proxy import TcpProxy
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.turn.spending import called

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

DAILY = 1.0


class Workspace:
    """Database of a log, and daemons that spend one budget; each has a journal of its own."""

    def __init__(self, url: str, folder: Path, stack: AsyncExitStack) -> None:
        self.url, self._folder, self._stack = url, folder, stack
        self.database = psycopg.connect(url, autocommit=True)
        prepare_log(self.database)
        self._calls = 0

    async def daemon(self, *, shared: bool = False, url: str = "") -> Spender:
        """Start a daemon; `shared`: on the log, else with a journal that the test writes for it.

        `url` leads its questions through a proxy.
        """
        [worker] = self.database.execute(
            "select worker_id from procrastinate_register_worker_v1()"
        ).fetchone() or (0,)
        enter = self._stack.enter_async_context
        clock, path = FakeClock(), self._folder / f"{worker}.db"
        journal = await enter(
            SharedJournal(path, clock, SOUL_KINDS, url=self.url, name=f"soul:{worker}")
            if shared
            else Journal(path, clock, SOUL_KINDS)
        )
        queries = await enter(LogQueries(url or self.url, f"soul:{worker}:asking"))
        return Spender(worker, journal, clock, await enter(SharedReservations(queries, worker)))

    def reserved(self) -> float:
        query = "select coalesce(sum(amount), 0) from soul_reservation where closed is null"
        [amount] = self.database.execute(query).fetchone() or (0.0,)
        return float(amount)

    async def record(self, cost: float, *readers: Spender) -> None:
        """Record a call in the journals of the daemons that have read so far."""
        self._calls += 1
        key = f"call#{self._calls}"
        for one in readers:
            await one.journal.append("t", called(cost=cost, worth=cost), key=key)


class Spender:
    def __init__(
        self, worker: int, journal: Journal, clock: FakeClock, reservations: SharedReservations
    ) -> None:
        self.worker, self.journal, self.clock = worker, journal, clock
        self.budget = DailyBudget(journal, clock, DAILY, reservations=reservations)
        self.granted: list[bool] = []

    async def call(self, amount: float) -> None:
        async with self.budget.reserve(amount) as is_granted:
            self.granted.append(is_granted)


@pytest.fixture
async def workspace(log_url: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    async with AsyncExitStack() as stack:
        made = Workspace(log_url, tmp_path, stack)
        yield made
        made.database.close()


async def test_a_call_waits_for_what_another_daemon_has_in_flight(workspace: Workspace) -> None:
    one, other = await workspace.daemon(), await workspace.daemon()
    async with one.budget.reserve(0.6) as is_granted:
        assert is_granted
        waiting = asyncio.create_task(other.call(0.6))
        await asyncio.wait([waiting], timeout=0.8)
        assert other.granted == [], "both together would be too much"
        await workspace.record(0.1, one, other)
    async with asyncio.timeout(PATIENCE):
        await waiting
    assert other.granted == [True]


async def test_twenty_calls_of_three_daemons_never_reserve_more_than_the_day(workspace: Workspace) -> None:
    daemons = [await workspace.daemon(shared=True) for _ in range(3)]
    highest = 0.0

    async def spend(number: int) -> None:
        nonlocal highest
        one = daemons[number % 3]
        async with one.budget.reserve(0.3) as is_granted:
            one.granted.append(is_granted)
            highest = max(highest, workspace.reserved())
            if is_granted:
                await workspace.record(0.04, one)

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(spend(number) for number in range(20)))
        granted = sum(sum(one.granted) for one in daemons)
        for one in daemons:
            while one.journal.last_seq_of_all() < granted:
                await one.journal.next_change.wait()
    [spent] = {one.budget.today().cost for one in daemons}
    assert highest <= DAILY
    assert spent <= DAILY
    assert granted == round(spent / 0.04)
    assert granted >= 17, "only the day's end refuses"


async def test_a_daemon_that_has_not_read_a_call_counts_what_was_reserved_for_it(
    workspace: Workspace,
) -> None:
    ahead, behind = await workspace.daemon(), await workspace.daemon()
    async with ahead.budget.reserve(0.6):
        await workspace.record(0.5, ahead)
    waiting = asyncio.create_task(behind.call(0.6))
    await asyncio.wait([waiting], timeout=0.8)
    assert behind.granted == [], "its journal says that nothing was spent"
    await workspace.record(0.5, behind)
    async with asyncio.timeout(PATIENCE):
        await waiting
    assert behind.granted == [False], "now it knows: 0.5 is left"


async def test_what_a_dead_daemon_had_reserved_counts_for_a_minute(workspace: Workspace) -> None:
    dead, alive = await workspace.daemon(), await workspace.daemon()
    async with dead.budget.reserve(0.6):
        workspace.database.execute("delete from procrastinate_workers where id = %s", (dead.worker,))
        waiting = asyncio.create_task(alive.call(0.6))
        await asyncio.wait([waiting], timeout=0.8)
        assert alive.granted == [], "its call may still be billed"
        workspace.database.execute(
            "update soul_reservation set lost = lost - interval '2 minutes' where lost is not null"
        )
        async with asyncio.timeout(PATIENCE):
            await waiting
    assert alive.granted == [True]


async def test_a_daemon_that_counts_as_dead_is_granted_nothing(workspace: Workspace) -> None:
    one = await workspace.daemon()
    workspace.database.execute("delete from procrastinate_workers")
    calling = asyncio.create_task(one.call(0.1))
    await asyncio.wait([calling], timeout=0.8)
    assert one.granted == []
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)


async def test_a_forgetting_holds_up_no_call(workspace: Workspace) -> None:
    spender = await workspace.daemon()
    with closing(PostgresLog(workspace.url, "soul:1:eraser")) as eraser:
        assert eraser.try_lock(LogLock.ERASING)
        async with asyncio.timeout(1.5):
            await spender.call(0.1)
    assert spender.granted == [True]


async def test_a_cut_connection_delays_a_call_and_leaves_nothing_reserved(workspace: Workspace) -> None:
    one = await workspace.daemon()
    await one.call(0.1)
    cut = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = %s"
    workspace.database.execute(cut, (f"soul:{one.worker}:asking",))
    async with asyncio.timeout(PATIENCE):
        await one.call(0.9)
        await one.call(1.0)
    assert one.granted == [True, True, True]


async def test_a_reservation_whose_answer_is_lost_is_given_back(workspace: Workspace) -> None:
    with TcpProxy(workspace.url) as proxy:
        one = await workspace.daemon(url=proxy.url)
        await one.call(0.1)
        proxy.lose_answer(to=b"soul_reserve")
        async with asyncio.timeout(PATIENCE):
            await one.call(0.8)
            await one.call(1.0)
        assert proxy.lost.is_set()
    assert one.granted == [True, True, True], "the lost one stands in nobody's way"


async def test_what_a_person_spent_on_one_daemon_counts_on_the_other(workspace: Workspace) -> None:
    one, other = await workspace.daemon(shared=True), await workspace.daemon(shared=True)
    here, there = (
        LimitChecker(
            who.journal,
            who.clock,
            who.budget,
            turn=Limits(),
            thread=Limits(),
            person=Limits(usd=0.5),
        )
        for who in (one, other)
    )
    assert there.exceeded_in_tree("sess-1", ["U1"]) is None
    await one.journal.append("sess-2", called(cost=0.6, people=("U1",)), key="call#1")
    async with asyncio.timeout(PATIENCE):
        while not there.exceeded_in_tree("sess-1", ["U1"]):
            await other.journal.next_change.wait()
    reached = here.exceeded_in_tree("sess-3", ["U1"])
    assert reached
    assert (reached.resets, reached.person) == ("person", "U1")


async def test_a_call_without_a_price_asks_nobody(workspace: Workspace) -> None:
    one = await workspace.daemon()
    workspace.database.execute("drop function soul_reserve")
    await one.call(0.0)
    assert one.granted == [True]

"""Places at a model server with few slots, shared by the queues of several daemons."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import psycopg
import pytest

from daemon.claude.request_queue import RequestQueue, RequestUrgency
from daemon.cluster.log_queries import LogQueries
from daemon.cluster.schema import prepare_log
from daemon.cluster.shared_places import SharedPlaces
from tests.attention import PATIENCE, until
from tests.claude.test_request_queue import Crowd
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

PERSON, BRANCH, BACKGROUND = RequestUrgency
MODEL = "qwen3:8b"


class Server:
    """Model server that counts how many requests run at once; each takes a moment once it is `open`."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.running = self.most = 0
        self.served: list[str] = []

    async def use(self, queue: RequestQueue, urgency: RequestUrgency, name: str) -> None:
        async with queue.admitted(MODEL, urgency, name, asyncio.Event()) as place:
            self.running += 1
            self.most = max(self.most, self.running)
            self.served.append(name)
            await self.open.wait()
            ends = asyncio.create_task(place.gives_way.wait())
            await asyncio.wait([ends], timeout=0.02)
            ends.cancel()
            self.running -= 1


class Daemons:
    def __init__(self, url: str, stack: AsyncExitStack) -> None:
        self._url, self._stack = url, stack
        self.database = psycopg.connect(url, autocommit=True)
        prepare_log(self.database)
        self.workers: list[int] = []

    async def queue(self, concurrency: int) -> RequestQueue:
        [worker] = self.database.execute(
            "select worker_id from procrastinate_register_worker_v1()"
        ).fetchone() or (0,)
        self.workers.append(worker)
        queries = await self._stack.enter_async_context(LogQueries(self._url, f"soul:{worker}:asking"))
        places = await self._stack.enter_async_context(SharedPlaces(queries, worker))
        return RequestQueue(concurrency, places=places)

    async def crowd(self, concurrency: int) -> Crowd:
        crowd = Crowd(await self.queue(concurrency))
        self._stack.push_async_callback(crowd.close)
        return crowd


@pytest.fixture
async def daemons(log_url: str) -> AsyncIterator[Daemons]:
    async with AsyncExitStack() as stack:
        made = Daemons(log_url, stack)
        yield made
        made.database.close()


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_all_daemons_together_send_no_more_requests_than_the_server_takes(
    daemons: Daemons, concurrency: int
) -> None:
    queues, server = [await daemons.queue(concurrency) for _ in range(3)], Server()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as requests:
        for number in range(24):
            requests.create_task(server.use(queues[number % 3], PERSON, f"{number % 3}"))
        await until(lambda: _waiting(daemons) >= 24 - concurrency)
        server.open.set()
    assert server.most == concurrency
    assert len(server.served) == 24
    early = server.served[:12]
    assert all(early.count(one) >= 2 for one in "012"), "each daemon gets its share"


async def test_a_person_on_one_daemon_comes_before_branches_and_notes_on_another(daemons: Daemons) -> None:
    one, other = await daemons.crowd(1), await daemons.crowd(1)
    await one.comes("on its way", PERSON, "a")
    await until(lambda: one.served)
    await one.comes("branch", BRANCH, "b.one")
    await one.comes("notes", BACKGROUND, "c")
    await other.comes("person", PERSON, "d")
    await until(lambda: _waiting(daemons) == 3)
    await one.ends("on its way")
    await until(lambda: other.served)
    assert one.served == ["on its way"]
    await other.ends("person")
    await until(lambda: one.served == ["on its way", "branch"])


async def test_a_background_request_gives_way_to_a_person_on_another_daemon(daemons: Daemons) -> None:
    one, other = await daemons.crowd(1), await daemons.crowd(1)
    await one.comes("tick", BACKGROUND, "inner")
    await until(lambda: one.served)
    await other.comes("person", PERSON, "a")
    await until(lambda: one.places["tick"].gives_way.is_set())
    assert other.served == []
    await one.ends("tick")
    await until(lambda: other.served)


async def test_the_places_of_a_daemon_that_died_are_free(daemons: Daemons) -> None:
    one, other = await daemons.crowd(1), await daemons.crowd(1)
    await one.comes("lost", PERSON, "a")
    await until(lambda: one.served)
    await other.comes("next", PERSON, "b")
    await until(lambda: _waiting(daemons) == 1)
    daemons.database.execute("delete from procrastinate_workers where id = %s", (daemons.workers[0],))
    await until(lambda: other.served)


async def test_a_request_that_was_stopped_leaves_its_place_to_others(daemons: Daemons) -> None:
    one, other = await daemons.crowd(1), await daemons.crowd(1)
    await one.comes("running", PERSON, "a")
    await until(lambda: one.served)
    await other.comes("stopped", PERSON, "b")
    other.stops["stopped"].set()
    await until(lambda: other.served)
    await other.ends("stopped")
    await one.comes("next", PERSON, "c")
    await one.ends("running")
    await until(lambda: one.served == ["running", "next"])


def _waiting(daemons: Daemons) -> int:
    query = "select coalesce(sum(people + branches + background), 0) from soul_model_places"
    [count] = daemons.database.execute(query).fetchone() or (0,)
    return int(count)

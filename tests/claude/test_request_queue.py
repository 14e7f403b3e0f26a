"""Priority of requests to a model with few slots, and their preemption by people."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from daemon.claude.request_queue import QueuedRequest, RequestQueue, RequestUrgency
from tests.attention import rest

LOCAL, LISTED = "qwen3:8b", "claude-haiku-5-5"
PERSON, BRANCH, BACKGROUND = RequestUrgency


class Crowd:
    """Requests to one queue, by name; `served`: admitted ones, in order."""

    def __init__(self, queue: RequestQueue) -> None:
        self.queue = queue
        self.served: list[str] = []
        self.places: dict[str, QueuedRequest] = {}
        self.stops: dict[str, asyncio.Event] = {}
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def comes(self, name: str, urgency: RequestUrgency, thread: str, model: str = LOCAL) -> None:
        self._ends[name], self.stops[name] = asyncio.Event(), asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._stay(name, urgency, thread, model))
        await rest()

    async def _stay(self, name: str, urgency: RequestUrgency, thread: str, model: str) -> None:
        async with self.queue.admitted(model, urgency, thread, self.stops[name]) as place:
            self.served.append(name)
            self.places[name] = place
            await self._ends[name].wait()

    async def ends(self, name: str) -> None:
        self._ends[name].set()
        await self._tasks[name]
        await rest()

    async def all_end(self) -> Sequence[str]:
        """End requests one by one; return the order of admission."""
        done = 0
        while done < len(self._tasks):
            await self.ends(self.served[done])
            done += 1
        return self.served

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


@pytest.fixture
async def crowd() -> AsyncIterator[Crowd]:
    crowd = Crowd(RequestQueue())
    yield crowd
    await crowd.close()


async def test_a_model_that_is_not_listed_gets_one_request_at_a_time(crowd: Crowd) -> None:
    await crowd.comes("first", PERSON, "a")
    await crowd.comes("second", PERSON, "b")
    assert crowd.served == ["first"]
    await crowd.ends("first")
    assert crowd.served == ["first", "second"]


async def test_all_models_of_the_server_that_are_not_listed_share_the_queue(crowd: Crowd) -> None:
    await crowd.comes("first", PERSON, "a")
    await crowd.comes("other model", PERSON, "b", model="llama3.2")
    assert crowd.served == ["first"]


async def test_a_listed_model_waits_for_nobody(crowd: Crowd) -> None:
    await crowd.comes("local", PERSON, "a")
    for number in range(20):
        await crowd.comes(f"listed {number}", BACKGROUND, "a", model=LISTED)
    assert len(crowd.served) == 21
    assert not any(place.gives_way.is_set() for place in crowd.places.values())


@pytest.mark.parametrize(
    ("concurrency", "slots", "most"), [(0, None, 1), (0, 4, 4), (3, None, 3), (3, 8, 3), (2, 1, 2), (0, 1, 1)]
)
async def test_the_owner_or_the_slots_of_the_server_say_how_many_go_at_once(
    concurrency: int, slots: int | None, most: int
) -> None:
    crowd = Crowd(RequestQueue(concurrency, lambda _: slots))
    for number in range(10):
        await crowd.comes(str(number), PERSON, str(number))
    assert len(crowd.served) == most
    assert crowd.queue.bounded_concurrency(16, [LOCAL, "other"]) == most
    assert crowd.queue.bounded_concurrency(16, [LISTED, LOCAL]) == 16
    assert crowd.queue.bounded_concurrency(1, [LOCAL]) == 1
    assert len(await crowd.all_end()) == 10


async def test_people_come_first_then_branches_then_what_nobody_waits_for(crowd: Crowd) -> None:
    await crowd.comes("on its way", PERSON, "a")
    await crowd.comes("tick", BACKGROUND, "inner")
    await crowd.comes("notes", BACKGROUND, "b")
    await crowd.comes("branch", BRANCH, "c.one")
    await crowd.comes("reading", BRANCH, "d")
    await crowd.comes("person", PERSON, "e")
    assert await crowd.all_end() == ["on its way", "person", "branch", "reading", "tick", "notes"]


async def test_threads_take_turns_and_each_keeps_its_own_order(crowd: Crowd) -> None:
    await crowd.comes("a0", PERSON, "a")
    for number in (1, 2, 3):
        await crowd.comes(f"a{number}", PERSON, "a")
    await crowd.comes("b1", PERSON, "b")
    await crowd.comes("b2", PERSON, "b")
    await crowd.comes("c1", PERSON, "c")
    assert await crowd.all_end() == ["a0", "b1", "c1", "a1", "b2", "a2", "a3"]


async def test_a_tree_with_many_branches_takes_no_more_turns_than_one_with_few(crowd: Crowd) -> None:
    await crowd.comes("on its way", PERSON, "z")
    for number in (1, 2, 3):
        await crowd.comes(f"a.{number}", BRANCH, f"a.{number}")
    await crowd.comes("a.1 again", BRANCH, "a.1")
    await crowd.comes("b.1", BRANCH, "b.1")
    await crowd.comes("b.1 again", BRANCH, "b.1")
    assert (await crowd.all_end())[1:] == ["a.1", "b.1", "a.2", "b.1 again", "a.3", "a.1 again"]


async def test_what_nobody_waits_for_gives_way_to_a_person(crowd: Crowd) -> None:
    await crowd.comes("tick", BACKGROUND, "inner")
    assert not crowd.places["tick"].over.is_set()
    await crowd.comes("person", PERSON, "a")
    assert crowd.places["tick"].over.is_set()
    await crowd.ends("tick")
    assert crowd.served == ["tick", "person"]


@pytest.mark.parametrize("urgency", [BRANCH, BACKGROUND])
async def test_nothing_gives_way_to_a_branch_or_to_another_tick(
    crowd: Crowd, urgency: RequestUrgency
) -> None:
    await crowd.comes("tick", BACKGROUND, "inner")
    await crowd.comes("other", urgency, "a.b")
    assert not crowd.places["tick"].over.is_set()


@pytest.mark.parametrize("urgency", [PERSON, BRANCH])
async def test_what_somebody_waits_for_is_never_broken_off(crowd: Crowd, urgency: RequestUrgency) -> None:
    await crowd.comes("first", urgency, "a")
    await crowd.comes("person", PERSON, "b")
    assert not crowd.places["first"].over.is_set()


async def test_no_more_gives_way_than_people_wait() -> None:
    crowd = Crowd(RequestQueue(3))
    for name in ("tick", "notes", "sum"):
        await crowd.comes(name, BACKGROUND, name)
    await crowd.comes("person", PERSON, "a")
    await crowd.comes("branch", BRANCH, "a.b")
    giving = [name for name, place in crowd.places.items() if place.gives_way.is_set()]
    assert giving == ["sum"], "what began last has cost least"
    await crowd.comes("another person", PERSON, "b")
    giving = [name for name, place in crowd.places.items() if place.gives_way.is_set()]
    assert giving == ["notes", "sum"]
    await crowd.close()


async def test_where_there_is_room_nothing_gives_way() -> None:
    crowd = Crowd(RequestQueue(2))
    await crowd.comes("tick", BACKGROUND, "inner")
    await crowd.comes("person", PERSON, "a")
    assert crowd.served == ["tick", "person"]
    assert not crowd.places["tick"].over.is_set()
    await crowd.close()


async def test_who_is_stopped_waits_no_longer_and_takes_no_place(crowd: Crowd) -> None:
    await crowd.comes("first", PERSON, "a")
    await crowd.comes("second", PERSON, "b")
    await crowd.comes("third", PERSON, "c")
    crowd.stops["second"].set()
    await rest()
    assert crowd.served == ["first", "second"]
    assert crowd.places["second"].over.is_set()
    await crowd.ends("second")
    assert crowd.served == ["first", "second"], "the first one is still on its way"
    await crowd.ends("first")
    assert crowd.served == ["first", "second", "third"]


@pytest.mark.parametrize("waits", [True, False])
async def test_who_is_cancelled_leaves_the_queue(crowd: Crowd, waits: bool) -> None:
    await crowd.comes("first", PERSON, "a")
    await crowd.comes("second", PERSON, "b")
    name = "second" if waits else "first"
    crowd._tasks.pop(name).cancel()
    await rest()
    await crowd.comes("third", PERSON, "c")
    assert crowd.served == (["first"] if waits else ["first", "second"])

"""Queue of requests to unlisted models, whose server answers few at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count

from daemon.claude.model_places import ModelPlaces, OwnPlaces, PlaceDemand
from daemon.claude.models import is_listed

ONE = 1
"""Parallel requests at a server that names no slots."""


class RequestUrgency(IntEnum):
    """Urgency of a request; a lower number goes first."""

    PERSON = 0
    BRANCH = 1
    BACKGROUND = 2


@dataclass(eq=False, kw_only=True)
class QueuedRequest:
    """A queued or running request.

    `over` is set when the request must end, `gives_way` when a person needs its slot.
    """

    model: str
    urgency: RequestUrgency
    thread: str
    number: int
    over: asyncio.Event
    gives_way: asyncio.Event = field(default_factory=asyncio.Event)
    admitted: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def root(self) -> str:
        return self.thread.partition(".")[0]


class RequestQueue:
    """Queue to a server's unlisted models: people, then branches and readings, then notes and ticks.

    Threads of equal urgency alternate, and a waiting person breaks off background requests. `concurrency`:
    most parallel requests; 0 takes the model's `slots`. `places`: those of this process among others.
    """

    def __init__(
        self,
        concurrency: int = 0,
        slots: Callable[[str], int | None] = lambda _: None,
        places: ModelPlaces | None = None,
    ) -> None:
        self._concurrency = concurrency
        self._slots = slots
        self._places = places or OwnPlaces()
        self._places.on_change(self._admit_waiting)
        self._waiting: list[QueuedRequest] = []
        self._running: list[QueuedRequest] = []
        self._served: dict[str, int] = {}
        """Number of the newest admission, by thread and by root thread."""
        self._came, self._admissions = count(1), count(1)

    def concurrency_of(self, model: str) -> int | None:
        """Return the most parallel requests to this model; None: unlimited."""
        if is_listed(model):
            return None
        return self._concurrency or self._slots(model) or ONE

    def bounded_concurrency(self, concurrency: int, models: Iterable[str]) -> int:
        """Return `concurrency`, bounded by the parallel requests that the models allow."""
        bounds = [self.concurrency_of(model) for model in models]
        known = [bound for bound in bounds if bound is not None]
        if not known or len(known) < len(bounds):
            return concurrency
        return min(concurrency, max(known))

    @asynccontextmanager
    async def admitted(
        self, model: str, urgency: RequestUrgency, thread: str, stop: asyncio.Event
    ) -> AsyncIterator[QueuedRequest]:
        """Wait until the request may be sent; its slot is freed after the context.

        Once `stop` is set, nothing may be sent.
        """
        place = QueuedRequest(model=model, urgency=urgency, thread=thread, number=next(self._came), over=stop)
        if self.concurrency_of(model) is None:
            yield place
            return
        self._waiting.append(place)
        try:
            await self._admission(place, stop)
            if urgency is not RequestUrgency.BACKGROUND:
                yield place
            else:
                async with _any_event(stop, place.gives_way) as place.over:
                    yield place
        finally:
            for line in (self._waiting, self._running):
                if place in line:
                    line.remove(place)
            self._places.state(self._demand())  # a free place may be needed more elsewhere
            self._admit_waiting()

    async def _admission(self, place: QueuedRequest, stop: asyncio.Event) -> None:
        self._admit_waiting()
        if not place.admitted.is_set():
            async with _any_event(place.admitted, stop) as ended:
                await ended.wait()

    def _admit_waiting(self) -> None:
        while self._waiting:
            place = min(self._waiting, key=self._precedence)
            if len(self._running) >= self._places.limit(self.concurrency_of(place.model) or ONE):
                break
            self._waiting.remove(place)
            if not self._waiting:
                self._served.clear()  # the order of admissions matters only while requests wait
            self._served[place.root] = self._served[place.thread] = next(self._admissions)
            self._running.append(place)
            place.admitted.set()
        self._places.state(self._demand())
        self._break_off_lower()

    def _demand(self) -> PlaceDemand:
        waiting = Counter(place.urgency for place in self._waiting)
        asking = min(self._waiting, key=self._precedence) if self._waiting else None
        return PlaceDemand(
            running=len(self._running),
            people=waiting[RequestUrgency.PERSON],
            branches=waiting[RequestUrgency.BRANCH],
            background=waiting[RequestUrgency.BACKGROUND],
            most=(asking and self.concurrency_of(asking.model)) or ONE,
        )

    def _precedence(self, place: QueuedRequest) -> tuple[int, int, int, int]:
        served = self._served
        return place.urgency, served.get(place.root, 0), served.get(place.thread, 0), place.number

    def _break_off_lower(self) -> None:
        """Break off the newest background requests, one per waiting person."""
        people = sum(place.urgency is RequestUrgency.PERSON for place in self._waiting)
        people += self._places.people_elsewhere
        going = sum(place.gives_way.is_set() for place in self._running)
        background = [place for place in self._running if place.urgency is RequestUrgency.BACKGROUND]
        staying = [place for place in reversed(background) if not place.gives_way.is_set()]
        for place in staying[: max(people - going, 0)]:
            place.gives_way.set()


@asynccontextmanager
async def _any_event(*events: asyncio.Event) -> AsyncIterator[asyncio.Event]:
    first = asyncio.Event()
    if any(event.is_set() for event in events):
        first.set()
    waits = [asyncio.create_task(event.wait()) for event in events]
    for wait in waits:
        wait.add_done_callback(lambda _: first.set())
    try:
        yield first
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)

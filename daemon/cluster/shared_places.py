"""Places at a model server, shared by all daemons of a workspace.

A daemon that waits gets a free place if no other one has a better claim to it: people come before branches
and background requests, then whoever has fewer places, then whoever has waited longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from daemon.claude.model_places import PlaceDemand
from daemon.cluster.log_queries import LogAway, LogQueries
from daemon.engine.journal.log_locks import LogLock

LOOK_SECONDS = 0.2
"""Seconds between two questions while requests wait or run."""

PLACE_TABLES = f"""
create table if not exists soul_model_places(
  worker_id bigint primary key, held integer not null, people integer not null, branches integer not null,
  background integer not null, since timestamptz not null, seen timestamptz not null);

-- State the demand of a daemon; return the places that it holds from now on, and how many requests for people
-- wait elsewhere without a free place.
create or replace function soul_take_places(
  worker bigint, now_held integer, now_people integer, now_branches integer, now_background integer,
  most integer) returns jsonb language plpgsql as $$
declare
  wanted integer := now_people + now_branches + now_background;
  mine soul_model_places; free integer; better integer; urgent integer;
begin
  perform pg_advisory_xact_lock({LogLock.PLACES}, hashtext(current_schema));
  delete from soul_model_places where not soul_is_alive(worker_id);
  insert into soul_model_places
    values(worker, now_held, now_people, now_branches, now_background, clock_timestamp(), clock_timestamp())
    on conflict(worker_id) do update set held = now_held, people = now_people, branches = now_branches,
      background = now_background, seen = clock_timestamp(), since = case
        when soul_model_places.people + soul_model_places.branches + soul_model_places.background = 0
        then clock_timestamp() else soul_model_places.since end
    returning * into mine;
  loop
    select most - coalesce(sum(held), 0) into free from soul_model_places;
    exit when wanted = 0 or free <= 0;
    select coalesce(sum(o.people + o.branches + o.background), 0) into better from soul_model_places o
      where o.worker_id <> worker and o.people + o.branches + o.background > 0
        and o.seen > clock_timestamp() - interval '1 second'
        and (o.people = 0, o.branches = 0, o.held, o.since, o.worker_id)
          < (mine.people = 0, mine.branches = 0, mine.held, mine.since, mine.worker_id);
    exit when free <= better;
    update soul_model_places set held = held + 1, since = clock_timestamp(),
      people = greatest(people - 1, 0),
      branches = branches - (people = 0 and branches > 0)::integer,
      background = background - (people = 0 and branches = 0)::integer
      where worker_id = worker returning * into mine;
    wanted := wanted - 1;
  end loop;
  select coalesce(sum(o.people), 0) - greatest(free, 0) into urgent from soul_model_places o
    where o.worker_id <> worker and o.seen > clock_timestamp() - interval '1 second';
  return jsonb_build_object('held', mine.held, 'people', greatest(urgent, 0));
end $$;
"""


class SharedPlaces:
    """Places of this daemon; a context in which it asks for more of them, and gives back what it has not
    used.
    """

    def __init__(self, queries: LogQueries, worker_id: int) -> None:
        self._queries = queries
        self._worker_id = worker_id
        self._held = 0
        self._demand = PlaceDemand()
        self._changed = asyncio.Event()
        self._tell: Callable[[], None] = lambda: None
        self._asking: asyncio.Task[None] | None = None
        self.people_elsewhere = 0

    async def __aenter__(self) -> Self:
        self._asking = asyncio.create_task(self._ask_forever(), name="places at the model server")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    def limit(self, most: int) -> int:
        return min(most, self._held)

    def state(self, demand: PlaceDemand) -> None:
        if demand == self._demand:
            return
        ended = max(self._demand.running - demand.running, 0)
        self._held -= ended  # others may need the place more
        self.people_elsewhere = max(self.people_elsewhere - ended, 0)
        if not demand.waiting:
            self._held = demand.running
        self._demand = demand
        self._changed.set()

    def on_change(self, call: Callable[[], None]) -> None:
        self._tell = call

    async def _ask_forever(self) -> None:
        while True:
            if not (self._demand.waiting or self._demand.running):
                await self._changed.wait()
            self._changed.clear()
            with suppress(LogAway):
                await self._ask()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._changed.wait()

    async def _ask(self) -> None:
        demand, held = self._demand, self._held
        answer = await self._queries.ask(
            "select soul_take_places(%s, %s, %s, %s, %s, %s)",
            self._worker_id,
            held,
            demand.people,
            demand.branches,
            demand.background,
            demand.most,
        )
        got = answer["held"] - held
        if got and not self._demand.waiting:  # nobody waits any more: the next question gives it back
            self._changed.set()
            return
        people, self.people_elsewhere = self.people_elsewhere, answer["people"]
        self._held += got
        if got or people != self.people_elsewhere:
            self._tell()

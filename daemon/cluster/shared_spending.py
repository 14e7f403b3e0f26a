"""Reservations of the day's budget in the log's database, for all daemons of a workspace.

A reservation counts until whoever asks has read the cost of its call: while it is open, and afterwards for
those whose journal ends before the seq at which it was closed.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from daemon.cluster.log_queries import LogAway, LogQueries
from daemon.engine.journal.log_locks import LogLock
from daemon.turn.reservations import EndReservation, SpentToday

LOOK_SECONDS = 0.5
"""Seconds between two looks for reservations that other daemons have ended, and between retries."""

SPENDING_TABLES = f"""
create table if not exists soul_reservation(
  id uuid primary key, worker_id bigint not null, amount double precision not null,
  closed_seq bigint, closed timestamptz, lost timestamptz);
create index if not exists soul_reservation_by_seq on soul_reservation(closed_seq);

-- A call of a daemon that died may still be billed: it counts for a minute. A closed reservation is kept for
-- daemons that have not read so far, and in case its own statement comes after its end.
create or replace function soul_reserve(
  the_id uuid, worker bigint, the_amount double precision, spent double precision, daily double precision,
  upto bigint) returns boolean language plpgsql as $$
declare
  others double precision;
begin
  perform pg_advisory_xact_lock({LogLock.SPENDING}, hashtext(current_schema));
  if not soul_is_alive(worker) then return false; end if;
  delete from soul_reservation where closed < clock_timestamp() - interval '10 minutes'
    or lost < clock_timestamp() - interval '1 minute';
  update soul_reservation set lost = clock_timestamp() where lost is null and closed is null
    and not soul_is_alive(worker_id);
  select coalesce(sum(amount), 0) into others from soul_reservation
    where closed_seq is null or closed_seq > upto;
  if spent + (the_amount + others) > daily then return false; end if;
  insert into soul_reservation(id, worker_id, amount) values(the_id, worker, the_amount)
    on conflict do nothing;
  return found;
end $$;

create or replace function soul_end_reservation(the_id uuid, worker bigint, upto bigint) returns void
language sql as $$
  insert into soul_reservation(id, worker_id, amount, closed_seq, closed)
    values(the_id, worker, 0, upto, clock_timestamp())
    on conflict(id) do update set closed_seq = upto, closed = clock_timestamp()
$$;
"""


class SharedReservations:
    """Reservations of all daemons; an async context manager.

    While the database is away, nothing is granted. The end of a reservation is told until the database has
    it, so that no dollar stays reserved.
    """

    def __init__(self, queries: LogQueries, worker_id: int) -> None:
        self._queries = queries
        self._worker_id = worker_id
        self._ended: list[tuple[uuid.UUID, int]] = []
        """Ids of reservations whose end is not told yet, with the seqs of their ends."""
        self._released = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tell the last ends once more; what cannot be told ends with this daemon."""
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)
        with suppress(LogAway):
            await self._tell()

    async def reserve(self, amount: float, today: SpentToday) -> EndReservation | None:
        if amount == 0:
            return lambda _upto: None
        reservation = uuid.uuid4()
        try:
            is_granted = await self._queries.ask(
                "select soul_reserve(%s, %s, %s, %s, %s, %s)",
                reservation,
                self._worker_id,
                amount,
                today.spent,
                today.daily,
                today.upto,
            )
        except BaseException as error:
            self._end(reservation, 0)  # the answer is lost, the reservation may be there
            if isinstance(error, LogAway):
                return None
            raise
        if not is_granted:
            return None
        return lambda upto: self._end(reservation, upto)

    async def wait_for_end(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._released.wait()

    def _end(self, reservation: uuid.UUID, upto: int) -> None:
        self._ended.append((reservation, upto))
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_until_told(), name="ends of reservations")

    async def _tell_until_told(self) -> None:
        while self._ended:
            try:
                await self._tell()
            except LogAway:
                await asyncio.sleep(LOOK_SECONDS)

    async def _tell(self) -> None:
        told: Sequence[tuple[uuid.UUID, int]] = [*self._ended]
        if not told:
            return
        await self._queries.ask(
            "select count(soul_end_reservation(id, %s, upto))"
            " from unnest(%s::uuid[], %s::bigint[]) as ended(id, upto)",
            self._worker_id,
            [reservation for reservation, _ in told],
            [upto for _, upto in told],
        )
        del self._ended[: len(told)]
        self._released.set()
        self._released = asyncio.Event()

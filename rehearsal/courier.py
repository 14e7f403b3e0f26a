"""At-least-once delivery of events to apps."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rehearsal.faults import Value
from rehearsal.socket_mode import AppSockets
from rehearsal.switchboard import FaultSwitchboard
from rehearsal.timekeeping import RehearsalClock
from rehearsal.wire import parsed

GAPS = (3.0, 60.0, 240.0)
"""Seconds between attempts: an ack is due within 3, retries follow after 0, 60 and 300 more."""
WAITING = f"""select id, payload, attempts, sent from delivery
              where app = ? and acked is null and attempts <= {len(GAPS)} order by id"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDelivery:
    """Event for an app, sent `attempts` times, last at `sent`."""

    id: int
    app: str
    payload: str
    attempts: int
    sent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryHold:
    """Hold of an event, until a time or until event `passer` is sent."""

    fault: str
    app: str
    about: str
    until: float
    passer: int | None = None


class DeliveryHolds:
    """Events held by faults. Switching a fault off releases them."""

    def __init__(self, faults: FaultSwitchboard, clock: RehearsalClock) -> None:
        self._faults = faults
        self._clock = clock
        self._held: dict[int, DeliveryHold] = {}

    def take(self, id: int, app: str, about: str) -> None:
        """Hold a new event if a fault strikes.

        Reordered events wait for the first event about another message; those about one message wait
        together.
        """
        delay = self._faults.strikes("delay")
        if delay:
            self._hold(id, "delay", app, about, delay)
            return
        waiting = self._waiting(app)
        if not waiting:
            reorder = self._faults.strikes("reorder")
            if reorder:
                self._hold(id, "reorder", app, about, reorder)
            return
        first = self._held[waiting[0]]
        if about and first.about == about:
            self._held[id] = first
            return
        for other in waiting:
            self._held[other] = replace(self._held[other], passer=id)

    def due(self, id: int) -> float:
        hold = self._held.get(id)
        if hold is None or self._faults.on(hold.fault) is None:
            return self._clock.now()
        return hold.until

    def sent(self, id: int) -> None:
        """Release events that waited for this one."""
        self._held.pop(id, None)
        self._held = {other: hold for other, hold in self._held.items() if hold.passer != id}

    def _hold(self, id: int, fault: str, app: str, about: str, told: Mapping[str, Value]) -> None:
        until = self._clock.now() + float(told["seconds"])
        self._held[id] = DeliveryHold(fault=fault, app=app, about=about, until=until)

    def _waiting(self, app: str) -> list[int]:
        return [
            id
            for id, hold in self._held.items()
            if hold.fault == "reorder" and hold.app == app and hold.passer is None
        ]


class EventCourier:
    """Delivery loop. `speed` divides the waits between attempts."""

    def __init__(
        self, db: sqlite3.Connection, clock: RehearsalClock, links: AppSockets, faults: FaultSwitchboard
    ) -> None:
        self.speed = 1.0
        self._db = db
        self._clock = clock
        self._links = links
        self._faults = faults
        self._holds = DeliveryHolds(faults, clock)
        self._changed = asyncio.Event()
        self._envelopes: dict[str, int] = {}
        self._answers: dict[str, asyncio.Future[Any]] = {}

    def post(self, app: str, event_id: str, payload: object) -> None:
        sql = "insert into delivery (app, event_id, payload) values (?, ?, ?)"
        id = self._db.execute(sql, (app, event_id, json.dumps(payload))).lastrowid
        assert id is not None
        self._holds.take(id, app, _about(payload))
        self.wake()

    def answer_to(self, event_id: str) -> asyncio.Future[Any]:
        """Return the payload of an event's ack, when it comes; None if the ack has none."""
        answer = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _: self._answers.pop(event_id, None))
        self._answers[event_id] = answer
        return answer

    def wake(self) -> None:
        self._changed.set()

    def hear(self, frame: str) -> None:
        """Handle a frame; only acks count."""
        try:
            told = parsed(frame)
        except ValueError:
            return
        match told:
            case {"envelope_id": str(envelope), "payload": answer} if envelope in self._envelopes:
                self._acked(self._envelopes.pop(envelope), answer)
            case {"envelope_id": str(envelope)} if envelope in self._envelopes:
                self._acked(self._envelopes.pop(envelope))

    def _acked(self, id: int, answer: object = None) -> None:
        if self._is_lost(id):
            return
        with self._db:
            sql = "update delivery set acked = coalesce(acked, ?) where id = ? returning event_id"
            (event_id,) = self._db.execute(sql, (self._clock.now(), id)).fetchone()
        waits = self._answers.get(event_id)
        if waits and not waits.done():
            waits.set_result(answer)

    async def run(self) -> None:
        """Deliver events until cancelled."""
        while True:
            self._changed.clear()
            with self._db:
                for delivery in self._waiting():
                    if self._due(delivery) <= self._clock.now():
                        self._send(delivery)
            await self._rest(min(map(self._due, self._waiting()), default=None))

    def deliveries(self) -> list[dict[str, Any]]:
        sql = "select app, event_id, attempts, acked, payload from delivery order by id"
        return [
            {
                "app": app,
                "event_id": event_id,
                "attempts": attempts,
                "acked": acked is not None,
                "payload": json.loads(payload),
            }
            for app, event_id, attempts, acked, payload in self._db.execute(sql)
        ]

    def payload(self, app: str, event_id: str) -> object:
        """Return an event's payload; None if unknown."""
        sql = "select payload from delivery where app = ? and event_id = ?"
        row = self._db.execute(sql, (app, event_id)).fetchone()
        return json.loads(row[0]) if row else None

    def counts(self, app: str) -> dict[str, int]:
        """Return the numbers of envelopes sent, and of events acked and unacked."""
        sql = """select coalesce(sum(attempts), 0), count(acked), count(*) - count(acked)
                 from delivery where app = ?"""
        sent, acked, unacked = self._db.execute(sql, (app,)).fetchone()
        return {"sent": sent, "acked": acked, "unacked": unacked}

    def _waiting(self) -> Iterator[EventDelivery]:
        """Yield unacked events of connected apps with attempts left."""
        for app in self._links.apps():
            for id, payload, attempts, sent in self._db.execute(WAITING, (app,)).fetchall():
                yield EventDelivery(id=id, app=app, payload=payload, attempts=attempts, sent=sent or 0.0)

    def _due(self, delivery: EventDelivery) -> float:
        if not delivery.attempts:
            return self._holds.due(delivery.id)
        return delivery.sent + GAPS[delivery.attempts - 1] / self.speed

    def _is_lost(self, id: int) -> bool:
        """True if a fault drops this ack; that of the last attempt always arrives."""
        (attempts,) = self._db.execute("select attempts from delivery where id = ?", (id,)).fetchone()
        return attempts <= len(GAPS) and self._faults.strikes("redelivery") is not None

    def _send(self, delivery: EventDelivery) -> None:
        times = 2 if self._faults.strikes("duplicate") else 1
        for _ in range(times):
            envelope = str(uuid.uuid4())
            self._envelopes[envelope] = delivery.id
            self._links.next(delivery.app).send(_frame(envelope, delivery))
        self._holds.sent(delivery.id)
        sql = "update delivery set attempts = attempts + 1, sent = ? where id = ?"
        self._db.execute(sql, (self._clock.now(), delivery.id))

    async def _rest(self, due: float | None) -> None:
        waits: list[asyncio.Task[object]] = [asyncio.create_task(self._changed.wait())]
        if due is not None:
            waits.append(asyncio.create_task(self._sleep(due)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _sleep(self, until: float) -> None:
        await self._clock.sleep(until - self._clock.now())


def _about(payload: object) -> str:
    match payload:
        case {"event": {"event_ts": str(ts)}}:
            return ts
    return ""


def _frame(envelope: str, delivery: EventDelivery) -> str:
    payload = json.loads(delivery.payload)
    return json.dumps(
        {
            "envelope_id": envelope,
            "type": _type(payload),
            "accepts_response_payload": _takes_answer(payload),
            "retry_attempt": delivery.attempts,
            "retry_reason": "timeout" if delivery.attempts else "",
            "payload": payload,
        }
    )


def _type(payload: object) -> str:
    match payload:
        case {"type": "block_actions" | "view_submission"}:
            return "interactive"
    return "events_api"


def _takes_answer(payload: object) -> bool:
    match payload:
        case {"type": "view_submission"}:
            return True
    return False

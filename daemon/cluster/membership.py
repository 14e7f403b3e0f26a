"""Membership of this daemon in its workspace: its heartbeat, the daemons that are alive, those that are not.

Before an effect the log is asked, and *then* the time is looked at: a daemon acts only as long as no other
can count it as dead. A session of its own carries heartbeats, confirmations, roles and sockets alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import psycopg
from psycopg.types.json import Jsonb

from daemon.cluster.daemon_facts import DaemonFacts as DaemonFacts
from daemon.cluster.daemon_facts import DaemonRow as DaemonRow
from daemon.cluster.log_clock import LogClock
from daemon.cluster.log_reach import LogReach
from daemon.cluster.log_session import LogSession
from daemon.engine.clock import boot_time
from daemon.engine.exceptions import CountedAsDead
from daemon.engine.journal.postgres_log import away_reason
from daemon.settings.parse import ConfigError

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 0.5
SILENCE_SECONDS = 4.0
"""Seconds without a heartbeat after which a daemon is dead. After the log was away, nobody is for as long."""
GONE_SECONDS = 1.5
"""Seconds without a heartbeat after which a daemon is dead whose session is gone, too."""
SURE_SECONDS = 1.2
"""Seconds after a heartbeat was sent for which a daemon is sure that it does not count as dead."""
SETTLING_SECONDS = 1.0
"""Seconds after its start for which a daemon judges no other."""
RETRY_SECONDS = 0.25
MOST_SOCKETS = 10
"""Sockets that Slack allows for an app."""

DEAD = (
    "This daemon counts as dead: the log had heard nothing from it for too long, and other daemons have taken"
    " over its work. Start it again."
)
SAME_MACHINE = "MACHINE={machine}: a daemon of this name is alive. Give each daemon a name of its own."
OTHER_MODE = (
    "AT_WORK={ours}: the daemon {machine} is alive with AT_WORK={theirs}. All daemons of a workspace have one"
    " value: stop the others first, or set the same here."
)


@dataclass(frozen=True, slots=True)
class AskedConfirmation:
    """Question for the lease of an attempt; the answer is (boot time at which it was sent, has the lease)."""

    thread: str
    epoch: int
    answer: asyncio.Future[tuple[float, bool]]


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """Statement for the membership's session. It may run twice if an answer is lost."""

    query: str
    asked: Sequence[Any]
    answer: asyncio.Future[Any]


class Membership:
    """Place of a daemon in its workspace; a context. Joining waits for the log. Raises ConfigError.

    `died` fails with CountedAsDead once others count this daemon as dead. Functions in `on_death` are called
    for each dead daemon, on one living daemon that has any. They run again elsewhere if that one dies
    meanwhile. `with_each_heartbeat` is called after each heartbeat, and may use `ask`.
    """

    def __init__(self, url: str, facts: DaemonFacts, clock: LogClock | None = None) -> None:
        self.clock = clock or LogClock()
        self.reach = LogReach(self.clock)
        self.worker_id = 0
        self.session_number = 0
        """Number of this session: locks of earlier ones are lost."""
        self.on_death: list[Callable[[DaemonRow], Awaitable[None]]] = []
        self.with_each_heartbeat: list[Callable[[], Awaitable[None]]] = []
        self._facts = facts
        self._stated: dict[str, Any] | None = None
        self._session = LogSession(url)
        self._rows: Sequence[DaemonRow] = ()
        self._heard = self._renewed = float("-inf")
        self._judges_from = float("inf")
        self._due = float("-inf")
        self._wake = asyncio.Event()
        self._ending = False
        self._confirmations: list[AskedConfirmation] = []
        self._requests: list[SessionRequest] = []
        self._cleaning: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self.died: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            await self._join()
        except BaseException:
            await self._session.close()
            raise
        self._pulse = asyncio.create_task(self._beat_until_end(), name="membership")
        self._pulse.add_done_callback(self._end)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave in good order: whatever this daemon did has to be at its end."""
        for task in self._cleaning:
            task.cancel()
        self._ending = True
        self._wake.set()
        await asyncio.wait([self._pulse])
        try:
            if not self.counted_as_dead:
                await self._session.ask("select soul_leave(%s)", (self.worker_id,))
        except psycopg.Error as error:
            log.warning("Could not leave the workspace in good order: %s", away_reason(error))
        finally:
            await self._session.close()
            self.died.cancel()

    # --- for others

    @property
    def counted_as_dead(self) -> bool:
        return self.died.done() and not self.died.cancelled()

    @property
    def is_sure(self) -> bool:
        """True while no other daemon can count this one as dead."""
        return not self.counted_as_dead and boot_time() - self._renewed < SURE_SECONDS

    @property
    def alive(self) -> Sequence[DaemonRow]:
        """Daemons that are alive, this one among them, as of the last heartbeat."""
        since = boot_time() - self._heard
        return [replace(row, silent=row.silent + since) for row in self._rows]

    def session_name(self, purpose: str) -> str:
        """Return the application's name for a session: it is ended when this daemon counts as dead."""
        return f"soul:{self.worker_id}:{purpose}"

    def report(self, **facts: Any) -> None:
        """Change facts about this daemon; they are sent with the next heartbeat."""
        self._facts = replace(self._facts, **facts)

    async def confirm(self, thread: str, epoch: int) -> bool:
        """Wait until the log answers and this daemon is sure. False: another attempt has the lease."""
        while not (self.counted_as_dead or self._ending):
            answer: asyncio.Future[tuple[float, bool]] = asyncio.get_running_loop().create_future()
            self._confirmations.append(AskedConfirmation(thread, epoch, answer))
            self._wake.set()
            sent, has_lease = await answer
            if not has_lease:
                return False
            if boot_time() - sent < SURE_SECONDS:
                return not self.counted_as_dead
        return False

    async def take_sockets(self, wanted: int) -> int:
        """State how many sockets to Slack this daemon wants; return how many it may have from now on."""
        query = "select soul_take_sockets(%s, %s, %s)"
        return int(await self.request(query, (self.worker_id, wanted, MOST_SOCKETS)) or 0)

    async def request(self, query: str, asked: Sequence[Any]) -> Any:
        """Run a statement in the membership's session, as often as it takes to get its answer."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._requests.append(SessionRequest(query, asked, answer))
        self._wake.set()
        return await answer

    async def ask(self, query: str, asked: Sequence[Any]) -> Any:
        """Run a statement in the membership's session; only as part of a heartbeat."""
        return await self._session.ask(query, asked)

    def hurry(self) -> None:
        """Send the next heartbeat at once."""
        self._due = float("-inf")
        self._wake.set()

    # --- joining

    async def _join(self) -> None:
        since: float | None = None
        while not self.worker_id:
            try:
                await self._session.open("soul:joining")
                since = await self._join_in_session(since)
            except (psycopg.OperationalError, psycopg.InternalError) as error:
                self._note_away(error)
                await self.clock.sleep(RETRY_SECONDS)

    async def _join_in_session(self, since: float | None) -> float:
        """Wait until no rival is alive; return the log's time at the first answer."""
        may_judge = False  # a log that was just away judges nobody
        while True:
            facts, sent = Jsonb(self._facts_now()), boot_time()
            asked = (facts, may_judge, SILENCE_SECONDS, GONE_SECONDS)
            answer = await self._session.ask("select soul_join(%s, %s, %s, %s)", asked)
            self._note_answer(answer["time"], sent)
            since = since or answer["time"]
            if answer["worker_id"]:
                self.worker_id = answer["worker_id"]
                self.session_number += 1
                self._judges_from = boot_time() + SETTLING_SECONDS
                return since
            self._refuse_living(answer["rivals"], since)
            await self.clock.sleep(HEARTBEAT_SECONDS)
            may_judge = True

    def _refuse_living(self, rivals: Sequence[dict[str, Any]], since: float) -> None:
        """Raise ConfigError if a rival's heart has beaten since then; one that was just killed is silent."""
        for rival in rivals:
            if rival["heard"] < since + HEARTBEAT_SECONDS:
                continue
            if rival["machine"] == self._facts.machine:
                raise ConfigError(SAME_MACHINE.format(machine=rival["machine"]))
            theirs, ours = rival["at_work"], self._facts.at_work
            raise ConfigError(OTHER_MODE.format(ours=ours, machine=rival["machine"], theirs=theirs))

    # --- heartbeats

    async def _beat_until_end(self) -> None:
        """Send heartbeats, in as many sessions as it takes."""
        has_session = True
        while not self._ending:
            try:
                if not has_session:
                    await self._rejoin()
                has_session = True
                while not self._ending:
                    await self._rest()
                    await self._answer_confirmations()
                    await self._answer_requests()
                    if boot_time() >= self._due:
                        await self._beat()
            except psycopg.Error as error:
                self._note_away(error)
                if not has_session:
                    await self.clock.sleep(RETRY_SECONDS)
                has_session = False

    async def _rejoin(self) -> None:
        self._judges_from = float("inf")
        await self._session.open(self.session_name("membership"))
        if not await self._session.ask("select soul_rejoin(%s)", (self.worker_id,)):
            raise CountedAsDead(DEAD)
        self.session_number += 1
        self._judges_from = boot_time() + SILENCE_SECONDS  # others may have been cut off, too
        self._due = float("-inf")

    async def _rest(self) -> None:
        left = self._due - boot_time()
        if left > 0:
            timer = asyncio.get_running_loop().call_later(left, self._wake.set)
            await self._wake.wait()
            timer.cancel()
        self._wake.clear()

    async def _beat(self) -> None:
        sent = boot_time()
        self._due = sent + HEARTBEAT_SECONDS
        facts = self._facts_now()
        stated = Jsonb(facts) if facts != self._stated else None
        may_judge = sent >= self._judges_from
        asked = (self.worker_id, stated, may_judge, bool(self.on_death), self.clock.now())
        query = "select soul_heartbeat(%s, %s, %s, %s, %s, %s, %s)"
        answer = await self._session.ask(query, (*asked, SILENCE_SECONDS, GONE_SECONDS))
        if not answer["alive"]:
            raise CountedAsDead(DEAD)
        self._stated, self._renewed, self._heard = facts, sent, boot_time()
        self._note_answer(answer["time"], sent)
        if not answer["as_expected"]:
            self._judges_from = max(self._judges_from, boot_time() + SILENCE_SECONDS)
        self._rows = [DaemonRow.of_json(row) for row in answer["daemons"]]
        for row in answer["dead"]:
            self._clean_up(DaemonRow.of_json(row))
        for step in self.with_each_heartbeat:
            await step()

    def _facts_now(self) -> dict[str, Any]:
        return {**asdict(self._facts), "clock_offset": round(self.clock.offset, 1)}

    async def _answer_confirmations(self) -> None:
        """Answer all that wait with one statement."""
        waiting = [one for one in self._confirmations if not one.answer.done()]
        self._confirmations = [*waiting]
        if not waiting:
            return
        sent = boot_time()
        asked = (self.worker_id, [one.thread for one in waiting], [one.epoch for one in waiting])
        query = "select soul_confirm(%s, %s::text[], %s::bigint[])"
        answers = await self._session.ask(query, asked)
        if answers is None:
            raise CountedAsDead(DEAD)
        self._renewed = sent
        self.reach.note_answer()
        self._confirmations = self._confirmations[len(waiting) :]
        for one, has_lease in zip(waiting, answers, strict=True):
            if not one.answer.done():
                one.answer.set_result((sent, has_lease))

    async def _answer_requests(self) -> None:
        while self._requests:
            one = self._requests[0]
            if not one.answer.done():
                value = await self._session.ask(one.query, one.asked)
                if not one.answer.done():
                    one.answer.set_result(value)
            del self._requests[0]

    # --- what heartbeats find

    def _note_answer(self, log_time: float, sent: float) -> None:
        self.clock.measure(log_time, sent, boot_time())
        if not self.reach.reachable and self.session_number:
            log.info("The log is there again.")
        self.reach.note_answer()

    def _note_away(self, error: psycopg.Error) -> None:
        reason = away_reason(error)
        if reason != self.reach.reason:
            log.warning(
                "The log does not answer (%s): nothing is acknowledged or begun until it does.", reason
            )
        self.reach.reason = reason

    def _clean_up(self, dead: DaemonRow) -> None:
        log.warning("The daemon %s counts as dead; its work is taken over.", dead.machine)
        task = asyncio.create_task(self._clean_up_after(dead), name=f"after {dead.machine}")
        self._cleaning.add(task)
        task.add_done_callback(self._cleaning.discard)

    async def _clean_up_after(self, dead: DaemonRow) -> None:
        ended = await asyncio.gather(*(one(dead) for one in self.on_death), return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException):
                log.error("Could not clean up after the daemon %s", dead.machine, exc_info=error)
        await self.request("select soul_cleaned(%s, %s)", (self.worker_id, dead.worker_id))

    def _end(self, pulse: asyncio.Task[None]) -> None:
        """Answer all that wait; tell of a death, or of a failure of the heartbeats."""
        error = None if pulse.cancelled() else pulse.exception()
        if error and not self.died.done():
            self.died.set_exception(error)
            self.died.exception()  # asyncio need not log it: its owner may have ended already
        self._ending = True
        self.reach.stop()
        for one in self._confirmations:
            if not one.answer.done():
                one.answer.set_result((float("-inf"), False))
        for request in self._requests:
            request.answer.cancel()

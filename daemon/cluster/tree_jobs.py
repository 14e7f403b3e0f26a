"""Jobs of Procrastinate, one for each tree of threads that has something to do.

A job says only "look": whoever has it takes the turns of the tree until none of its threads can go on. It is
deferred when a thread becomes busy; a sweep defers what is missing, so a lost job costs a second. It is
never retried and never scheduled: a stalled one is deleted and deferred again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

import psycopg
from procrastinate import PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job, Notification, Status
from procrastinate.manager import JobManager
from psycopg_pool import AsyncConnectionPool

from daemon.cluster.daemon_facts import DaemonRow
from daemon.cluster.tree_wake import TREES
from daemon.engine.event import root_of
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.postgres_log import SOCKET_OPTIONS, STATEMENT_TIMEOUT
from daemon.engine.tree_share import RunTree, WorkerName

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Seconds after which jobs are looked for without a notice, and between sweeps."""
PAUSE_SECONDS = 0.002
"""Seconds between two jobs that a daemon takes, so that the others get their share."""
RETRY_SECONDS = 0.2
"""Seconds between attempts while the log is away."""
ANSWER_SECONDS = 5.0
"""Seconds until a connection to the log is given up."""

LIVING = """
select w.id from procrastinate_workers w join soul_daemon d on d.worker_id = w.id
where (w.id, d.machine) in (select * from unnest(%(ids)s::bigint[], %(machines)s::text[]))
"""


class DaemonInWorkspace(Protocol):
    """Identity of this daemon: its row in Procrastinate's table of workers."""

    worker_id: int

    @property
    def is_sure(self) -> bool: ...

    @property
    def alive(self) -> Sequence[DaemonRow]: ...

    def session_name(self, purpose: str) -> str: ...


class TreeJobs:
    """Share of this daemon: the trees whose jobs it has. Errors while the log is away are survived."""

    follows = True

    def __init__(self, url: str, machine: str, daemon: DaemonInWorkspace) -> None:
        self.name = WorkerName(machine, daemon.worker_id)
        self._daemon = daemon
        self._connector = PsycopgConnector(conninfo=url, configure=_configure, kwargs=self._options())
        self._pool = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=3,
            timeout=ANSWER_SECONDS,
            configure=_configure,
            kwargs=self._options(),
            open=False,
        )
        self._jobs = JobManager(self._connector)
        self._own_queue = _queue_of(daemon.worker_id)
        self.held = set[str]()
        """Roots of the trees whose jobs this daemon has."""
        self._running = dict[int, asyncio.Task[None]]()
        """Tasks by id of their job, until the job is gone."""
        self._missing = dict[str, bool]()
        """Trees that can go on, by root; True if they are in this worker's memory."""
        self._asking = asyncio.Lock()
        """Held while a job is fetched, and while jobs are compared with those that run."""
        self._notices = 0
        self._news = asyncio.Event()
        self._urgent = asyncio.Event()
        self._takes = True

    def _options(self) -> dict[str, Any]:
        return {**SOCKET_OPTIONS, "application_name": self._daemon.session_name("jobs")}

    @property
    def is_sure(self) -> bool:
        return self._daemon.is_sure

    def may_take(self, thread: str) -> bool:
        return root_of(thread) in self.held

    def note_busy(self, thread: str, *, keeps: bool = False) -> None:
        self._missing[root_of(thread)] = keeps
        self._urgent.set()

    def take_no_more(self) -> None:
        self._takes = False

    async def find_dead(self, workers: Collection[WorkerName]) -> Collection[WorkerName]:
        """Return those of these workers that were counted as dead; none while the log is away.

        The log is asked only of those that the last heartbeat does not call alive.
        """
        alive = {(row.machine, row.worker_id) for row in self._daemon.alive}
        workers = [one for one in workers if one not in alive]
        if not workers:
            return ()
        machines, ids = [one.machine for one in workers], [one.id for one in workers]
        try:
            rows = await self._connector.execute_query_all_async(LIVING, ids=ids, machines=machines)
        except ConnectorException as error:
            log.debug("Could not ask the log which workers are alive: %s", error)
            return ()
        living = {row["id"] for row in rows}
        return [one for one in workers if one.id not in living]

    @asynccontextmanager
    async def serve(self, run_tree: RunTree) -> AsyncIterator[None]:
        self._run_tree = run_tree
        logging.getLogger("psycopg.pool").setLevel(
            logging.ERROR
        )  # the daemon itself says that the log is away
        await self._pool.open(wait=False)
        await self._connector.open_async(self._pool)
        loops = (self._fetch, self._sweep, self._listen)
        tasks = [asyncio.create_task(self._repeat(step), name="tree jobs") for step in loops]
        try:
            yield
        finally:
            self._takes = False
            await _end(tasks)
            if self._running:
                await asyncio.wait([*self._running.values()], timeout=ANSWER_SECONDS)
            await self._pool.close()

    async def _repeat(self, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await step()
            except (ConnectorException, psycopg.Error, OSError) as error:
                log.debug("The jobs wait for the log: %s", error)
                await asyncio.sleep(RETRY_SECONDS)

    # Taking jobs

    async def _fetch(self) -> None:
        """Wait, and take a job for each notice; without any, all that are there."""
        await _wait_for(self._news)
        self._news.clear()
        takes_all = not self._notices
        while self._takes and self._daemon.is_sure and (takes_all or self._notices):
            told = self._notices
            async with self._asking:
                job = await self._jobs.fetch_job([self._own_queue, TREES], self.name.id)
                if job:
                    self._begin(job)
            if not job:
                self._notices -= told
                break
            self._notices -= min(told, 1)
            await asyncio.sleep(PAUSE_SECONDS)

    def _begin(self, job: Job) -> None:
        assert job.id is not None
        root = job.lock or ""
        task = asyncio.create_task(self._run(job.id, root), name=f"tree {root}")
        self._running[job.id] = task

    async def _run(self, job: int, root: str) -> None:
        keeper = 0
        try:
            self.held.add(root)
            try:
                keeper = await self._run_tree(root)
            finally:
                self.held.discard(root)
        except JournalError as error:
            log.info("The tree %s waits for the journal. %s", root, error)
        finally:
            await self._end(job, root, keeper)

    async def _end(self, job: int, root: str, keeper: int) -> None:
        """Delete the job of a tree that cannot go on here; wake whoever keeps it, or takes it over."""
        try:
            await self._delete(job)
            if keeper:
                await self._defer(root, _queue_of(keeper))
            elif not self._takes:
                await self._defer(root, TREES)
        except ConnectorException as error:
            log.debug("The job of the tree %s is deleted by the next sweep: %s", root, error)
        finally:
            del self._running[job]

    # Sweeping

    async def _sweep(self) -> None:
        """Delete jobs that nobody runs, and defer those that are missing."""
        await _wait_for(self._urgent)
        self._urgent.clear()
        missing, self._missing = self._missing, {}
        async with self._asking:
            jobs = [*await self._jobs.list_jobs_async()]
            left = [job for job in jobs if job.id is not None and self._is_left(job)]
        left += await self._addressed_to_dead(jobs)
        for job in left:
            assert job.id is not None
            await self._delete(job.id)
        there = {job.lock for job in jobs if job not in left} | self.held
        for root, keeps in missing.items():
            if root not in there:
                await self._defer(root, self._own_queue if keeps else TREES)

    def _is_left(self, job: Job) -> bool:
        """True for a job of a dead worker, and for one that this worker took without knowing."""
        is_at_work = job.status == Status.DOING.value
        lost = job.worker_id == self.name.id and job.id not in self._running
        return is_at_work and (job.worker_id is None or lost)

    async def _addressed_to_dead(self, jobs: Collection[Job]) -> list[Job]:
        waiting = [job for job in jobs if job.status == Status.TODO.value and job.queue != TREES]
        if not waiting:
            return []
        query = "select id from procrastinate_workers"
        living = {_queue_of(row["id"]) for row in await self._connector.execute_query_all_async(query)}
        return [job for job in waiting if job.queue not in living]

    async def _delete(self, job: int) -> None:
        await self._jobs.finish_job_by_id_async(job, Status.SUCCEEDED, delete_job=True)

    async def _defer(self, root: str, queue: str) -> None:
        job = Job(queue=queue, task_name=TREES, lock=root, queueing_lock=root)
        with suppress(AlreadyEnqueued):
            await self._jobs.defer_job_async(job)

    # Notices

    async def _listen(self) -> None:
        await self._jobs.listen_for_jobs(on_notification=self._note_job, queues=[self._own_queue, TREES])

    async def _note_job(self, *, channel: str, notification: Notification) -> None:
        if notification["type"] == "job_inserted":
            self._notices += 1
            self._news.set()


def _queue_of(worker: int) -> str:
    return f"{TREES} of {worker}"


async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
    """Make each statement a transaction, so that a daemon that stops holds no lock of others."""
    await connection.set_autocommit(True)
    await connection.execute(f"set statement_timeout = '{STATEMENT_TIMEOUT}'")


async def _end(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel these tasks. `asyncio.wait_for` of Python 3.11 may swallow that, so it is repeated."""
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=RETRY_SECONDS)


async def _wait_for(event: asyncio.Event) -> None:
    timer = asyncio.get_running_loop().call_later(POLL_SECONDS, event.set)
    try:
        await event.wait()
    finally:
        timer.cancel()

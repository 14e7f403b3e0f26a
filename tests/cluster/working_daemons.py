"""Daemons that all take turns: a worker of a toy program over a shared log, with membership and jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from daemon.cluster.daemon_facts import DaemonFacts
from daemon.cluster.membership import Membership
from daemon.cluster.tree_jobs import TreeJobs
from daemon.cluster.tree_wake import TREE_WAKE
from daemon.engine.event import Event
from daemon.engine.journal.log_schema import APPEND, LOG_TABLES
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.program import Program
from daemon.engine.worker import Worker
from tests.cluster.workspace import install
from tests.engine.function_programs import Body, FunctionProgram
from tests.engine.scenario import Pressed, Said


def install_workspace(url: str) -> None:
    """Make the tables of the log, of Procrastinate and of the daemons."""
    install(url)
    with psycopg.connect(url, autocommit=True) as connection:
        for text in (LOG_TABLES, "alter table lease alter epoch type bigint", APPEND, TREE_WAKE):
            connection.execute(text.encode())
        connection.execute("insert into soul_log(version) values(1) on conflict do nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingDaemon:
    membership: Membership
    journal: SharedJournal
    jobs: TreeJobs
    worker: Worker

    def has_taken(self) -> set[str]:
        """Return the roots of the trees that it holds now."""
        return set(self.jobs.held)


@asynccontextmanager
async def joined(
    url: str, home: Path, machine: str, program: Program | Body, kinds: Sequence[type[Event]] = ()
) -> AsyncIterator[WorkingDaemon]:
    """Run a daemon that takes turns beside others, with its copy in `home`."""
    if not isinstance(program, Program):
        program = FunctionProgram(program)
    folder = home / machine
    folder.mkdir(exist_ok=True)
    async with Membership(url, DaemonFacts(machine=machine, at_work="all")) as membership:
        name = f"soul:{membership.worker_id}"
        path, every = folder / "journal.db", [Said, Pressed, *kinds]
        async with SharedJournal(path, membership.clock, every, url=url, name=name, jobs=True) as journal:
            journal.write_as(membership.worker_id)
            journal.confirmation = membership
            jobs = TreeJobs(url, machine, membership)
            async with Worker(journal, membership.clock, program, share=jobs, grace=1.0) as worker:
                membership.on_death.append(worker.note_death)
                yield WorkingDaemon(membership=membership, journal=journal, jobs=jobs, worker=worker)

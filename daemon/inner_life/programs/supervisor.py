"""Supervisor of the owner's programs (CORE, "Branches, waiting, processes, caps").

The journal and the runs' folders hold all its state, so it may die at any moment. With `bwrap`, a program has
no network, cannot see the soul's files and writes only to its folder.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, part_key, seqs_of
from daemon.engine.exceptions import FencedError, JournalError
from daemon.engine.journal.journal import Journal
from daemon.inner_life.programs.placement import OneMachine, ProgramPlacement
from daemon.inner_life.programs.program_folder import (
    FOLDER_KEPT_SECONDS,
    LOST_STATUS,
    MOST_KEPT,
    NOT_BEGUN,
    UNSTARTED,
    WRAPPER_LATE_SECONDS,
    folder_age,
    outcome_in_words,
    program_folder_of,
    read_exit,
    remove_old_folders,
    wrapper_pid,
)
from daemon.inner_life.tick_log import CLEANUP_COMMAND, ProgramLog
from daemon.kinds import CommandRan, ProgramEnded, ProgramStarted, ProgramStopRequested, Status
from daemon.sandbox.bubblewrap import find_bwrap, isolated_argv
from daemon.sandbox.foreign_output import mask_secrets
from daemon.settings.limits import PROCESS_TIMEOUT, AllowedProgram

log = logging.getLogger(__name__)

PATH = "/usr/local/bin:/usr/bin:/bin"


WRAPPER = Path(__file__).parent / "wrapper.py"


TRIES = 3
"""Most starts of a wrapper that makes no folder."""


AT_ONCE = 8
"""Most programs that run at the same time."""


NEARLY = 1.0
"""Seconds by which a measured run time may differ from the limit."""


PAUSE = 1.0
"""Seconds between retries, and between checks of a program whose end is not reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """Limits of a run: `memory`, `room` (of the folder) and `kept` (of each output) in bytes."""

    seconds: float = PROCESS_TIMEOUT
    memory: int = 4 * 2**30
    room: int = 100 * 2**20
    kept: int = MOST_KEPT
    files: int = 256
    processes: int = 64


class ProgramSupervisor:
    """Runner of the owner's programs `recipes` in folders below `home`; an async context manager.

    `secrets` are masked in output; `wake` gets the thread of a result. An isolated program cannot read the
    files `hidden`. `placement` says which programs run here.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        recipes: Mapping[str, AllowedProgram],
        home: Path,
        secrets: Collection[str],
        wake: Callable[[str], None],
        *,
        bounds: ProgramLimits | None = None,
        hidden: Sequence[Path] = (),
        placement: ProgramPlacement | None = None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._recipes = recipes
        self._home = home.absolute()
        self._secrets = secrets
        self._wake = wake
        self._bounds = bounds or ProgramLimits()
        self._hidden = hidden
        self._placement = placement or OneMachine()
        self._log = ProgramLog(journal)
        self._watched: dict[int, asyncio.Event] = {}
        """Flag of each run in progress; setting it stops the run."""
        self._tasks = set[asyncio.Task[None]]()
        self._tidying: asyncio.Task[None] | None = None
        self._again = False
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._tool = ""

    async def __aenter__(self) -> Self:
        if self._recipes:
            self._tool, why = await find_bwrap()
            if why:
                log.warning("Processes of the inner life can reach the network: %s.", why)
        self._begin(self._follow(), "journal reader")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave programs running for the next supervisor."""
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self) -> None:
        while True:
            try:
                since = self._journal.last_seq_of_all()
                for started in self._journal.pending_entries(ProgramStarted):
                    self._watch(started)
                self._begin_tidying()
                async for entries in self._journal.follow_entries(since):
                    for entry in entries:
                        self._take(entry)
            except JournalError as error:
                log.info("The supervisor could not use the journal, and retries: %s", error)
                await self._clock.sleep(PAUSE)

    def _take(self, entry: Entry[Any]) -> None:
        event = entry.event
        if isinstance(event, ProgramStarted):
            self._watch(entry)
        elif isinstance(event, ProgramStopRequested | ProgramEnded) and event.process in self._watched:
            self._watched[event.process].set()  # ended by something else, such as forgetting
        elif isinstance(event, CommandRan) and event.name == CLEANUP_COMMAND and event.ok:
            self._begin_tidying()

    def _watch(self, started: Entry[ProgramStarted]) -> None:
        stop = self._watched.get(started.seq)
        if stop is None:
            stop = self._watched[started.seq] = asyncio.Event()
            task = self._begin(self._run_to_end(started, stop), f"process {started.seq}")
            task.add_done_callback(lambda _: self._watched.pop(started.seq))
        stops = self._journal.thread_entries(started.thread, ProgramStopRequested, since=started.seq)
        if any(asked.event.process == started.seq for asked in stops):
            stop.set()

    def _begin_tidying(self) -> None:
        if self._tidying is None or self._tidying.done():
            self._tidying = self._begin(self._remove_folders(), "tidying")
        else:
            self._again = True

    async def _remove_folders(self) -> None:
        while True:
            self._again = False
            with suppress(JournalError, OSError):
                await self._log.update()
                pending = seqs_of(self._journal.pending_entries(ProgramStarted))
                known = {one.id for one in self._log.all() if not one.branch}
                entries = self._journal.entries_at([*known.union(pending)])
                needed = {program_folder_of(self._home, entry).name for entry in entries}
                if await asyncio.to_thread(remove_old_folders, self._home, needed) and not self._again:
                    return
            await self._clock.sleep(FOLDER_KEPT_SECONDS)

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error:
            said = "A task of the supervisor failed: %s. Restart the daemon."
            log.critical(said, task.get_name(), exc_info=error)

    async def _run_to_end(self, started: Entry[ProgramStarted], stop: asyncio.Event) -> None:
        while True:
            try:
                may_start = await self._placement.settle(started)
                async with self._turns:
                    if self._journal.is_pending(started.seq):
                        status, result = await self._run(started, stop, may_start=may_start)
                        await self._write(started, status, result)
                return
            except (JournalError, OSError) as error:
                log.info("Could not complete program %d, and will retry: %s", started.seq, error)
                await self._clock.sleep(PAUSE)

    async def _write(self, started: Entry[ProgramStarted], status: Status, result: str) -> None:
        ended = ProgramEnded(process=started.seq, name=started.event.name, status=status, result=result)
        with suppress(FencedError):  # the request is no longer pending
            await self._journal.append(
                started.thread,
                ended,
                key=part_key(started.key, "ended"),
                author="core",
                cause=started.seq,
                closes=[started.seq],
                requires=started.seq,
            )
        self._wake(started.thread)

    async def _run(
        self, started: Entry[ProgramStarted], stop: asyncio.Event, *, may_start: bool
    ) -> tuple[Status, str]:
        """Return status and text of a run. The program starts only if its folder does not exist."""
        folder = program_folder_of(self._home, started)
        tries = 0
        while True:
            claimed = folder.exists()  # the order matters: each check relies on the one before
            pid = wrapper_pid(folder)
            end = read_exit(folder)
            if end:
                if end.why == "stopped" and not stop.is_set() and end.seconds > self._bounds.seconds - NEARLY:
                    end = replace(end, why="late")  # a supervisor stopped it at its time limit
                return await outcome_in_words(folder, end, self._secrets, stopped=stop.is_set())
            if pid is not None:
                await self._wait(pid, stop, self._bounds.seconds - folder_age(folder))
                if wrapper_pid(folder) == pid:  # the program forged the pid file
                    await self._clock.sleep(PAUSE)
            elif claimed or not may_start:
                return "offline", LOST_STATUS
            elif stop.is_set():
                return "error", NOT_BEGUN
            elif tries == TRIES:
                return "error", UNSTARTED
            else:
                if tries:
                    await self._clock.sleep(PAUSE)
                tries += 1
                try:
                    argv = self._command(started.event, folder)
                except ValueError as error:
                    return "error", mask_secrets(f"It was not started: {error}.", self._secrets)
                await self._placement.confirm()
                with suppress(OSError):
                    await self._wait(self._start(folder, argv), stop)

    def _command(self, event: ProgramStarted, folder: Path) -> list[str]:
        recipe = self._recipes.get(event.name)
        if recipe is None:
            raise ValueError(
                f"there is no program {event.name!r:.60}; programs: {recipe_names(self._recipes)}"
            )
        program = program_path(recipe)
        if program is None:
            raise ValueError("its program is not on this machine; an owner can mend that")
        argv = [program, *recipe.fill(event.slots)[1:]]
        if not self._tool:
            return argv
        return isolated_argv(self._tool, argv, self._home, folder / "work", self._hidden)

    def _start(self, folder: Path, argv: list[str]) -> int:
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        order = {
            "argv": argv,
            "until": time.time() + WRAPPER_LATE_SECONDS,
            "path": PATH,
            **asdict(self._bounds),
        }
        if self._placement.ends_with_daemon:
            order["daemon"] = os.getpid()
        command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(WRAPPER)]
        return os.posix_spawn(
            sys.executable,
            [*command, str(folder), json.dumps(order, ensure_ascii=False)],
            {},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
        )

    async def _wait(self, pid: int, stop: asyncio.Event, left: float = math.inf) -> None:
        """Wait for the end of a wrapper; stop it when `stop` is set or after `left` seconds.

        An earlier daemon's wrapper may have another limit.
        """
        gone = asyncio.create_task(self._gone(pid))
        stopped = asyncio.create_task(stop.wait())
        ends = [gone, stopped]
        if left < math.inf:
            ends.append(asyncio.create_task(self._clock.sleep(max(0.0, left))))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGTERM)
            await gone
        finally:
            for one in ends:
                one.cancel()
            await asyncio.gather(*ends, return_exceptions=True)

    async def _gone(self, pid: int) -> None:
        if sys.platform == "linux":
            try:
                watched = os.pidfd_open(pid)
            except ProcessLookupError:
                return
            loop = asyncio.get_running_loop()
            ended = asyncio.Event()
            loop.add_reader(watched, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(watched)
                os.close(watched)
            has_ended(pid)
        else:
            while not has_ended(pid):
                await self._clock.sleep(PAUSE)


def has_ended(pid: int) -> bool:
    """True if the process has ended; a child is also reaped."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def program_path(recipe: AllowedProgram) -> str | None:
    return shutil.which(recipe.program)


def recipe_names(recipes: Mapping[str, AllowedProgram]) -> str:
    return ", ".join(sorted(recipes)) or "none"

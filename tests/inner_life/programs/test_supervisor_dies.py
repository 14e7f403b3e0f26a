"""Kills of the daemon around a program, which runs once."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from config import Settings
from daemon.app.wiring import clear_after_forgetting
from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.inner_life.programs.program_folder import program_folder_of, read_exit, read_output, wrapper_pid
from daemon.inner_life.programs.supervisor import WRAPPER, ProgramLimits, ProgramSupervisor
from daemon.inner_life.programs.wrapper import claim
from daemon.kinds import INNER, SOUL_KINDS, ProgramEnded, ProgramStarted
from daemon.knowledge.forgetting import ForgottenContent
from daemon.settings.limits import AllowedProgram
from tests.clock import FakeClock
from tests.crashes.kill_points import CrashingWriter, KillPoint
from tests.crashes.worker_runs import WorkerRun, fork
from tests.inner_life.programs.workshop import PATIENCE, SHELL, Workshop, opened, shell, until

KEY = f"{INNER}@1/process-started#1"


def counted(place: Path, then: str = "echo done") -> AllowedProgram:
    """Make a program that appends a line per start."""
    return shell(f'echo started >> "$1"; {then}', str(place / "tally"))


def starts(place: Path) -> int:
    tally = place / "tally"
    return len(tally.read_text().splitlines()) if tally.exists() else 0


async def live(place: Path, recipe: AllowedProgram) -> None:
    """Start the program unless it was started, and await its end."""
    async with Journal(place / "journal.db", FakeClock(), SOUL_KINDS, CrashingWriter) as journal:
        woken = asyncio.Event()
        home = place / "processes"
        async with ProgramSupervisor(journal, FakeClock(), {"it": recipe}, home, (), lambda _: woken.set()):
            started, _ = await journal.append(INNER, ProgramStarted(name="it"), key=KEY, author="soul")
            if journal.is_pending(started.seq):
                await woken.wait()


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_killed_around_each_commit(tmp_path: Path, at: int) -> None:
    recipe = counted(tmp_path)
    KillPoint.arm(at)
    assert fork(lambda: live(tmp_path, recipe)).wait() == -signal.SIGKILL
    KillPoint.arm(0)
    assert fork(lambda: live(tmp_path, recipe)).wait() == 0
    assert starts(tmp_path) == 1
    asyncio.run(told_once(tmp_path))


async def told_once(place: Path) -> None:
    async with opened(place) as workshop:
        [end] = workshop.journal.thread_entries(INNER, ProgramEnded)
        assert (end.key, end.event.status) == (f"{KEY}!ended", "ok")
        assert end.event.result.endswith("stdout:\ndone")
        assert workshop.journal.pending_entries(ProgramStarted) == []


@pytest.mark.parametrize("when", ["while nobody is there", "while the next one waits"])
async def test_killed_while_it_runs(tmp_path: Path, when: str) -> None:
    recipe = counted(tmp_path, "while [ ! -e go ]; do sleep 0.02; done; echo done")
    worker = fork(lambda: live(tmp_path, recipe))
    await until((tmp_path / "tally").exists)
    assert worker.kill() == -signal.SIGKILL
    async with opened(tmp_path) as workshop:
        [started] = workshop.journal.pending_entries(ProgramStarted)
        folder = workshop.folder(started)
        assert wrapper_pid(folder)
        if when == "while nobody is there":
            (folder / "work" / "go").touch()
            await until((folder / "status").exists)
        async with workshop.supervised({"it": recipe}):
            if when == "while the next one waits":
                await asyncio.sleep(0)
                (folder / "work" / "go").touch()
            end = await workshop.end(started)
    assert (end.status, starts(tmp_path)) == ("ok", 1)


async def test_killed_while_it_runs_and_stopped_by_the_next_one(tmp_path: Path) -> None:
    recipe = counted(tmp_path, "exec sleep 100")
    worker = fork(lambda: live(tmp_path, recipe))
    await until((tmp_path / "tally").exists)
    assert worker.kill() == -signal.SIGKILL
    async with opened(tmp_path) as workshop, workshop.supervised({"it": recipe}):
        [started] = workshop.journal.pending_entries(ProgramStarted)
        await workshop.stop(started)
        end = await workshop.end(started)
    assert end.result.startswith("It was stopped, as you wanted.")


async def test_the_deadline_counts_while_no_daemon_is_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as workshop:
        started = await workshop.start("it")
        async with workshop.supervised({"it": shell("exec sleep 100")}, bounds=ProgramLimits(seconds=0.3)):
            await until(lambda: wrapper_pid(workshop.folder(started)))
            wrapper = wrapper_pid(workshop.folder(started))
        await until((workshop.folder(started) / "status").exists)
        async with workshop.supervised({}):
            assert (await workshop.end(started)).status == "timeout"
        assert wrapper
        await asyncio.to_thread(os.waitpid, wrapper, 0)


async def test_what_runs_as_the_daemon_starts_anew_ends_when_the_time_set_by_then_is_up(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as workshop:
        recipe = {"it": shell("exec sleep 100")}
        started = await workshop.start("it")
        async with workshop.supervised(recipe, bounds=ProgramLimits(seconds=100)):
            await until(lambda: wrapper_pid(workshop.folder(started)))
            wrapper = wrapper_pid(workshop.folder(started))
        async with workshop.supervised(recipe, bounds=ProgramLimits(seconds=50)):
            assert await still_runs(workshop, started)
        async with workshop.supervised(recipe, bounds=ProgramLimits(seconds=0.001)):
            end = await workshop.end(started)
        assert (end.status, end.result.partition(".")[0]) == ("timeout", "Its time was up, and it was ended")
        assert wrapper


async def test_what_ended_for_its_time_counts_so_though_the_daemon_died_before_it_said_so(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as workshop:
        started = await workshop.start("it")
        async with workshop.supervised({"it": shell("exec sleep 100")}):
            await until(lambda: wrapper_pid(workshop.folder(started)))
            wrapper = wrapper_pid(workshop.folder(started))
        assert wrapper
        os.kill(wrapper, signal.SIGTERM)
        await until((workshop.folder(started) / "status").exists)
        async with workshop.supervised({}, bounds=ProgramLimits(seconds=0.2)):
            assert (await workshop.end(started)).status == "timeout"
        await asyncio.to_thread(os.waitpid, wrapper, 0)


async def still_runs(workshop: Workshop, started: Entry[ProgramStarted]) -> bool:
    """True if this program continues under supervision."""
    for _ in range(20):
        await asyncio.sleep(0)
    return wrapper_pid(workshop.folder(started)) is not None and workshop.journal.is_pending(started.seq)


async def test_all_died_between_the_folder_and_the_start(workshop: Workshop, tmp_path: Path) -> None:
    started = await workshop.start("it")
    folder = workshop.folder(started)
    workshop.home.mkdir()
    if not (pid := os.fork()):
        os._exit(0 if claim(folder) else 1)
    assert WorkerRun(pid).wait() == 0
    async with workshop.supervised({"it": counted(tmp_path)}):
        end = await workshop.end(started)
    assert (end.status, starts(tmp_path)) == ("offline", 0)


async def test_one_that_died_before_its_folder_was_in_place_is_started_anew(
    workshop: Workshop, tmp_path: Path
) -> None:
    started = await workshop.start("it")
    folder = workshop.folder(started)
    half = folder.with_name(f"{folder.name}.{'0' * 16}")
    (half / "work").mkdir(parents=True)
    os.utime(half, (0, 0))
    async with workshop.supervised({"it": counted(tmp_path)}):
        end = await workshop.end(started)
    assert (end.status, starts(tmp_path)) == ("ok", 1)


def order(recipe: AllowedProgram, seconds: float) -> str:
    bounds = {"kept": 1000, "room": 10**7, "memory": 2**30, "files": 50, "processes": 50}
    more = {"argv": recipe.argv, "seconds": 10, "until": time.time() + seconds, "path": "/usr/bin:/bin"}
    return json.dumps(bounds | more)


def test_of_many_that_would_start_it_one_does(tmp_path: Path) -> None:
    folder = tmp_path / "processes" / "f"
    command = [sys.executable, "-I", "-S", str(WRAPPER), str(folder), order(counted(tmp_path), 60)]
    wrappers = [subprocess.Popen(command) for _ in range(8)]
    assert [one.wait(PATIENCE) for one in wrappers] == [0] * 8
    assert starts(tmp_path) == 1
    assert read_exit(folder)
    assert [*folder.parent.iterdir()] == [folder]


def test_one_that_comes_too_late_does_not_start_it(tmp_path: Path) -> None:
    folder = tmp_path / "processes" / "f"
    command = [sys.executable, "-I", "-S", str(WRAPPER), str(folder), order(counted(tmp_path), -1)]
    assert subprocess.run(command, check=False, timeout=PATIENCE).returncode == 0
    assert (starts(tmp_path), folder.exists()) == (0, False)


def test_where_the_disk_is_full_what_it_writes_is_counted_and_it_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "processes" / "f"
    recipe = counted(tmp_path, "head -c 3000 /dev/zero; exit 3")
    full = [SHELL, "-c", 'ulimit -f 1; exec "$@"', "sh"]  # as on a full disk: files have at most 1,024 bytes
    command = [*full, sys.executable, "-I", "-S", str(WRAPPER), str(folder), order(recipe, 60)]
    assert subprocess.run(command, check=False, timeout=PATIENCE).returncode == 0
    end = read_exit(folder)
    assert end
    assert (end.why, end.exit, end.stdout) == ("exited", 3, 3000)
    assert read_output(folder, "stdout", end.stdout, 2000).lost > 0


async def test_who_says_to_be_somebody_who_is_gone_is_looked_at_once_a_second(workshop: Workshop) -> None:
    started = await workshop.start("it")
    folder = workshop.folder(started)
    folder.mkdir(parents=True)
    gone = await asyncio.create_subprocess_exec("true")
    await gone.wait()
    (folder / "wrapper").write_text(str(gone.pid))
    with (folder / "wrapper").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        async with workshop.supervised({}):
            await until(lambda: workshop.clock.sleepers)
            fcntl.flock(held, fcntl.LOCK_UN)
            await workshop.clock.advance(1)
            end = await workshop.end(started)
    assert end.status == "offline"


async def test_what_a_program_writes_over_its_status_does_no_harm(workshop: Workshop) -> None:
    started = await workshop.start("it")
    folder = program_folder_of(workshop.home, started)
    (folder / "work").mkdir(parents=True)
    for text in ("", "[" * 100_000, "{}", '{"why": "exited", "exit": "0"}', "\xff", '{"why": 1}'):
        (folder / "status").write_text(text, encoding="latin-1")
        assert read_exit(folder) is None
    (folder / "status").unlink()
    (folder / "status").symlink_to(workshop.home.parent / "journal.db")
    (folder / "stdout").symlink_to(workshop.home.parent / "journal.db")
    assert read_exit(folder) is None
    (folder / "status").unlink()
    (folder / "status").write_text('{"why": "exited", "exit": 0, "seconds": 1.0, "stdout": 9, "stderr": 9}')
    os.mkfifo(folder / "stderr")
    async with workshop.supervised({}):
        end = await workshop.end(started)
    assert "SQLite" not in end.result


async def test_what_runs_for_somebody_who_is_forgotten_ends_though_nobody_supervises_it(
    workshop: Workshop, tmp_path: Path
) -> None:
    async with workshop.supervised({"it": shell("sleep 100")}):
        started = await workshop.start("it")
        folder = workshop.folder(started)
        await until(lambda: wrapper_pid(folder))
        wrapper = wrapper_pid(folder)
    keys = {"anthropic_api_key": "any", "slack_bot_token": "xoxb-1", "slack_app_token": "xapp-1"}
    settings: dict[str, Any] = {"soul_home": tmp_path, **keys}
    gone = ForgottenContent(person="U1", all=True, until=workshop.clock.now(), started=[started], said=[])
    with (folder / "wrapper").open() as lives:
        for clear in clear_after_forgetting(Settings(**settings), None, ""):
            await clear(gone)
        fcntl.flock(lives, fcntl.LOCK_SH | fcntl.LOCK_NB)  # raises while it lives
    assert not folder.exists()
    assert wrapper
    await asyncio.to_thread(os.waitpid, wrapper, 0)  # our own child

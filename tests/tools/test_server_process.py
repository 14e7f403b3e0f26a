"""Processes of servers: what a killed daemon leaves behind is found and ended, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from daemon.tools.process_identity import ProcessIdentity, identify, identify_by_proc, identify_by_ps
from daemon.tools.server_process import end_orphans
from tests.tools.connected import RAW, connected, is_running, raw_server, wait_for

DAEMON = """
import asyncio, pathlib, sys
from daemon.tools.server_process import start_server, write_record

async def main():
    server = await start_server(sys.argv[2:], {}, "")
    write_record(pathlib.Path(sys.argv[1]) / f"raw.{server.pid}.running", server.pid)
    print(server.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""
PARENT = "import os, time; os.fork() or time.sleep(600)"
"""Server that ends at once and leaves a child behind."""


@contextmanager
def small_daemon(folder: Path, *argv: str) -> Iterator[tuple[int, int]]:
    """Run a daemon with one server; yield the pids of both. If it is killed, it stays a zombie."""
    command = [sys.executable, "-B", "-c", DAEMON, str(folder), sys.executable, "-I", "-S", "-B", *argv]
    daemon = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert daemon.stdout
    server = int(daemon.stdout.readline())
    try:
        yield daemon.pid, server
    finally:
        daemon.kill()
        daemon.wait()
        daemon.stdout.close()
        with suppress(ProcessLookupError):
            os.killpg(server, signal.SIGKILL)


async def test_what_a_killed_daemon_left_ends_at_the_next_start(tmp_path: Path) -> None:
    with small_daemon(tmp_path, str(RAW), "stays") as (daemon, server):
        assert end_orphans(tmp_path) == []
        assert is_running(server)
        os.kill(daemon, signal.SIGKILL)
        await wait_for(lambda: not is_running(daemon))
        assert is_running(server)
        assert end_orphans(tmp_path) == [server]
        await wait_for(lambda: not is_running(server))
        assert not records(tmp_path)


async def test_a_child_that_a_server_left_behind_ends_too(tmp_path: Path) -> None:
    with small_daemon(tmp_path, "-c", PARENT) as (daemon, server):
        await wait_for(lambda: not is_running(server))
        os.kill(daemon, signal.SIGKILL)
        await wait_for(lambda: not is_running(daemon))
        await wait_for(lambda: identify(server) is None)
        assert members(server)
        assert end_orphans(tmp_path) == [server]
        await wait_for(lambda: not members(server))


def records(folder: Path) -> list[Path]:
    return [*folder.iterdir()]


def members(group: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getpgid(int(path.name)) == group and is_running(int(path.name)):
                found.append(int(path.name))
    return found


@pytest.fixture
def stranger() -> Iterator[int]:
    """Yield the pid of a process that leads a group and is nobody's server."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process.pid
    process.kill()
    process.wait()


def write_old_record(folder: Path, **changed: Any) -> None:
    """Write the record of a daemon that does not run any more."""
    record: dict[str, Any] = {"daemon": {"pid": 2**22 + 1, "started": 1, "boot": "earlier"}}
    record |= {name: value for name, value in changed.items() if value is not None}
    (folder / "raw.1.running").write_text(json.dumps(record))


async def test_a_later_process_with_the_same_pid_is_left_alone(tmp_path: Path, stranger: int) -> None:
    now = identify(stranger)
    assert now
    for started, boot in ((now.started - 1, now.boot), (now.started, "earlier")):
        write_old_record(tmp_path, server={"pid": stranger, "started": started, "boot": boot})
        assert end_orphans(tmp_path) == []
        assert is_running(stranger)
        assert not records(tmp_path)


@pytest.mark.parametrize("pid", [-1, 0, 1, None, "x", 2.5e300])
async def test_a_record_that_is_none_kills_nobody(tmp_path: Path, pid: object) -> None:
    write_old_record(tmp_path, server={"pid": pid, "started": 1, "boot": "b"})
    assert end_orphans(tmp_path) == []
    (tmp_path / "raw.1.running").write_text("[" * 100_000)
    assert end_orphans(tmp_path) == []
    assert not records(tmp_path)


@pytest.mark.parametrize("look", [identify_by_proc, identify_by_ps])
def test_a_process_has_one_identity_until_it_ends(
    stranger: int, look: Callable[[int], ProcessIdentity | None]
) -> None:
    found = look(stranger)
    assert found
    assert look(stranger) == found
    assert look(os.getpid()) != found
    os.kill(stranger, signal.SIGKILL)
    os.waitid(os.P_PID, stranger, os.WEXITED | os.WNOWAIT)  # it is a zombie now
    assert look(stranger) is None


FAKE_BWRAP = """#!/bin/sh
echo "$@" >> {log}
while [ "$1" != -- ]; do
    [ "$1" = --chdir ] && cd "$2"
    shift
done
shift
exec "$@"
"""


async def test_a_server_in_the_sandbox_is_started_by_bubblewrap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, tool = tmp_path / "asked", tmp_path / "bin" / "bwrap"
    tool.parent.mkdir()
    tool.write_text(FAKE_BWRAP.format(log=log))
    tool.chmod(0o755)
    home = tmp_path / "home"
    for name in ("tools", "processes", "reads"):
        (home / name).mkdir(parents=True)
    (home / "journal.db").touch()
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    async with connected(home, raw_server(sandbox=True)) as bench:
        assert await bench.text("echo", "x") == '{"text": "x"}'
    started = log.read_text().splitlines()[-1]
    work = home / "tools" / "work" / "raw"
    assert started.startswith("--die-with-parent --unshare-net --unshare-pid --unshare-ipc --ro-bind / / ")
    assert f"--tmpfs {home} --bind {work} {work} --chdir {work} -- " in started, "nothing of the soul is seen"


async def test_a_server_that_cannot_be_isolated_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    async with connected(tmp_path, raw_server(sandbox=True)) as bench:
        await bench.until("raw", "away")
        assert "cannot be isolated: bwrap is not there" in bench.servers.state_of("raw").why
        assert not bench.running()

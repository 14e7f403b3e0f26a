"""Processes of stdio servers: their environment, their process group, and their end.

A record of each running process lies beside its log, by which a daemon finds and ends what one before it that
was killed left behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from daemon.settings.home import write_private
from daemon.tools.process_identity import ProcessIdentity, group_members, identify

PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR")
"""Variables of the daemon's environment that a server gets."""

RECORDS = "*.running"

PATIENCE = 1.0
"""Seconds that a server may take to end after the end of its input, and again after SIGTERM."""

LOOK = 0.02
"""Seconds between two looks at an ending process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """A running server and the daemon that started it."""

    server: ProcessIdentity
    daemon: ProcessIdentity


def server_environment(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a server: a few of ours, and those that its settings name."""
    return {name: environ[name] for name in PASSED_ON if name in environ} | dict(given)


async def start_server(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Process:
    """Start a server in a process group of its own. Raises OSError, and ValueError for a NUL."""
    return await asyncio.create_subprocess_exec(
        *argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env, cwd=cwd or None, start_new_session=True
    )


def write_record(path: Path, pid: int) -> None:
    """Record that a server runs."""
    server, daemon = identify(pid), identify(os.getpid())
    if server and daemon:
        with suppress(OSError):
            write_private(path, json.dumps(asdict(ServerRecord(server=server, daemon=daemon))))


async def end_server(process: Process, record: Path) -> None:
    """End a server and what it started: close its input, then SIGTERM, then SIGKILL to its group."""
    if process.stdin:
        process.stdin.close()
    if not await has_ended(process, PATIENCE):
        signal_group(process.pid, signal.SIGTERM)
        await has_ended(process, PATIENCE)
    signal_group(process.pid, signal.SIGKILL)
    await has_ended(process, PATIENCE)
    await asyncio.to_thread(_remove, record)
    transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]
    transport.close()  # a child that left the group may hold the pipes open


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


async def has_ended(process: Process, patience: float) -> bool:
    """True if the process ended; `Process.wait` would wait for its pipes, too."""
    with suppress(TimeoutError):
        async with asyncio.timeout(patience):
            while process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(LOOK)
    return process.returncode is not None


def signal_group(group: int, sent: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, sent)


def end_orphans(folder: Path) -> list[int]:
    """End servers of daemons that no longer run; return their process groups."""
    ended = []
    for path, record in _records(folder):
        if record is None:
            path.unlink(missing_ok=True)
        elif identify(record.daemon.pid) != record.daemon:
            if _is_ours(record.server):
                signal_group(record.server.pid, signal.SIGKILL)
                ended.append(record.server.pid)
            path.unlink(missing_ok=True)
    return ended


def _is_ours(server: ProcessIdentity) -> bool:
    """True if the group of this pid is still the server's: its leader is the one recorded, or it is gone and
    left members behind that began later.
    """
    now = identify(server.pid)
    if now:
        return now == server
    left = [one for one in map(identify, group_members(server.pid)) if one]
    return bool(left) and all(one.boot == server.boot and one.started >= server.started for one in left)


def _records(folder: Path) -> Iterator[tuple[Path, ServerRecord | None]]:
    for path in sorted(folder.glob(RECORDS)):
        try:
            yield path, _parse_record(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            yield path, None


def _parse_record(given: Any) -> ServerRecord:
    server, daemon = (_parse_identity(given[name]) for name in ("server", "daemon"))
    if server.pid < 2:  # it would address the daemon's own group, or init's
        raise ValueError(f"expected a pid above 1, got {server.pid}")
    return ServerRecord(server=server, daemon=daemon)


def _parse_identity(given: Any) -> ProcessIdentity:
    return ProcessIdentity(pid=int(given["pid"]), started=int(given["started"]), boot=str(given["boot"]))

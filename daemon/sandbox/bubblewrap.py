"""Isolation of a program by bubblewrap: no network, none of the soul's files, one writable folder."""

from __future__ import annotations

import asyncio
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from daemon.settings.home import PROGRAMS, READS, daemon_files, project_root
from daemon.settings.mcp_file import MCP_FILE

TOOL = "bwrap"


PATIENCE = 10.0
"""Most seconds of the trial run of bwrap."""


ENV = Path(".env")


EMPTY = "/dev/null"


def isolated_argv(
    tool: str, argv: Sequence[str], home: Path, work: Path, hidden: Sequence[Path] = ()
) -> list[str]:
    """Wrap a command in bwrap: no network; only the folder `work` is writable.

    An empty file system covers `home`, so that even a journal made later is hidden. The files in which an
    owner writes keys seem empty: `.env`, mcp.json and those `hidden`.
    """
    soul_home = home.parent.absolute()
    ours = {*daemon_files(soul_home), home.absolute()}
    ours |= {soul_home / name for name in (READS, *PROGRAMS)}
    mounts = list[str]()
    for path in soul_home.iterdir():
        if path not in ours:
            mounts += ["--ro-bind-try", str(path), str(path)]
    for file in (ENV, project_root() / MCP_FILE, *hidden):
        if file.is_file():
            mounts += ["--ro-bind", EMPTY, str(file.resolve())]
    return [
        *(tool, "--die-with-parent", "--unshare-net", "--unshare-pid", "--unshare-ipc"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
        *("--tmpfs", str(soul_home), *mounts),
        *("--bind", str(work), str(work), "--chdir", str(work), "--", *argv),
    ]


async def find_bwrap() -> tuple[str, str]:
    """Return a bwrap that could run with the arguments of a run; otherwise "" and the reason."""
    tool = shutil.which(TOOL)
    if not tool:
        return "", f"{TOOL} is not there"
    with TemporaryDirectory(prefix="soul-") as folder:
        home, work = _trial(Path(folder))
        return await _try(tool, isolated_argv(tool, [shutil.which("true") or "/bin/true"], home, work))


def _trial(folder: Path) -> tuple[Path, Path]:
    home = folder.resolve() / "processes"
    work = home / "trial" / "work"
    work.mkdir(parents=True)
    return home, work


async def _try(tool: str, argv: Sequence[str]) -> tuple[str, str]:
    process = await asyncio.create_subprocess_exec(*argv, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, env={})
    try:
        async with asyncio.timeout(PATIENCE):
            _, said = await process.communicate()
    except TimeoutError:
        return "", f"{TOOL} does not answer"
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode:
        return "", f"{TOOL} does not work here ({said.decode(errors='replace').strip()[:200]})"
    return tool, ""

"""A sandbox of CPython for a test, and checks of its removal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.sandbox.child import HostSocket, main
from daemon.sandbox.environment import Function, SandboxLimits
from daemon.sandbox.host import ChildSandbox
from daemon.sandbox.session import open_cpython

AMPLE = SandboxLimits(seconds=60)
FIND_WIRE = f"""
import gc
[wire] = [one for one in gc.get_objects() if type(one).__name__ == '{HostSocket.__name__}']
"""
"""Cell code that finds the child's connection to its host."""


@asynccontextmanager
async def opened(
    functions: Mapping[str, Function] | None = None, bounds: SandboxLimits = AMPLE
) -> AsyncIterator[ChildSandbox]:
    """Open a sandbox; afterwards no child or descriptor may remain."""
    before = descriptors()
    sandbox = await open_cpython(functions or {}, bounds)
    try:
        yield sandbox
    finally:
        await sandbox.close()
    await asyncio.sleep(0)
    assert children() == []
    assert descriptors() == before


def descriptors() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def children() -> list[str]:
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return [pid for pid in listed if is_ours(pid)]


def is_ours(pid: str) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:
        return False
    return not command or main.__module__ in command

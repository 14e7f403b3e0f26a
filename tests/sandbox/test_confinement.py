"""Confinement: Landlock alone holds, and seccomp is required."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import pytest

from daemon.sandbox.confinement import ALLOWED, seccomp_filter
from daemon.sandbox.environment import SandboxError, SandboxLimits
from daemon.sandbox.host import accept_child
from daemon.sandbox.session import BOOT, FLAGS, ROOT, ChildProcess, pipe_with_word

CHANGES = {
    "import platform; platform.machine = lambda: 'aarch64'": "and this is aarch64 linux",
    "from daemon.sandbox import confinement as c; c.SET_SECCOMP = 9999": "refuses a seccomp filter",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_where_it_cannot_be_confined_nothing_is_opened(change: str) -> None:
    ours, theirs = socket.socketpair()
    boot = BOOT.replace("from", f"{change}; from", 1)
    with theirs, pipe_with_word("token") as standard_input:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *FLAGS, "-c", boot, str(ROOT), f"fd:{theirs.fileno()}"),
            stdin=standard_input,
            pass_fds=[theirs.fileno()],
        )
    reader, writer = await asyncio.open_connection(sock=ours)
    with pytest.raises(SandboxError) as refused:
        await accept_child(reader, writer, "token", SandboxLimits(), ChildProcess(process))
    assert CHANGES[change] in str(refused.value)
    assert str(refused.value).endswith("Set RLM_SANDBOX=monty.")
    assert process.returncode is not None


def test_landlock_by_itself_keeps_files_and_the_network_away() -> None:
    program = """
import ctypes, socket, sys
from daemon.sandbox import confinement
confinement._seccomp = lambda libc: None
listener = socket.create_server(("127.0.0.1", 0))
confinement.resource.setrlimit = lambda limit, least: None
said = confinement.confine(2**30, 60)
if "without" in said: sys.exit(77)
def refused(attempt):
    try: attempt()
    except PermissionError: return True
    return False
version = int(said.split()[-1])
assert refused(lambda: open("/etc/passwd"))
assert refused(lambda: open("/tmp/x", "w"))
assert version < 4 or refused(lambda: socket.create_connection(listener.getsockname()))"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False)
    if done.returncode == 77:
        pytest.skip("no Landlock here")
    assert done.returncode == 0


def test_the_filter_is_a_short_allow_list() -> None:
    assert len(seccomp_filter()) % 8 == 0
    assert not {"open", "openat", "socket", "connect", "execve", "fork", "kill", "ptrace", "write"} & {
        *ALLOWED
    }

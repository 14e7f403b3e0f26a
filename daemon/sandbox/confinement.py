"""How a child gives up its rights, for ever: limits, Landlock where the kernel has it, and seccomp.

Afterwards the process can compute, have threads and memory, and use the socket that it has: nothing else. No
file, no network, no process, no signal. Imports nothing but the standard library; x86_64 Linux alone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from pathlib import Path

NO_NEW_PRIVILEGES = 38


PARENT_DEATH_SIGNAL = 1


SET_SECCOMP = 22


FILTER_MODE = 2


ARENAS = -8
"""The names that prctl and mallopt have for these."""


AUDIT_ARCH_X86_64 = 0xC000003E


ALLOWED = {
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "sched_yield": 24,
    "mremap": 25,
    "madvise": 28,
    "nanosleep": 35,
    "getpid": 39,
    "sendto": 44,
    "recvfrom": 45,
    "exit": 60,
    "gettimeofday": 96,
    "getrusage": 98,
    "gettid": 186,
    "time": 201,
    "futex": 202,
    "sched_getaffinity": 204,
    "restart_syscall": 219,
    "clock_gettime": 228,
    "clock_getres": 229,
    "clock_nanosleep": 230,
    "exit_group": 231,
    "set_robust_list": 273,
    "getrandom": 318,
    "rseq": 334,
}
"""What an interpreter needs that opens nothing any more. What is not here fails with EPERM."""


CLONE, CLONE3 = 56, 435


THREAD_FLAGS = (0x3D0F00, 0x7D0F00)
"""What glibc and musl ask of clone for a thread. clone3 hides its flags, so they do without it."""


LANDLOCK_CREATE, LANDLOCK_RESTRICT = 444, 446


FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights to files Landlock knows, by its version; later ones know sixteen."""


class UnconfinedError(Exception):
    """The process cannot be confined here: why."""


def confine(memory: int, seconds: int) -> str:
    """Give up all rights, and say by what. This process may still take `memory` bytes and `seconds` of CPU.

    Raises UnconfinedError where seccomp is not to be had; then the process must run nothing of anybody's.
    It must have one thread only.
    """
    if (sys.platform, platform.machine(), sys.maxsize) != ("linux", "x86_64", 2**63 - 1):
        raise UnconfinedError(f"it needs x86_64 Linux, and this is {platform.machine()} {sys.platform}")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise UnconfinedError(f"the kernel refuses no_new_privs ({_reason()})")
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    version = _landlock(libc)
    _limit(libc, taken + memory, seconds)
    _seccomp(libc)
    return f"seccomp and Landlock ABI {version}" if version else "seccomp, without Landlock"


def die_with_parent() -> None:
    """The kernel kills this process as soon as the one that has started it is gone."""
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, 9, 0, 0, 0)


def _reason() -> str:
    return os.strerror(ctypes.get_errno())


def _landlock(libc: ctypes.CDLL) -> int:
    """Allow no file, no TCP, no signal and no abstract socket. Returns Landlock's version; 0: not here."""
    version = int(libc.syscall(LANDLOCK_CREATE, None, 0, 1))
    if version < 1:
        return 0
    files = (1 << FILE_RIGHTS.get(version, 16)) - 1
    parts = [files]
    if version >= 4:
        parts.append(0b11)  # bind and connect
    if version >= 6:
        parts.append(0b11)  # abstract sockets and signals
    rules = struct.pack(f"<{len(parts)}Q", *parts)
    ruleset = libc.syscall(LANDLOCK_CREATE, rules, len(rules), 0)
    if ruleset < 0:
        return 0
    refused = libc.syscall(LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)
    return 0 if refused else version


def _limit(libc: ctypes.CDLL, memory: int, seconds: int) -> None:
    """Bound its memory and CPU time; it opens nothing, writes no file and leaves no core."""
    if hasattr(libc, "mallopt"):
        libc.mallopt(ARENAS, 1)  # else each thread would set aside 64 MB
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 0,
    }
    for limit, most in limits.items():
        hard = resource.getrlimit(limit)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (least, least))


class _SockFprog(ctypes.Structure):
    """struct sock_fprog of the kernel."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _seccomp(libc: ctypes.CDLL) -> None:
    """Refuse every system call but the allowed ones."""
    code = seccomp_filter()
    held = ctypes.create_string_buffer(code, len(code))
    program = _SockFprog(len(code) // 8, ctypes.addressof(held))
    if libc.prctl(SET_SECCOMP, FILTER_MODE, ctypes.byref(program), 0, 0) != 0:
        raise UnconfinedError(f"the kernel refuses a seccomp filter ({_reason()})")


def seccomp_filter() -> bytes:
    """The allow-list as the kernel's packet filter runs it, eight bytes an instruction."""
    number, architecture, first_argument = 0, 4, 16
    allow, kill = 0x7FFF0000, 0x80000000
    program = [
        _load(architecture),
        _skip_if_equal(AUDIT_ARCH_X86_64),
        _return(kill),
        _load(number),
    ]
    for call in ALLOWED.values():
        program += [_skip_unless_equal(call), _return(allow)]
    program += [_skip_unless_equal(CLONE3), _refuse(errno.ENOSYS)]
    program += [_skip_if_equal(CLONE), _refuse(errno.EPERM), _load(first_argument)]
    for flags in THREAD_FLAGS:
        program += [_skip_unless_equal(flags), _return(allow)]
    program.append(_refuse(errno.EPERM))
    return b"".join(program)


def _instruction(code: int, then: int, otherwise: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)


def _load(offset: int) -> bytes:
    """Look at this part of the call."""
    return _instruction(0x20, 0, 0, offset)


def _skip_if_equal(value: int) -> bytes:
    """Leave out the next instruction where what is looked at is this."""
    return _instruction(0x15, 1, 0, value)


def _skip_unless_equal(value: int) -> bytes:
    """Leave out the next instruction where what is looked at is something else."""
    return _instruction(0x15, 0, 1, value)


def _return(action: int) -> bytes:
    return _instruction(0x06, 0, 0, action)


def _refuse(number: int) -> bytes:
    """Let the call fail with this errno."""
    return _return(0x00050000 | number)

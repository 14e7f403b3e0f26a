"""Irrevocable confinement of a process by resource limits, Landlock (if available) and seccomp.

Computing, threads, memory and open sockets remain; files, network, processes and signals do not. Needs x86_64
Linux; imports only the standard library.
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
"""System calls that an interpreter needs; all others fail with EPERM."""


CLONE, CLONE3 = 56, 435


THREAD_FLAGS = (0x3D0F00, 0x7D0F00)
"""Flags of the system call clone for threads, in glibc and musl; clone3 hides its flags and is refused."""


LANDLOCK_CREATE, LANDLOCK_RESTRICT = 444, 446


FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Number of rights on files, by Landlock version; later versions have 16."""


class UnconfinedError(Exception): ...


def confine(memory: int, seconds: int) -> str:
    """Give up all rights of this process, which must have a single thread; return the means as text.

    `memory`: bytes that may still be allocated. `seconds`: CPU time left. Raises UnconfinedError without
    seccomp; then no foreign code may run.
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
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, 9, 0, 0, 0)


def _reason() -> str:
    return os.strerror(ctypes.get_errno())


def _landlock(libc: ctypes.CDLL) -> int:
    """Deny files, TCP, signals and abstract sockets; return Landlock's version, 0 if unavailable."""
    version = int(libc.syscall(LANDLOCK_CREATE, None, 0, 1))
    if version < 1:
        return 0
    files = (1 << FILE_RIGHTS.get(version, 16)) - 1
    parts = [files]
    if version >= 4:
        parts.append(0b11)
    if version >= 6:
        parts.append(0b11)
    rules = struct.pack(f"<{len(parts)}Q", *parts)
    ruleset = libc.syscall(LANDLOCK_CREATE, rules, len(rules), 0)
    if ruleset < 0:
        return 0
    refused = libc.syscall(LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)
    return 0 if refused else version


def _limit(libc: ctypes.CDLL, memory: int, seconds: int) -> None:
    if hasattr(libc, "mallopt"):
        libc.mallopt(ARENAS, 1)  # otherwise each thread reserves 64 MB
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
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _seccomp(libc: ctypes.CDLL) -> None:
    code = seccomp_filter()
    held = ctypes.create_string_buffer(code, len(code))
    program = _SockFprog(len(code) // 8, ctypes.addressof(held))
    if libc.prctl(SET_SECCOMP, FILTER_MODE, ctypes.byref(program), 0, 0) != 0:
        raise UnconfinedError(f"the kernel refuses a seccomp filter ({_reason()})")


def seccomp_filter() -> bytes:
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
    return _instruction(0x20, 0, 0, offset)


def _skip_if_equal(value: int) -> bytes:
    return _instruction(0x15, 1, 0, value)


def _skip_unless_equal(value: int) -> bytes:
    return _instruction(0x15, 0, 1, value)


def _return(action: int) -> bytes:
    return _instruction(0x06, 0, 0, action)


def _refuse(number: int) -> bytes:
    return _return(0x00050000 | number)

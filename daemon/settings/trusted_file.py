"""A file that only this user and root may change, as one that can start programs has to be."""

from __future__ import annotations

import os
import stat
from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def read_trusted_file(path: Path, most: int) -> bytes:
    """Return the content, of at most `most` bytes.

    Raises FileNotFoundError, and ValueError with fault and remedy as the end of a sentence.
    """
    try:
        data = _read(path, most)
    except FileNotFoundError:
        raise
    except PermissionError:
        raise ValueError("this user may not read it: give it the right to (chmod u+r)") from None
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror}): put a file in its place") from None
    if len(data) > most:
        raise ValueError(f"it is longer than {most:,} bytes: shorten it")
    return data


def _read(path: Path, most: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would block
    try:
        fault = _trust_fault(descriptor, path)
        if fault:
            raise ValueError(fault)
        parts: list[bytes] = []
        left = most + 1
        while left and (part := os.read(descriptor, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _trust_fault(descriptor: int, path: Path) -> str:
    """Return a fault if it is no file, or if other users may change it or put another one in its place."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        return "it is no ordinary file: put one in its place"
    if os.fstatvfs(descriptor).f_flag & os.ST_RDONLY:  # as a container mounts it
        return ""
    if found.st_uid not in (os.getuid(), 0):
        return "it belongs to another user, who could start programs by it: make it this user's (chown)"
    if found.st_mode & OTHERS_WRITE:
        return "other users may write it, and it can start programs: chmod go-w it"
    for folder in {path.absolute().parent, path.resolve().parent}:
        held = folder.stat()
        if held.st_mode & stat.S_IWOTH and not held.st_mode & stat.S_ISVTX:
            return "other users may write the folder that it is in, and put another file there: chmod o-w it"
    return ""

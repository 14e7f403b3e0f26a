"""The files of a folder, and nothing outside of it.

Each file is opened from the folder that holds it, never by a path: no link leads anywhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from daemon.private import TOKEN

MOST_BYTES = 1_000_000
"""A larger file is not searched."""
PDF = b"%PDF-"
"""The first bytes of a PDF. A small one may read like text."""
OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Neither follow a link, nor wait for someone who writes into a pipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile:
    """A file as the walk comes by: it can be read until the walk goes on. `stamp` changes when it does.

    `closed` says why we may not open it. A folder that is closed stands for all that is in it.
    """

    path: str
    size: int
    stamp: str
    name: str
    folder: int
    closed: str = ""

    @property
    def is_large(self) -> bool:
        """True if it is too large to be searched."""
        return self.size > MOST_BYTES

    def text(self) -> str:
        """Its text; empty if it is none, is too large to be searched, or cannot be read."""
        if self.is_large or self.closed:
            return ""
        try:
            with os.fdopen(os.open(self.name, OPEN, dir_fd=self.folder), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return ""
                data = file.read(MOST_BYTES + 1)
        except OSError:
            return ""
        if b"\0" in data or data.startswith(PDF) or len(data) > MOST_BYTES:
            return ""
        return data.decode("utf-8-sig", errors="replace")


def walk_files(top: Path, called: str) -> Iterator[FolderFile]:
    """The files below a folder, in order; hidden ones, links and the page's token are left out.

    Paths begin with `called`. A folder that cannot be read has none; one below it is named as closed.
    """
    with suppress(OSError):
        for folder, inner, names, descriptor in os.fwalk(top):
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            below = Path(called, Path(folder).relative_to(top))
            for name in sorted(names):
                found = _file(below, name, descriptor)
                if found:
                    yield found
            for name in inner:
                closed = _closed_folder(below, name, descriptor)
                if closed:
                    yield closed


def _file(below: Path, name: str, folder: int) -> FolderFile | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:  # it went away
        return None
    if name.startswith((".", TOKEN)) or not stat.S_ISREG(found.st_mode):
        return None
    closed = _why_closed(name, folder, os.R_OK)
    stamp = f"{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}:{closed}"
    return FolderFile(
        path=_printable_path(below / name),
        size=found.st_size,
        stamp=stamp,
        name=name,
        folder=folder,
        closed=closed,
    )


def _closed_folder(below: Path, name: str, folder: int) -> FolderFile | None:
    """The folder of this name, if it is one that we may not open."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:  # it went away
        return None
    closed = _why_closed(name, folder, os.R_OK | os.X_OK)
    if not closed or not stat.S_ISDIR(mode):
        return None
    path = f"{_printable_path(below / name)}/"
    return FolderFile(path=path, size=0, stamp=closed, name=name, folder=folder, closed=closed)


def _why_closed(name: str, folder: int, mode: int) -> str:
    """Return why we may not open the entry of this name, which is no link; empty where we may."""
    if os.access(name, mode, dir_fd=folder, effective_ids=True):
        return ""
    return os.strerror(errno.EACCES)


def _printable_path(path: Path) -> str:
    """A path as it can be shown in one line."""
    text = str(path).encode(errors="replace").decode()
    for letter in text:
        if not letter.isprintable():
            text = text.replace(letter, "?")
    return text

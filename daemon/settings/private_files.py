"""Private files: tokens, sessions and other secrets that the daemon keeps under relative names.

`FolderFiles` keeps each in a file of the home. Where several daemons serve one workspace, another
implementation keeps them where each daemon finds them.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from daemon.settings.home import write_private

LOCK_PAUSE = 0.05
"""Seconds between two tries to get a lock."""


class PrivateFiles(Protocol):
    """Texts under names like `oauth-tokens/calendar.json`. Each method raises OSError if they are away."""

    def read(self, name: str) -> str | None:
        """Return the text; None if there is no such file."""

    def write(self, name: str, text: str) -> None:
        """Make the file, or replace its text."""

    def create(self, name: str, text: str) -> str:
        """Make the file if it is missing, and return the text that it then has.

        Concurrent calls return the same text.
        """

    def remove(self, name: str) -> bool:
        """Remove the file; False if there is none. Of concurrent calls, only one returns True."""

    def names(self, folder: str) -> Sequence[str]:
        """Return the sorted names of the files in a folder, each with the folder's name before it."""

    def locked(self, name: str) -> AbstractAsyncContextManager[None]:
        """Keep others from the block of this name; then read the newest text inside it."""


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Private files in a folder of this machine, closed to other users."""

    folder: Path

    def read(self, name: str) -> str | None:
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        write_private(self._with_parent(name), text)

    def create(self, name: str, text: str) -> str:
        path = self._with_parent(name)
        part = path.with_name(f"{path.name}.{os.getpid()}.new")
        write_private(part, text)
        try:
            os.link(part, path)
        except FileExistsError:
            return path.read_text(encoding="utf-8")
        finally:
            part.unlink()
        return text

    def remove(self, name: str) -> bool:
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            return False
        return True

    def names(self, folder: str) -> Sequence[str]:
        try:
            return sorted(f"{folder}/{path.name}" for path in (self.folder / folder).iterdir())
        except FileNotFoundError:
            return []

    @asynccontextmanager
    async def locked(self, name: str) -> AsyncIterator[None]:
        path = self._with_parent(name).with_suffix(".lock")
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while True:
                if _is_locked(lock):
                    break
                await asyncio.sleep(LOCK_PAUSE)
            yield
        finally:
            os.close(lock)

    def _with_parent(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return path


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

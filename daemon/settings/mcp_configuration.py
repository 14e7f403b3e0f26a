"""The tool servers in force: mcp.json, read again when it changes; the last good version if it is wrong."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from daemon.settings.mcp_servers import ToolServersFile

log = logging.getLogger(__name__)

LOOK_EVERY = 2.0
"""Seconds between two looks at the file."""

KEPT = "The last good version stays in force."
LEFT_OUT = "It is left out until then."

Stamp = tuple[int, ...]


class ToolServersConfiguration:
    """Configuration of tool servers; `current` is the version in force.

    A version with faults never replaces one without. Where none was without, its good servers are in force.
    """

    def __init__(self, path: Path, read: Callable[[], ToolServersFile]) -> None:
        self._path = path
        self._read = read
        self._stamp = _stamp(path)
        self._newest = read()
        self.current = self._newest
        self._changed = asyncio.Event()
        self._log((), ())

    @property
    def changed(self) -> asyncio.Event:
        """Event of the next change of `current`: take it, use `current`, then wait for it."""
        return self._changed

    @property
    def faults(self) -> Sequence[str]:
        """Return a sentence for each fault of the newest version."""
        self.look()
        return self._sentences()

    def look(self) -> None:
        """Read the file if it has changed. One with faults is read each time: programs and variables that
        it lacked may be there by now.
        """
        stamp = _stamp(self._path)
        if stamp == self._stamp and not self._newest.faults:
            return
        before, ignored = self._sentences(), self._newest.remarks
        self._stamp, self._newest = stamp, self._read()
        if self._takes_force(self._newest) and self._newest != self.current:
            self.current = self._newest
            event, self._changed = self._changed, asyncio.Event()
            event.set()
            log.info("%s was read again: its servers are %s.", self._path.name, self._names())
        self._log(before, ignored)

    async def watch(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Look at the file until cancelled."""
        while True:
            await sleep(LOOK_EVERY)
            self.look()

    def _takes_force(self, new: ToolServersFile) -> bool:
        if not new.faults:
            return True
        return bool(self.current.faults and new.servers)

    def _names(self) -> str:
        return ", ".join(self.current.servers) or "none"

    def _sentences(self) -> Sequence[str]:
        instead = LEFT_OUT if self._newest is self.current or self._newest == self.current else KEPT
        return [f"{self._path.name}: {fault}. {instead}" for fault in self._newest.faults]

    def _log(self, before: Sequence[str], ignored: Sequence[str]) -> None:
        for sentence in self._sentences():
            if sentence not in before:
                log.warning("%s", sentence)
        for remark in self._newest.remarks:
            if remark not in ignored:
                log.info("%s: %s.", self._path.name, remark)


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return ()
    except ValueError:  # a path that no system call takes
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino

"""Digests of what all machines of a workspace should have alike: settings, texts, actions, knowledge."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from config import Settings
from daemon.app.discovery import ACTIONS
from daemon.engine.clock import Clock
from daemon.knowledge.library import FolderFile, walk_files
from daemon.settings.mcp_file import MCP_FILE

LOOK_SECONDS = 60.0
"""Seconds between two looks for changes of files."""

DIGITS = 16

TEXTS = ("soul.md", "prompts/**/*.md", "playbooks/*.md")

OF_A_MACHINE = frozenset(
    {"database_url", "machine", "soul_home", "host", "port", "slack_connections", "log_format"}
    | {"knowledge_dirs", "mcp_config"}
)
"""Settings that machines need not have alike; of folders and files, the content counts."""


class MachineDigests:
    """Digests of this machine's files and settings, without secrets; `folder` holds the owner's texts."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._known: dict[str, str] = {}
        """Digest of a file of KNOWLEDGE_DIRS by its path and stamp."""

    def make(self) -> Mapping[str, str]:
        """Return a digest by the name of what it covers; reads files."""
        return {
            "a setting": _digest(_shared_settings(self._settings)),
            "an owner's text": _digest(_contents(self._folder, TEXTS)),
            ACTIONS: _digest(_contents(self._folder, [f"{ACTIONS}[!.]*.py"])),
            MCP_FILE: _digest(_content(self._settings.mcp_config or self._folder / MCP_FILE)),
            "the content of KNOWLEDGE_DIRS": _digest(self._knowledge(self._settings.knowledge_dirs)),
        }

    async def keep_stated(self, report: Callable[[Mapping[str, str]], None], clock: Clock) -> None:
        """Report the digests now, and again as long as files may change."""
        while True:
            report(await asyncio.to_thread(self.make))
            await clock.sleep(LOOK_SECONDS)

    def _knowledge(self, folders: Sequence[Path]) -> Iterator[str]:
        known, self._known = self._known, {}
        for number, top in enumerate(folders):
            for file in walk_files(top, str(number)):
                mark = f"{file.path} {file.stamp}"
                self._known[mark] = known.get(mark) or _digest_of_file(file)
                yield self._known[mark]


def _shared_settings(settings: Settings) -> Iterator[str]:
    for one in fields(settings):
        if one.repr and one.name not in OF_A_MACHINE:
            value = getattr(settings, one.name)
            shown = sorted(value) if isinstance(value, frozenset) else value
            yield f"{one.name}={shown!r}"


def _contents(folder: Path, patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            yield str(path.relative_to(folder))
            yield from _content(path)


def _content(path: Path) -> Iterator[str]:
    """Yield the digest of a file; nothing if it cannot be read."""
    try:
        if path.is_file():  # opening a pipe would wait for a writer
            yield hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return


def _digest_of_file(file: FolderFile) -> str:
    return _digest([file.path, str(file.size), file.text()])


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps([*parts]).encode()).hexdigest()[:DIGITS]

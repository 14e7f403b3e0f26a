"""The owner's files (soul.md, prompts/, playbooks/), read when they change; each version is an entry.

A file that can't be used keeps its last good version, and that is said, once, in the log and the journal.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from daemon.entry import Entry
from daemon.errors import ConfigError
from daemon.journal.journal import Journal
from daemon.mind.playbook import PLAYBOOKS
from daemon.mind.wording import WORDING, fault

log = logging.getLogger(__name__)

SELF = "soul"
"""The thread of what belongs to no conversation."""


class Texts:
    """All texts of the soul, by name."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self._folder = folder
        self._journal = journal
        self._stamps: dict[str, tuple[int, int]] = {}
        self._good: dict[str, str] = {}
        self._entered: dict[str, Entry] = {}
        if faults := [sentence for name in self._names() if (sentence := self._look(name))]:
            raise ConfigError("\n".join(faults))

    @property
    def playbooks(self) -> list[str]:
        """The names of the playbooks that can be used."""
        names = (name.removeprefix(PLAYBOOKS) for name in self._good if name.startswith(PLAYBOOKS))
        return sorted(names)

    async def current(self) -> Mapping[str, str]:
        """Name to sha256 of every text as it is now, each in the journal under `text:{sha256}`."""
        for name in self._names():
            if sentence := self._look(name):
                log.warning("%s%s", sentence, " The last good version stays in use." * (name in self._good))
                key = f"fault:{hashlib.sha256(sentence.encode()).hexdigest()}"
                await self._journal.append(
                    SELF, "fault", {"name": name, "text": sentence}, key=key, author="core"
                )
        return {name: await self._enter(name, text) for name, text in self._good.items()}

    def read(self, sha: str) -> Entry:
        """The entry of a text that was used."""
        if sha not in self._entered:
            entry = self._journal.get(f"text:{sha}")
            if entry is None:
                raise KeyError(sha)
            self._entered[sha] = entry
        return self._entered[sha]

    def _names(self) -> Iterable[str]:
        """The texts that must be there, those that were, and the playbooks that are."""
        there = (self._folder / PLAYBOOKS).glob("[!.]*.md")
        return dict.fromkeys((*WORDING, *self._good, *sorted(f"{PLAYBOOKS}{path.stem}" for path in there)))

    async def _enter(self, name: str, text: str) -> str:
        sha = hashlib.sha256(text.encode()).hexdigest()
        if sha not in self._entered:
            body, key = {"name": name, "text": text}, f"text:{sha}"
            found = self._journal.get(key)
            self._entered[sha] = (
                found or (await self._journal.append(SELF, "text", body, key=key, author="core"))[0]
            )
        return sha

    def _look(self, name: str) -> str | None:
        """Read a file if it changed; what is wrong with it, in a sentence, the first time it is seen."""
        path = self._folder / f"{name}.md"
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            if self._stamps.get(name) == stamp:
                return None
            self._stamps[name] = stamp
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            gone = self._stamps.pop(name, None) is None and name in self._good
            return None if gone else f"{path} cannot be read ({error.__class__.__name__}): put it back."
        if problem := fault(name, text):
            return f"{path} cannot be used: {problem}."
        self._good[name] = text
        return None

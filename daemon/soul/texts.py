"""The owner's files (soul.md, prompts/, playbooks/), read when they change; each version is an entry.

A file that can't be used keeps its last good version, and that is said, once, in the log and the journal.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

from daemon.engine.event import Entry, digest
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.journal import Journal
from daemon.errors import ConfigError
from daemon.kinds import Fault, Text, TextSet
from daemon.mind.playbook import PLAYBOOKS
from daemon.mind.wording import WORDING, Catalogue

log = logging.getLogger(__name__)

SELF = "soul"
"""The thread of what belongs to no conversation."""


class Texts:
    """All texts of the soul, by name: those of the catalogue, and the playbooks that are there."""

    def __init__(self, folder: Path, journal: Journal, catalogue: Catalogue | None = None) -> None:
        self._folder = folder
        self._catalogue = catalogue or Catalogue()
        self._journal = journal
        self._files: dict[str, str] = {}
        self._stamps: dict[str, tuple[int, int] | None] = {}
        self._unreadable = set[str]()
        self._good: Mapping[str, str] = {}
        """The last good version of each; another mapping whenever one changes."""
        self._set: tuple[Mapping[str, str], str] = (self._good, "")
        """Those that were in use last, and the digest of their set."""
        self._sets: dict[str, Mapping[str, str]] = {"": {}}
        self._entered: dict[str, Entry[Text]] = {}
        self._seen = False
        """Were the files looked at in this round of the event loop?"""
        problems = [self._look(name) for name in self._names()]
        faults = [problem for problem in problems if problem]
        if faults:
            raise ConfigError("\n".join(faults))

    @property
    def playbooks(self) -> list[str]:
        """The names of the playbooks that can be used."""
        return sorted(name.removeprefix(PLAYBOOKS) for name in self._good if name.startswith(PLAYBOOKS))

    async def current(self) -> str:
        """The digest of the set of all texts as they are now; the set is in the journal, and each of them."""
        if not self._seen:
            await self._look_at_all()
        good = self._good
        entered, key = self._set
        if entered is not good:
            shas = await asyncio.gather(*(self.enter(name, text) for name, text in good.items()))
            texts = dict(zip(good, shas, strict=True))
            key = digest(texts)
            self._sets[key] = texts
            with suppress(JournalDamaged):  # what is damaged of it is at hand
                await self._journal.append(SELF, TextSet(texts=texts), key=f"texts:{key}", author="core")
            self._set = (good, key)
        return key

    async def _look_at_all(self) -> None:
        """Turns that begin together look once: a hundred files each would be most of what a begin costs."""
        self._seen = True
        asyncio.get_running_loop().call_soon(self._forget_seen)
        for name in self._names():
            problem = self._look(name)
            if problem:
                await self._complain(name, problem)

    def _forget_seen(self) -> None:
        self._seen = False

    def named(self, texts: str) -> Mapping[str, str]:
        """Name to sha256 of the texts of this set. Raises KeyError where nobody entered it."""
        if texts not in self._sets:
            entry = self._journal.get(f"texts:{texts}")
            if entry is None:
                raise KeyError(texts)
            self._sets[texts] = cast(Entry[TextSet], entry).event.texts
        return self._sets[texts]

    async def enter(self, name: str, text: str) -> str:
        """The sha256 of a text, which is in the journal from then on."""
        sha = hashlib.sha256(text.encode()).hexdigest()
        if sha not in self._entered:
            self._entered[sha] = await self._entry(f"text:{sha}", Text(name=name, text=text))
        return sha

    async def _entry(self, key: str, text: Text) -> Entry[Text]:
        """The entry of this text. One that is damaged is as it was: its key says what it held."""
        try:
            found = self._journal.get(key)
        except JournalDamaged:
            seq = self._journal.seq_of(key)
            return Entry(
                seq=seq, thread=SELF, author="core", key=key, cause=None, closes=(), at=0.0, event=text
            )
        if found is None:
            found, _ = await self._journal.append(SELF, text, key=key, author="core")
        return cast(Entry[Text], found)

    def as_it_is(self, name: str) -> str:
        """A text as it is now, whatever the journal holds of it."""
        return self._good[name]

    def glance(self, name: str) -> str:
        """A text as its file holds it now; where that cannot be used, as it is in use."""
        try:
            text = Path(self._files[name]).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return self._good[name]
        return self._good[name] if self._catalogue.fault(name, text) else text

    def read(self, sha: str) -> Entry[Text]:
        """The entry of a text that was used."""
        if sha not in self._entered:
            entry = self._journal.get(f"text:{sha}")
            if entry is None:
                raise KeyError(sha)
            self._entered[sha] = cast(Entry[Text], entry)
        return self._entered[sha]

    def _names(self) -> Iterable[str]:
        """The texts that must be there, those that were, and the playbooks that are."""
        paths = (self._folder / PLAYBOOKS).glob("[!.]*.md")
        playbooks = [f"{PLAYBOOKS}{path.stem}" for path in paths]
        return dict.fromkeys([*self._catalogue.texts, *self._good, *sorted(playbooks)])

    async def _complain(self, name: str, problem: str) -> None:
        more = ""
        if name in self._good:
            more = " The last good version stays in use."
        log.warning("%s%s", problem, more)
        key = f"fault:{hashlib.sha256(problem.encode()).hexdigest()}"
        fault = Fault(name=name, text=problem)
        await self._journal.append(SELF, fault, key=key, author="core")

    def _look(self, name: str) -> str | None:
        """Read a file if it changed; what is wrong with it, in a sentence, the first time it is seen."""
        if name not in self._files:
            self._files[name] = f"{self._folder}/{name}.md"
        stamp = _stamp(self._files[name])
        if name in self._stamps and self._stamps[name] == stamp:
            return None
        self._stamps[name] = stamp
        default = self._catalogue.defaults.get(name)
        if stamp is None and default is not None:
            self._unreadable.discard(name)
            self._use(name, default)
            return None
        return self._read_anew(name, Path(self._files[name]))

    def _read_anew(self, name: str, path: Path) -> str | None:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            del self._stamps[name]  # it is tried again each time
            if name in self._unreadable:
                return None
            self._unreadable.add(name)
            mend = "write it, or put it back"
            if name in WORDING or name in self._good:
                mend = "put it back"
            return f"{path} cannot be read ({error.__class__.__name__}): {mend}."
        self._unreadable.discard(name)
        problem = self._catalogue.fault(name, text)
        if problem:
            return f"{path} cannot be used: {problem}."
        self._use(name, text)
        return None

    def _use(self, name: str, text: str) -> None:
        if self._good.get(name) != text:
            self._good = {**self._good, name: text}


def _stamp(file: str) -> tuple[int, int] | None:
    """What changes whenever a file does; None where there is none."""
    try:
        found = os.stat(file)  # noqa: PTH116  a hundred looks a turn: a Path costs as much as the look
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size

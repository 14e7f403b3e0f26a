"""Owner's texts (soul.md, prompts/, playbooks/), recorded by version, and the tag suffix of sections.

An unusable file keeps its last good version and is reported once. The suffix (`<say-k7>`) is drawn once per
journal, so that no model writes it by chance; executions begun before use bare tags.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import choice
from typing import Literal, cast

from daemon.engine.event import Entry, digest
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader
from daemon.errors import escaped_line
from daemon.kinds import PromptFault, PromptSet, PromptVersion, SuffixDrawn
from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER, PromptCatalogue
from daemon.settings.home import read_text_file
from daemon.settings.parse import ConfigError

log = logging.getLogger(__name__)


JOURNAL_THREAD = "soul"
"""Thread of entries that belong to no conversation."""


MOST_FAULT_CHARACTERS = 400


CONSEQUENCES = {
    "kept": "The last good version stays in use.",
    "left out": "It is left out until then.",
    "as it is": "What it names in vain is left out.",
}


Stamp = tuple[int, int, int, int]


UNREADABLE: Stamp = (0, 0, 0, 0)


Make = Callable[[Mapping[str, str]], Mapping[str, str]]


def _nothing(_texts: Mapping[str, str]) -> Mapping[str, str]:
    return {}


class PromptFiles:
    """Owner's texts by name: all of the catalogue, and the existing playbooks."""

    def __init__(self, folder: Path, journal: Journal, catalogue: PromptCatalogue | None = None) -> None:
        self._folder = folder
        self._catalogue = catalogue or PromptCatalogue()
        self._journal = journal
        self._files: dict[str, str] = {}
        self._stamps: dict[str, Stamp | None] = {}
        """Stamps of usable files by name; other files are always read."""
        self._wrong: dict[str, PromptFault] = {}
        self._unrecorded: list[PromptFault] = []
        self._good: Mapping[str, str] = {}
        """Last good versions; the mapping is replaced, never changed."""
        self._set: tuple[Mapping[str, str], object, str] = (self._good, (), "")
        """Texts as last recorded, what the made ones are about, and the digest of the set."""
        self._sets: dict[str, Mapping[str, str]] = {"": {}}
        self._entered: dict[str, Entry[PromptVersion]] = {}
        self._seen = False
        """True if files were checked in this iteration of the event loop."""
        self._began = False
        self._look_at_all()
        self._began = True
        unusable = [fault.text for fault in self._wrong.values() if fault.instead == "left out"]
        if unusable:
            raise ConfigError("\n".join(unusable))
        self._complain(self._wrong.values())

    @property
    def playbooks(self) -> list[str]:
        return sorted(
            name.removeprefix(PLAYBOOK_FOLDER) for name in self._good if name.startswith(PLAYBOOK_FOLDER)
        )

    async def current_set(self, make: Make = _nothing, about: object = ()) -> str:
        """Record all texts and those of `make`; return the digest of the set.

        `make` must make the same each time of the same texts and the same `about`.
        """
        self._look_once()
        await self._record_faults()
        good = self._good
        entered, told, key = self._set
        if entered is not good or told != about:
            every = {**good, **make(good)}
            shas = await asyncio.gather(*(self.record_text(name, text) for name, text in every.items()))
            texts = dict(zip(every, shas, strict=True))
            key = digest(texts)
            self._sets[key] = texts
            with suppress(JournalDamaged):  # damaged versions are still in memory
                await self._journal.append(
                    JOURNAL_THREAD, PromptSet(texts=texts), key=f"texts:{key}", author="core"
                )
            self._set = (good, about, key)
        return key

    @property
    def faults(self) -> Sequence[str]:
        """Return a sentence for each unusable file, after a check."""
        self._look_once()
        return [_fault_sentence(fault) for fault in self._wrong.values()]

    def _look_once(self) -> None:
        """Check the files, once for all turns that begin together: the check takes most of a turn's begin."""
        if self._seen:
            return
        self._seen = True
        asyncio.get_running_loop().call_soon(self._forget_seen)
        before = self._wrong
        self._look_at_all()
        self._complain([fault for name, fault in self._wrong.items() if before.get(name) != fault])
        for name in before.keys() - self._wrong.keys():
            log.info("%s.md can be used again.", name)

    def _look_at_all(self) -> None:
        playbooks = self._playbooks()
        wrong = dict[str, PromptFault]()
        for name in dict.fromkeys([*self._catalogue.texts, *self._good, *playbooks]):
            problem = self._look(name, playbooks)
            if problem:
                wrong[name] = problem
        self._wrong = wrong

    def _complain(self, faults: Iterable[PromptFault]) -> None:
        for fault in faults:
            log.warning("%s", _fault_sentence(fault))
            self._unrecorded.append(fault)

    async def _record_faults(self) -> None:
        while self._unrecorded:
            fault = self._unrecorded.pop(0)
            key = f"fault:{hashlib.sha256(fault.text.encode()).hexdigest()}"
            await self._journal.append(JOURNAL_THREAD, fault, key=key, author="core")

    def _forget_seen(self) -> None:
        self._seen = False

    def hashes_of_set(self, texts: str) -> Mapping[str, str]:
        """Return {name: sha256} of the set with the digest `texts`. Raises KeyError."""
        if texts not in self._sets:
            entry = self._journal.get(f"texts:{texts}")
            if entry is None:
                raise KeyError(texts)
            self._sets[texts] = cast(Entry[PromptSet], entry).event.texts
        return self._sets[texts]

    async def record_text(self, name: str, text: str) -> str:
        """Record a text; return its sha256."""
        sha = hashlib.sha256(text.encode()).hexdigest()
        if sha not in self._entered:
            self._entered[sha] = await self._entry(f"text:{sha}", PromptVersion(name=name, text=text))
        return sha

    async def _entry(self, key: str, text: PromptVersion) -> Entry[PromptVersion]:
        """Return the entry of a text. A damaged entry is written again, since its key is made from its
        content.
        """
        try:
            found = self._journal.get(key)
        except JournalDamaged:
            seq = self._journal.seq_of(key)
            return Entry(
                seq=seq,
                thread=JOURNAL_THREAD,
                author="core",
                key=key,
                cause=None,
                closes=(),
                at=0.0,
                event=text,
            )
        if found is None:
            found, _ = await self._journal.append(JOURNAL_THREAD, text, key=key, author="core")
        return cast(Entry[PromptVersion], found)

    def current_text(self, name: str) -> str:
        """Return the version of a text in use, without the journal."""
        return self._good[name]

    def newest_text(self, name: str) -> str:
        self._look_once()
        return self._good[name]

    def text_entry(self, sha: str) -> Entry[PromptVersion]:
        if sha not in self._entered:
            entry = self._journal.get(f"text:{sha}")
            if entry is None:
                raise KeyError(sha)
            self._entered[sha] = cast(Entry[PromptVersion], entry)
        return self._entered[sha]

    def _playbooks(self) -> Sequence[str]:
        paths = (self._folder / PLAYBOOK_FOLDER).glob("[!.]*.md")
        return sorted(f"{PLAYBOOK_FOLDER}{path.stem}" for path in paths)

    def _look(self, name: str, playbooks: Sequence[str]) -> PromptFault | None:
        """Read a file that has changed or is faulty; return its fault.

        A faulty file is read each time, since the texts to which it refers may exist by now.
        """
        if name not in self._files:
            self._files[name] = f"{self._folder}/{name}.md"
        file = self._files[name]
        stamp = _stamp(file)
        if name in self._stamps and self._stamps[name] == stamp:
            return None
        default = self._catalogue.defaults.get(name)
        if stamp is None and default is not None:
            self._stamps[name] = stamp
            self._use(name, default)
            return None
        problem = self._read_anew(name, Path(file), playbooks)
        if problem is None:
            self._stamps[name] = stamp
            return None
        self._stamps.pop(name, None)
        return problem

    def _read_anew(self, name: str, path: Path, playbooks: Sequence[str]) -> PromptFault | None:
        try:
            text = read_text_file(path)
        except ValueError as error:
            why = str(error)
            if name not in self._catalogue.texts and not path.exists():
                why += ", or start the daemon anew to go on without it"
            return self._fault(name, why)
        problem = self._catalogue.fault(name, text)
        if problem:
            return self._fault(name, problem)
        known = {book.removeprefix(PLAYBOOK_FOLDER) for book in playbooks}
        problem = self._catalogue.misfit(name, text, known)
        if not (problem and self._began):  # other faults are tolerated only at the start
            self._use(name, text)
        if problem:
            return self._fault(name, problem, as_it_is=self._good.get(name) == text)
        return None

    def _fault(self, name: str, problem: str, *, as_it_is: bool = False) -> PromptFault:
        words = escaped_line(f"{name}.md cannot be used: {problem}")
        if len(words) > MOST_FAULT_CHARACTERS:
            words = f"{words[:MOST_FAULT_CHARACTERS]}…"
        elif not words.endswith("?"):
            words += "."
        instead: Literal["kept", "left out", "as it is"] = "left out"
        if as_it_is:
            instead = "as it is"
        elif name in self._good:
            instead = "kept"
        return PromptFault(name=name, text=words, instead=instead)

    def _use(self, name: str, text: str) -> None:
        if self._good.get(name) != text:
            self._good = {**self._good, name: text}


def _fault_sentence(fault: PromptFault) -> str:
    return f"{fault.text} {CONSEQUENCES[fault.instead]}"


def _stamp(file: str) -> Stamp | None:
    try:
        found = os.stat(file)  # noqa: PTH116  a hundred looks a turn: a Path costs as much as the look
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return UNREADABLE
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


SUFFIX_KEY = "tag-suffix"


LETTERS, DIGITS = "bcdfghjkmnpqrtvwxz", "23456789"
"""Characters of a suffix: hard to confuse, and without vowels, so that they form no words."""


async def draw_tag_suffix(journal: Journal) -> None:
    """Draw the journal's tag suffix unless it has one. Raises JournalError."""
    with suppress(JournalDamaged):  # a damaged suffix must not be replaced
        if journal.get(SUFFIX_KEY) is None:
            drawn = SuffixDrawn(suffix=choice(LETTERS) + choice(DIGITS))
            await journal.append(JOURNAL_THREAD, drawn, key=SUFFIX_KEY, author="core")


class TagSuffixHistory:
    """The tag suffix as of an entry."""

    def __init__(self, journal: JournalReader) -> None:
        self._journal = journal
        self._drawn: Entry[SuffixDrawn] | None = None

    def suffix_at(self, before: int) -> str:
        """Return the suffix before an entry; empty if none was drawn or its entry is damaged."""
        if self._drawn is None:
            with suppress(JournalDamaged):
                self._drawn = cast("Entry[SuffixDrawn] | None", self._journal.get(SUFFIX_KEY))
        if self._drawn is None or self._drawn.seq >= before:
            return ""
        return self._drawn.event.suffix

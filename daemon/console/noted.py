"""What the soul noted, by whom it is about: a projection for the page's people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.keys import root_of
from daemon.kinds import MemoryNote, NoteCorrected
from daemon.knowledge.projection import Projection


class NotesFold(Projection):
    """The notes of all conversations, by the name of whom they are about. It holds names."""

    kinds = (MemoryNote, NoteCorrected)

    def notes_about(self, name: str) -> Mapping[int, int]:
        """Return the notes about whoever is called so: the entry of each, and that of how it reads now."""
        return self._about.get(name.casefold(), {})

    @property
    def count(self) -> int:
        """The number of notes."""
        return len(self._threads)

    def subject_names(self) -> Iterable[str]:
        """Return the names that notes are about, in small letters; empty for those about nobody."""
        return self._about.keys()

    def thread_of_note(self, note: int) -> str:
        """Return the conversation in which this note was made."""
        return self._threads[note]

    def _reset(self) -> None:
        self._about: dict[str, dict[int, int]] = {}
        """By the name in small letters: each note, and the entry that says how it reads now."""
        self._first: dict[int, tuple[str, int]] = {}
        """Of each of those entries: whom it is about, and the note."""
        self._threads: dict[int, str] = {}
        """The conversation of each note."""

    def _fold_entry(self, entry: Entry[Any]) -> None:
        event = entry.event
        if not event.text:  # it was forgotten
            return
        if isinstance(event, MemoryNote):
            self._threads[entry.seq] = root_of(entry.thread)
            self._keep(entry.seq, event.about.casefold(), entry.seq)
        elif event.of in self._first:
            self._keep(entry.seq, *self._first[event.of])

    def _keep(self, seq: int, name: str, note: int) -> None:
        self._first[seq] = (name, note)
        self._about.setdefault(name, {})[note] = seq

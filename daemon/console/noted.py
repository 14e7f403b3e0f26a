"""What the soul noted, by whom it is about: a projection for the page's people."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

from daemon.engine.event import Entry
from daemon.kinds import Corrected, Remembered
from daemon.knowledge.projection import Projection


class Noted(Projection):
    """The notes of all conversations. It holds names."""

    kinds = (Remembered, Corrected)

    def about(self, name: str) -> Sequence[int]:
        """Return the entries that say what is noted about whoever is called so, as it reads now.

        In the order in which it was first noted: what is corrected keeps its place.
        """
        return [now for _, now in sorted(self._about.get(name.casefold(), {}).items())]

    def about_others(self, names: Collection[str], most: int) -> Sequence[int]:
        """The newest of what is about none of these, in order: about somebody else, or about nobody."""
        notes = chain.from_iterable(others.items() for others in self._others(names))
        return [now for _, now in sorted(heapq.nlargest(most, notes))]

    def count(self, name: str) -> int:
        """How much is noted about whoever is called so."""
        return len(self._about.get(name.casefold(), ()))

    def count_others(self, names: Collection[str]) -> int:
        """How much is noted about none of these."""
        return sum(map(len, self._others(names)))

    def _others(self, names: Collection[str]) -> list[Mapping[int, int]]:
        known = {name.casefold() for name in names}
        return [notes for name, notes in self._about.items() if name not in known]

    def _clear(self) -> None:
        self._about: dict[str, dict[int, int]] = {}
        """By the name in small letters: each note, and the entry that says how it reads now."""
        self._first: dict[int, tuple[str, int]] = {}
        """Of each of those entries: whom it is about, and the note."""

    def _take(self, entry: Entry[Any]) -> None:
        event = entry.event
        if not event.text:  # it was forgotten
            return
        if isinstance(event, Remembered):
            self._keep(entry.seq, event.about.casefold(), entry.seq)
        elif event.of in self._first:
            self._keep(entry.seq, *self._first[event.of])

    def _keep(self, seq: int, name: str, note: int) -> None:
        self._first[seq] = (name, note)
        self._about.setdefault(name, {})[note] = seq

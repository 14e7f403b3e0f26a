"""A journal that is read by a thread beside the loop: for what takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from daemon.engine.event import Entry, Event, EventCodec
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.opening import open_readonly
from daemon.engine.reading import ALWAYS, JournalReader


class BackgroundReader(JournalReader):
    """The journal at one moment, or (`live`) as it is at each question. What of it is damaged is left out.

    Nothing can be erased from the file while one moment of it is read.
    """

    _leaves_out_damage = True

    def __init__(
        self, path: Path, kinds: EventCodec, found: Callable[[JournalDamaged], None], *, live: bool = False
    ) -> None:
        store = open_readonly(path)
        if live:
            store.rollback()  # it has begun to read, and would see that one moment for ever
        super().__init__(store, kinds)
        self._hears = found

    def close(self) -> None:
        self._store.close()

    def seqs_between(
        self,
        root: str = "",
        *,
        path: str = "",
        since: int = 0,
        before: int = ALWAYS,
        limit: int = ALWAYS,
        newest: bool = False,
    ) -> list[int]:
        """Which entries a thread and all under it have between two seqs, both left out, in order: so many
        of the first ones, or of the newest. With `path` those whose key begins with `path/`, with neither
        those of all threads."""
        with self._question:
            return self._store.span(root, path, since, before, limit, newest=newest)

    def iterate_entries(self, seqs: Sequence[int], *, newest: bool = False) -> Iterator[Entry[Event]]:
        """The entries of these seqs one by one, the oldest first, or the newest; without what is damaged."""
        with self._question:
            yield from self._sound(self._store.each(seqs, newest=newest))

    def entries_like(self, patterns: Sequence[str], *, since: int, before: int) -> Iterator[Entry[Event]]:
        """The entries of a span whose body as JSON is like all these patterns of SQL, the newest first."""
        with self._question:
            yield from self._sound(self._store.holding(patterns, since, before))

    def entries_like_among(self, patterns: Sequence[str], seqs: Sequence[int]) -> Iterator[Entry[Event]]:
        """The same of the entries of these seqs."""
        with self._question:
            yield from self._sound(self._store.holding_of(patterns, seqs))

    def _found(self, damage: JournalDamaged) -> None:
        self._hears(damage)

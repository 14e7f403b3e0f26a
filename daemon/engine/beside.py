"""A journal that is read by a thread beside the loop: as it is at one moment, or at each question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from daemon.engine.event import Entry, Event, Kinds
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.opening import open_readonly
from daemon.engine.reading import ALWAYS, Reading
from daemon.engine.store import Store
from daemon.engine.tables import Stored


class Beside(Reading):
    """The journal at one moment, for what takes long to read: parts of a thread, and searches.

    `found` hears what of it is damaged; that is left out.
    """

    def __init__(self, store: Store, kinds: Kinds, found: Callable[[JournalDamaged], None]) -> None:
        super().__init__(store, kinds)
        self._hears = found

    def span(
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

    def each(self, seqs: Sequence[int], *, newest: bool = False) -> Iterator[Entry[Event]]:
        """The entries of these seqs one by one, the oldest first, or the newest; without what is damaged."""
        with self._question:
            yield from self._sound(self._store.each(seqs, newest=newest))

    def holding(
        self, patterns: Sequence[str], root: str, *, since: int, before: int
    ) -> Iterator[Entry[Event]]:
        """The entries of a span whose body as JSON is like all these patterns of SQL, the newest first."""
        with self._question:
            yield from self._sound(self._store.holding(patterns, root, since, before))

    def _found(self, damage: JournalDamaged) -> None:
        self._hears(damage)


class Reader(Reading):
    """Reads a journal that is open here, as it is at each question. It leaves out what is damaged."""

    def __init__(self, path: Path, kinds: Kinds, found: Callable[[JournalDamaged], None]) -> None:
        store = open_readonly(path)
        store.rollback()  # it has begun to read, and would see that one moment for ever
        super().__init__(store, kinds)
        self._tell = found

    def close(self) -> None:
        self._store.close()

    def _of_all(self, rows: Iterable[Stored]) -> list[Entry[Any]]:
        return list(self._sound(rows))

    def _found(self, damage: JournalDamaged) -> None:
        self._tell(damage)

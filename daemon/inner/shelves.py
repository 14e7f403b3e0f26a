"""Ids of notes in order, on shelves by where they were said, source, priority and whether they are open.

However many notes there are, a shelf is found at once, and read from its newest end.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from daemon.inner.note import Priority, Source


class NoteGroup(NamedTuple):
    """What stands together."""

    place: str
    source: Source
    priority: Priority
    is_open: bool


class NoteIndex:
    """Ids of notes. `at` says when the note of an id came."""

    def __init__(self, at: Callable[[int], float]) -> None:
        self._at = at
        self._ids = defaultdict[NoteGroup, list[int]](list)
        self.open = Counter[Priority]()
        """How many open notes there are of each priority."""

    def put(self, shelf: NoteGroup, id: int) -> None:
        """It stands here from now on."""
        insort(self._ids[shelf], id)
        if shelf.is_open:
            self.open[shelf.priority] += 1

    def take(self, shelf: NoteGroup, id: int) -> None:
        """It does not stand here any more."""
        remove_sorted(self._ids[shelf], id)
        if shelf.is_open:
            self.open[shelf.priority] -= 1

    def newest(
        self, wanted: Callable[[NoteGroup], bool], since: float | None = None, until: float | None = None
    ) -> Iterator[int]:
        """The ids on these shelves that came in that time, the newest first.

        Where the clock was wrong in between, it may be some more than came then.
        """
        chosen = list[Iterator[int]]()
        for shelf, ids in self._ids.items():
            if ids and wanted(shelf):
                chosen.append(self._between(ids, since, until))
        return heapq.merge(*chosen, reverse=True)

    def _between(self, ids: list[int], since: float | None, until: float | None) -> Iterator[int]:
        first, after = 0, len(ids)
        if since is not None:
            first = bisect_left(ids, since, key=self._at)
        if until is not None:
            after = bisect_right(ids, until, key=self._at)
        return (ids[place] for place in range(after - 1, first - 1, -1))


def remove_sorted(ids: list[int], id: int) -> None:
    """Take an id out of a list in order."""
    del ids[bisect_left(ids, id)]

"""The entries that were written last, kept in memory: whoever folds on need not ask the file for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from daemon.engine.erasing import EntriesForgotten
from daemon.engine.event import Entry, EventCodec
from daemon.engine.rows import entry_from_written
from daemon.engine.writer import WrittenRow

MOST_RECENT_ENTRIES = 256
"""Entries that are kept."""


class RecentEntries:
    """Of one open journal. Each reader is given events of its own, as from the file."""

    def __init__(self, kinds: EventCodec) -> None:
        self._kinds = kinds
        self._written = deque[WrittenRow](maxlen=MOST_RECENT_ENTRIES)

    def add(self, written: WrittenRow) -> None:
        """This was written last. What a Forgotten names stands before it, and is here no more; nor is what
        comes before an entry of another daemon."""
        others = bool(self._written) and self._written[-1].seq + 1 != written.seq
        if others or written.row.kind == EntriesForgotten.kind:
            self._written.clear()
        self._written.append(written)

    def holds_all_after(self, since: int, upto: int) -> bool:
        """Is all here that stands in the file after this seq, up to its last entry?"""
        written = self._written
        return bool(written) and written[0].seq <= since + 1 and written[-1].seq == upto

    def entries_after(self, since: int, names: Sequence[str], at: float) -> list[Entry[Any]]:
        """What is here of these kinds after a seq, from a time on, in order."""
        found = list[Entry[Any]]()
        for one in reversed(self._written):
            if one.seq <= since:
                break
            if one.row.kind in names and one.row.at >= at:
                found.append(self._read(one))
        return found[::-1]

    def _read(self, one: WrittenRow) -> Entry[Any]:
        event = self._kinds.load(one.row.kind, one.row.body)
        return entry_from_written(one.row, one.seq, event)

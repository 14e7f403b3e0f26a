"""The hosts that somebody named in a conversation: a person, or what the soul found there.

The soul's own words name none. What was written before a message was begun decides, so that a replay finds
the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.reading import ALWAYS, Reading
from daemon.kinds import CarriedOver, CellRan, Observed, Said
from daemon.mind.links import names
from daemon.mind.recall import remember


class NamedHosts:
    """Answers for the message of this key whether a host was named in its thread before it was begun."""

    def __init__(self, journal: Reading, thread: str, key: str) -> None:
        self._journal = journal
        self._thread = thread
        self._key = key
        self._known: dict[str, bool] = {}

    def __call__(self, host: str) -> bool:
        """Was it named? A host that nobody can read was not. The thread is read where a link asks for it."""
        if host not in self._known:
            self._known[host] = bool(host) and any(names(text, host) for text in self._texts)
        return self._known[host]

    @cached_property
    def _texts(self) -> list[str]:
        """What was said and found, as the model sees it."""
        begun = self._journal.get(self._key)
        before = ALWAYS
        if begun:
            before = begun.seq
        return [remember(entry).content for entry in self._found() if entry.seq < before]

    def _found(self) -> Iterator[Entry[Any]]:
        """What people said and what was found, here and in the branches; and what was carried over."""
        yield from self._journal.tree_entries(self._thread, Said, Observed, CellRan)
        for carried in self._journal.thread_entries(self._thread, CarriedOver):
            for entry in self._journal.entries_at(carried.event.seqs):
                if isinstance(entry.event, Said | Observed):
                    yield entry

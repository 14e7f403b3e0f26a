"""The hosts that somebody named in a conversation: a person, or what the soul found there.

The soul's own words name none. What was written before a message was begun decides, so that a replay finds
the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.reading import ALWAYS, JournalReader
from daemon.kinds import ActionObserved, CellRan, DmContextImported, PersonMessage
from daemon.mind.links import names_host
from daemon.mind.recall import entry_as_memory


class NamedHosts:
    """Answers for the message of this key whether a host was named in its thread before it was begun."""

    def __init__(self, journal: JournalReader, thread: str, key: str) -> None:
        self._journal = journal
        self._thread = thread
        self._key = key
        self._known: dict[str, bool] = {}

    def __call__(self, host: str) -> bool:
        """Was it named? A host that nobody can read was not. The thread is read where a link asks for it."""
        if host not in self._known:
            self._known[host] = bool(host) and any(names_host(text, host) for text in self._texts)
        return self._known[host]

    @cached_property
    def _texts(self) -> list[str]:
        """What was said and found, as the model sees it."""
        begun = self._journal.get(self._key)
        before = ALWAYS
        if begun:
            before = begun.seq
        return [entry_as_memory(entry).content for entry in self._found() if entry.seq < before]

    def _found(self) -> Iterator[Entry[Any]]:
        """What people said and what was found, here and in the branches; and what was carried over."""
        yield from self._journal.tree_entries(self._thread, PersonMessage, ActionObserved, CellRan)
        for carried in self._journal.thread_entries(self._thread, DmContextImported):
            for entry in self._journal.entries_at(carried.event.seqs):
                if isinstance(entry.event, PersonMessage | ActionObserved):
                    yield entry

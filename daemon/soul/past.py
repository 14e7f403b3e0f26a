"""What a thread's ended turns left behind, as of one seq: what is kept, heard and felt, and the process.

A projection; a turn reads it as of its execution's first begin, and sees the same after any crash.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.engine.event import Entry, only
from daemon.engine.reading import Reading
from daemon.kinds import ContextCleared, Heard, MoodChanged, Overheard, TurnEnded
from daemon.memory import Memory
from daemon.mind.recall import recall

MOST = 20_000
"""How many memories of busy threads stay at hand, about a kilobyte each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A thread's past, before seq `before`. `process` and `mood` are None where nothing has set them yet.

    An unfinished turn is in nobody's memory; what was heard is taken by the first turn that keeps anything.
    """

    before: int = 0
    memories: Mapping[int, Memory] = field(default_factory=dict)
    """All that is kept, in order, by the seqs of the entries."""
    heard: tuple[Entry[Heard], ...] = ()
    process: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    mood: str | None = None

    @property
    def kept(self) -> Sequence[Memory]:
        """What is kept, as it is in sight: what was forgotten together is one memory, where it was first."""
        return list({memory.seq: memory for memory in self.memories.values()}.values())

    @property
    def size(self) -> int:
        """How much there is to keep at hand."""
        return len(self.memories) + len(self.heard) + bool(self.before)


NOTHING = Past()


class Pasts:
    """The pasts of all threads. Those that were read last are at hand, and only folded on from there.

    They cannot be stale: what comes before a seq never changes, whoever wrote it, unless words are forgotten.
    """

    def __init__(self, journal: Reading, most: int = MOST) -> None:
        self._journal = journal
        self._most = most
        self._known: OrderedDict[str, Past] = OrderedDict()
        self._size = 0
        self._erasures = 0

    def of(self, thread: str, before: int) -> Past:
        """The past of a thread as it was when the entry `before` was written."""
        if self._journal.erasures != self._erasures:
            self._erasures = self._journal.erasures
            self._known.clear()
            self._size = 0
        known = self._known.pop(thread, NOTHING)
        self._size -= known.size
        past = self._folded(thread, known if known.before <= before else NOTHING, before)
        self._known[thread] = past
        self._size += past.size
        while self._size > self._most:
            _, forgotten = self._known.popitem(last=False)
            self._size -= forgotten.size
        return past

    def _folded(self, thread: str, past: Past, before: int) -> Past:
        """That past, and what came since."""
        since = past.before - 1
        found = self._journal.of(thread, TurnEnded, Heard, MoodChanged, ContextCleared, since=since)
        new = [entry for entry in found if entry.seq < before]
        heard = [*past.heard, *(entry for entry in only(Heard, new) if not entry.forgotten)]
        process, params, mood = past.process, past.params, past.mood
        keeping = None
        for ended in only(TurnEnded, new):
            process, params = ended.event.process, ended.event.params
            if ended.event.keep:
                keeping = ended
        if keeping:
            heard = self._left(thread, keeping, heard)
        for changed in only(MoodChanged, new):
            mood = changed.event.mood
        return Past(
            before=before,
            memories=self._kept(past, new),
            heard=tuple(heard),
            process=process,
            params=params,
            mood=mood,
        )

    def _left(
        self, thread: str, ended: Entry[TurnEnded], heard: Sequence[Entry[Heard]]
    ) -> list[Entry[Heard]]:
        """What was heard and is still to be taken after this turn, which took what was there as it began, and
        what its execution fetched."""
        fetched = set[int]()
        for fetch in self._journal.of(thread, Overheard):
            if fetch.seq < ended.seq:
                fetched.update(fetch.event.seqs)
        since = ended.cause or 0
        return [entry for entry in heard if entry.seq > since and entry.seq not in fetched]

    def _kept(self, past: Past, new: Sequence[Entry[Any]]) -> Mapping[int, Memory]:
        """What is kept by now, in the order of the turns; a summary stands for all up to its `last`."""
        seqs = [*past.memories]
        for entry in new:
            if isinstance(entry.event, TurnEnded):
                seqs += entry.event.keep
            elif isinstance(entry.event, ContextCleared) and entry.event.last in seqs:
                summed_up = seqs.index(entry.event.last) + 1
                seqs = [entry.seq, *seqs[summed_up:]]
        unknown = [seq for seq in seqs if seq not in past.memories]
        known = {**past.memories, **dict(zip(unknown, recall(self._journal.many(unknown)), strict=True))}
        return {seq: known[seq] for seq in seqs}
